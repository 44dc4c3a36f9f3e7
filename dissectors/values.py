"""Values that families share, as Python values that remember their wire type.

null, boolean, string, binary, double and list are None, bool, str, bytes, float and list. Every
other type has a class of its own, most of them a thin subclass of the natural Python type:
`Uint(1)` and `Ulong(1)` are equal as numbers, but each knows what it was. Their `type` is the name
that AMQP 1.0 gives it. Each family adds its own classes in `v1_0.values` and `v0_9.values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


class Timestamp(int):
    """Milliseconds since the Unix epoch, UTC."""

    __slots__ = ()
    type: ClassVar = "timestamp"


class PosixTime(int):
    """Seconds since the Unix epoch, UTC."""

    __slots__ = ()
    type: ClassVar = "posix-time"


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
