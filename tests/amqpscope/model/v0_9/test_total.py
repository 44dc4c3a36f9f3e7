"""The model takes anything: any frames in any order, cut anywhere, with anything missing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpscope.model.v0_9.snapshot import snapshot
from amqpscope.stream.types import Chunk, Connection, End, Gap
from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_frame,
    encode_header,
    encode_heartbeat,
    encode_method,
)
from dissectors.v0_9.values import Table
from kit.exchange_v0_9 import every_rule, talk_of

DIALECTS = ("0-9-1-rabbit", "0-9-1", "0-9", "0-8")
VALUES = {
    # wire type: values; small ones, so that tags, queues and channels meet
    "bit": st.booleans(),
    "octet": st.sampled_from([0, 1, 9, 255]),
    "short": st.sampled_from([0, 1, 60, 200, 404]),
    "long": st.sampled_from([0, 1, 4096]),
    "longlong": st.integers(0, 4),
    "timestamp": st.just(0),
    "shortstr": st.sampled_from(["", "q", "t"]),
    "longstr": st.sampled_from(["", "PLAIN", b"\xff"]),
    "table": st.sampled_from([Table(), Table([("product", "RabbitMQ")])]),
}


@st.composite
def frames(draw, name):
    """Any frame of a dialect."""
    spoken = dialect(name)
    kind = draw(st.integers(0, 9))
    channel = draw(st.sampled_from([0, 1, 1, 1, 2]))
    if kind == 0:
        return encode_heartbeat(channel)
    if kind == 1:
        return encode_body(draw(st.sampled_from([b"", b"12", b"12345"])), channel)
    if kind == 2:
        size = draw(st.sampled_from([0, 2, 5]))
        return encode_content_header(spoken, "basic", size, {}, channel)
    if kind == 3:
        return encode_frame(draw(st.integers(0, 12)), channel, draw(st.binary(max_size=30)))
    if kind == 4 and draw(st.booleans()):
        return encode_header(spoken)
    plan = draw(st.sampled_from([plan for plan in spoken.by_name.values() if plan.certain]))
    fields = {
        field.name: draw(VALUES[field.type]) for field in plan.row.fields if field.type in VALUES
    }
    if any(field.type == "content" for field in plan.row.fields):
        return encode_heartbeat(channel)
    return encode_method(spoken, plan.name, fields, channel)


@st.composite
def conversations(draw):
    """Frames of both peers in any order, with a header first or not."""
    name = draw(st.sampled_from(DIALECTS))
    units = [(0, encode_header(dialect(name)))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 30))):
        units.append((draw(st.integers(0, 1)), draw(frames(name))))
    return units, draw(st.booleans()), draw(st.sets(st.integers(0, 30), max_size=3))


@settings(max_examples=200)
@given(conversations())
def test_any_frames_in_any_order_are_taken(case):
    units, complete, lost = case
    connection = Connection(("127.0.0.1", 1), ("127.0.0.1", 5672), complete)
    talk = talk_of(connection, units[0][1])
    ends, count = [0, 0], 0
    for place, (sender, raw) in enumerate(units):
        found = []
        if place in lost:
            piece = Gap(connection, sender, ends[sender], len(raw), place, place * 10**9)
            broken = talk.gap(piece)
            found = [] if broken is None else [broken]
        else:
            acked = ends[1 - sender] if place % 3 else -1
            chunk = Chunk(connection, sender, ends[sender], raw, place, place * 10**9, acked)
            found = talk.chunk(chunk)
        ends[sender] += len(raw)
        for frame in found:
            count += 1
            frame.number = count
            talk.take(frame, every_rule())
        if place in lost:
            talk.lose(piece)
        snapshot(talk.tracker.connection)
    for sender in (0, 1):
        talk.finish(End(connection, sender, "fin", 0, 0), every_rule())


@pytest.mark.parametrize("size", [1, 3, 7, 8, 64])
def test_frames_are_the_same_however_the_stream_is_cut(size):
    spoken = dialect("0-9-1-rabbit")
    raws = [
        encode_header(spoken),
        encode_heartbeat(),
        encode_method(spoken, "basic.publish", {"routing-key": "k"}, 1),
        encode_content_header(spoken, "basic", 300, {"content-type": "text/plain"}, 1),
        encode_body(bytes(300), 1),
        encode_heartbeat(),
    ]
    stream = b"".join(raws)
    connection = Connection(("127.0.0.1", 1), ("127.0.0.1", 5672), True)
    talk = talk_of(connection, stream)
    found = []
    for at in range(0, len(stream), size):
        chunk = Chunk(connection, 0, at, stream[at : at + size], at, at, at)
        found += talk.chunk(chunk)
    assert [frame.raw for frame in found] == raws
    offsets = [sum(map(len, raws[:place])) for place in range(len(raws))]
    assert [frame.offset for frame in found] == offsets
    # The ACK number is that of the segment in which a frame begins.
    assert [frame.ack for frame in found] == [offset - offset % size for offset in offsets]
