"""Protocol Buffers without a schema: field numbers, wire types, and values as those show them."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Final

from amqpscope.insight.bodies.octet_reader import OctetReader, Unreadable
from amqpscope.insight.bodies.outline import scalar

VARINT, FIXED64, LENGTH, GROUP, END, FIXED32 = range(6)
FIXED: Final = {FIXED64: ("fixed64", 8, "<d"), FIXED32: ("fixed32", 4, "<f")}
DEEPEST: Final = 12
"""Messages inside each other that are looked for: each level reads its octets again."""
MOST_FIELD: Final = (1 << 29) - 1


class WireReader(OctetReader):
    """Reads the wire format."""

    def varint(self) -> int:
        """A number of at most ten octets."""
        value = 0
        for place in range(10):
            octet = self.uint(1)
            value |= (octet & 0x7F) << (7 * place)
            if octet < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF
        raise Unreadable("a varint of more than ten octets")

    def lines(self, indent: str, depth: int) -> Iterator[str]:
        """The fields of a message."""
        groups: list[int] = []
        while self.at < len(self.data):
            key = self.varint()
            field, wire = key >> 3, key & 7
            if not 1 <= field <= MOST_FIELD:
                raise Unreadable(f"{field} is not a field number")
            inner = indent + "  " * len(groups)
            if wire == VARINT:
                yield f"{inner}{field} varint: {varint_words(self.varint())}"
            elif wire == LENGTH:
                yield from length_lines(field, self.take(self.varint()), inner, depth)
            elif wire in FIXED:
                name, size, form = FIXED[wire]
                octets = self.take(size)
                number = struct.unpack(form, octets)[0]
                value = int.from_bytes(octets, "little")
                yield f"{inner}{field} {name}: {value} (or {number!r})"
            elif wire == GROUP and len(groups) < DEEPEST:
                groups.append(field)
                yield f"{inner}{field} group: {{"
            elif wire == END and groups and groups[-1] == field:
                groups.pop()
                yield f"{inner[:-2]}}}"
            else:
                raise Unreadable(f"wire type {wire} of field {field}")
        if groups:
            raise Unreadable(f"group {groups[-1]} does not end")


def varint_words(value: int) -> str:
    """A varint; as a negative number too where its sign bit is set."""
    return f"{value} (or {value - (1 << 64)})" if value >> 63 else str(value)


def length_lines(field: int, octets: bytes, indent: str, depth: int) -> Iterator[str]:
    """What has a length: a text, a message inside, or octets; the wire does not say which."""
    text = readable_text(octets)
    if text is not None:
        yield f"{indent}{field} string: {json.dumps(text, ensure_ascii=False)}"
        return
    inner = message_lines(octets, indent, depth)
    if inner is None:
        yield f"{indent}{field} bytes: {scalar(octets)}"
        return
    yield f"{indent}{field} message: {{"
    yield from inner
    yield f"{indent}}}"


def readable_text(octets: bytes) -> str | None:
    """Octets as text, if people can read it."""
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\n\r\t" for c in text) else None


def message_lines(octets: bytes, indent: str, depth: int) -> list[str] | None:
    """The fields of octets that may be a message; None: they are none."""
    if not depth:
        return None
    try:
        return [*WireReader(octets).lines(f"{indent}  ", depth - 1)]
    except Unreadable:
        return None
