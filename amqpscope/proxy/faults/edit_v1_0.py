"""Frames of AMQP 1.0 with some fields changed; all others keep their values."""

from __future__ import annotations

from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode
from dissectors.v1_0.encodings import DESCRIBED
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.notation_parser import compound, fits_short
from dissectors.v1_0.tables import primitive
from dissectors.v1_0.values import Ulong, Value

NULL = b"\x40"


def rebuild(raw: bytes, unit: Unit, changes: dict[int, bytes], *, payload: bool = True) -> bytes:
    """A frame with other encoded values in some fields, with or without its payload."""
    body = unit.body
    assert body is not None
    fields = body.row.fields
    items = [
        encode(body.wire(place), primitive(fields[place].type) if place < len(fields) else "*")
        for place in range(len(body))
    ]
    for place, octets in changes.items():
        items += [NULL] * (place + 1 - len(items))
        items[place] = octets
    while items and items[-1] == NULL:
        items.pop()
    inside = b"".join(items)
    code = 0x45 if not items else 0xC0 if fits_short(len(items), len(inside)) else 0xD0
    head = bytes((DESCRIBED,)) + encode(Ulong(body.row.code)) + compound(code, len(items), inside)
    rest = head + (raw[unit.payload :] if payload else b"")
    size = unit.head + len(rest)
    return size.to_bytes(4, "big") + raw[4 : unit.head] + rest


def field_changes(body: Body, values: dict[str, Value]) -> dict[int, bytes]:
    """Values by field name as `rebuild` takes them."""
    places = {field.name: place for place, field in enumerate(body.row.fields)}
    return {
        places[name]: encode(value, primitive(body.row.fields[places[name]].type))
        for name, value in values.items()
    }


def with_channel(raw: bytes, channel: int) -> bytes:
    """A frame on another channel."""
    return raw[:6] + channel.to_bytes(2, "big") + raw[8:]
