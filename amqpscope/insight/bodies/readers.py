"""What reads each kind of body into lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from amqpscope.insight.bodies import protobuf
from amqpscope.insight.bodies.cbor import CborReader
from amqpscope.insight.bodies.images import image_format
from amqpscope.insight.bodies.kinds import (
    CBOR,
    IMAGE,
    JSON,
    MESSAGEPACK,
    OCTETS,
    PROTOBUF,
    TEXT,
    XML,
    Kind,
)
from amqpscope.insight.bodies.markup import is_json, json_lines, xml_lines
from amqpscope.insight.bodies.messagepack import MessagePackReader
from amqpscope.insight.bodies.octet_reader import OctetReader, Unreadable
from amqpscope.insight.bodies.outline import outline

LOOKED_AT: Final = 4096
"""Characters of a text that have to be readable."""
HEX: Final = 16
"""Octets of a row."""
MOST_HEX: Final = 1024
_CHARSET: Final = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)


class NotThis(ValueError):
    """The octets are not of the kind."""


def read_text(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """Text in the character set that the content-type names, else UTF-8."""
    text = decode_text(data, content_type, cut=cut)
    if text is None:
        raise NotThis("it has octets that are no characters")
    return iter(text.splitlines())


def decode_text(data: bytes, content_type: str, *, cut: bool) -> str | None:
    """Octets as text, if people can read it; where they are cut, so may the last character be."""
    named = _CHARSET.search(content_type)
    try:
        decoder = codecs.getincrementaldecoder(named[1] if named else "utf-8")()
        decoded: object = decoder.decode(data, final=not cut)
    except (LookupError, ValueError):
        return None
    if not isinstance(decoded, str):  # some codecs are not of characters
        return None
    text = decoded.removeprefix("\ufeff")
    readable = all(c.isprintable() or c in "\n\r\t\f" for c in text[:LOOKED_AT])
    return text if readable else None


def read_json(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """JSON, indented; one that is cut cannot be checked."""
    text = decode_text(data, content_type, cut=cut)
    if text is None:
        raise NotThis("it is not text")
    why = "" if cut else is_json(text)
    if why:
        raise NotThis(why)
    return json_lines(text)


def read_xml(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """XML, indented."""
    text = decode_text(data, content_type, cut=cut)
    if text is None or not text.lstrip().startswith("<"):
        raise NotThis("it does not begin with a tag")
    return xml_lines(text)


def read_cbor(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """CBOR in diagnostic notation."""
    return value_lines(CborReader(data), cut)


def read_messagepack(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """MessagePack in the same notation."""
    return value_lines(MessagePackReader(data), cut)


def value_lines(reader: OctetReader, cut: bool) -> Iterator[str]:
    """The values of a binary format; of one that breaks off, those that are there, and why."""
    why = reader.read_all()
    if why and not reader.found:
        raise NotThis(why)
    lines = chain.from_iterable(map(outline, reader.found))
    return chain(lines, [f"... {why}"]) if why and not cut else lines


def read_protobuf(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """Fields by number and wire type."""
    lines: list[str] = []
    try:
        for line in protobuf.WireReader(data).lines("", protobuf.DEEPEST):
            lines.append(line)
    except Unreadable as error:
        if not lines:
            raise NotThis(str(error)) from None
        lines += [] if cut else [f"... {error}"]
    return iter(lines)


def read_image(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """No lines: its title says all."""
    if image_format(data) is None:
        raise NotThis("of no format that is known")
    return iter(())


def read_hex(data: bytes, content_type: str, cut: bool) -> Iterator[str]:
    """Rows of octets, not too many of them."""
    for at in range(0, min(len(data), MOST_HEX), HEX):
        yield data[at : at + HEX].hex(" ")
    if len(data) > MOST_HEX:
        yield "..."


READERS: Final[dict[Kind, Callable[[bytes, str, bool], Iterator[str]]]] = {
    JSON: read_json,
    XML: read_xml,
    CBOR: read_cbor,
    MESSAGEPACK: read_messagepack,
    PROTOBUF: read_protobuf,
    IMAGE: read_image,
    TEXT: read_text,
    OCTETS: read_hex,
}
