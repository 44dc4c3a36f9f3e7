"""Values that every family has, as Python values that remember their wire type.

null, boolean, string, binary, double and list are None, bool, str, bytes, float and list. Every
other type has a class of its own, most of them a thin subclass of the natural Python type:
`Uint(1)` and `Ulong(1)` are equal as numbers, but each knows what it was. Their `type` is the name
that AMQP 1.0 gives it. Each family adds its own classes in `v1_0.values` and `v0_9.values`.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

Value: TypeAlias = Any
"""An AMQP value of any type."""


class Ubyte(int):
    """Unsigned 8 bit."""

    __slots__ = ()
    type: ClassVar = "ubyte"


class Ushort(int):
    """Unsigned 16 bit."""

    __slots__ = ()
    type: ClassVar = "ushort"


class Uint(int):
    """Unsigned 32 bit."""

    __slots__ = ()
    type: ClassVar = "uint"


class Ulong(int):
    """Unsigned 64 bit."""

    __slots__ = ()
    type: ClassVar = "ulong"


class Byte(int):
    """Signed 8 bit."""

    __slots__ = ()
    type: ClassVar = "byte"


class Short(int):
    """Signed 16 bit."""

    __slots__ = ()
    type: ClassVar = "short"


class Int(int):
    """Signed 32 bit."""

    __slots__ = ()
    type: ClassVar = "int"


class Long(int):
    """Signed 64 bit."""

    __slots__ = ()
    type: ClassVar = "long"


class Float(float):
    """IEEE 754 binary32; binary64 is Python's float."""

    __slots__ = ()
    type: ClassVar = "float"


class Char(str):
    """One Unicode scalar value."""

    __slots__ = ()
    type: ClassVar = "char"


class Map(tuple[tuple[Value, Value], ...]):
    """Pairs in wire order, duplicates included.

    A last key without a value (an odd count, which is damage) is a pair with None.
    """

    __slots__ = ()
    type: ClassVar = "map"

    def get(self, key: str) -> Value:
        """The value under the first key with this text, symbol or string."""
        for name, value in self:
            if isinstance(name, str) and name == key:
                return value
        return None

    def keys(self) -> Iterator[Value]:
        """All keys, as often as they are there."""
        return (key for key, _ in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and same(tuple(self), tuple(other))

    def __hash__(self) -> int:
        return hash(len(self))

    def __repr__(self) -> str:
        return f"Map({list(self)!r})"


def same(one: Value, other: Value) -> bool:
    """Equal in type and value: 1 is not True, a symbol is not a string, NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, Decimal):
        return bool(one.as_tuple() == other.as_tuple())
    return bool(one == other)
