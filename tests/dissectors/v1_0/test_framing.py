"""Frames and protocol headers: whole, damaged, cut, in sequence."""

import pytest
from hypothesis import given

from dissectors.errors import Damage
from dissectors.v1_0.bodies import Begin, Open, SaslOutcome, Transfer
from dissectors.v1_0.encode import encode, encode_frame, encode_header
from dissectors.v1_0.framing import decode_unit, measure
from dissectors.v1_0.values import Described, Symbol, Uint, Ulong, same
from dissectors.wire import DAMAGED, MAX_FRAME_SIZE, MORE, NO_FAULTS
from kit.dissectors.samples import captures, frame, octets, units
from kit.dissectors.strategies_v1_0 import any_units, frames

PROTON_OPEN = ("v10_proton-labbroker_connerror.pcap", "open")
"""A list of 10 items, by its count, with 12 in it: proton wrote `properties` three times."""


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("41 4d 51 50 00 01 00 00", "AMQP 1.0.0"),
        ("41 4d 51 50 02 01 00 00", "TLS 1.0.0"),
        ("41 4d 51 50 03 01 00 00", "SASL 1.0.0"),
        ("41 4d 51 50 01 01 00 0a", "id 1 1.0.10"),
        ("41 4d 51 50 00 00 09 01", "AMQP 0.9.1"),
        ("41 4d 51 50 ff ff ff ff", "id 255 255.255.255"),
    ],
)
def test_headers_of_all_ids_and_versions(raw, text):
    unit = decode_unit(octets(raw))
    assert (unit.kind, unit.name, str(unit.header)) == ("header", "header", text)
    assert encode_header(*unit.header) == octets(raw)
    assert unit.faults is NO_FAULTS


@pytest.mark.parametrize("channel", [0, 1, 255, 256, 65535])
def test_an_empty_frame(channel):
    unit = decode_unit(encode_frame(channel=channel))
    assert (unit.kind, unit.channel, unit.payload, unit.body) == ("empty", channel, 8, None)


@pytest.mark.parametrize("doff", [2, 3, 4, 10, 255])
def test_the_body_begins_where_the_data_offset_says(doff):
    extended = bytes(range(200, 204)) * (doff - 2)
    raw = encode_frame(Begin(next_outgoing_id=1), 3, extended=extended)
    unit = decode_unit(raw)
    assert (unit.kind, unit.doff, unit.channel) == ("amqp", doff, 3)
    assert unit.body == Begin(next_outgoing_id=1)
    assert not unit.faults


def test_a_transfer_has_its_payload_behind_the_performative():
    raw = encode_frame(Transfer(handle=0), payload=b"payload")
    unit = decode_unit(raw)
    assert raw[unit.payload :] == b"payload"
    assert unit.name == "transfer"


def test_without_payload_it_begins_at_the_end():
    raw = encode_frame(Transfer(handle=0))
    assert decode_unit(raw).payload == len(raw)


def test_a_sasl_frame():
    unit = decode_unit(encode_frame(SaslOutcome(code=0)))
    assert (unit.kind, unit.type, unit.name) == ("sasl", 1, "sasl-outcome")


@pytest.mark.parametrize("kind", [2, 3, 255])
def test_a_frame_of_unknown_type_is_kept_without_a_look_inside(kind):
    raw = frame("de ad be ef", type=kind, channel=7, extended=bytes(4))
    unit = decode_unit(raw)
    assert (unit.kind, unit.type, unit.channel) == ("unknown", kind, 7)
    assert raw[unit.payload :] == octets("de ad be ef")
    assert not unit.faults


@pytest.mark.parametrize(
    "descriptor",
    [
        "53 10",
        "80 00 00 00 00 00 00 00 10",
        "a3 0e" + b"amqp:open:list".hex(),
        "b3 00 00 00 0e" + b"amqp:open:list".hex(),
    ],
)
def test_a_performative_in_each_spelling(descriptor):
    unit = decode_unit(frame(f"00 {descriptor} c0 04 01 a1 01 63"))
    assert unit.body == Open(container_id="c")
    assert unit.kind == "amqp"


@pytest.mark.parametrize(
    ("body", "other"),
    [
        ("00 53 99 45", Described(Ulong(0x99), [])),
        ("00 a3 01 78 45", Described(Symbol("x"), [])),
        ("00 00 53 05 53 10 45", Described(Described(Ulong(5), Ulong(0x10)), [])),
    ],
)
def test_an_unknown_performative_is_a_described_value(body, other):
    unit = decode_unit(frame(body))
    assert (unit.kind, unit.body, unit.name) == ("amqp", None, "amqp")
    assert same(unit.other, other)
    assert not unit.faults


