"""Values to octets: canonical encodings, or any others that are asked for.

Canonical is the shortest encoding of a value, with trailing absent fields left out. `As` asks for
another format code for one value; `Spelled` for another descriptor or list encoding of a body.
A plain int has the type that its field declares, and is a long where nothing is declared.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final, NamedTuple

from dissectors.v1_0.body import Body
from dissectors.v1_0.decimals import write_decimal
from dissectors.v1_0.encodings import BY_CODE, DESCRIBED
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITE, SECTIONS, primitive
from dissectors.v1_0.values import Described, Map, Ulong, Value, type_of


class As(NamedTuple):
    """A value in the encoding with this format code."""

    code: int
    value: Value


class Spelled(NamedTuple):
    """A body with its descriptor, list encoding or number of items as given."""

    body: Body
    descriptor: Value
    code: int | None = None
    items: int | None = None
    """List items written; the rest of the fields must be absent."""


_INTEGERS: Final = {
    # type: plain code, octets, signed
    "ubyte": (0x50, 1, False),
    "ushort": (0x60, 2, False),
    "uint": (0x70, 4, False),
    "ulong": (0x80, 8, False),
    "byte": (0x51, 1, True),
    "short": (0x61, 2, True),
    "int": (0x71, 4, True),
    "long": (0x81, 8, True),
    "timestamp": (0x83, 8, True),
}
_SMALL: Final = {
    # type: (shorter code, the largest value it takes)
    "uint": ((0x43, 0), (0x52, 255)),
    "ulong": ((0x44, 0), (0x53, 255)),
    "int": ((0x54, 127),),
    "long": ((0x55, 127),),
}


def encode(value: Value, declared: str = "*") -> bytes:
    """The octets of a value, constructor included."""
    if isinstance(value, As):
        return _encode_as(value, declared)
    if isinstance(value, Spelled):
        return _spelled(value)
    if isinstance(value, Body):
        return _spelled(Spelled(value, Ulong(value.row.code)))
    if isinstance(value, Described):
        return bytes((DESCRIBED,)) + encode(value.descriptor) + encode(value.value)
    kind = _type(value, declared)
    if kind in _SIZED:
        return _encode_sized(value, kind)
    code = _canonical(value, kind)
    return bytes((code,)) + _content(value, code)


def _encode_sized(value: Value, kind: str) -> bytes:
    """The shorter form where size and count fit it; the contents are encoded once."""
    if kind == "list" and not value:
        return b"\x45"
    short, wide = _SIZED[kind]
    count, inside = _parts(value, kind)
    code = short if count < 256 and len(inside) + (count >= 0) < 256 else wide
    width = BY_CODE[code].width
    return bytes((code,)) + _sized(_counted(count, inside, width), width)


def _encode_as(value: As, declared: str) -> bytes:
    inner = value.value
    if isinstance(inner, Body):
        return _spelled(Spelled(inner, Ulong(inner.row.code), value.code))
    _type(inner, declared)
    return bytes((value.code,)) + _content(inner, value.code)


def _type(value: Value, declared: str) -> str:
    if type(value) is int:
        return declared if declared in _INTEGERS else "long"
    return type_of(value)


def _canonical(value: Value, kind: str) -> int:
    """The format code of a fixed-width value's shortest encoding."""
    if kind == "null":
        return 0x40
    if kind == "boolean":
        return 0x41 if value else 0x42
    if kind in _INTEGERS:
        for code, most in _SMALL.get(kind, ()):
            least = -128 if most == 127 else 0
            if least <= value <= most:
                return code
        return _INTEGERS[kind][0]
    return _FIXED[kind]


_FIXED: Final = {
    "float": 0x72, "double": 0x82, "char": 0x73, "uuid": 0x98,
    "decimal32": 0x74, "decimal64": 0x84, "decimal128": 0x94,
}  # fmt: skip
_SIZED: Final = {
    "binary": (0xA0, 0xB0), "string": (0xA1, 0xB1), "symbol": (0xA3, 0xB3),
    "list": (0xC0, 0xD0), "map": (0xC1, 0xD1), "array": (0xE0, 0xF0),
}  # fmt: skip


def _content(value: Value, code: int) -> bytes:
    """What follows the constructor."""
    row = BY_CODE[code]
    if row.sized:
        return _sized(_counted(*_parts(value, row.type), row.width), row.width)
    if row.width == 0:
        _matches(value, code)
        return b""
    writer = _WRITERS.get(row.type)
    if writer is not None:
        return writer(value)
    signed = _INTEGERS[row.type][2] if row.type in _INTEGERS else False
    return int(value).to_bytes(row.width, "big", signed=signed)


