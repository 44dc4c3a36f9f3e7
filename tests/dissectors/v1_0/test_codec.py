"""Octets to values: every encoding, every descriptor, every kind of damage."""

import pytest
from hypothesis import given

from dissectors.errors import Damage, Malformed
from dissectors.v1_0.bodies import Accepted, Detach, Error, Header, Source, Transfer
from dissectors.v1_0.codec import Reader, decode
from dissectors.v1_0.compounds import MAX_DEPTH, MAX_EMPTY_ELEMENTS
from dissectors.v1_0.encode import As, Spelled, encode
from dissectors.v1_0.encodings import BY_CODE
from dissectors.v1_0.primitives import MAX_FAULTS, MAX_KEPT_SYMBOL
from dissectors.v1_0.tables import COMPOSITES
from dissectors.v1_0.values import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Uuid,
    same,
)
from kit.dissectors.samples import octets
from kit.dissectors.strategies_v1_0 import any_body, bodies, values, wire_bodies, wire_values

# fmt: off
EACH_ENCODING = [
    ("40", None),
    ("56 00", False), ("56 01", True), ("41", True), ("42", False),
    ("50 ff", Ubyte(255)),
    ("60 ff fe", Ushort(65534)),
    ("70 00 00 01 00", Uint(256)), ("70 ff ff ff ff", Uint(2**32 - 1)), ("52 07", Uint(7)),
    ("43", Uint(0)),
    ("80 ff ff ff ff ff ff ff ff", Ulong(2**64 - 1)), ("53 80", Ulong(128)), ("44", Ulong(0)),
    ("51 80", Byte(-128)), ("51 7f", Byte(127)),
    ("61 80 00", Short(-32768)), ("61 00 01", Short(1)),
    ("71 80 00 00 00", Int(-(2**31))), ("71 7f ff ff ff", Int(2**31 - 1)), ("54 ff", Int(-1)),
    ("81 80 00 00 00 00 00 00 00", Long(-(2**63))), ("55 80", Long(-128)),
    ("72 3f c0 00 00", Float(1.5)), ("72 7f 80 00 00", Float("inf")),
    ("82 3f b9 99 99 99 99 99 9a", 0.1), ("82 80 00 00 00 00 00 00 00", -0.0),
    ("74 32 00 00 0f", Decimal32("1.5")),
    ("84 31 c0 00 00 00 00 00 01", Decimal64(1)),
    ("94 b0 40 00 00 00 00 00 00 00 00 00 00 00 00 00 00", Decimal128("-0")),
    ("73 00 01 f6 00", Char("\U0001f600")), ("73 00 00 00 00", Char("\0")),
    ("83 00 00 01 8b cf e5 68 00", Timestamp(1700000000000)),
    ("83 ff ff ff ff ff ff ff ff", Timestamp(-1)),
    ("98 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f", Uuid(bytes(range(16)))),
    ("a0 02 00 ff", b"\0\xff"), ("b0 00 00 00 01 41", b"A"), ("a0 00", b""),
    ("a1 03 e2 82 ac", "€"), ("b1 00 00 00 00", ""),
    ("a3 01 61", Symbol("a")), ("b3 00 00 00 01 61", Symbol("a")),
    ("45", []), ("c0 01 00", []), ("c0 03 02 40 41", [None, True]),
    ("d0 00 00 00 05 00 00 00 01 43", [Uint(0)]),
    ("c1 01 00", Map()), ("c1 03 02 43 40", Map([(Uint(0), None)])),
    ("d1 00 00 00 06 00 00 00 02 41 42", Map([(True, False)])),
    ("e0 04 02 50 01 02", Array(0x50, [Ubyte(1), Ubyte(2)])),
    ("f0 00 00 00 06 00 00 00 01 50 01", Array(0x50, [Ubyte(1)])),
]
ARRAYS = [
    ("e0 02 00 a3",                      Array(0xA3)),
    ("e0 02 03 40",                      Array(0x40, [None] * 3)),
    ("e0 02 02 41",                      Array(0x41, [True, True])),
    ("e0 02 02 43",                      Array(0x43, [Uint(0)] * 2)),
    ("e0 02 02 44",                      Array(0x44, [Ulong(0)] * 2)),
    ("e0 02 02 45",                      Array(0x45, [[], []])),
    ("e0 04 02 56 00 01",                Array(0x56, [False, True])),
    ("e0 06 02 a1 01 61 01 62",          Array(0xA1, ["a", "b"])),
    ("e0 07 01 b3 00 00 00 01 61",       Array(0xB3, [Symbol("a")])),
    ("e0 08 02 c0 02 01 41 02 01 42",    Array(0xC0, [[True], [False]])),
    ("e0 06 01 c1 03 02 43 41",          Array(0xC1, [Map([(Uint(0), True)])])),
    ("e0 06 01 e0 03 01 50 07",          Array(0xE0, [Array(0x50, [Ubyte(7)])])),
    ("e0 06 01 00 a3 01 61 45",          Array(0x45, [[]], (Symbol("a"),))),
    ("e0 07 02 00 53 07 50 01 02",       Array(0x50, [Ubyte(1), Ubyte(2)], (Ulong(7),))),
    ("e0 09 01 00 53 07 00 53 08 50 01", Array(0x50, [Ubyte(1)], (Ulong(7), Ulong(8)))),
    ("e0 05 02 00 53 24 45",             Array(0x45, [[], []], (Ulong(0x24),))),
]
# fmt: on


