"""Delivery states: those inside transactions, captures that begin late, and resumed deliveries."""

from __future__ import annotations

import pytest

from kit.exchange import play

SENT = 'client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")'
GOT = 'server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")'


def told(text: str, setup: str = "sending", **options: bool) -> list[tuple[str, str, str]]:
    """Rule, certainty and peer of what this group finds."""
    findings = play(text, setup, **options).findings
    return [(f.rule, f.certainty, f.peer) for f in findings if f.rule[:3] == "OUT"]


@pytest.mark.parametrize(
    "state",
    [
        "accepted'80'd0()",
        "released'symbol()",
        "modified(undeliverable-here=true)",
        "modified(message-annotations={})",
        "rejected(error=error'symbol(condition=:com.example:x description=null))",
        "received(section-number=0 section-offset=0)",
        'declared(txn-id=b"1")',
    ],
)
def test_a_legal_state_is_not_remarked_upon(state):
    assert (
        told(f"{SENT}\nserver: disposition[0] role=receiver first=0 settled=true state={state}")
        == []
    )


@pytest.mark.parametrize(
    ("state", "rule"),
    [
        (":accepted", "OUT-002"),
        ("source()", "OUT-002"),
        ("received(section-number=0)", "OUT-003"),
        ("received(section-number=ulong 0 section-offset=0)", "OUT-003"),
        ("released(+[null true])", "OUT-008"),
        ('rejected(error=@ulong 0x99 ["x"])', "OUT-009"),
        ("rejected(error=error())", "OUT-011"),
        ('rejected(error=error(condition=:a info={"k"=1}))', "OUT-011"),
        ("modified(delivery-failed=uint 1)", "OUT-012"),
        ("modified(message-annotations={ulong 1=1})", "OUT-012"),
        ('transactional-state(txn-id=b"1" outcome=rejected(error="x"))', "OUT-009"),
    ],
)
def test_each_fault_is_told_once(state, rule):
    text = f"{SENT}\nserver: disposition[0] role=receiver first=0 settled=true state={state}"
    assert told(text) == [(rule, "sure", "server")]


def test_a_source_that_rejects_is_not_judged_when_the_start_was_not_seen():
    text = f"""
{GOT}
server: disposition[0] role=sender first=0 state=rejected(error=error(condition=:x))
"""
    assert told(text, "receiving", complete=False) == []


def test_the_receiver_may_follow_an_outcome_that_the_sender_has_stated():
    text = f"""
client: attach[0] name="r" handle=0 role=receiver source=source(address="q") target=target()
server: attach[0] name="r" handle=0 role=sender source=source(address="q"
        outcomes=[:amqp:accepted:list]) target=target() initial-delivery-count=0
client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=10
{GOT}
server: disposition[0] role=sender first=0 state=released()
client: disposition[0] role=receiver first=0 settled=true state=released()
"""
    assert told(text, "session") == []


def resume(own: str, other: str, fields: str) -> list[tuple[str, str, str]]:
    """A link is attached with two lists, and a delivery goes on."""
    return told(
        f"""
client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0 unsettled={own}
server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q") {other}
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
        outgoing-window=100 handle=0 delivery-count=0 link-credit=10
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true {fields}
""",
        "session",
    )


@pytest.mark.parametrize(
    ("own", "other", "fields"),
    [
        ("null", "unsettled={} incomplete-unsettled=true", "| raw 0x31"),
        ("received(section-number=0 section-offset=9)", "unsettled={}", "aborted=true"),
        (
            "null",
            'unsettled={b"7"=received(section-number=0 section-offset=4)}',
            "state=received(section-number=1 section-offset=0) | raw 0x31",
        ),
        ("accepted()", 'unsettled={b"7"=accepted()}', "settled=true"),
        ("released()", 'unsettled={b"7"=accepted()}', "settled=true state=released()"),
    ],
)
def test_a_delivery_is_resumed_as_it_should_be(own, other, fields):
    assert resume(f'{{b"7"={own}}}', other, fields) == []


def test_settling_with_another_outcome_is_told():
    found = resume('{b"7"=null}', 'unsettled={b"7"=accepted()}', "settled=true state=released()")
    assert found == [("OUT-042", "sure", "client")]


AGAIN = """
    server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | {first}
    client: disposition[0] role=receiver first=0 settled=true
            state=modified(undeliverable-here=true)
    server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | {second}
"""


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ('properties(message-id="m") data(b"0")', 'properties(message-id="m") data(b"0")', True),
        ('header() data(b"0")', 'header(delivery-count=1) data(b"0")', True),
        ('data(b"0")', 'data(b"0")', False),
        ('properties(message-id="m") data(b"0")', 'properties(message-id="n") data(b"0")', False),
    ],
)
def test_a_message_is_known_again_by_its_bare_octets_if_it_is_one_of_a_kind(first, second, told):
    text = AGAIN.format(first=first, second=second)
    rules = [finding.rule for finding in play(text, "receiving").findings]
    assert ("OUT-028" in rules) is told


def test_a_copy_that_was_on_its_way_is_no_redelivery():
    same = 'properties(message-id="m") data(b"0")'
    text = AGAIN.format(first=same, second=same)
    at = text.rindex("server: transfer")
    text = text[:at] + text[at:].replace("server:", "server~1:", 1)
    assert [f.rule for f in play(text, "receiving").findings if f.rule == "OUT-028"] == []
