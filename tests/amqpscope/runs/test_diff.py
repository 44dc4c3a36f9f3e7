"""Two captures compared: one change gives one difference, another run of the same gives none."""

import pytest

from amqpscope.insight.diff.differences import Scope, covers
from amqpscope.insight.diff.generated import without_generated
from amqpscope.protocols.v0_9 import peers_edit as edit_v0_9
from amqpscope.protocols.v1_0.peers_edit import field_changes, rebuild
from amqpscope.runs.diff import DiffSettings, compare_captures
from dissectors.notation import parse
from dissectors.v1_0.bodies import Released
from dissectors.v1_0.values import Symbol
from kit.edited import Edited

OUTCOMES = "captures/v10_proton-labbroker_outcomes.pcap"
SIMPLE = "captures/v10_proton-labbroker_simple.pcap"
DETACH = "captures/v10_proton-labbroker_detach.pcap"
ERRORS = "captures/v10_rhea-rabbitmq_errors.pcap"
CONFIRMS = "captures/v091_pika_confirm_return-rabbitmq.pcap"
GET = "captures/accused/R5-segment-begins-with-AMQPLAIN.pcap"
CHANNELS = "captures/v091_pika_multichan-rabbitmq.pcap"
ANOTHER_TIME = (0, 3600)
"""Seconds: a copy of the same recording, and one that was made later."""


def compare(a, b, **how):
    return compare_captures(str(a), str(b), DiffSettings(**how))


def shown(diff):
    return [(each.kind, each.path) for each in diff.differences if each.kind != "finding"]


@pytest.fixture
def edited(root, tmp_path):
    """Compare a capture with itself, after something was done to it."""

    def edit(path, change, seconds=0, **how):
        original, other = Edited(root / path), Edited(root / path)
        change(other)
        other.later(seconds)
        a, b = original.write(tmp_path / "a.pcapng"), other.write(tmp_path / "b.pcapng")
        return compare(a, b, **how)

    return edit


def settle(step, **fields):
    body = step.event.unit.body
    return rebuild(step.frame.raw, step.event.unit, field_changes(body, fields))


@pytest.mark.parametrize("seconds", ANOTHER_TIME)
@pytest.mark.parametrize("path", [OUTCOMES, ERRORS, CONFIRMS, CHANNELS])
def test_the_same_is_equal_also_at_another_time(edited, path, seconds):
    diff = edited(path, lambda capture: None, seconds)
    assert (diff.equal, diff.copies) == (True, not seconds)


@pytest.mark.parametrize("seconds", ANOTHER_TIME)
@pytest.mark.parametrize(
    ("path", "name"),
    [
        (SIMPLE, "open"), (SIMPLE, "begin"), (SIMPLE, "attach"), (SIMPLE, "flow"),
        (SIMPLE, "transfer"), (DETACH, "detach"), (ERRORS, "close"),
        (CONFIRMS, "queue.declare"), (CONFIRMS, "basic.return"), (CHANNELS, "channel.open"),
    ],
)  # fmt: skip
def test_one_frame_less_is_one_missing_frame(edited, path, name, seconds):
    diff = edited(path, lambda capture: capture.without(capture.frame(name)), seconds)
    assert shown(diff) == [("missing", name)]


@pytest.mark.parametrize("seconds", ANOTHER_TIME)
def test_one_other_field_is_one_change_with_both_values(edited, seconds):
    def change(capture):
        step = capture.frame("open")
        capture.with_octets(step, settle(step, **{"channel-max": 7}))

    diff = edited(SIMPLE, change, seconds)
    assert shown(diff) == [("changed", "open.channel-max")]
    (found,) = diff.differences[:1]
    assert (found.a.frame, found.b.frame, found.b.value) == (found.a.frame, found.a.frame, 7)


@pytest.mark.parametrize("seconds", ANOTHER_TIME)
def test_one_other_argument_is_one_change(edited, seconds):
    def change(capture):
        step = capture.frame("queue.declare")
        capture.with_octets(step, edit_v0_9.rebuild(step.event.unit, {"durable": True}))

    assert shown(edited(CONFIRMS, change, seconds)) == [("changed", "queue.declare.durable")]


@pytest.mark.parametrize(
    ("path", "name", "fields", "change"),
    [
        (SIMPLE, "transfer", {"handle": 9}, "transfer.handle"),
        (SIMPLE, "sasl-init", {"mechanism": Symbol("PLAIN")}, "sasl-init.mechanism"),
        (DETACH, "detach", {"handle": 9}, "detach.handle"),
    ],
)
def test_a_field_that_moves_a_frame_elsewhere_is_one_change_in_a_copy(
    edited, path, name, fields, change
):
    def move(capture):
        step = capture.frame(name)
        capture.with_octets(step, settle(step, **fields))

    assert shown(edited(path, move)) == [("changed", change)]


def test_another_channel_is_one_change_in_a_copy(edited):
    def move(capture):
        step = capture.frame("transfer")
        raw = step.frame.raw
        capture.with_octets(step, raw[:6] + b"\0\x05" + raw[8:])

    (found,) = (each for each in edited(SIMPLE, move).differences if each.kind != "finding")
    assert (found.path, found.a.value, found.b.value) == ("channel", 0, 5)


