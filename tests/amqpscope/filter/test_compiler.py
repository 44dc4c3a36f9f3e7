"""Filters on real traffic: each kind of field, each operator, and no text that makes them raise."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.analysis import Analyzer
from amqpscope.capture.reader import open_capture
from amqpscope.filter import FACTS, FilterError, compile_filter, complete
from amqpscope.protocols.v1_0 import filter_names
from amqpscope.stream.reassembly import Reassembler
from dissectors.v1_0.bodies import Disposition
from dissectors.v1_0.values import Int, Ulong
from kit import CAPTURES

TYPES = "v10_proton-labbroker_types"
TX = "v10_proton-labbroker_tx"
FILTERS = "v10_proton-labbroker_filters"
OUTCOMES = "v10_proton-labbroker_outcomes"
CONNERROR = "v10_proton-labbroker_connerror"
PRESETTLED = "v10_proton-labbroker_presettled"
BITFLIP = "dmg_bitflip-v10_proton-rabbitmq_manylinks"
SNAP = "dmg_snap128-v10_proton-labbroker_large512"


@cache
def steps(name):
    """All Steps of a capture."""
    analyzer, reassembler = Analyzer({5680: "amqp-1.0"}), Reassembler()
    pieces = [
        piece
        for batch in open_capture(str(CAPTURES / f"{name}.pcap"))
        for piece in reassembler.feed_all(batch)
    ]
    pieces += reassembler.finish()
    return [step for piece in pieces for step in analyzer.feed(piece)]


def frames(name, text):
    """The numbers of the frames that pass."""
    wanted = compile_filter(text)
    return [step.frame.number for step in steps(name) if wanted.matches(step)]


def where(name, holds):
    """The numbers of the frames of which a plain function is true."""
    return [step.frame.number for step in steps(name) if holds(step)]


def named(*names):
    return lambda step: step.frame.unit.name in names


def body(step, field):
    return getattr(step.frame.unit.body, field, None)


def on_link(holds):
    """Of frames that belong to a link, those of whose link a plain function is true."""
    return lambda step: step.event.link is not None and holds(step.event.link)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", lambda step: True),
        ("transfer", named("transfer")),
        ("sasl-init", named("sasl-init")),
        ("header", named("header")),
        ("sasl", lambda step: step.frame.unit.kind == "sasl"),
        ("empty", named("empty")),
        ("kind == header", named("header")),
        ("name in {flow transfer}", named("flow", "transfer")),
        ("name in {flow, transfer}", named("flow", "transfer")),
        ("performative matches '^sasl-'", lambda s: s.frame.unit.name.startswith("sasl-")),
        ("amqp.performative == 'transfer'", named("transfer")),
        ("frame == 17", lambda step: step.frame.number == 17),
        ("frame.number >= 10 && frame.number <= 20", lambda s: 10 <= s.frame.number <= 20),
        ("frame.number in {10..20 30}", lambda s: s.frame.number in {*range(10, 21), 30}),
        ("frame.size > 100", lambda step: len(step.frame.raw) > 100),
        ("packet == 29", lambda step: step.frame.packet == 29),
        ("from == client", lambda step: step.frame.sender == 0),
        ("from != client", lambda step: step.frame.sender == 1),
        ("connection == 2", lambda step: step.conversation.number == 2),
        ("protocol == amqp-1.0", lambda step: True),
        ("ip == 127.0.0.1 and server.port == 5680", lambda step: True),
        ("port == 1", lambda step: False),
        ("channel", lambda step: step.frame.unit.kind == "amqp"),
        ("payload > 0", named("transfer")),
        ("link", on_link(lambda link: True)),
        ("link.handle == 1", on_link(lambda link: link.handle == 1)),
        ("link.role == sender", on_link(lambda link: link.role is False)),
        ("link.address contains 'ec'", on_link(lambda link: "ec" in link.node())),
        ("delivery.id == 2 && transfer", lambda s: body(s, "delivery_id") == 2),
        ("protocol-header.id == SASL", lambda step: step.frame.raw == b"AMQP\3\1\0\0"),
        ("settled", lambda step: body(step, "settled") is True),
        ("has settled", lambda step: body(step, "settled") is not None),
        ("!settled", lambda step: body(step, "settled") is not True),
        ("settled != true", lambda step: body(step, "settled") is False),
        ("settled == 0", lambda step: body(step, "settled") is False),
        ("!(settled == true)", lambda step: body(step, "settled") is not True),
        ("disposition.settled", lambda s: named("disposition")(s) and body(s, "settled") is True),
        ("role", lambda step: body(step, "role") is not None),
        ("role == receiver", lambda step: body(step, "role") is True),
        ("snd-settle-mode == mixed", lambda step: body(step, "snd_settle_mode") == 2),
        ("code == ok", named("sasl-outcome")),
        ("not transfer and not flow", lambda step: not named("transfer", "flow")(step)),
        ("open or begin and channel == 9", named("open")),
        ("(open or begin) and channel == 9", lambda step: False),
        ("channel not in {1..9}", lambda step: step.frame.unit.kind == "amqp"),
    ],
)
def test_frames_and_performatives(text, holds):
    assert frames(OUTCOMES, text) == where(OUTCOMES, holds)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (OUTCOMES, "state == rejected && frame < 60", [46, 50]),
        (OUTCOMES, "rejected && frame < 60", [46, 50]),
        (OUTCOMES, "rejected.error.condition contains 'amqp:' && frame < 50", [46]),
        (OUTCOMES, "outcome in {released accepted} && from == server && frame < 52", [44]),
        (OUTCOMES, "delivery == 2 && frame < 50", [20, 36, 44, 47]),
        (TX, "declare", [20, 33, 46]),
        (TX, "discharge.fail", [43]),
        (TX, "discharge.txn-id == 'bogus!'", [59]),
        (TX, "txn-id == 62:6f:67:75:73:21", [59]),
        (TX, "coordinator", [11, 17]),
        (TX, "target == coordinator && coordinator.capabilities == local-transactions", [11, 17]),
        (TX, "declared && from == client", []),
        (FILTERS, "attach.source.filter.selector contains 'green'", [9, 21]),
        (FILTERS, "source.filter['apache.org:no-local-filter:list']", [10, 22]),
        (FILTERS, "attach.source.address == 'filt3'", [11, 23]),
        (FILTERS, "source.durable == unsettled-state && expiry-policy == never", [11, 23]),
        (FILTERS, "durable == unsettled-state", [11, 23]),
        (FILTERS, "application-properties.colour == 'red'", [27, 30]),
        (FILTERS, "application-properties matches '(?i)^BLUE$'", [29, 32]),
        (FILTERS, "link == dursub", [11, 16, 23]),
        (TYPES, "frame.number < 35 && header.durable", [27]),
        (TYPES, "frame.number < 35 && header.priority == 9 && priority > 8", [27]),
        (TYPES, "frame.number < 35 && properties.message-id == 'props'", [18]),
        (TYPES, "frame.number < 35 && properties.message-id == 0x10000000000", [27]),
        (TYPES, "message-id == 00000000-0000-0000-0000-000000000007", [28, 48]),
        (TYPES, "properties.user-id == 'me' && correlation-id == 0x0102", [27, 44]),
        (TYPES, "creation-time > 2023-11-14 && creation-time < '2023-11-15T00:00Z'", [27, 44]),
        (TYPES, "annotations.x-opt-a == 1 && annotations.x-opt-i == 1", [27, 44]),
        (TYPES, "message-annotations.x-opt-list == 2", [27, 44]),
        (TYPES, "message-annotations.x-opt-list[0] == 2", []),
        (TYPES, "body contains 'data sec' || body == 'string value'", [29, 31, 49, 51]),
        (TYPES, "data", [29, 49]),
        (TYPES, "amqp-sequence[1] == 'two'", [30, 50]),
        (TYPES, "amqp-sequence == 3", [30, 50]),
        (TYPES, "amqp-value.nested.a.b", [26, 43]),
        (TYPES, "amqp-value[5] == intkey", [26, 43]),
        (TYPES, "frame < 35 && message && !body", [28, 33]),
        (TYPES, "message.header && frame in {18..20}", [18, 19, 20]),
        (TYPES, "application-properties.false", []),
        (TYPES, "has application-properties.false", [18, 35]),
        (TYPES, "application-properties.double == 3.14159", [18, 35]),
        (TYPES, "application-properties.float >= 1.5", [18, 35]),
        (TYPES, "application-properties.dec32 == 5.242881E-27", [18, 35]),
        (TYPES, "application-properties.nan > 0 || application-properties.nan <= 0", []),
        (TYPES, "application-properties.nan != 0", [18, 35]),
        (TYPES, "application-properties.timestamp == 2023-11-14T22:13:20.123Z", [18, 35]),
        (TYPES, "application-properties.uuid contains '12345678-1234'", [18, 35]),
        (TYPES, "application-properties.ubyte == '200'", []),
        (CONNERROR, "error.condition matches '^amqp:'", [15, 31]),
        (CONNERROR, "close.error.condition == amqp:connection:forced", [15]),
        (BITFLIP, "malformed && !fault", []),
    ],
)  # fmt: skip
def test_states_and_messages(name, text, expected):
    assert frames(name, text) == expected


def test_time_counts_from_the_first_frame():
    first = steps(OUTCOMES)[0].frame.time
    late = where(OUTCOMES, lambda step: step.frame.time - first > 10_000_000)
    assert late
    assert frames(OUTCOMES, "transfer && channel == 7 || time > 0.01") == late


def test_time_starts_anew_with_the_next_capture():
    wanted = compile_filter("time < 60")
    for name in (TYPES, OUTCOMES):
        assert all(wanted.matches(step) for step in steps(name))


def test_missing_octets_can_be_asked_for():
    missing = where(SNAP, lambda step: step.frame.missing > 0)
    assert missing
    assert frames(SNAP, "frame.missing") == missing


def test_message_fields_belong_to_the_transfer_that_completes_it():
    found = frames(PRESETTLED, "properties")
    assert found == where(PRESETTLED, lambda step: step.event.message is not None)


@pytest.mark.parametrize(
    ("first", "last", "inside", "outside"),
    [
        (3, None, {3}, {2, 4}),
        (3, 9, {3, 5, 9}, {2, 10}),
        (0xFFFFFFFE, 1, {0xFFFFFFFE, 0xFFFFFFFF, 0, 1}, {2, 0xFFFFFFFD}),
        (Ulong(1 << 40), 5, {1 << 40, 5}, {6}),
        (5, Int(-1), {5, -1}, {0}),
        ("x", 5, set(), {5}),
        (None, 5, set(), {5}),
    ],
)
def test_disposition_is_of_all_deliveries_from_first_to_last(
    first, last, inside, outside, monkeypatch
):
    step = next(step for step in steps(TX) if step.frame.unit.name == "disposition")
    monkeypatch.setattr(step.frame.unit, "body", Disposition(role=True, first=first, last=last))
    tried = {number: compile_filter(f"delivery == {number}") for number in inside | outside}
    assert {number for number, wanted in tried.items() if wanted.matches(step)} == inside


class Finding:
    """What the linter will put into a Step."""

    def __init__(self, rule, severity, peer):
        self.rule = rule
        self.name = "transfer-without-credit"
        self.severity = severity
        self.certainty = "sure"
        self.peer = peer
        self.message = "sent without credit"
        self.path = "transfer.delivery-id"


@pytest.fixture
def found():
    step = steps(TX)[-1]
    yield step
    step.findings = []


@pytest.mark.parametrize(
    ("text", "plain", "full"),
    [
        ("finding", True, True),
        ("finding == FLW-016", True, True),
        ("finding.rule == 'FLW-016'", True, True),
        ("finding.rule == 'FLW-017'", False, False),
        ("finding.rule != 'FLW-016'", False, False),
        ("finding.severity == error", False, True),
        ("finding.severity == info and finding.peer == server", False, True),
        ("finding.certainty == sure && finding.name contains credit", False, True),
        ("finding.path == 'transfer.delivery-id' && finding.message contains credit", False, True),
    ],
)  # fmt: skip
def test_findings_as_ids_and_in_full(found, text, plain, full):
    wanted = compile_filter(text)
    assert not wanted.matches(found)
    found.findings = ["FLW-016", "SES-001"]
    assert wanted.matches(found) is plain
    found.findings = [Finding("FLW-016", "error", "client"), Finding("SES-001", "info", "server")]
    assert wanted.matches(found) is full


def test_sections_are_not_touched_unless_asked_for(monkeypatch):
    def refuse(*_):
        raise AssertionError

    expected = frames(TYPES, "transfer && link.address == types")
    monkeypatch.setattr(filter_names, "walk", refuse)
    assert frames(TYPES, "transfer && link.address == types") == expected
    assert frames(TYPES, "flow && body contains 'x'") == []


def test_each_section_is_decoded_once(monkeypatch):
    read = []
    real = filter_names.read_section
    monkeypatch.setattr(filter_names, "read_section", lambda *a: read.append(a[1].name) or real(*a))
    frames(TYPES, "frame == 27 && properties.to == 'x' || frame == 27 && properties.to == to")
    assert read == ["properties"]


OWN = [fact.name for fact in FACTS]
SPEC = """
    transfer settled state role error.info body data annotations header.ttl delivery-tag
    attach.source attach.unsettled source.filter source.capabilities[0] open.properties
    properties.message-id application-properties amqp-value amqp-value.m amqp-sequence
