"""Values to octets: any frame of any dialect, also odd ones.

An argument that is not given is zero, empty or false; a property that is not given is absent. A
table's value is written under its letter if it has one, and else under the plainest for its type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dissectors.v0_9.encodings import AS_SPOKEN, AS_WRITTEN, KINDS
from dissectors.v0_9.framing import (
    BODY,
    FRAME_END,
    HEADER,
    HEARTBEAT,
    METHOD,
    REQUEST,
    RESPONSE,
    SHORT_HEARTBEAT,
    Envelope,
)
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.rows import ClassRow, Field, MethodRow
from dissectors.v0_9.values import (
    Byte,
    Char,
    Content,
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
    Value,
)
from dissectors.v0_9.versions import VERSIONS
from dissectors.wire import MAGIC

ABSENT: Final[Mapping[str, Value]] = {}
_DEFAULTS: Final[dict[str, Value]] = {
    "bit": False, "octet": 0, "short": 0, "long": 0, "longlong": 0, "timestamp": 0,
    "shortstr": "", "longstr": "", "table": Table(), "content": Content(0, ""),
}  # fmt: skip
_WIDTHS: Final = {"octet": 1, "short": 2, "long": 4, "longlong": 8, "timestamp": 8}
_INTEGERS: Final = {
    # kind: octets, signed
    "int8": (1, True),
    "uint8": (1, False),
    "int16": (2, True),
    "uint16": (2, False),
    "int32": (4, True),
    "uint32": (4, False),
    "int64": (8, True),
    "uint64": (8, False),
    "timestamp": (8, False),
}
_LETTERS: Final[dict[type, str]] = {
    type(None): "V", bool: "t", Byte: "b", Ubyte: "B", Short: "s", Ushort: "u", Int: "I",
    Uint: "i", Long: "l", Float: "f", float: "d", ScaledDecimal: "D", PosixTime: "T",
    str: "S", bytes: "x", Char: "k", FieldArray: "A", list: "A", Table: "F", dict: "F",
}  # fmt: skip
"""The plainest letter for a value; `Ulong` has none but where the text of 0-9-1 is followed."""


def default_value(field: Field) -> Value:
    """What an argument is when nothing is said of it."""
    return _DEFAULTS[field.type]


# values


def encode_short_string(value: str) -> bytes:
    """Text behind one octet of size."""
    raw = value.octets if isinstance(value, Unreadable) else str(value).encode("utf-8")
    if len(raw) > 255:
        raise ValueError(f"a short string has at most 255 octets, not {len(raw)}")
    return bytes((len(raw),)) + raw


def encode_long_string(value: Value) -> bytes:
    """Octets or text behind four octets of size."""
    if isinstance(value, Unreadable):
        raw = value.octets
    else:
        raw = value.encode("utf-8") if isinstance(value, str) else bytes(value)
    return len(raw).to_bytes(4, "big") + raw


def encode_table(value: Value) -> bytes:
    """A field table with its size."""
    pairs = value.items() if isinstance(value, dict) else value
    items = list(pairs)
    letters = getattr(value, "letters", b"") or bytes(letter_of(item) for _, item in items)
    if len(letters) != len(items):
        raise ValueError(f"{len(items)} fields of a table have {len(letters)} letters")
    inside = b"".join(
        encode_short_string(name) + bytes((letter,)) + encode_value(item, letter)
        for (name, item), letter in zip(items, letters, strict=True)
    )
    return len(inside).to_bytes(4, "big") + inside


def encode_array(value: Value) -> bytes:
    """A field array with its size."""
    letters = getattr(value, "letters", b"") or bytes(map(letter_of, value))
    if len(letters) != len(value):
        raise ValueError(f"{len(value)} items of an array have {len(letters)} letters")
    inside = b"".join(
        bytes((letter,)) + encode_value(item, letter)
        for item, letter in zip(value, letters, strict=True)
    )
    return len(inside).to_bytes(4, "big") + inside


def letter_of(value: Value) -> int:
    """The letter for a value that has none yet."""
    if type(value) is int:
        return ord("I") if -(1 << 31) <= value < 1 << 31 else ord("l")
    letter = _LETTERS.get(type(value))
    if letter is None:
        raise ValueError(f"no letter is for a {type(value).__name__} in a table")
    return ord(letter)


def kind_of(letter: int, value: Value) -> str:
    """What a letter means before this value: `s` and `l` can be read in two ways."""
    written = isinstance(value, str | Ulong)
    return KINDS[(AS_WRITTEN if written else AS_SPOKEN)[letter]]


def encode_value(value: Value, letter: int) -> bytes:
    """What follows a type letter."""
    kind = kind_of(letter, value)
    if kind in _INTEGERS:
        width, signed = _INTEGERS[kind]
        return int(value).to_bytes(width, "big", signed=signed)
    writer = _WRITERS.get(kind)
    if writer is None:
        raise ValueError(f"no type has the letter 0x{letter:02x}")
    return writer(value)


def _void(value: Value) -> bytes:
    if value is not None:
        raise ValueError(f"{value!r} is not void")
    return b""


def _decimal(value: ScaledDecimal) -> bytes:
    return struct.pack(">Bi", value.scale, value.value)


_WRITERS: Final[dict[str, Callable[[Value], bytes]]] = {
    "void": _void,
    "boolean": lambda value: bytes((bool(value),)),
    "float": struct.Struct(">f").pack,
    "double": struct.Struct(">d").pack,
    "decimal": _decimal,
    "shortstr": encode_short_string,
    "longstr": encode_long_string,
    "bytes": encode_long_string,
    "table": encode_table,
    "array": encode_array,
    "char": lambda value: str(value).encode("latin-1"),
}


def encode_argument(value: Value, kind: str) -> bytes:
    """A value of a declared type, but for a bit."""
    if kind in _WIDTHS:
        return int(value).to_bytes(_WIDTHS[kind], "big")
    if kind == "shortstr":
        return encode_short_string(value)
    if kind == "longstr":
        return encode_long_string(value)
    if kind == "table":
        return encode_table(value)
    return bytes((value.reference,)) + encode_long_string(value.value)


def encode_arguments(fields: Iterable[Field], values: Iterable[Value]) -> bytes:
    """All arguments of a method; neighbouring bits share octets, the first lowest."""
    octets = bytearray()
    room = 0
    for field, value in zip(fields, values, strict=True):
        if field.type != "bit":
            octets += encode_argument(value, field.type)
            room = 0
            continue
        if not room:
            octets.append(0)
            room = 8
        if value:
            octets[-1] |= 1 << (8 - room)
        room -= 1
    return bytes(octets)


# frames


def encode_frame(
    type: int, channel: int, payload: bytes, *, head: int = 7, cycle: int = 0, end: int = FRAME_END
) -> bytes:
    """A whole frame around its payload."""
    kind = bytes((type, cycle)) if head == 8 else bytes((type,))
    start = kind + channel.to_bytes(2, "big") + len(payload).to_bytes(4, "big")
    return start + payload + bytes((end,))


def encode_method(
    dialect: Dialect,
    name: str,
    fields: Mapping[str, Value] = ABSENT,
    channel: int = 0,
    *,
    head: int = 7,
    envelope: Envelope | None = None,
    response: bool = False,
) -> bytes:
    """A method by its full name; with an envelope, as a request or response of 0-9."""
    row = dialect.by_name[name].row
    payload = method_payload(row, fields)
    if envelope is None:
        return encode_frame(METHOD, channel, payload, head=head)
    payload = struct.pack(">QQI", *envelope) + payload
    return encode_frame(RESPONSE if response else REQUEST, channel, payload, head=head)


def method_payload(row: MethodRow, fields: Mapping[str, Value]) -> bytes:
    """The numbers and arguments of a method."""
    names = {field.name for field in row.fields}
    for name in fields:
        if name not in names:
            raise ValueError(f"{row.name} has no field {name}")
    values = [fields.get(field.name, default_value(field)) for field in row.fields]
    return row.code.to_bytes(4, "big") + encode_arguments(row.fields, values)


def encode_content_header(
    dialect: Dialect,
    class_name: str,
    body_size: int,
    properties: Mapping[str, Value] = ABSENT,
    channel: int = 0,
    *,
    weight: int = 0,
    head: int = 7,
) -> bytes:
    """The header of a content, with the properties that are given and not None."""
    row = next(row for row in dialect.classes if row.name == class_name)
    for name in properties:
        if all(field.name != name for field in row.properties):
            raise ValueError(f"{class_name} has no property {name}")
    payload = content_payload(row, body_size, properties, weight)
    return encode_frame(HEADER, channel, payload, head=head)


def content_payload(
    row: ClassRow, body_size: int, properties: Mapping[str, Value], weight: int = 0
) -> bytes:
    """The sizes, flags and properties of a content header; absent properties are None."""
    flags = 0
    octets = b""
    for place, field in enumerate(row.properties):
        value = properties.get(field.name)
        if value is not None:
            flags |= 0x8000 >> place
            octets += encode_argument(value, field.type)
    numbers = ((row.id, 2), (weight, 2), (body_size, 8), (flags, 2))
    return b"".join(number.to_bytes(width, "big") for number, width in numbers) + octets


def encode_body(payload: bytes, channel: int, *, head: int = 7) -> bytes:
    """A piece of a content."""
    return encode_frame(BODY, channel, payload, head=head)


def encode_heartbeat(channel: int = 0, *, head: int = 7, short: bool = False) -> bytes:
    """A heartbeat; `short` as one grammar has it, in four octets."""
    return SHORT_HEARTBEAT if short else encode_frame(HEARTBEAT, channel, b"", head=head)


def encode_header(dialect: Dialect) -> bytes:
    """What a client of this dialect begins with."""
    return MAGIC + next(row.octets for row in VERSIONS if row.protocol == dialect.protocol)
