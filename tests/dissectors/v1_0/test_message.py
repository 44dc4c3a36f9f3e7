"""Sections of a message, walked and read."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.errors import Damage
from dissectors.v1_0.bodies import Header, Properties
from dissectors.v1_0.compounds import MAX_EMPTY_ELEMENTS
from dissectors.v1_0.encode import encode_message
from dissectors.v1_0.framing import decode_unit
from dissectors.v1_0.message import MAX_SECTIONS, read_section, skip, walk
from dissectors.v1_0.tables import SECTIONS
from dissectors.v1_0.values import Described, Map, Symbol, Uint, Ulong, same
from kit.dissectors.samples import captures, octets, units
from kit.dissectors.strategies_v1_0 import messages

MESSAGE = [
    ("header", Header(durable=True)),
    ("delivery-annotations", Map([(Symbol("x-a"), Uint(1))])),
    ("message-annotations", Map([(Symbol("x-b"), "b")])),
    ("properties", Properties(message_id=Ulong(1), content_type=Symbol("text/plain"))),
    ("application-properties", Map([("k", None), ("k", 1.5)])),
    ("data", b"one"),
    ("data", b""),
    ("amqp-sequence", [Uint(1), "x"]),
    ("amqp-sequence", []),
    ("amqp-value", Described(Symbol("x"), [])),
    ("footer", Map([(Symbol("x-c"), b"")])),
]


def test_all_sections_in_order_and_what_they_hold():
    data = encode_message(MESSAGE)
    sections, fault = walk(data)
    assert fault is None
    assert [section.name for section in sections] == [name for name, _ in MESSAGE]
    for section, (_, value) in zip(sections, MESSAGE, strict=True):
        found, faults = read_section(data, section)
        assert not faults
        assert same(found, value)


def test_sections_touch_each_other_and_cover_the_message():
    data = encode_message(MESSAGE)
    sections, _ = walk(data)
    assert [s.start for s in sections] == [0, *(s.stop for s in sections[:-1])]
    assert sections[-1].stop == len(data)


def test_no_octets_are_no_sections():
    assert walk(b"") == ([], None)


SYMBOLS = {
    0x70: "amqp:header:list",
    0x71: "amqp:delivery-annotations:map",
    0x72: "amqp:message-annotations:map",
    0x73: "amqp:properties:list",
    0x74: "amqp:application-properties:map",
    0x75: "amqp:data:binary",
    0x76: "amqp:amqp-sequence:list",
    0x77: "amqp:amqp-value:*",
    0x78: "amqp:footer:map",
}


@pytest.mark.parametrize("code", SECTIONS)
@pytest.mark.parametrize("spelling", ["ulong", "sym8", "sym32"])
def test_a_section_by_its_other_descriptors(code, spelling):
    symbol = SYMBOLS[code].encode()
    descriptor = {
        "ulong": b"\x80" + code.to_bytes(8, "big"),
        "sym8": b"\xa3" + bytes((len(symbol),)) + symbol,
        "sym32": b"\xb3" + len(symbol).to_bytes(4, "big") + symbol,
    }[spelling]
    sections, fault = walk(b"\0" + descriptor + b"\x45")
    assert fault is None
    assert [section.code for section in sections] == [code]


@pytest.mark.parametrize(
    "raw",
    [
        "00 53 24 45",
        "00 a3 01 78 45",
        "00 44 41",
        "00 00 53 01 53 02 41",
        "00 45 45",
        "00 80 ff ff ff ff ff ff ff ff 45",
        "00 80 80 00 00 00 00 00 00 00 45",
    ],
)
def test_an_unknown_section_is_walked_over(raw):
    data = octets(raw) + octets("00 53 75 a0 01 61")
    sections, fault = walk(data)
    assert fault is None
    assert [section.name for section in sections] == ["unknown", "data"]


# fmt: off
BROKEN = [
    # raw,                                  sections, kind,               offset
    ("45",                                  0, Damage.NOT_DESCRIBED, 0),
    ("00",                                  0, Damage.TRUNCATED,     1),
    ("00 53",                               0, Damage.TRUNCATED,     1),
    ("00 53 75",                            0, Damage.TRUNCATED,     3),
    ("00 53 75 a0",                         0, Damage.TRUNCATED,     3),
    ("00 53 75 a0 05 61",                   0, Damage.TRUNCATED,     3),
    ("00 53 75 30",                         0, Damage.UNKNOWN_CODE,  3),
    ("00 53 75 a0 01 61 00 53 75 b0 00 00", 1, Damage.TRUNCATED,     9),
    ("00 53 75 a0 01 61 61",                1, Damage.NOT_DESCRIBED, 6),
]
# fmt: on


@pytest.mark.parametrize(("raw", "count", "kind", "offset"), BROKEN)
def test_a_walk_ends_at_damage_and_keeps_what_came_before(raw, count, kind, offset):
    sections, fault = walk(octets(raw))
    assert len(sections) == count
    assert (fault.kind, fault.offset, fault.path) == (kind, offset, f"section[{count}]")


@pytest.mark.parametrize(
    ("raw", "kind", "offset", "path"),
    [
        ("00 53 70 c0 03 01 56 07", Damage.BOOLEAN, 7, "header.durable"),
        ("00 53 70 41", Damage.NOT_LIST, 3, "header"),
        ("00 53 77 a1 01 ff", Damage.UTF8, 5, "amqp-value"),
        ("00 53 74 c1 02 01 41", Damage.ODD_MAP, 3, "application-properties"),
        ("00 53 76 c0 03 01 56 07", Damage.BOOLEAN, 7, "amqp-sequence[0]"),
    ],
)
def test_damage_inside_a_section_names_the_section(raw, kind, offset, path):
    data = octets(raw)
    sections, fault = walk(data)
    assert fault is None
    _, faults = read_section(data, sections[0])
    assert [(f.kind, f.offset, f.path) for f in faults] == [(kind, offset, path)]


def test_the_number_of_sections_is_limited():
    data = octets("00 53 77 40") * (MAX_SECTIONS + 1)
    sections, fault = walk(data)
    assert len(sections) == MAX_SECTIONS
    assert fault.kind == Damage.LIMIT


def test_descriptors_in_descriptors_are_walked_without_depth():
    data = b"\0" * 50_000 + b"\x40" * 50_001
    sections, fault = walk(data)
    assert fault is None
    _, faults = read_section(data, sections[0])
    assert {f.kind for f in faults} == {Damage.LIMIT}


def test_descriptors_that_claim_much_cost_nothing_in_a_walk():
    claim = octets("00 f0 00 00 00 05") + MAX_EMPTY_ELEMENTS.to_bytes(4, "big") + octets("40 40")
    sections, fault = walk(claim * 10_000)
    assert fault is None
    assert len(sections) == 10_000


@given(messages())
def test_sound_sections_are_walked_and_read_to_their_ends(data):
    sections, fault = walk(data)
    assert fault is None
    for section in sections:
        _, faults = read_section(data, section)
        assert all(f.kind == Damage.NOT_LIST for f in faults)
        assert skip(data, section.start, len(data)) == section.stop


@given(
    st.binary(max_size=60)
    | messages().flatmap(lambda m: st.binary(max_size=9).map(lambda b: m + b))
)
def test_any_octets_can_be_walked_and_read(data):
    sections, fault = walk(data)
    assert fault is None or sections == [] or sections[-1].stop <= fault.offset
    for section in sections:
        read_section(data, section)


def deliveries(path):
    """The messages of a capture: payloads joined as long as `more` says so."""
    open_now = defaultdict(bytes)
    for key, raw in units(path):
        unit = decode_unit(raw)
        if unit.name != "transfer" or unit.faults:
            continue
        where = (key, unit.channel, unit.body.handle)
        open_now[where] += raw[unit.payload :]
        if unit.body.aborted:
            del open_now[where]
        elif not unit.body.more:
            yield open_now.pop(where)


WHOLE = [path for path in captures() if not path.name.startswith("dmg_")]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_real_messages_are_sound(path):
    for data in deliveries(path):
        sections, fault = walk(data)
        assert fault is None
        for section in sections:
            assert section.code != -1
            assert not read_section(data, section)[1]
