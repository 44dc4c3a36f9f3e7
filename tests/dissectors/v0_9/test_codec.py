"""Arguments, field tables and content headers: every type, good and bad."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.errors import Damage
from dissectors.v0_9.codec import MAX_DEPTH, Reader
from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import (
    encode_content_header,
    encode_frame,
    encode_method,
    encode_table,
)
from dissectors.v0_9.framing import HEADER, METHOD, decode_unit
from dissectors.v0_9.primitives import MAX_FAULTS
from dissectors.v0_9.values import (
    Byte,
    Char,
    FieldArray,
    Float,
    Int,
    Long,
    PosixTime,
    ScaledDecimal,
    Short,
    Table,
    Ubyte,
    Uint,
    Ulong,
    Unreadable,
    Ushort,
    letters_in,
    same,
)
from kit.dissectors.strategies_v0_9 import (
    SPOKEN,
    WRITTEN,
    damaged,
    frames,
    methods,
    names,
    table_of,
)

RABBIT = dialect("0-9-1-rabbit")
PLAIN = dialect("0-9-1")


def octets(text):
    return bytes.fromhex(text)


def table(raw, spoken=RABBIT):
    """A table and the faults in it."""
    reader = Reader(raw, 0, spoken)
    found = reader.table(len(raw))
    assert reader.at == len(raw)
    return found, reader.faults


def entry(letter, value):
    """A table with one field, `k`."""
    inside = b"\x01k" + letter.encode("latin-1") + octets(value)
    return len(inside).to_bytes(4, "big") + inside


SPOKEN_VALUES = [
    ("V", "", None),
    ("\0", "", None),
    ("t", "00", False),
    ("t", "01", True),
    ("t", "02", True),
    ("b", "fb", Byte(-5)),
    ("B", "fb", Ubyte(251)),
    ("s", "fffe", Short(-2)),
    ("U", "fffe", Short(-2)),
    ("u", "fffe", Ushort(65534)),
    ("I", "ffffffff", Int(-1)),
    ("i", "ffffffff", Uint(4294967295)),
    ("l", "ffffffffffffffff", Long(-1)),
    ("L", "8000000000000000", Long(-(2**63))),
    ("f", "3fc00000", Float(1.5)),
    ("d", "3ff8000000000000", 1.5),
    ("D", "02 00000096", ScaledDecimal(2, 150)),
    ("D", "ff ffffffff", ScaledDecimal(255, -1)),
    ("T", "00000000 65920080", PosixTime(1704067200)),
    ("S", "00000002 c3a9", "é"),
    ("S", "00000002 ffc3", b"\xff\xc3"),
    ("x", "00000002 6869", b"hi"),
    ("c", "00000002 6869", "hi"),
    ("C", "00000002 6869", "hi"),
    ("k", "41", Char("A")),
    ("A", "00000006 49 00000007 56", FieldArray([Int(7), None], b"IV")),
    ("F", "00000007 016a 49 00000007", Table([("j", Int(7))], b"I")),
]


@pytest.mark.parametrize(("letter", "value", "meaning"), SPOKEN_VALUES)
def test_each_letter_as_products_mean_it(letter, value, meaning):
    found, faults = table(entry(letter, value))
    assert not faults
    assert same(tuple(found), (("k", meaning),))
    assert found.letters == letter.encode("latin-1")
    if value != "02":  # all octets but 0 mean true
        assert encode_table(found) == entry(letter, value)


@pytest.mark.parametrize(
    ("letter", "value", "meaning"),
    [
        ("s", "02 6869", "hi"),
        ("s", "01 ff", Unreadable(b"\xff")),
        ("l", "ffffffffffffffff", Ulong(2**64 - 1)),
        ("U", "fffe", Short(-2)),
        ("L", "ffffffffffffffff", Long(-1)),
    ],
)
def test_each_disputed_letter_as_the_text_of_0_9_1_has_it(letter, value, meaning):
    found, faults = table(entry(letter, value), PLAIN)
    assert not faults
    assert same(tuple(found), (("k", meaning),))
    assert encode_table(found) == entry(letter, value)


@pytest.mark.parametrize("spoken", [RABBIT, PLAIN])
def test_where_one_reading_of_s_does_not_fit_the_other_is_taken(spoken):
    text = b"\x01k" + b"s\x05hello" + b"\x01nI\0\0\0\x07"
    number = b"\x01ks\xff\xfe" + b"\x01nI\0\0\0\x07"
    for inside, meaning in ((text, "hello"), (number, Short(-2))):
        found, faults = table(len(inside).to_bytes(4, "big") + inside, spoken)
        assert not faults
        assert same(found.get("k"), meaning)
        assert found.get("n") == 7


def test_where_neither_reading_fits_the_first_one_stays():
    inside = b"\x01as\x00\x05" + b"\x01k?\x00" + b"\x01n"
    found, faults = table(len(inside).to_bytes(4, "big") + inside)
    assert same(tuple(found), (("a", Short(5)),))
    assert [(fault.kind, fault.path, fault.offset) for fault in faults] == [
        (Damage.UNKNOWN_CODE, "k", 11)
    ]


def test_order_duplicates_and_odd_names_are_kept():
    inside = b"\x01bI\0\0\0\x01" + b"\x01aV" + b"\x01bI\0\0\0\x02" + b"\x00V" + b"\x01\xffV"
    found, faults = table(len(inside).to_bytes(4, "big") + inside)
    assert not faults
    assert [key for key, _ in found] == ["b", "a", "b", "", Unreadable(b"\xff")]
    assert found.get("b") == 1
    assert found.letters == b"IVIVV"


def test_letters_of_nested_values_have_paths():
    inner = Table([("count", Long(1))], b"l")
    value = Table([("x-death", FieldArray([inner, 5], b"FI")), ("y", "z")], b"AS")
    assert list(letters_in(value)) == [
        ("x-death", ord("A")),
        ("x-death[0]", ord("F")),
        ("x-death[0].count", ord("l")),
        ("x-death[1]", ord("I")),
        ("y", ord("S")),
    ]


@pytest.mark.parametrize(
    ("raw", "kind", "path"),
    [
        ("00 00", Damage.TRUNCATED, "queue.bind.arguments"),
        ("00 00 00 05 01 6b 49 00 00", Damage.TRUNCATED, "queue.bind.arguments.k"),
        ("00 00 00 09 01 6b 49 00 00 00 01", Damage.TRUNCATED, "queue.bind.arguments"),
        ("00 00 00 04 01 6b 7a 00", Damage.UNKNOWN_CODE, "queue.bind.arguments.k"),
        ("00 00 00 02 05 6b", Damage.TRUNCATED, "queue.bind.arguments"),
        ("00 00 00 02 01 6b", Damage.TRUNCATED, "queue.bind.arguments.k"),
        ("00 00 00 08 01 6b 53 00 00 00 05 61", Damage.TRUNCATED, "queue.bind.arguments.k"),
        ("00 00 00 08 01 6b 46 00 00 00 09 61", Damage.TRUNCATED, "queue.bind.arguments.k"),
        ("00 00 00 0a 01 6b 46 00 00 00 03 01 61 7a", Damage.UNKNOWN_CODE,
         "queue.bind.arguments.k.a"),
        ("00 00 00 08 01 6b 41 00 00 00 01 7a", Damage.UNKNOWN_CODE, "queue.bind.arguments.k[0]"),
        ("00 00 00 00 ff", Damage.TRAILING, "queue.bind"),
    ],
)  # fmt: skip
def test_damage_in_a_table_is_named_with_its_place(raw, kind, path):
    payload = octets("0032 0014 0000 0171 0178 0172 00") + octets(raw)
    unit = decode_unit(encode_frame(METHOD, 1, payload), RABBIT)
    assert (unit.kind, unit.name) == ("malformed", "queue.bind")
    assert [(fault.kind, fault.path) for fault in unit.faults] == [(kind, path)]
    assert unit.method.get("exchange") == "x"
    assert 0 <= unit.faults[0].offset <= len(payload) + 8


def test_what_stands_behind_a_damaged_table_is_still_read():
    headers = octets("00000004 01 6b 7a 00")
    payload = octets("003c 0000 0000000000000005 2800") + headers + b"\x07"
    unit = decode_unit(encode_frame(HEADER, 1, payload), RABBIT)
    assert [fault.path for fault in unit.faults] == ["content-header.headers.k"]
    assert unit.content.get("priority") == 7


def test_a_damaged_table_within_a_table_does_not_end_the_outer_one():
    inside = octets("0161 46 00000003 01787a") + octets("0162 49 00000007")
    found, faults = table(len(inside).to_bytes(4, "big") + inside)
    assert [fault.path for fault in faults] == ["a.x"]
    assert found.get("b") == 7


@pytest.mark.parametrize("letter", [b"F", b"A"])
def test_depth_is_limited(letter):
    def nested(levels):
        raw = b"\0\0\0\0"
        for _ in range(levels):
            inside = (b"\x00" if letter == b"F" else b"") + letter + raw
            raw = len(inside).to_bytes(4, "big") + inside
        return raw

    def outer(levels):
        inside = b"\x01k" + letter + nested(levels)
        return len(inside).to_bytes(4, "big") + inside

    assert not table(outer(MAX_DEPTH - 2))[1]
    assert [fault.kind for fault in table(outer(MAX_DEPTH - 1))[1]] == [Damage.LIMIT]
    assert [fault.kind for fault in table(outer(5000))[1]] == [Damage.LIMIT]


def test_faults_are_limited():
    bad = octets("00 46 00000003 01787a")
    inside = bad * 1000
    found, faults = table(len(inside).to_bytes(4, "big") + inside)
    assert len(found) == len(faults) == MAX_FAULTS


@given(found=table_of(SPOKEN))
def test_tables_of_products_round_trip(found):
    again, faults = table(encode_table(found))
    assert not faults
    assert again == found


@given(found=table_of(WRITTEN))
def test_tables_as_the_text_has_them_round_trip(found):
    again, faults = table(encode_table(found), PLAIN)
    assert not faults
    assert again == found


@given(name=names, data=st.data())
@settings(max_examples=150)
def test_every_method_of_every_dialect_round_trips(name, data):
    spoken = dialect(name)
    row, fields = data.draw(methods(name))
    raw = encode_method(spoken, row.name, fields, 1, head=spoken.heads[0])
    unit = decode_unit(raw, spoken, None, 0, spoken.heads[0])
    assert (unit.kind, unit.name, unit.faults) == ("method", row.name, [])
    assert unit.method.spare == 0
    assert unit.method.plan.row == row
    assert unit.fields() == list(fields.items())
    assert all(same(unit.method.get(key), value) for key, value in fields.items())


@given(found=frames(), cut=st.integers(1, 40))
def test_octets_that_the_capture_lacks_are_no_fault(found, cut):
    spoken, head, raw = found
    kept = raw[: max(head, len(raw) - cut)]
    unit = decode_unit(kept, spoken, None, len(raw) - len(kept), head)
    whole = decode_unit(raw, spoken, None, 0, head)
    assert unit.kind == whole.kind == whole.label
    assert not unit.faults
    if unit.method is not None and not unit.method.raw:
        for one, other in zip(unit.method.values, whole.method.values, strict=True):
            assert one is None or same(one, other) or unit.cut


@given(found=damaged(), traced=st.booleans())
@settings(max_examples=200)
def test_any_octets_give_a_unit(found, traced):
    spoken, head, raw = found
    trace = [] if traced else None
    unit = decode_unit(raw, spoken, trace, 0, head)
    assert isinstance(unit.name, str)
    assert (unit.kind == "malformed") == bool(unit.faults)
    assert all(0 <= fault.offset <= len(raw) for fault in unit.faults)
    unit.fields()


def test_a_table_whose_end_the_capture_lacks_is_read_as_far_as_it_goes():
    properties = {"capabilities": {"basic.nack": True, "b": True}, "product": "RabbitMQ", "z": 1}
    fields = {"server-properties": properties, "mechanisms": "PLAIN"}
    raw = encode_method(RABBIT, "connection.start", fields)
    kept = raw[: raw.index(b"RabbitMQ") + 10]
    unit = decode_unit(kept, RABBIT, None, len(raw) - len(kept))
    assert (unit.kind, unit.faults, unit.cut) == ("method", [], True)
    assert unit.method.get("server-properties").get("product") == "RabbitMQ"
    assert unit.method.get("mechanisms") is None
    inner = raw[: raw.index(b"nack") + 6]
    unit = decode_unit(inner, RABBIT, None, len(raw) - len(inner))
    assert unit.method.get("server-properties").get("capabilities").get("basic.nack") is True


def test_bits_are_packed_from_the_lowest_and_share_octets():
    unit = decode_unit(
        encode_frame(METHOD, 1, octets("0028000a 0000 0165 0166 12 00000000")), RABBIT
    )
    said = [name for name, value in unit.fields() if value is True]
    assert said == ["durable", "no-wait"]
    assert unit.method.spare == 0


def test_bits_that_no_field_has_are_kept_apart():
    raw = encode_frame(METHOD, 1, octets("003c0050 0000000000000005 ff"))
    unit = decode_unit(raw, RABBIT)
    assert not unit.faults
    assert unit.method.get("multiple") is True
    assert unit.method.spare == 0xFE


@pytest.mark.parametrize("name", ["correlation-id", "message-id"])
def test_a_short_string_that_is_not_utf8_is_shown_and_kept(name):
    value = Unreadable(b"\x00\xff\x80id")
    raw = encode_content_header(RABBIT, "basic", 0, {name: value}, 1)
    unit = decode_unit(raw, RABBIT)
    assert unit.kind == "content-header"
    assert str(unit.content.get(name)) == "\0\\xff\\x80id"
    assert unit.content.get(name).octets == b"\x00\xff\x80id"


@pytest.mark.parametrize("response", ["\0guest\0guest", b"\xff\xfe", ""])
def test_a_long_string_is_text_where_it_can_be(response):
    raw = encode_method(RABBIT, "connection.start-ok", {"response": response})
    assert same(decode_unit(raw, RABBIT).method.get("response"), response)