# fmt: off
DAMAGED_UNITS = [
    # raw,                                           kind of damage,       offset, path
    (b"",                                            Damage.FRAME,         0, ""),
    (octets("00 00 00 07 02 00 00"),                 Damage.FRAME,         0, ""),
    (octets("00 00 00 09 02 00 00 00"),              Damage.FRAME,         0, ""),
    (octets("00 00 00 08 01 00 00 00"),              Damage.FRAME,         4, ""),
    (octets("00 00 00 08 00 00 00 00"),              Damage.FRAME,         4, ""),
    (octets("00 00 00 08 03 00 00 00"),              Damage.FRAME,         4, ""),
    (octets("41 4d 51 50 00 01 00 00 00"),           Damage.FRAME,         0, ""),
    (frame("45"),                                    Damage.NOT_DESCRIBED, 8, ""),
    (frame("00"),                                    Damage.TRUNCATED,     9, ""),
    (frame("00 53"),                                 Damage.TRUNCATED,    10, ""),
    (frame("00 53 10"),                              Damage.TRUNCATED,    11, ""),
    (frame("00 53 10 40"),                           Damage.NOT_LIST,     11, "open"),
    (frame("00 a3 0e 616d71703a6f70656e3a6c697374 a1 00"), Damage.NOT_LIST, 25, "open"),
    (frame("00 53 10 c0"),                           Damage.TRUNCATED,    12, ""),
    (frame("00 53 10 c0 09 01 a1 01 63"),            Damage.TRUNCATED,    13, "open"),
    (frame("00 53 10 c0 04 01 a1 01 ff"),            Damage.UTF8,         16, "open.container-id"),
    (frame("00 53 10 c0 05 01 a1 01 63 40"),         Damage.SIZE,         17, "open"),
    (frame("00 53 10 c0 04 02 a1 01 63"),            Damage.SIZE,         17, "open"),
    (frame("00 53 18 c0 0a 01 00 53 1d c0 04 01 a3 01 80"), Damage.ASCII, 22,
     "close.error.condition"),
    (frame("00 53 12 c0 0b 06 40 40 40 40 40 00 53 28 40 40"), Damage.NOT_LIST, 22,
     "attach.source"),
]
# fmt: on


@pytest.mark.parametrize(("raw", "kind", "offset", "path"), DAMAGED_UNITS)
def test_damage_has_its_kind_offset_and_path(raw, kind, offset, path):
    unit = decode_unit(raw)
    assert unit.kind == "malformed"
    assert (kind, offset, path) in [(f.kind, f.offset, f.path) for f in unit.faults], unit.faults[0]


def test_what_can_be_read_of_a_damaged_performative_is_kept():
    unit = decode_unit(frame("00 53 10 c0 09 03 a1 01 63 a1 02 ff 61 40"))
    assert unit.kind == "malformed"
    assert unit.name == "open"
    assert unit.body.container_id == "c"
    assert unit.body.hostname == "\\xffa"


def test_a_cut_frame_is_read_as_far_as_the_capture_has_it():
    raw = encode_frame(Transfer(handle=3, delivery_id=4), payload=b"x" * 100)
    unit = decode_unit(raw[:30], None, len(raw) - 30)
    assert (unit.kind, unit.body.handle) == ("amqp", 3)
    assert unit.payload < 30


def test_a_frame_cut_in_its_performative_says_so_and_keeps_the_fields():
    raw = encode_frame(Open(container_id="container", hostname="host"))
    unit = decode_unit(raw[:25], None, len(raw) - 25)
    assert unit.kind == "malformed"
    assert unit.body.container_id == "container"


def test_a_frame_cut_before_its_body_is_damaged():
    raw = encode_frame(Open(container_id="c"))
    unit = decode_unit(raw[:8], None, len(raw) - 8)
    assert unit.kind == "malformed"
    assert unit.channel == 0


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        ("", MORE), ("00 00 00", MORE), ("41 4d 51", MORE), ("00 00 00 08", 8),
        ("00 00 02 00 02", 512),
        ("41 4d 51 50", 8), ("41 4d 51 50 00 01 00 00 00", 8), ("00 00 00 07", DAMAGED),
        ("00 00 00 00", DAMAGED), ("48 54 54 50", DAMAGED), ("16 03 01 02", DAMAGED),
    ],
)  # fmt: skip
def test_measure_tells_how_long_a_unit_is(raw, size):
    data = octets(raw)
    assert measure(data, 0, len(data)) == size
    assert measure(b"before" + data + b"after", 6, 6 + len(data)) == size


def test_the_largest_frame_we_hold():
    for size, expected in ((MAX_FRAME_SIZE, MAX_FRAME_SIZE), (MAX_FRAME_SIZE + 1, DAMAGED)):
        assert measure(size.to_bytes(4, "big"), 0, 4) == expected


@given(frames())
def test_a_frame_octet_by_octet_is_measured_as_soon_as_its_size_is_there(raw):
    for end in range(len(raw) + 3):
        data = (raw + b"\0\0\0")[:end]
        assert measure(data, 0, len(data)) == (MORE if end < 4 else len(raw))


@given(frames())
def test_sound_frames_have_no_faults(raw):
    unit = decode_unit(raw)
    assert unit.faults is NO_FAULTS
    assert unit.kind in {"amqp", "sasl", "empty"}


@given(any_units)
def test_any_octets_are_a_unit_and_tracing_changes_nothing(raw):
    plain, traced = decode_unit(raw), decode_unit(raw, [])
    assert (plain.kind, plain.name, plain.payload) == (traced.kind, traced.name, traced.payload)
    assert [str(f) for f in plain.faults] == [str(f) for f in traced.faults]
    assert plain.body == traced.body
    assert same(plain.other, traced.other)
    assert (plain.kind == "malformed") == bool(plain.faults)
    assert all(0 <= f.offset <= len(raw) for f in plain.faults)


def test_a_wrong_typed_body_survives_encoding():
    raw = frame("00 53 14 c0 03 01 53 07")
    unit = decode_unit(raw)
    assert encode(unit.body) == raw[8:]
    assert type(unit.body.wire(0)) is Ulong
    assert Uint(7) == unit.body.handle


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_real_frames_are_sound(path):
    for _, raw in units(path):
        unit = decode_unit(raw)
        known = (path.name, unit.name) == PROTON_OPEN or path.name.startswith("dmg_bitflip")
        assert known or not unit.faults, unit.faults[0]
        assert unit.kind != "unknown"