def test_the_table_has_each_encoding():
    assert {octets(raw)[0] for raw, _ in EACH_ENCODING} == set(BY_CODE)


@pytest.mark.parametrize(("raw", "value"), EACH_ENCODING, ids=[raw for raw, _ in EACH_ENCODING])
def test_a_value_in_each_encoding(raw, value):
    found, faults = decode(octets(raw))
    assert not faults
    assert same(found, value)


@pytest.mark.parametrize(("raw", "value"), EACH_ENCODING, ids=[raw for raw, _ in EACH_ENCODING])
def test_each_encoding_can_be_asked_for(raw, value):
    assert encode(As(octets(raw)[0], value)) == octets(raw)


@pytest.mark.parametrize(("raw", "value"), EACH_ENCODING, ids=[raw for raw, _ in EACH_ENCODING])
def test_octets_after_a_value_are_noted_and_the_value_kept(raw, value):
    found, faults = decode(octets(raw) + b"\x40\x40")
    assert [(f.kind, f.offset) for f in faults] == [(Damage.TRAILING, len(octets(raw)))]
    assert same(found, value)


@pytest.mark.parametrize(("raw", "value"), EACH_ENCODING, ids=[raw for raw, _ in EACH_ENCODING])
def test_a_value_cut_anywhere_is_damage_within_its_octets(raw, value):
    whole = octets(raw)
    for end in range(len(whole)):
        _, faults = decode(whole[:end])
        assert faults
        assert all(f.offset <= end for f in faults)


@pytest.mark.parametrize(("raw", "value"), ARRAYS, ids=[raw for raw, _ in ARRAYS])
def test_arrays_of_every_shape(raw, value):
    found, faults = decode(octets(raw))
    assert not faults
    assert same(found, value)
    assert encode(value) == octets(raw)


def test_an_array_of_described_elements_is_not_mistaken_for_a_composite():
    found, _ = decode(octets("e0 05 02 00 53 24 45"))
    assert found.descriptors == (Ulong(0x24),)
    assert list(found) == [[], []]


def test_a_map_keeps_order_and_duplicates():
    found, faults = decode(octets("c1 0d 06 a3 01 62 43 a3 01 61 43 a3 01 62 41"))
    assert not faults
    assert list(found.keys()) == ["b", "a", "b"]
    assert [type(key) for key in found.keys()] == [Symbol] * 3  # noqa: SIM118 pairs, not a dict