@pytest.mark.parametrize("seconds", ANOTHER_TIME)
@pytest.mark.parametrize("name", ["begin", "attach", "transfer"])
def test_a_frame_that_comes_twice_is_one_extra_frame(edited, name, seconds):
    def repeat(capture):
        step = capture.frame(name)
        capture.with_octets(step, step.frame.raw * 2)

    assert shown(edited(SIMPLE, repeat, seconds)) == [("extra", name)]


def test_an_answer_to_a_delivery_that_is_missing_is_no_difference_of_its_own(edited):
    diff = edited(GET, lambda capture: capture.without(capture.frame("basic.get-ok")), 3600)
    assert shown(diff) == [("missing", "basic.get-ok")]


def test_what_was_credit_and_drains_now_is_one_change(edited):
    def drain(capture):
        step = capture.frame("flow")
        capture.with_octets(step, settle(step, drain=True))

    assert shown(edited(SIMPLE, drain, 3600)) == [("changed", "flow.drain")]


@pytest.mark.parametrize("seconds", ANOTHER_TIME)
def test_one_other_outcome_is_one_difference_however_many_deliveries_it_is_of(edited, seconds):
    def change(capture):
        found = [
            step for step in capture.steps
            if step.event.name == "disposition" and len(step.event.covers) > 1
        ]  # fmt: skip
        capture.with_octets(found[0], settle(found[0], state=Released()))

    diff = edited(OUTCOMES, change, seconds)
    assert shown(diff) == [("outcome", "disposition.state")]
    assert diff.differences[0].b.value == "released"


@pytest.mark.parametrize("seconds", ANOTHER_TIME)
def test_another_spelling_of_the_same_is_no_difference(edited, seconds):
    def change(capture):
        step = capture.frame("flow")
        body = step.event.unit.body
        wide = body.link_credit.to_bytes(4, "big")
        place = [field.name for field in body.row.fields].index("link-credit")
        capture.with_octets(step, rebuild(step.frame.raw, step.event.unit, {place: b"\x70" + wide}))

    assert edited(SIMPLE, change, seconds).equal


def test_what_counts_down_is_compared_only_in_copies_and_when_asked_for(edited):
    def change(capture):
        step = capture.frame("flow")
        capture.with_octets(step, settle(step, **{"incoming-window": 5}))

    path = [("changed", "flow.incoming-window")]
    assert shown(edited(SIMPLE, change)) == path
    assert shown(edited(SIMPLE, change, 3600)) == []
    assert shown(edited(SIMPLE, change, 3600, exact=True)) == path


def test_ignored_paths_do_not_count(edited):
    def change(capture):
        step = capture.frame("open")
        capture.with_octets(step, settle(step, **{"channel-max": 7, "hostname": "h"}))

    wanted = Scope(ignore=("open.channel-max", "CON"))
    assert shown(edited(SIMPLE, change, scope=wanted)) == [("changed", "open.hostname")]
    assert edited(SIMPLE, change, scope=Scope(only=("transfer",))).equal


@pytest.mark.parametrize(
    ("pattern", "path", "is_meant"),
    [
        ("flow", "flow.link-credit", True),
        ("open.properties", "open.properties.product", True),
        ("*.channel-max", "open.channel-max", True),
        ("open", "opening", False),
        ("flow.link-credit", "flow", False),
    ],
)
def test_a_path_means_what_lies_below_it(pattern, path, is_meant):
    assert covers(pattern, path) == is_meant


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("fec61eb2-7a51-4ad6-850a-c3fa090ecdc4-orders", "*-orders"),
        ("ctag1.9f3b2a7c8d", "ctag1.*"),
        ("amq.gen-JEVsjCTRk-kNVmMfHAeTTw", "*"),
        ("key JzTY20BRgKO2Hjg3XAdO1Q", "key *"),
        ("order-4711", "order-4711"),
        ("m0xxxxxxxxxxxxxxxxxxxx", "m0xxxxxxxxxxxxxxxxxxxx"),
        ("deadbeat", "deadbeat"),
    ],
)
def test_only_what_was_made_up_is_left_out_of_a_name(text, left):
    assert without_generated(text) == left


def test_links_may_interleave_in_any_way(edited):
    """Two transfers of different links change places."""

    def change(capture):
        for a, b in zip(capture.steps, capture.steps[1:], strict=False):
            links = [step.talk.voice.address(step.event) for step in (a, b)]
            names = {step.event.name for step in (a, b)}
            if names == {"attach"} and a.frame.sender == b.frame.sender and all(links):
                capture.with_octets(a, b.frame.raw)
                capture.with_octets(b, a.frame.raw)
                return
        pytest.fail("no two attaches in a row")

    assert edited("captures/v10_proton-labbroker_manylinks.pcap", change).equal


def test_a_connection_of_a_capture_is_chosen_by_its_number(root):
    path = root / OUTCOMES
    assert compare(f"{path}#2", f"{path}#2").pairs == [(2, 2)]
    assert not compare(f"{path}#1", f"{path}#2").equal


def test_rules_that_only_one_breaks_are_named(edited):
    def change(capture):
        step = capture.frame("transfer")
        capture.with_octets(step, parse('transfer[0] handle=9 delivery-id=0 delivery-tag=b"x"'))

    diff = edited(SIMPLE, change)
    assert {each.path for each in diff.differences if each.kind == "finding"} >= {"LNK-005"}
