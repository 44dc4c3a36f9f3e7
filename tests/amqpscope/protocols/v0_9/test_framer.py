"""Streams of AMQP 0-9 cut into frames, with holes and damage in them."""

import pytest

from amqpscope.protocols.v0_9.framer import DialectGuess, Framer
from amqpscope.stream.types import Chunk, Connection
from dissectors.notation import parse
from dissectors.v0_9.dialects import dialect

CONNECTION = Connection(("127.0.0.1", 1), ("127.0.0.1", 5672), True)
UNITS = [
    parse("header AMQP 0.9.1"),
    parse("channel.open[1]"),
    parse('basic.publish[1] exchange="x" routing-key="some.key"'),
    parse('content-header[1] class=basic body-size=40 content-type="text/plain"'),
    parse(f"content-body[1] 0x{'61' * 40}"),
    parse("heartbeat"),
    parse('queue.declare[1] queue="q"'),
]
STREAM = b"".join(UNITS)


def framer(*, lost=False, name="0-9-1-rabbit", sure=True):
    return Framer(0, DialectGuess(dialect(name), sure), lost=lost)


def fed(cutter, data, offset=0, packet=1):
    return cutter.feed(Chunk(CONNECTION, 0, offset, data, packet, packet * 10**9, offset))


def test_a_frame_with_a_hole_is_given_with_what_is_there_and_the_next_is_found():
    cutter = framer()
    start = STREAM.index(UNITS[4])
    hole, rest = start + 20, start + len(UNITS[4])
    found = fed(cutter, STREAM[:hole])
    broken = cutter.lose(rest - hole, 2, 0)
    assert broken is not None
    assert (broken.unit.kind, broken.missing, broken.beheaded) == (
        "content-body",
        rest - hole,
        False,
    )
    found += fed(cutter, STREAM[rest:], rest)
    assert [frame.raw for frame in found] == UNITS[:4] + UNITS[5:]
    assert not any(frame.lost_before for frame in found)


def test_a_method_with_a_hole_says_that_it_was_not_read():
    cutter = framer()
    fed(cutter, UNITS[0] + UNITS[2][:12])
    broken = cutter.lose(len(UNITS[2]) - 12, 2, 0)
    assert broken is not None
    assert (broken.unit.name, broken.beheaded) == ("basic.publish", True)
    assert broken.unit.faults == []


@pytest.mark.parametrize("missing", [1, 9, 30, 75])
def test_after_lost_frames_the_next_is_found_and_says_so(missing):
    cutter = framer()
    fed(cutter, UNITS[0])
    assert cutter.lose(missing, 2, 0) is None
    found = fed(cutter, STREAM[len(UNITS[0]) + missing :], len(UNITS[0]) + missing)
    assert found
    assert found[0].lost_before
    assert all(frame.raw in UNITS for frame in found)


def test_octets_that_are_no_frame_are_one_malformed_unit():
    cutter = framer()
    found = fed(
        cutter, UNITS[0] + UNITS[1] + b"\x01\xff\xff\xff\xff\xff\xff\xff" + b"".join(UNITS[5:])
    )
    assert [frame.unit.kind for frame in found[:3]] == ["header", "method", "malformed"]
    assert [frame.raw for frame in found[3:]] == UNITS[5:]
    assert found[3].lost_before


def test_a_stream_that_begins_later_is_read_from_the_first_frame_on():
    cutter = framer(lost=True)
    found = fed(cutter, STREAM[len(UNITS[0]) + 5 :], len(UNITS[0]) + 5)
    assert [frame.raw for frame in found] == UNITS[2:]


def test_the_dialect_of_a_stream_that_begins_later_is_guessed():
    cutter = framer(lost=True, sure=False)
    raw = parse("channel.open-ok'0-8[1]") + parse('basic.consume\'0-8[1] queue="q"')
    found = fed(cutter, raw)
    assert [frame.unit.kind for frame in found] == ["method", "method"]
    assert cutter.spoken.dialect.protocol == "amqp-0-8"


def test_a_header_of_eight_octets_is_found_out_by_the_first_frame():
    cutter = framer(name="10-3")
    raw = parse("header 1 1.10.3") + parse("heartbeat[0 head=8]") * 2
    found = fed(cutter, raw)
    assert [frame.unit.name for frame in found] == ["header", "heartbeat", "heartbeat"]
    assert cutter.head == 8


def test_a_direction_that_ends_inside_a_frame_gives_it_as_cut():
    cutter = framer()
    fed(cutter, UNITS[0] + UNITS[2][:15])
    last = cutter.finish(9, 0)
    assert last is not None
    assert (last.cut, last.missing) == (True, len(UNITS[2]) - 15)
    assert cutter.finish(9, 0) is None


def test_a_large_frame_in_many_pieces_is_put_together_once():
    body = parse(f"content-body[1] 0x{'00' * 300_000}")
    cutter = framer()
    found = []
    for at in range(0, len(body), 1460):
        found += fed(cutter, body[at : at + 1460], at, at)
    assert [len(frame.raw) for frame in found] == [300_008]
    assert found[0].ack == 0


def test_damage_without_end_is_read_to_its_end():
    garbage = b"\x01\xff\xff\xff\xff\xff\xff\xff"
    cutter = framer()
    found = fed(cutter, (garbage + UNITS[1] + UNITS[5]) * 3000)
    kinds = [frame.unit.kind for frame in found]
    assert kinds == ["malformed", "method", "heartbeat"] * 3000
