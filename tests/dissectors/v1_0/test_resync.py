"""Where frames begin in octets whose start is unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.notation import parse
from dissectors.v1_0.resync import find_frame
from dissectors.wire import LARGEST

FLOW = parse(
    "flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=0"
)
CLOSE = parse("close")
HEADER = parse("header AMQP 1.0.0")


@pytest.mark.parametrize(
    "unit",
    [
        "close",
        "empty",
        "sasl-outcome code=ok",
        "close'80",
        "close'symbol",
        "close'd0",
        "begin[9] next-outgoing-id=0 incoming-window=1 outgoing-window=1",
        "close[0 extended=0x00000000]",
    ],
)
def test_one_frame_at_the_start_of_a_segment_is_enough(unit):
    assert find_frame(parse(unit), True) == 0


@pytest.mark.parametrize(
    "before", [b"", b"\0", b"\0\0\0", b"payload", b"\0\0\0\x10\x02\0", bytes(9)]
)
def test_a_chain_is_found_behind_other_octets(before):
    assert find_frame(before + FLOW * 3, False) == len(before)


def test_one_frame_within_a_segment_is_not_enough():
    assert find_frame(b"xx" + FLOW[:-1], False) == -1


def test_one_frame_that_ends_the_segment_is():
    assert find_frame(b"payload" + CLOSE, False) == 7


def test_a_protocol_header_is_a_place_too():
    assert find_frame(b"payload" + HEADER, False) == 7


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"\0\0\0",
        bytes(64),
        b"\xff" * 64,
        (LARGEST + 1).to_bytes(4, "big") + b"\x02\0\0\0\0\x53\x18\x45",
        b"\0\0\0\x0c\x01\0\0\0\0\x53\x18\x45",  # data offset 1
        b"\0\0\0\x0c\x02\x05\0\0\0\x53\x18\x45",  # frame type 5
        b"\0\0\0\x0c\x02\0\0\0\0\x53\x70\x45",  # a section, no performative
        b"AMQP",
        b"AMQPxxxx",
    ],
)
def test_what_looks_a_little_like_a_frame_is_none(octets):
    assert find_frame(octets, True) == -1


@given(st.binary(max_size=200), st.booleans())
def test_any_octets_give_a_place_inside_or_none(octets, at_segment):
    assert -1 <= find_frame(octets, at_segment) < max(len(octets), 1)
