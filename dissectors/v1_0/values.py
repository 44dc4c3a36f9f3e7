"""Values of AMQP 1.0: what every family has, and the classes of 1.0 alone.

In a field whose row declares an integer type, a value of just that type is a plain int: the row
says the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import ClassVar

from dissectors.values import (
    Byte,
    Char,
    Float,
    Int,
    Long,
    Map,
    Short,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Value,
    same,
)

__all__ = [
    "Array", "Byte", "Char", "Decimal32", "Decimal64", "Decimal128", "Described", "Float", "Int",
    "Long", "Map", "Short", "Symbol", "Timestamp", "Ubyte", "Uint", "Ulong", "Ushort", "Uuid",
    "Value", "same", "type_of",
]  # fmt: skip


class Timestamp(int):
    """Milliseconds since the Unix epoch, UTC."""

    __slots__ = ()
    type: ClassVar = "timestamp"


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


class Symbol(str):
    """A name from a constrained domain, ASCII."""

    __slots__ = ()
    type: ClassVar = "symbol"


class Uuid(bytes):
    """16 octets as RFC 4122 lays them out."""

    __slots__ = ()
    type: ClassVar = "uuid"

    def __str__(self) -> str:
        h = self.hex()
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


class Array(tuple[Value, ...]):
    """Values of one type behind a single constructor."""

    code: int
    """The format code of the elements."""
    descriptors: tuple[Value, ...]
    """What describes each element, outermost first; mostly nothing."""
    type: ClassVar = "array"

    def __new__(
        cls, code: int, items: Iterable[Value] = (), descriptors: tuple[Value, ...] = ()
    ) -> Array:
        """Elements are given bare: the descriptors belong to the array."""
        self = super().__new__(cls, items)
        self.code = code
        self.descriptors = descriptors
        return self

    def __getnewargs__(self) -> tuple[int, tuple[Value, ...], tuple[Value, ...]]:
        return self.code, tuple(self), self.descriptors

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Array)
            and self.code == other.code
            and same(self.descriptors, other.descriptors)
            and same(tuple(self), tuple(other))
        )

    def __hash__(self) -> int:
        return hash((self.code, len(self)))

    def __repr__(self) -> str:
        described = f", {self.descriptors!r}" if self.descriptors else ""
        return f"Array(0x{self.code:02x}, {list(self)!r}{described})"


class Described:
    """A value under a descriptor that is no composite type we know."""

    __slots__ = ("descriptor", "value")
    type: ClassVar = "described"

    def __init__(self, descriptor: Value, value: Value) -> None:
        self.descriptor = descriptor
        self.value = value

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Described)
            and same(self.descriptor, other.descriptor)
            and same(self.value, other.value)
        )

    def __hash__(self) -> int:
        return hash(str(self.descriptor))

    def __repr__(self) -> str:
        return f"Described({self.descriptor!r}, {self.value!r})"


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
