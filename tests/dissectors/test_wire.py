"""Numbers, protocol headers and units: what every family has on the wire."""

import pytest

from dissectors import wire
from dissectors.errors import Damage
from dissectors.notation import parse
from dissectors.v0_9 import framing as v0_9
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v1_0 import framing as v1_0
from dissectors.wire import NO_FAULTS, Header, u16, u32, u64

OCTETS = bytes.fromhex("ff 0102 03040506 0708090a0b0c0d0e")


def test_numbers_are_big_endian():
    assert (u16(OCTETS, 1), u32(OCTETS, 3), u64(OCTETS, 7)) == (
        0x0102,
        0x03040506,
        0x0708090A0B0C0D0E,
    )
    assert u64(bytes([255]) * 8, 0) == 2**64 - 1


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (Header(0, 1, 0, 0), "AMQP 1.0.0"),
        (Header(3, 1, 0, 0), "SASL 1.0.0"),
        (Header(1, 1, 0, 10), "id 1 1.0.10"),
    ],
)
def test_a_header_as_people_read_it(header, text):
    assert str(header) == text


def decoded(text):
    """A unit by each family that can have it."""
    raw = parse(text)
    return [v1_0.decode_unit(raw), v0_9.decode_unit(raw, dialect(DEFAULT))]


def test_both_families_read_a_protocol_header_alike():
    for unit in decoded("header AMQP 0.9.1"):
        assert isinstance(unit, wire.Unit)
        assert (unit.kind, unit.name, unit.title, unit.head) == ("header", "header", "header", 0)
        assert unit.header == Header(0, 0, 9, 1)
        assert unit.faults is NO_FAULTS


def test_a_unit_knows_the_size_of_its_own_header():
    assert v1_0.decode_unit(parse("empty[0 extended=0x00000000]")).head == 12
    assert v0_9.decode_unit(parse("heartbeat"), dialect(DEFAULT)).head == 7


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [('open container-id="c"', "open", "open"), ("body[0] @:x [1]", "amqp", "unknown")],
)
def test_what_has_no_name_is_listed_as_unknown(text, name, title):
    unit = v1_0.decode_unit(parse(text))
    assert (unit.name, unit.title) == (name, title)


def test_octets_that_are_no_unit_are_damage_in_both_families():
    for unit in decoded("octets 0x010203"):
        assert unit.kind == "malformed"
        assert [fault.kind for fault in unit.faults] == [Damage.FRAME]