DESCRIBED = [
    ("00 a3 01 78 a1 01 79", Described(Symbol("x"), "y")),
    ("00 53 05 40", Described(Ulong(5), None)),
    ("00 44 40", Described(Ulong(0), None)),
    ("00 a1 01 78 40", Described("x", None)),
    ("00 53 05 00 53 06 41", Described(Ulong(5), Described(Ulong(6), True))),
    ("00 00 53 05 53 06 41", Described(Described(Ulong(5), Ulong(6)), True)),
    ("00 00 00 53 01 53 02 53 03 41",
     Described(Described(Described(Ulong(1), Ulong(2)), Ulong(3)), True)),
    ("00 80 00 00 46 8c 00 00 00 04 a1 01 78", Described(Ulong(0x468C00000004), "x")),
    ("00 53 05 00 53 24 45", Described(Ulong(5), Accepted())),
    ("00 70 00 00 00 24 45", Described(Uint(0x24), [])),
    ("00 a1 12" + b"amqp:accepted:list".hex() + "45", Described("amqp:accepted:list", [])),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "value"), DESCRIBED, ids=[raw for raw, _ in DESCRIBED])
def test_described_values_that_are_no_composites(raw, value):
    found, faults = decode(octets(raw))
    assert not faults
    assert same(found, value)
    assert same(decode(encode(value))[0], value)


def spellings(row):
    symbol = row.symbol.encode()
    return {
        "smallulong": b"\0\x53" + bytes((row.code,)),
        "ulong": b"\0\x80" + row.code.to_bytes(8, "big"),
        "sym8": b"\0\xa3" + bytes((len(symbol),)) + symbol,
        "sym32": b"\0\xb3" + len(symbol).to_bytes(4, "big") + symbol,
    }


@pytest.mark.parametrize("row", COMPOSITES, ids=lambda row: row.name)
@pytest.mark.parametrize("spelling", ["smallulong", "ulong", "sym8", "sym32"])
@pytest.mark.parametrize("items", ["45", "c0 01 00", "d0 00 00 00 04 00 00 00 00", "c0 02 01 40"])
def test_each_composite_by_every_legal_spelling(row, spelling, items):
    found, faults = decode(spellings(row)[spelling] + octets(items))
    assert not faults
    assert found.row is row
    assert all(value is None for value in found)


def test_fields_of_the_declared_integer_type_are_plain_numbers():
    found, _ = decode(octets("00 53 14 c0 09 04 52 01 70 00 00 00 02 40"))
    assert type(found.handle) is int
    assert (found.handle, found.delivery_id) == (1, 2)


WRONG = [
    # raw, what the field gives, what was on the wire
    ("00 53 14 c0 03 01 53 07", 7, Ulong(7)),
    ("00 53 14 c0 02 01 41", None, True),
    ("00 53 14 c0 04 01 a1 01 78", None, "x"),
    ("00 53 14 c0 02 01 45", None, []),
    ("00 53 14 c0 05 01 00 53 05 40", None, Described(Ulong(5), None)),
]


@pytest.mark.parametrize(("raw", "given", "wire"), WRONG, ids=[raw for raw, _, _ in WRONG])
def test_a_value_of_another_type_than_declared_is_kept_beside_the_field(raw, given, wire):
    found, faults = decode(octets(raw))
    assert not faults
    assert found.handle == given
    assert same(found.wire(0), wire)
    assert list(found.wrong) == [0]


def test_a_nested_composite_of_another_type_is_wrong():
    found, _ = decode(octets("00 53 16 c0 07 03 43 40 00 53 24 45"))
    assert found.error is None
    assert found.wrong == {2: Accepted()}


