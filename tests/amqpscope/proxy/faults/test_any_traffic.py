"""Faults on real traffic of all kinds: nothing raises, and what no fault acts on is unchanged."""

import gc
import itertools
import tracemalloc

import pytest

from amqpscope.capture.pieces import Pieces
from amqpscope.protocols.peers import CannotApplyError
from amqpscope.proxy.faults import FaultSet, parse_fault
from amqpscope.proxy.faults.actions import FORMS
from amqpscope.proxy.faults.layer import FaultLayer
from amqpscope.stream.types import CLIENT, SERVER, Chunk
from dissectors.notation import parse
from kit import CAPTURES
from kit.benchmarks.traffic import DISPOSITION, SETUP, TRANSFER, numbered
from kit.proxy.wire import Outside

WRITTEN = {
    "delay": "delay 1ms",
    "set": "set handle=1 delivery-tag=0x00",
    "replace": 'replace transfer | amqp-value("x")',
    "inject": "inject empty",
    "slice": "slice 3",
    "rate": "rate 1000kB/s",
}
SMALL = 40_000
"""Octets of a capture that is played with every action."""
CARRIED = sorted(path.name for path in CAPTURES.glob("*.pcap*") if path.stat().st_size <= SMALL)[
    ::3
]


def conversations(name):
    """The octets of each connection of a capture, in order: who sent them, and which."""
    found = {}
    with Pieces(str(CAPTURES / name)) as pieces:
        for batch in pieces:
            for piece in batch:
                if isinstance(piece, Chunk) and piece.connection.complete:
                    found.setdefault(piece.connection, []).append((piece.sender, piece.data))
    return list(found.values())


def played(conversation, *rules, decide=None):
    outside = Outside()
    faults = FaultSet([parse_fault(rule) for rule in rules])
    layer = FaultLayer(faults, outside)
    for side, octets in conversation:
        layer.feed(side, octets)
        if decide is not None:
            decide(faults)
            layer.pump()
    for side in (0, 1):
        layer.end(side)
    if decide is not None:
        decide(faults, last=True)
        layer.pump()
    assert not [text for text in outside.reports if "bug" in text], outside.reports
    return outside, faults


@pytest.mark.parametrize("name", CARRIED)
def test_what_no_fault_acts_on_passes_as_it_is(name):
    for conversation in conversations(name):
        outside, _ = played(conversation, "frame => drop skip=1000000000")
        for side in (0, 1):
            assert outside.sent[side] == b"".join(o for s, o in conversation if s == side)


@pytest.mark.parametrize("action", sorted(FORMS))
def test_no_traffic_makes_an_action_fail(action):
    text = WRITTEN.get(action, action)
    for name, chance in itertools.product(CARRIED[::4], ("0.1", "1")):
        for seed, conversation in enumerate(conversations(name)[:3]):
            played(conversation, f"frame => {text} chance={chance} seed={seed}")


@pytest.mark.parametrize("name", CARRIED[::2])
def test_what_is_held_and_resumed_passes_as_it_came(name):
    def resume(faults, last=False):
        while faults.held and (last or next(iter(faults.held)) % 3):
            faults.held[next(iter(faults.held))].resume()

    for conversation in conversations(name)[:4]:
        outside, faults = played(conversation, "frame => hold", decide=resume)
        assert faults.faults[0].acted or not faults.faults[0].matched
        for side in (0, 1):
            assert outside.sent[side] == b"".join(o for s, o in conversation if s == side)


@pytest.mark.parametrize(
    "decision", ["edit", "replace", "drop", "duplicate", "reject", "disconnect"]
)
def test_no_traffic_makes_a_decision_fail(decision):
    def decide(faults, last=False):
        for held in list(faults.held.values()):
            try:
                if decision == "edit":
                    held.edit(held.notation)
                elif decision == "replace":
                    held.edit("octets 0x00")
                else:
                    held.act(decision)
            except (CannotApplyError, ValueError):
                if held.number in faults.held:
                    held.resume()

    for name in CARRIED[::4]:
        for conversation in conversations(name)[:3]:
            _, faults = played(conversation, "frame => hold every=3", decide=decide)
            assert not faults.held or decision == "disconnect"


