"""Values to octets: canonical, or any encoding that is asked for."""

import pytest
from hypothesis import given

from dissectors.v1_0.bodies import Accepted, Begin, Flow, Open, SaslInit, Transfer
from dissectors.v1_0.codec import decode
from dissectors.v1_0.compounds import MAX_DEPTH
from dissectors.v1_0.encode import As, Spelled, encode, encode_frame, encode_header, encode_message
from dissectors.v1_0.framing import decode_unit
from dissectors.v1_0.values import (
    Array,
    Byte,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    same,
)
from kit.dissectors.samples import octets
from kit.dissectors.strategies_v1_0 import any_body, frames, values

# fmt: off
CANONICAL = [
    (None, "40"), (True, "41"), (False, "42"),
    (Ubyte(0), "50 00"), (Ushort(1), "60 00 01"), (Byte(-1), "51 ff"), (Short(-2), "61 ff fe"),
    (Uint(0), "43"), (Uint(1), "52 01"), (Uint(255), "52 ff"), (Uint(256), "70 00 00 01 00"),
    (Ulong(0), "44"), (Ulong(255), "53 ff"), (Ulong(256), "80 00 00 00 00 00 00 01 00"),
    (Int(0), "54 00"), (Int(127), "54 7f"), (Int(-128), "54 80"), (Int(128), "71 00 00 00 80"),
    (Long(-129), "81 ff ff ff ff ff ff ff 7f"), (Long(5), "55 05"), (5, "55 05"),
    ("", "a1 00"), (b"", "a0 00"), (Symbol(""), "a3 00"),
    ([], "45"), ([None], "c0 02 01 40"), (Map(), "c1 01 00"),
    (Array(0x70, [Uint(1)]), "e0 06 01 70 00 00 00 01"),
    (Accepted(), "00 53 24 45"),
    (Transfer(handle=0), "00 53 14 c0 02 01 43"),
    (Transfer(more=False), "00 53 14 c0 07 06 40 40 40 40 40 42"),
]
# fmt: on


@pytest.mark.parametrize(("value", "raw"), CANONICAL)
def test_the_canonical_encoding_is_the_shortest(value, raw):
    assert encode(value) == octets(raw)


@pytest.mark.parametrize(
    ("made", "short", "wide"),
    [
        (lambda n: b"x" * n, 0xA0, 0xB0),
        (lambda n: "x" * n, 0xA1, 0xB1),
        (lambda n: Symbol("x" * n), 0xA3, 0xB3),
        (lambda n: [None] * (n - 1), 0xC0, 0xD0),
        (lambda n: Array(0x50, [Ubyte(1)] * (n - 2)), 0xE0, 0xF0),
    ],
)
def test_the_wide_form_begins_at_256_octets(made, short, wide):
    assert encode(made(255))[0] == short
    assert encode(made(256))[0] == wide


def test_a_count_past_255_needs_the_wide_form():
    assert encode(Array(0x40, [None] * 255))[0] == 0xE0
    assert encode(Array(0x40, [None] * 256))[0] == 0xF0
    assert encode(Map([(None, None)] * 127))[0] == 0xC1
    assert encode(Map([(None, None)] * 128))[0] == 0xD1


@pytest.mark.parametrize(
    ("declared", "code"), [("uint", 0x52), ("ulong", 0x53), ("ubyte", 0x50), ("*", 0x55)]
)
def test_a_plain_int_is_of_the_declared_type(declared, code):
    assert encode(7, declared)[0] == code


@pytest.mark.parametrize(
    "value",
    [As(0x43, Uint(1)), As(0x52, Uint(256)), As(0x50, -1),
     As(0xA0, b"x" * 256), As(0xC0, [None] * 256),
     As(0x41, False), As(0x45, [None]), Transfer(handle=2**32), Transfer(handle=-1)],
)  # fmt: skip
def test_what_does_not_fit_its_encoding_is_refused(value):
    with pytest.raises((ValueError, OverflowError)):
        encode(value)


def test_another_encoding_of_a_field():
    body = Flow(incoming_window=As(0x70, 1), next_outgoing_id=As(0x52, 0))
    assert encode(body) == octets("00 53 13 c0 09 03 40 70 00 00 00 01 52 00")


@pytest.mark.parametrize(
    ("spelled", "raw"),
    [
        (
            Spelled(Accepted(), Symbol("amqp:accepted:list")),
            "00 a3 12" + b"amqp:accepted:list".hex() + "45",
        ),
        (Spelled(Accepted(), As(0x80, Ulong(0x24))), "00 80 00 00 00 00 00 00 00 24 45"),
        (Spelled(Accepted(), Ulong(0x24), 0xC0), "00 53 24 c0 01 00"),
        (Spelled(Accepted(), Ulong(0x24), 0xD0), "00 53 24 d0 00 00 00 04 00 00 00 00"),
        (As(0xD0, Transfer(handle=0)), "00 53 14 d0 00 00 00 05 00 00 00 01 43"),
        (Spelled(Transfer(handle=0), Ulong(0x14), None, 3), "00 53 14 c0 04 03 43 40 40"),
    ],
)
def test_another_spelling_of_a_body(spelled, raw):
    assert encode(spelled) == octets(raw)
    assert not decode(octets(raw))[1]


def test_deeply_nested_values_take_no_more_time_than_octets():
    value = []
    for _ in range(MAX_DEPTH):
        value = [value]
    assert same(decode(encode(value))[0], value)


@given(values)
def test_encoding_is_stable(value):
    raw = encode(value)
    assert encode(decode(raw)[0]) == raw


@given(any_body)
def test_a_frame_comes_back_whole(body):
    raw = encode_frame(body, channel=9, payload=b"rest", extended=b"ext.")
    unit = decode_unit(raw)
    assert unit.body == body
    assert (unit.channel, unit.doff, raw[unit.payload :]) == (9, 3, b"rest")


@given(frames())
def test_the_size_of_a_frame_is_right(raw):
    assert int.from_bytes(raw[:4], "big") == len(raw)


@pytest.mark.parametrize(
    ("body", "type"), [(Begin(), 0), (SaslInit(), 1), (As(0xD0, SaslInit()), 1), (None, 0)]
)
def test_the_frame_type_follows_the_body(body, type):
    assert encode_frame(body)[5] == type


def test_the_frame_type_can_be_forced():
    assert encode_frame(Open(), type=1)[5] == 1


def test_an_extended_header_is_a_whole_number_of_words():
    with pytest.raises(ValueError, match="four octets"):
        encode_frame(extended=b"odd")


def test_a_protocol_header():
    assert encode_header() == b"AMQP\0\1\0\0"
    assert encode_header(3) == b"AMQP\3\1\0\0"


def test_a_message():
    assert encode_message([("data", b"a"), ("amqp-value", None)]) == octets(
        "00 53 75 a0 01 61 00 53 77 40"
    )