def test_a_nested_composite_of_the_declared_type_is_right():
    found, faults = decode(encode(Detach(0, True, Error(Symbol("amqp:not-found")))))
    assert not faults
    assert found.error.condition == "amqp:not-found"
    assert not found.wrong


@pytest.mark.parametrize(
    ("item", "right"),
    [("a3 01 61", True), ("e0 04 01 a3 01 61", True), ("e0 04 01 a1 01 61", False), ("45", False)],
)
def test_a_multiple_field_takes_one_symbol_or_an_array_of_symbols(item, right):
    raw = octets(item)
    found, faults = decode(b"\0\x53\x30\xc0" + bytes((len(raw) + 1, 1)) + raw)
    assert not faults
    assert (not found.wrong) is right


def test_items_past_the_last_field_stay_at_the_end():
    found, faults = decode(octets("00 53 17 c0 04 03 40 41 42"))
    assert not faults
    assert list(found) == [None, True, False]


# Damage: kind, where, path, and what is kept. Offsets count from the start of the octets.
# fmt: off
DAMAGE = [
    ("",                           Damage.TRUNCATED,    0, "",           None),
    ("70 00 00",                   Damage.TRUNCATED,    1, "",           None),
    ("a1 05 61",                   Damage.TRUNCATED,    2, "",           None),
    ("c0 05 02 41",                Damage.TRUNCATED,    2, "",           [True]),
    ("c0 03 01 70 00",             Damage.TRUNCATED,    4, "[0]",        []),
    ("c0 07 02 41 c0 03 01 70 00", Damage.TRUNCATED,    8, "[1][0]",     [True, []]),
    ("30",                         Damage.UNKNOWN_CODE, 0, "",           None),
    ("4f",                         Damage.UNKNOWN_CODE, 0, "",           None),
    ("c0 04 02 5f 01 41",          Damage.UNKNOWN_CODE, 3, "[0]",        [None, True]),
    ("c0 05 02 6f 01 01 41",       Damage.UNKNOWN_CODE, 3, "[0]",        [None, True]),
    ("c0 07 02 7f 01 01 01 01 41", Damage.UNKNOWN_CODE, 3, "[0]",        [None, True]),
    ("c0 05 02 a7 01 01 41",       Damage.UNKNOWN_CODE, 3, "[0]",        [None, True]),
    ("c0 05 02 c7 01 00 41",       Damage.UNKNOWN_CODE, 3, "[0]",        [None, True]),
    ("c0 06 02 e7 02 00 40 41",    Damage.UNKNOWN_CODE, 3, "[0]",        [None, True]),
    ("c0 03 02 30 41",             Damage.UNKNOWN_CODE, 3, "[0]",        []),
    ("e0 03 01 57 01",             Damage.UNKNOWN_CODE, 3, "",           Array(0x57)),
    ("c0 02 02 41",                Damage.SIZE,         4, "",           [True]),
    ("c0 03 01 41 42",             Damage.SIZE,         4, "",           [True]),
    ("e0 03 02 50 01",             Damage.SIZE,         5, "",           Array(0x50, [Ubyte(1)])),
    ("e0 04 01 50 01 02",          Damage.SIZE,         5, "",           Array(0x50, [Ubyte(1)])),
    ("c1 02 01 41",                Damage.ODD_MAP,      0, "",           Map([(True, None)])),
    ("a1 03 61 ff 62",             Damage.UTF8,         3, "",           "a\\xffb"),
    ("a3 02 61 80",                Damage.ASCII,        2, "",           Symbol("a\\x80")),
    ("56 02",                      Damage.BOOLEAN,      1, "",           True),
    ("73 00 00 d8 00",             Damage.CHAR,         1, "",           None),
    ("73 00 11 00 00",             Damage.CHAR,         1, "",           None),
    ("00 53 24 40",                Damage.NOT_LIST,     3, "",
     Described(Ulong(0x24), None)),
    ("00 53 24 c1 01 00",          Damage.NOT_LIST,     3, "",
     Described(Ulong(0x24), Map())),
    ("00 53 14 c0 06 03 43 41 a0 05 61",      Damage.TRUNCATED, 10, "delivery-tag",
     Transfer(handle=0)),
    ("00 53 14 c0 06 03 43 43 a1 01 ff",      Damage.UTF8,      10, "delivery-tag",       None),
    ("00 53 14 c0 03 02 43 30",               Damage.UNKNOWN_CODE, 7, "delivery-id",
     Transfer(handle=0)),
    ("00 53 70 c0 04 02 56 07 40",            Damage.BOOLEAN,   7, "durable",
     Header(durable=True)),
    ("00 53 14 c0 03 01 43 43",               Damage.SIZE,      7, "",
     Transfer(handle=0)),
    ("00 53 14 c0 02 02 43",                  Damage.SIZE,      7, "",
     Transfer(handle=0)),
    ("00 53 14 c0 09 01 43",                  Damage.TRUNCATED, 5, "",
     Transfer(handle=0)),
    ("00 53 16 c0 0c 03 43 41 00 53 1d c0 04 01 a3 01 80", Damage.ASCII, 16, "error.condition",
     Detach(0, True, Error(Symbol("\\x80")))),
    ("00 53 16 c0 07 03 43 41 00 53 1d 41",   Damage.NOT_LIST,  11, "error",              None),
    ("00 53 12 c0 0e 06 40 40 40 40 40 00 53 28 c0 03 01 a1 05", Damage.TRUNCATED, 19,
     "source.address", None),
    ("00 53 14 c0 04 02 43 c0 05",            Damage.TRUNCATED, 9, "delivery-id",         None),
]
# fmt: on