def test_octet_by_octet_the_same_frames_are_met():
    (conversation, *_) = conversations("demo.pcapng")
    pieces = [
        (side, octets[n : n + 1]) for side, octets in conversation for n in range(len(octets))
    ]
    rule = "transfer => set message-format=5 every=2"
    whole, faults = played(conversation, rule)
    cut, same = played(pieces, rule)
    assert faults.describe() == same.describe()
    assert faults.faults[0].acted > 0
    assert whole.sent == cut.sent


NEVER = "frame => drop skip=1000000000"
"""Every frame could match it, so every model follows every frame."""


@pytest.mark.parametrize(
    "rules",
    [
        ["detach || channel.close => duplicate"],
        ["transfer && from == client || basic.publish => drop every=3"],
        ["transfer && from == server || basic.deliver => duplicate every=2 times=4"],
        ["disposition && from == client || basic.ack => drop skip=1 times=1", "close => delay 0s"],
        ["flow && from == server => set link-credit=3 times=1", "content-header => drop skip=1"],
        ["transfer && from == client && link.role == sender => release skip=2 times=2"],
        ['transfer && link.address contains "e" => drop skip=1 every=2', "detach => drop skip=9"],
        ["flow => duplicate skip=2 times=1", 'transfer && link.address == "nowhere" => drop'],
        ["disposition && state == accepted => drop skip=1 every=3"],
        ["transfer && !settled && frame.size < 200 => duplicate every=2"],
        ['link.name contains "1" && !attach => duplicate skip=3 every=5'],
        ['basic.publish && routing-key != "" => reject skip=1 every=2'],
        ["basic.deliver && redelivered == false => duplicate skip=1", "basic.ack => delay 0s"],
        ["content-header.body-size > 3 => duplicate every=3 skip=1 times=1"],
        ["content-body && from == client => delay 0s", "basic.get-ok => accept"],
    ],
    ids=lambda rules: rules[0].partition(" => ")[0],
)
def test_the_short_way_of_frames_leads_to_the_same(rules):
    acted = 0
    for name in CARRIED:
        for conversation in conversations(name)[:4]:
            if conversation[0][1].startswith(b"GET "):
                continue  # what is put around the frames is random
            short, faults = played(conversation, *rules)
            whole, same = played(conversation, *rules, NEVER)
            assert faults.describe() == same.describe()[:-1], name
            assert short.sent == whole.sent, name
            acted += faults.faults[0].acted
    assert acted > 0


@pytest.mark.parametrize("sender", ["client", "server"])
def test_a_fault_that_comes_late_finds_what_passed_in_the_short_way_counted(sender):
    late = f"(transfer || basic.publish || basic.deliver) && from == {sender} => duplicate"
    acted = 0
    for name in CARRIED:
        for conversation in conversations(name)[:4]:
            if conversation[0][1].startswith(b"GET "):
                continue
            sent = []
            for first in ("close => drop skip=1000000000", NEVER):
                left = [len(conversation) * 2 // 3]

                def add(faults, last=False, left=left):
                    left[0] -= 1
                    if not left[0]:
                        faults.add(parse_fault(late))

                outside, faults = played(conversation, first, decide=add)
                sent.append((outside.sent, faults.describe()[-1]))
                acted += faults.faults[-1].acted
            assert sent[0] == sent[1], name
    assert acted > 10


@pytest.mark.parametrize(
    "rule",
    [
        "transfer => drop skip=1000000000",
        'transfer && link.address == "nowhere" => drop',
        "disposition && state == released => drop",
        "frame.size > 1000000 => drop",
    ],
)
def test_a_watched_connection_keeps_nothing_of_messages_that_pass(rule):
    opening = [(sender, parse(unit.replace("=1000", "=2000000000"))) for sender, unit in SETUP]

    def passed(first, last):
        both = (CLIENT, TRANSFER), (SERVER, DISPOSITION)
        return [(side, numbered(frame, n)) for n in range(first, last) for side, frame in both]

    faults = FaultSet([parse_fault(rule)])
    outside = Outside()
    outside.emit = lambda *_: None  # which would keep all of it
    layer = FaultLayer(faults, outside)
    for side, octets in [*opening, *passed(0, 500)]:
        layer.feed(side, octets)
    tracemalloc.start()
    for side, octets in passed(500, 2000):
        layer.feed(side, octets)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 100_000
    assert not outside.is_split
