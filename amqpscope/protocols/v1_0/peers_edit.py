"""Frames of AMQP 1.0 with some fields changed; all others keep their values."""

from __future__ import annotations

from functools import partial

from amqpscope.protocols.peers import NO_FIELD, SettingReader
from dissectors.notation_scanner import NAME
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode
from dissectors.v1_0.encodings import DESCRIBED
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.notation_parser import Parser, compound, fits_short
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITE, COMPOSITES, primitive
from dissectors.v1_0.values import Ulong, Value

NULL = b"\x40"


def rebuild(raw: bytes, unit: Unit, changes: dict[int, bytes], *, payload: bool = True) -> bytes:
    """A frame with other encoded values in some fields, with or without its payload."""
    body = unit.body
    assert body is not None
    items = [*encoded_fields(body).values()]
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


def encoded_fields(body: Body | None) -> dict[int, bytes]:
    """The values of a performative, encoded, by position."""
    if body is None:
        return {}
    kinds = [primitive(field.type) for field in body.row.fields]
    kinds += ["*"] * (len(body) - len(kinds))
    return {place: encode(body.wire(place), kinds[place]) for place in range(len(body))}


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


def read_settings(text: str, row: Composite) -> dict[int, bytes]:
    """The encoded values of a performative's fields by position; NotationError if not its own."""
    places = {field.name: place for place, field in enumerate(row.fields)}
    parser = Parser(text)
    given: dict[int, bytes] = {}
    while parser.peek():
        start = parser.at
        name = parser.take(NAME, "FIELD=VALUE")[0]
        if name not in places:
            parser.fail(f"{NO_FIELD}{name} in {row.name}", start)
        parser.expect("=")
        field = row.fields[places[name]]
        parser.space()
        word = NAME.match(text, parser.at)
        if word is not None and word[0] in COMPOSITE and text[word.end() : word.end() + 1] != "(":
            # `state=released` is short for `state=released()`.
            given[places[name]] = Parser(f"{word[0]}()").value()
            parser.at = word.end()
        else:
            given[places[name]] = parser.value(field.type, field.multiple)
    if not given:
        parser.fail("expected FIELD=VALUE")
    return given


def setting_readers() -> list[SettingReader]:
    """Reads settings of each performative and SASL frame."""
    rows = [row for row in COMPOSITES if {"frame", "sasl-frame"} & set(row.provides)]
    return [partial(read_settings, row=row) for row in rows]