def _matches(value: Value, code: int) -> None:
    fitting: Value = {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0, 0x45: []}[code]
    if value != fitting:
        raise ValueError(f"{value!r} does not fit the encoding 0x{code:02x}")


_WRITERS: Final[dict[str, Callable[[Value], bytes]]] = {
    "float": struct.Struct(">f").pack,
    "double": struct.Struct(">d").pack,
    "char": lambda value: ord(value).to_bytes(4, "big"),
    "uuid": bytes,
    "decimal32": lambda value: write_decimal(Decimal(value), "decimal32"),
    "decimal64": lambda value: write_decimal(Decimal(value), "decimal64"),
    "decimal128": lambda value: write_decimal(Decimal(value), "decimal128"),
}


def _sized(inside: bytes, width: int) -> bytes:
    if width == 1 and len(inside) > 255:
        raise ValueError(f"{len(inside)} octets do not fit a size of one octet")
    return len(inside).to_bytes(width, "big") + inside


def _counted(count: int, inside: bytes, width: int) -> bytes:
    """The contents behind their count, if they have one."""
    if count < 0:
        return inside
    if count >= 1 << 8 * width:
        raise ValueError(f"{count} items do not fit a count of one octet")
    return count.to_bytes(width, "big") + inside


def _parts(value: Value, kind: str) -> tuple[int, bytes]:
    """The count of a compound or array (-1 for what has none), and the octets behind it."""
    if kind == "binary":
        return -1, bytes(value)
    if kind in {"string", "symbol"}:
        return -1, str(value).encode("utf-8")
    if kind == "array":
        constructor = b"".join(bytes((DESCRIBED,)) + encode(d) for d in value.descriptors)
        octets = b"".join(_content(item, value.code) for item in value)
        return len(value), constructor + bytes((value.code,)) + octets
    items = [item for pair in value for item in pair] if isinstance(value, Map) else list(value)
    return len(items), b"".join(map(encode, items))


def _spelled(spelled: Spelled) -> bytes:
    body, row = spelled.body, spelled.body.row
    items = [encode(body.wire(i), _declared(row, i)) for i in range(len(body))]
    count = spelled.items
    if count is None:
        count = max((i + 1 for i, item in enumerate(items) if item != b"\x40"), default=0)
    items = items[:count]
    code = spelled.code
    if code is None:
        code = 0x45 if not items else 0xC0 if len(b"".join(items)) < 255 and count < 256 else 0xD0
    head = bytes((DESCRIBED,)) + encode(spelled.descriptor) + bytes((code,))
    if code == 0x45:
        return head
    width = BY_CODE[code].width
    return head + _sized(_counted(len(items), b"".join(items), width), width)


def _declared(row: Composite, position: int) -> str:
    return primitive(row.fields[position].type) if position < len(row.fields) else "*"


def encode_frame(
    body: Value = None,
    channel: int = 0,
    payload: bytes = b"",
    *,
    type: int | None = None,
    extended: bytes = b"",
) -> bytes:
    """A whole frame; without a body an empty one. `extended` is the extended header (DOFF > 2)."""
    inner = body.body if isinstance(body, Spelled) else body.value if isinstance(body, As) else body
    if type is None:
        sasl = isinstance(inner, Body) and "sasl-frame" in COMPOSITE[inner.row.name].provides
        type = 1 if sasl else 0
    if len(extended) % 4:
        raise ValueError("the extended header is a whole number of four octets")
    octets = b"" if body is None else encode(body)
    size = 8 + len(extended) + len(octets) + len(payload)
    return struct.pack(">IBBH", size, 2 + len(extended) // 4, type, channel) + b"".join(
        (extended, octets, payload)
    )


def encode_header(id: int = 0, major: int = 1, minor: int = 0, revision: int = 0) -> bytes:
    """A protocol header."""
    return b"AMQP" + bytes((id, major, minor, revision))


def encode_message(sections: Iterable[tuple[str, Value]]) -> bytes:
    """A message from its sections, each by the spec's name with its value."""
    parts = []
    for name, value in sections:
        if isinstance(value, Body | Spelled):
            parts.append(encode(value))
        else:
            parts.append(encode(Described(Ulong(_SECTION_CODES[name]), value)))
    return b"".join(parts)


_SECTION_CODES: Final = {name: code for code, name in SECTIONS.items()}
