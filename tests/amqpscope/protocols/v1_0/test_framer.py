"""One direction's octets cut into frames, whole, piecewise and with holes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.protocols.v1_0.framer import Framer
from amqpscope.stream.types import Chunk, Connection
from dissectors.notation import parse

UNITS = [
    parse(text)
    for text in (
        "header AMQP 1.0.0",
        'open container-id="c"',
        "begin[3] next-outgoing-id=0 incoming-window=100 outgoing-window=100",
        'transfer[3] handle=0 delivery-id=0 delivery-tag=b"1" | data(b"hello, hello, hello")',
        "empty",
        "close",
    )
]
STREAM = b"".join(UNITS)
NAMES = ["header", "open", "begin", "transfer", "empty", "close"]


def chunks(*parts, start=0, first=1):
    """One chunk per part, each in a packet of its own; an int is a hole of that many octets."""
    connection = Connection(("10.0.0.1", 40000), ("10.0.0.2", 5672), True)
    offset = start
    for packet, part in enumerate(parts, first):
        if isinstance(part, int):
            offset += part
        else:
            yield Chunk(connection, 0, offset, part, packet, packet * 1000, packet * 10)
            offset += len(part)


def cut(*parts, lost=False):
    """The frames of a stream that arrives in these parts and then ends."""
    framer = Framer(0, lost=lost)
    frames = []
    packet = 0
    offsets = {chunk.packet: chunk for chunk in chunks(*parts)}
    for packet, part in enumerate(parts, 1):
        if isinstance(part, int):
            found = framer.lose(part, packet, packet * 1000)
            frames += [] if found is None else [found]
        else:
            frames += framer.feed(offsets[packet])
    last = framer.finish(packet + 1, 0)
    return frames + ([] if last is None else [last])


def names(frames):
    return [frame.unit.name for frame in frames]


def test_whole_frames_in_one_chunk():
    frames = cut(STREAM)
    assert names(frames) == NAMES
    assert [frame.raw for frame in frames] == UNITS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_frames_are_the_same_wherever_the_stream_is_cut(places):
    edges = [0, *sorted(set(places)), len(STREAM)]
    parts = [STREAM[a:b] for a, b in pairwise(edges) if a < b]
    assert [(f.raw, f.offset) for f in cut(*parts)] == [(f.raw, f.offset) for f in cut(STREAM)]


def test_octet_by_octet():
    frames = cut(*[STREAM[i : i + 1] for i in range(len(STREAM))])
    assert [frame.raw for frame in frames] == UNITS


def test_offsets_are_places_in_the_stream():
    for frame in cut(STREAM[:20], STREAM[20:]):
        assert STREAM[frame.offset :].startswith(frame.raw)


def test_packet_and_time_are_those_of_the_last_octet():
    frame = cut(UNITS[1][:5], UNITS[1][5:9], UNITS[1][9:])[0]
    assert (frame.packet, frame.time) == (3, 3000)


def test_ack_is_that_of_the_first_octet():
    # What the sender knew when it began to write.
    frame = cut(UNITS[1][:5], UNITS[1][5:])[0]
    assert frame.ack == 10


def test_frame_with_a_hole_is_given_with_what_there_is():
    transfer = UNITS[3]
    frames = cut(UNITS[1], transfer[:40], len(transfer) - 40, UNITS[5])
    assert names(frames) == ["open", "transfer", "close"]
    assert frames[1].missing == len(transfer) - 40
    assert not frames[2].lost_before


def test_frame_with_a_hole_in_its_middle_does_not_disturb_the_next():
    transfer = UNITS[3]
    frames = cut(transfer[:30], 10, transfer[40:], UNITS[5])
    assert names(frames) == ["transfer", "close"]


def test_what_is_not_captured_is_no_damage():
    opening = parse('open container-id="a-rather-long-name" hostname="example"')
    frame = cut(opening[:30], len(opening) - 30)[0]
    assert (frame.unit.kind, frame.unit.faults, frame.missing) == ("amqp", [], len(opening) - 30)


def test_damage_before_the_hole_stays_damage():
    opening = bytearray(parse('open container-id="a-rather-long-name" hostname="example"'))
    opening[16:18] = b"\xff\xff"
    frame = cut(bytes(opening[:40]), len(opening) - 40)[0]
    assert frame.unit.kind == "malformed"
    assert [fault.kind for fault in frame.unit.faults] == ["utf8"]


@pytest.mark.parametrize("size", [-1, 7, 10**6])
def test_after_a_hole_of_unknown_extent_the_next_frame_is_found(size):
    # -1: nobody knows how many octets are missing.
    frames = cut(UNITS[1], size, UNITS[3][25:] + UNITS[2] + UNITS[3] + UNITS[5])
    assert names(frames) == ["open", "begin", "transfer", "close"]
    assert [frame.lost_before for frame in frames] == [False, True, False, False]


def test_start_in_the_middle():
    frames = cut(UNITS[3][30:] + UNITS[2] + UNITS[3] + UNITS[5], lost=True)
    assert names(frames) == ["begin", "transfer", "close"]


def test_start_at_a_segment_needs_one_frame_only():
    assert names(cut(UNITS[5], lost=True)) == ["close"]


@pytest.mark.parametrize("size", [0, 7, 0x09000000, 0xFFFFFFFF])
def test_impossible_size_is_one_malformed_unit_and_reading_goes_on(size):
    broken = size.to_bytes(4, "big") + b"\x02\0\0\0 some octets that are not a frame"
    frames = cut(UNITS[1], broken, UNITS[2] + UNITS[3] + UNITS[5])
    assert names(frames) == ["open", "malformed", "begin", "transfer", "close"]


def test_frame_that_never_ends_is_given_when_the_direction_does():
    frame = cut(UNITS[3][:35])[0]
    assert (frame.unit.name, frame.missing) == ("transfer", len(UNITS[3]) - 35)


def test_less_than_a_size_is_a_malformed_unit_at_the_end():
    frames = cut(UNITS[1], b"\0\0")
    assert names(frames) == ["open", "malformed"]


def test_what_is_held_while_lost_is_bounded():
    framer = Framer(0, lost=True)
    for chunk in chunks(*[b"\xff" * 65536] * 20):
        assert framer.feed(chunk) == []
    assert framer.held <= 256 * 1024


@given(st.lists(st.one_of(st.binary(max_size=40), st.integers(-1, 50)), max_size=20))
def test_any_octets_and_holes_give_frames(parts):
    for frame in cut(*parts):
        assert len(frame.raw) > 0
        assert frame.missing >= 0


@given(st.data())
def test_after_any_hole_no_frame_is_made_up(data):
    stream = STREAM * 4
    begin = data.draw(st.integers(0, len(stream) - 1))
    end = data.draw(st.integers(begin + 1, len(stream)))
    whole = [frame for frame in cut(stream[:begin], end - begin, stream[end:]) if not frame.missing]
    assert {frame.raw for frame in whole} <= set(UNITS)


def test_damage_without_end_is_read_to_its_end():
    data = (b"\xff" * 8 + bytes.fromhex("0000000802000000") * 3) * 1500
    connection = Connection(("c", 1), ("s", 2), True)
    frames = Framer(0).feed(Chunk(connection, 0, 0, data, 1, 0, -1))
    assert [frame.unit.kind for frame in frames[:5]] == ["malformed", *["empty"] * 3, "malformed"]
    assert len(frames) == 6000
    assert b"".join(frame.raw for frame in frames) == data


def test_octets_are_never_sent_where_the_sender_ends_inside_a_frame():
    for unsent, word in ((True, "never sent"), (False, "not captured")):
        framer = Framer(0)
        framer.feed(next(iter(chunks(b"AMQP\0\1\0\0\0\0\0\x20\2\0\0\0"))))
        frame = framer.finish(1, 0, unsent)
        assert frame is not None
        assert (frame.missing, frame.absence) == (24, word)
