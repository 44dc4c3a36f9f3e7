"""Values of AMQP 1.0: what every family has, and the classes of 1.0 alone.

In a field whose row declares an integer type, a value of just that type is a plain int: the row
says the rest.
"""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from dissectors.values import (
    Array,
    Byte,
    Char,
    Described,
    Float,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Uuid,
    Value,
    same,
)

__all__ = [
    "Array", "Byte", "Char", "Decimal32", "Decimal64", "Decimal128", "Described", "Float", "Int",
    "Long", "Map", "Short", "Symbol", "Timestamp", "Ubyte", "Uint", "Ulong", "Ushort", "Uuid",
    "Value", "same", "type_of",
]  # fmt: skip


class Decimal32(Decimal):
    """IEEE 754 decimal32, exact."""

    __slots__ = ()
    type: ClassVar = "decimal32"


class Decimal64(Decimal):
    """IEEE 754 decimal64, exact."""

    __slots__ = ()
    type: ClassVar = "decimal64"


class Decimal128(Decimal):
    """IEEE 754 decimal128, exact."""

    __slots__ = ()
    type: ClassVar = "decimal128"


def type_of(value: Value) -> str:
    """The AMQP type of a value; a plain int is one whose row says which (here: `int`)."""
    return getattr(value, "type", "") or _NATURAL.get(type(value), "int")


_NATURAL = {
    type(None): "null",
    bool: "boolean",
    str: "string",
    bytes: "binary",
    float: "double",
    list: "list",
}
