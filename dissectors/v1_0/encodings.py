"""The 39 primitive encodings (spec 1.6), and the lookups made from them."""

from __future__ import annotations

from typing import Final

from dissectors.v1_0.rows import Encoding
from dissectors.v1_0.values import Byte, Int, Long, Short, Ubyte, Uint, Ulong, Ushort

# fmt: off
ENCODINGS: Final = tuple(Encoding(*row) for row in (
    # code  type          name          width
    (0x40, "null",        "",           0),
    (0x56, "boolean",     "",           1),
    (0x41, "boolean",     "true",       0),
    (0x42, "boolean",     "false",      0),
    (0x50, "ubyte",       "",           1),
    (0x60, "ushort",      "",           2),
    (0x70, "uint",        "",           4),
    (0x52, "uint",        "smalluint",  1),
    (0x43, "uint",        "uint0",      0),
    (0x80, "ulong",       "",           8),
    (0x53, "ulong",       "smallulong", 1),
    (0x44, "ulong",       "ulong0",     0),
    (0x51, "byte",        "",           1),
    (0x61, "short",       "",           2),
    (0x71, "int",         "",           4),
    (0x54, "int",         "smallint",   1),
    (0x81, "long",        "",           8),
    (0x55, "long",        "smalllong",  1),
    (0x72, "float",       "ieee-754",   4),
    (0x82, "double",      "ieee-754",   8),
    (0x74, "decimal32",   "ieee-754",   4),
    (0x84, "decimal64",   "ieee-754",   8),
    (0x94, "decimal128",  "ieee-754",  16),
    (0x73, "char",        "utf32",      4),
    (0x83, "timestamp",   "ms64",       8),
    (0x98, "uuid",        "",          16),
    (0xA0, "binary",      "vbin8",      1),
    (0xB0, "binary",      "vbin32",     4),
    (0xA1, "string",      "str8-utf8",  1),
    (0xB1, "string",      "str32-utf8", 4),
    (0xA3, "symbol",      "sym8",       1),
    (0xB3, "symbol",      "sym32",      4),
    (0x45, "list",        "list0",      0),
    (0xC0, "list",        "list8",      1),
    (0xD0, "list",        "list32",     4),
    (0xC1, "map",         "map8",       1),
    (0xD1, "map",         "map32",      4),
    (0xE0, "array",       "array8",     1),
    (0xF0, "array",       "array32",    4),
))
# fmt: on

DESCRIBED: Final = 0x00
"""The octet that announces a descriptor before the constructor of the value."""

TYPES: Final = tuple(dict.fromkeys(row.type for row in ENCODINGS))
"""The primitive types; a type's number is its place here, plus one."""

TYPE_NUMBER: Final = {name: number for number, name in enumerate(TYPES, 1)}

BY_CODE: Final = {row.code: row for row in ENCODINGS}

TYPE_OF: Final = bytes(
    TYPE_NUMBER[BY_CODE[code].type] if code in BY_CODE else 0 for code in range(256)
)
"""The type's number by format code; 0 where no encoding has that code."""

INTEGER_OF: Final = [
    {"ubyte": Ubyte, "ushort": Ushort, "uint": Uint, "ulong": Ulong,
     "byte": Byte, "short": Short, "int": Int, "long": Long}.get(name)
    for name in ("", *TYPES)
]  # fmt: skip
"""The class of each integer type, by the type's number; None for other types."""

CODES: Final = {name: tuple(row for row in ENCODINGS if row.type == name) for name in TYPES}
"""The encodings of each type, the plain one first."""


def label(code: int) -> str:
    """Name an encoding as people read it: `list8`, `smalluint`, `uint`, `0x46`."""
    row = BY_CODE.get(code)
    if row is None:
        return f"0x{code:02x}"
    return row.type if row.name in {"", "ieee-754", "utf32", "true", "false"} else row.name