"""
SIGNS = "has ! not && || and or ( ) == != > <= < >= contains matches in { } .. , [ ]"
LITERALS = "1 -7 2.5 1e400 0xff 'text' \"^.\" '' 0a:ff true receiver rejected 2030-01-01 amqp:x é"
FIELDS = st.sampled_from(OWN + SPEC.split())
OPERATORS = st.sampled_from(("==", "!=", ">", ">=", "<", "<=", "contains", "matches"))
VALUES = st.sampled_from(LITERALS.split())
WORDS = FIELDS | VALUES | st.sampled_from(SIGNS.split())
TEXTS = st.lists(WORDS, max_size=9).map(" ".join) | st.text(max_size=30)


def compiled(text):
    """The filter, or what is wrong with it."""
    try:
        return compile_filter(text)
    except FilterError as error:
        return error


@given(TEXTS)
def test_any_text_compiles_or_is_refused_with_its_place(text):
    found = compiled(text)
    if isinstance(found, FilterError):
        assert 0 <= found.position <= found.position + found.length <= len(text)
        assert len(str(found).split("\n")) == 3
    else:
        for step in (*steps(TX)[::9], *steps(BITFLIP)[::9]):
            assert found.matches(step) in (True, False)


@given(FIELDS, OPERATORS, VALUES)
def test_any_comparison_can_be_asked_of_any_frame(field, operator, value):
    found = compiled(f"{field} {operator} {value}")
    if not isinstance(found, FilterError):
        for name in (TYPES, OUTCOMES, BITFLIP, SNAP):
            for step in steps(name)[::3]:
                assert found.matches(step) in (True, False)


@given(TEXTS, st.integers(0, 60))
def test_any_place_of_any_text_can_be_completed(text, cursor):
    cursor = min(cursor, len(text))
    for word in complete(text, cursor):
        assert word