@pytest.mark.parametrize(
    ("raw", "kind", "offset", "path", "kept"), DAMAGE, ids=[f"{d[1]}-{d[0]}" for d in DAMAGE]
)
def test_damage_has_its_place_and_the_rest_is_kept(raw, kind, offset, path, kept):
    found, faults = decode(octets(raw))
    places = [(f.kind, f.offset, f.path) for f in faults]
    assert (kind, offset, path) in places, [str(f) for f in faults]
    if kept is not None:
        assert type(found) is type(kept)
        assert list(found) == list(kept) if isinstance(found, Transfer) else same(found, kept)


def test_damage_in_one_field_leaves_the_others():
    raw = octets("00 53 14 c0 09 04 52 07 56 09 a0 01 61 43")
    found, faults = decode(raw)
    assert [(f.kind, f.path) for f in faults] == [(Damage.BOOLEAN, "delivery-id")]
    assert (found.handle, found.delivery_tag, found.message_format) == (7, b"a", 0)


def test_the_message_of_damage_can_stand_alone():
    _, faults = decode(octets("00 53 14 c0 03 02 43 30"))
    assert str(faults[0]) == "delivery-id: no encoding has the code 0x30 (at octet 7)"


def nested(depth):
    raw = b"\x45"
    for _ in range(depth):
        inside = b"\0\0\0\1" + raw
        raw = b"\xd0" + len(inside).to_bytes(4, "big") + inside
    return raw


def test_nesting_is_limited():
    assert not decode(nested(MAX_DEPTH))[1]
    assert [f.kind for f in decode(nested(MAX_DEPTH + 1))[1]] == [Damage.LIMIT]


@pytest.mark.parametrize("raw", [b"\0" * 50_000, b"\0\x53" * 50_000, b"\xe0\xff\x01" * 50_000])
def test_octets_that_only_open_are_no_harm(raw):
    assert decode(raw)[1]


@pytest.mark.parametrize("code", ["40", "41", "42", "43", "44", "45"])
def test_elements_without_octets_are_limited(code):
    least = MAX_EMPTY_ELEMENTS
    array = octets("f0 00 00 00 05") + least.to_bytes(4, "big") + octets(code)
    found, faults = decode(array)
    assert not faults
    assert len(found) == least
    more = octets("f0 00 00 00 05 ff ff ff ff") + octets(code)
    found, faults = decode(more)
    assert [(f.kind, f.offset) for f in faults] == [(Damage.LIMIT, 9)]
    assert len(found) == 0


