"""Content headers: sizes, flags and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.errors import Damage
from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import encode_content_header, encode_frame
from dissectors.v0_9.framing import HEADER, decode_unit
from dissectors.v0_9.values import same
from kit.dissectors.samples import octets
from kit.dissectors.strategies_v0_9 import contents, names

RABBIT = dialect("0-9-1-rabbit")


@given(name=names, size=st.integers(0, 2**64 - 1), data=st.data())
def test_content_headers_round_trip(name, size, data):
    spoken = dialect(name)
    row, fields = data.draw(contents(name))
    raw = encode_content_header(spoken, row.name, size, fields, 1, weight=3)
    unit = decode_unit(raw, spoken)
    assert (unit.kind, unit.name, unit.faults) == ("content-header", "content-header", [])
    content = unit.content
    assert (content.class_name, content.weight, content.body_size) == (row.name, 3, size)
    for field in row.properties:
        assert same(content.get(field.name), fields.get(field.name))


@pytest.mark.parametrize(
    ("flags", "rest", "kind"),
    [
        ("0002", "", Damage.UNKNOWN_CODE),
        ("8002", "0161", Damage.UNKNOWN_CODE),
        ("0001 0000", "", Damage.UNKNOWN_CODE),
        ("0001 8000", "0161", Damage.UNKNOWN_CODE),
        ("0001", "", Damage.TRUNCATED),
        ("0001 " * 17, "", Damage.LIMIT),
        ("8000", "", Damage.TRUNCATED),
        ("0000", "ff", Damage.TRAILING),
    ],
)
def test_property_flags_that_do_not_fit(flags, rest, kind):
    payload = octets("003c 0000 0000000000000005") + octets(flags) + octets(rest)
    unit = decode_unit(encode_frame(HEADER, 1, payload), RABBIT)
    assert unit.kind == "malformed"
    assert [fault.kind for fault in unit.faults] == [kind]
    if kind is Damage.UNKNOWN_CODE:
        assert unit.faults[0].path == "content-header.property-flags"


def test_a_content_header_that_is_too_short():
    unit = decode_unit(encode_frame(HEADER, 1, bytes(13)), RABBIT)
    assert [str(fault) for fault in unit.faults] == [
        "content-header: a content header has at least 14 octets, 13 are here (at octet 7)"
    ]


def test_a_content_header_of_a_class_without_contents_keeps_its_octets():
    raw = encode_frame(HEADER, 1, octets("0032 0000 0000000000000005 8000 0161"))
    unit = decode_unit(raw, RABBIT)
    assert (unit.kind, unit.faults, unit.content.class_name) == ("content-header", [], "50")
    assert raw[unit.payload : -1] == b"\x01a"
    assert unit.content.get("content-type") is None
