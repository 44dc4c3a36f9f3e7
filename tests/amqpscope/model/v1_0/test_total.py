"""The model takes anything, accuses nobody of legal traffic, and tells one fault about once."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpscope.findings import ERROR, INFO, Finding
from dissectors.v1_0.bodies import (
    BODIES,
    Accepted,
    Body,
    Disposition,
    Flow,
    Received,
    Rejected,
    Transfer,
)
from dissectors.v1_0.encode import encode_frame, encode_header
from kit.model.peers import Sent, analyse, conversation

SMALL = st.sampled_from([0, 1, 2, 3, (1 << 32) - 1, 1 << 31])
FIELDS = {
    # declared type: values; small ones, so that channels, handles and ids meet
    "boolean": st.booleans(),
    "binary": st.sampled_from([b"", b"0", b"1"]),
    "string": st.sampled_from(["a", "b"]),
    "role": st.booleans(),
    "delivery-tag": st.sampled_from([b"", b"0", b"1"]),
    "sender-settle-mode": st.sampled_from([0, 1, 2]),
    "receiver-settle-mode": st.sampled_from([0, 1]),
}
NAMES = ("begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close", "open")
LIKELY = ("attach", "flow", "transfer", "transfer", "disposition")
STATES = st.sampled_from([None, Accepted(), Rejected(), Received(0, 0)])


@st.composite
def performatives(draw: st.DrawFn) -> Body:
    """A performative with few of its fields set, to small values."""
    row = BODIES[draw(st.sampled_from(NAMES + LIKELY))]
    values: list[object] = []
    for field in row.row.fields:
        if field.name == "state":
            values.append(draw(STATES))
        elif (
            field.name in {"error", "source", "target", "unsettled", "properties"}
            or "locales" in field.name
            or "capabilities" in field.name
        ):
            values.append(None)
        elif field.mandatory or draw(st.booleans()):
            values.append(draw(FIELDS.get(field.type, SMALL)))
        else:
            values.append(None)
    if row.row.name in {"open", "begin"}:
        channels = [at for at, field in enumerate(row.row.fields) if field.type == "ushort"]
        for at in channels:
            values[at] = draw(st.sampled_from([None, 0, 1]))
    return row(*values)


@st.composite
def anything(draw: st.DrawFn) -> list[Sent]:
    """Any performatives from either side, in any order."""
    sent = [Sent(peer, None, encode_header(), 0) for peer in (0, 1)]
    for _ in range(draw(st.integers(1, 40))):
        body = draw(performatives())
        payload = b"\x00\x53\x75\xa0\x01x" if isinstance(body, Transfer) else b""
        raw = encode_frame(body, draw(st.sampled_from([0, 0, 1])), payload)
        sent.append(Sent(draw(st.sampled_from([0, 1])), body, raw, draw(st.integers(-1, 500))))
    return sent


@settings(max_examples=150)
@given(anything(), st.booleans())
def test_any_performatives_in_any_order_are_taken(sent, complete):
    assert len(analyse(sent, complete=complete)) <= len(sent)


@settings(max_examples=100)
@given(st.integers(0, 1 << 32), st.booleans())
def test_peers_that_keep_the_rules_are_not_accused(seed, acks):
    found = findings(conversation(seed), acks=acks)
    assert [finding for finding in found if finding.severity != INFO] == []


@settings(max_examples=60)
@given(st.integers(0, 1 << 32), st.integers(8, 60))
def test_nor_when_the_capture_begins_later(seed, start):
    found = findings(conversation(seed)[start:], complete=False)
    assert [finding for finding in found if finding.severity == ERROR] == []


FAULTS = (
    # body, field, what is added to it, rules of which one speaks
    (Transfer, "delivery_id", 50, {"DLV-004", "DLV-007"}),
    (Transfer, "delivery_id", -1, {"DLV-004", "DLV-007", "DLV-019"}),
    (Flow, "next_outgoing_id", 1, {"FLW-003"}),
    (Flow, "next_incoming_id", 30, {"FLW-006"}),
    (Flow, "next_incoming_id", -30, {"FLW-007", "FLW-008"}),
    (Disposition, "first", 1000, {"DSP-003", "DSP-004"}),
)


@pytest.mark.parametrize(("kind", "field", "more", "rules"), FAULTS)
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_one_fault_makes_few_findings_and_the_right_one_first(kind, field, more, rules, seed):
    sent = conversation(seed)
    places = [
        place
        for place, each in enumerate(sent)
        if isinstance(each.body, kind) and getattr(each.body, field) is not None
    ]
    if kind is Transfer:
        # A peer's first delivery-id is free: another one there only makes the next look wrong.
        places = [place for place in places if begun_before(sent, place) > 1]
    if not places:
        return
    place = Random(seed).choice(places)
    sent[place] = spoil(sent[place], field, more)
    # The frame may be longer now, so the ACK numbers are off.
    bad = [finding for finding in findings(sent, acks=False) if finding.severity != INFO]
    assert len(bad) <= 4, bad
    if bad:
        assert bad[0].rule in rules
        assert bad[0].frame == place + 1


def begun_before(sent: list[Sent], place: int) -> int:
    """How many deliveries a peer had begun before a unit."""
    earlier = [each.body for each in sent[:place] if each.sender == sent[place].sender]
    return sum(isinstance(body, Transfer) and body.delivery_tag is not None for body in earlier)


def spoil(sent: Sent, field: str, more: int) -> Sent:
    """The same frame with a number in it changed."""
    body = sent.body
    names = [each.name.replace("-", "_") for each in body.row.fields]
    values = list(body)
    at = names.index(field)
    values[at] = (values[at] + more) % (1 << 32)
    made = type(body)(*values)
    payload = sent.raw[len(encode_frame(body)) :]
    return sent._replace(body=made, raw=encode_frame(made, 0, payload))


def findings(sent: list[Sent], **options: bool) -> list[Finding]:
    """What is found in a conversation."""
    return [finding for step in analyse(sent, **options) for finding in step.findings]