def test_many_arrays_of_elements_without_octets_share_one_limit():
    array = octets("f0 00 00 00 05") + (MAX_EMPTY_ELEMENTS - 1).to_bytes(4, "big") + b"\x40"
    items = array * 20
    found, faults = decode(b"\xd0" + (len(items) + 4).to_bytes(4, "big") + b"\0\0\0\x14" + items)
    assert {f.kind for f in faults} == {Damage.LIMIT}
    assert sum(map(len, found)) == MAX_EMPTY_ELEMENTS - 1


def test_faults_are_limited():
    items = b"\x56\x09" * 200
    _, faults = decode(b"\xd0" + (len(items) + 4).to_bytes(4, "big") + b"\0\0\0\xc8" + items)
    assert len(faults) == MAX_FAULTS + 1
    assert faults[-1].kind == Damage.LIMIT


def test_faults_are_limited_at_every_depth():
    raw = b"\x56\x09" * 40
    count = 40
    for _ in range(20):
        raw = b"\xd0" + (len(raw) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + raw
        count = 1
    _, faults = decode(raw)
    assert len(faults) == MAX_FAULTS + 1


def test_long_symbols_are_read_though_not_kept():
    long = "x" * (MAX_KEPT_SYMBOL + 1)
    assert decode(encode(Symbol(long)))[0] == long
    one, other = (decode(encode(Symbol("short-one")))[0] for _ in range(2))
    assert one is other


def test_a_reader_reads_one_value_after_another():
    reader = Reader(octets("41 52 07 43"))
    assert [reader.value(4) for _ in range(3)] == [True, 7, 0]
    assert reader.at == 4


def test_a_trace_is_the_constructors_in_the_order_of_reading():
    raw = octets("00 53 14 c0 07 03 43 40 c0 02 01 41")
    trace = []
    Reader(raw, 0, trace).value(len(raw))
    assert trace == [0, 1, 3, 6, 7, 8, 11]


def test_a_trace_has_each_element_of_an_array():
    raw = octets("e0 07 02 00 53 07 50 01 02")
    trace = []
    Reader(raw, 0, trace).value(len(raw))
    assert trace == [0, 3, 4, 6, 7, 8]


@given(wire_bodies() | wire_values)
def test_tracing_changes_nothing(raw):
    trace = []
    plain, traced = Reader(raw), Reader(raw, 0, trace)
    results = []
    for reader in (plain, traced):
        try:
            results.append((reader.value(len(raw)), reader.at, None))
        except Malformed as fault:
            results.append((None, reader.at, str(fault)))
    assert same(results[0][0], results[1][0])
    assert results[0][1:] == results[1][1:]
    assert [str(f) for f in plain.faults] == [str(f) for f in traced.faults]
    assert trace == sorted(trace)


@given(values)
def test_any_value_comes_back_with_its_type(value):
    found, faults = decode(encode(value))
    assert not faults
    assert same(found, value)


@pytest.mark.parametrize("row", COMPOSITES, ids=lambda row: row.name)
def test_each_composite_comes_back(row):
    @given(bodies(row.name))
    def check(body):
        for spelled in (
            body,
            Spelled(body, Symbol(row.symbol)),
            Spelled(body, Ulong(row.code), 0xD0),
        ):
            found, faults = decode(encode(spelled))
            assert not faults
            assert found == body

    check()


@given(any_body)
def test_a_body_without_wrong_fields_has_none_after_decoding(body):
    assert not decode(encode(body))[0].wrong


def test_source_defaults_are_not_filled_in():
    found, _ = decode(encode(Source()))
    assert found.durable is None
