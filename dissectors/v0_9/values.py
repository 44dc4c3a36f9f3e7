"""Values of 0-9: what every family has, and the classes of field tables.

Integers of a table have the classes of their width and sign, a long string is a str where it is
UTF-8 and bytes where it is not, void is None. The table keeps which letter preceded each value:
two letters can mean the same type, and one letter two types. In a method's argument or a content
property the row says the type, so a number is a plain int.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, NamedTuple, TypeAlias

from dissectors.values import (
    Byte,
    Char,
    Float,
    Int,
    Long,
    Map,
    PosixTime,
    Short,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Value,
    same,
)

__all__ = [
    "Byte", "Char", "Content", "FieldArray", "Float", "Int", "Long", "Map", "Pair", "PosixTime",
    "ScaledDecimal", "Short", "Table", "Ubyte", "Uint", "Ulong", "Unreadable", "Ushort", "Value",
    "letters_in", "same",
]  # fmt: skip

Pair: TypeAlias = tuple[str, Value]


class Table(Map):
    """Fields in wire order, duplicates included, with the letter of each."""

    letters: bytes
    """The type letters, one octet for each field."""
    type: ClassVar = "table"

    def __new__(cls, pairs: Iterable[Pair] = (), letters: bytes = b"") -> Table:
        """Without letters each value gets the plainest that fits it when it is encoded."""
        self = tuple.__new__(cls, pairs)  # on the way of every message: super() takes as long
        self.letters = letters
        return self

    def __getnewargs__(self) -> tuple[tuple[Pair, ...], bytes]:
        return tuple(self), self.letters

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and self.letters == other.letters
            and same(tuple(self), tuple(other))
        )

    def __hash__(self) -> int:
        return hash((self.letters, len(self)))

    def __repr__(self) -> str:
        return f"Table({list(self)!r}, {self.letters!r})"


class FieldArray(list[Value]):
    """Values in order, each with a letter of its own."""

    type: ClassVar = "array"

    def __init__(self, items: Iterable[Value] = (), letters: bytes = b"") -> None:
        super().__init__(items)
        self.letters = letters

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FieldArray)
            and self.letters == other.letters
            and same(list(self), list(other))
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # as a list's

    def __reduce__(self) -> tuple[Callable[..., FieldArray], tuple[list[Value], bytes]]:
        return FieldArray, (list(self), self.letters)

    def __repr__(self) -> str:
        return f"FieldArray({list(self)!r}, {self.letters!r})"


class ScaledDecimal:
    """A number of 32 bit and the place of its decimal point."""

    __slots__ = ("scale", "value")
    type: ClassVar = "decimal"

    def __init__(self, scale: int, value: int) -> None:
        self.scale = scale
        self.value = value

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ScaledDecimal)
            and self.scale == other.scale
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((self.scale, self.value))

    def __str__(self) -> str:
        return f"{self.value}e-{self.scale}"

    def __repr__(self) -> str:
        return f"ScaledDecimal({self.scale}, {self.value})"


class Unreadable(str):
    """A short string that is not UTF-8, as people can read it, and the octets that it was."""

    octets: bytes
    type: ClassVar = "shortstr"

    def __new__(cls, octets: bytes) -> Unreadable:
        """Its text shows the odd octets by escapes."""
        self = super().__new__(cls, octets.decode("utf-8", "backslashreplace"))
        self.octets = octets
        return self

    def __getnewargs__(self) -> tuple[bytes]:  # type: ignore[override]  # of this class
        return (self.octets,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unreadable) and self.octets == other.octets

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.octets)


class Content(NamedTuple):
    """A message body within a method (0-9): the octets themselves, or a reference to them."""

    reference: int
    """0 for the body itself, 1 for a reference."""
    value: str | bytes


def letters_in(value: Value) -> Iterator[tuple[str, int]]:
    """All type letters in a table, with the path of each: `x-death[0].count`."""
    if isinstance(value, Table):
        for (name, item), letter in zip(value, value.letters, strict=False):
            yield name, letter
            yield from ((f"{name}{_joined(path)}", inner) for path, inner in letters_in(item))
    elif isinstance(value, FieldArray):
        for place, (item, letter) in enumerate(zip(value, value.letters, strict=False)):
            yield f"[{place}]", letter
            yield from ((f"[{place}]{_joined(path)}", inner) for path, inner in letters_in(item))


def _joined(path: str) -> str:
    return path if path.startswith("[") else f".{path}"
