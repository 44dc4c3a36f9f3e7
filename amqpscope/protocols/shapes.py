"""What a field can hold, as far as that is known before any frame is seen.

A shape lets the compiler refuse what can never be true (`transfer.handle == "x"`), understand the
spec's names for values (`role == receiver`) and know which names may follow a dot.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple


class Holds(StrEnum):
    """Kinds of value that compare alike."""

    NUMBER = "a number"
    TEXT = "text"
    BINARY = "binary"
    TIME = "a time (2030-01-31T12:00:00Z) or a number of milliseconds"
    DURATION = "a duration (2s, 500ms) or a number of seconds"
    BOOLEAN = "true or false"
    COMPOSITE = "a composite"
    ANY = "anything"
    NOTHING = "no value"


Fields = Callable[[], "dict[str, Shape]"]
"""The fields of a composite type, asked for only when one of them is named."""


class Shape(NamedTuple):
    """The kinds of value of one field."""

    holds: frozenset[Holds]
    choices: tuple[tuple[str, int | str | bool], ...] = ()
    """Names that stand for values."""
    closed: bool = False
    """There is no other text than the choices."""
    composites: tuple[Fields, ...] = ()
    """What has the fields of the composite types that this may be; they may follow a dot."""
    several: bool = False
    """It may be an array, so an index may follow."""


ANY: Final = Shape(frozenset((Holds.ANY,)))
NUMBER: Final = Shape(frozenset((Holds.NUMBER,)))
DURATION: Final = Shape(frozenset((Holds.DURATION,)))
TEXT: Final = Shape(frozenset((Holds.TEXT,)))
BINARY: Final = Shape(frozenset((Holds.BINARY,)))
BOOLEAN: Final = Shape(frozenset((Holds.BOOLEAN,)))
NOTHING: Final = Shape(frozenset((Holds.NOTHING,)))
"""A kind of frame: it is or it is not."""


def one_of(*names: str) -> Shape:
    """Text that is one of these names."""
    return Shape(TEXT.holds, tuple((name, name) for name in names), closed=True)


def merge(shapes: list[Shape]) -> Shape:
    """The shape of a field that is one of several."""
    first, *rest = shapes
    for shape in rest:
        first = Shape(
            first.holds | shape.holds,
            tuple(dict.fromkeys(first.choices + shape.choices)),
            first.closed and shape.closed,
            tuple(dict.fromkeys(first.composites + shape.composites)),
            first.several or shape.several,
        )
    return first


def parts(shape: Shape) -> dict[str, Shape]:
    """The fields that a value of this shape may have."""
    found: dict[str, list[Shape]] = {}
    for fields in shape.composites:
        for name, part in fields().items():
            found.setdefault(name, []).append(part)
    return {name: merge(shapes) for name, shapes in found.items()}


def describe(shape: Shape) -> str:
    """What may be beside a field of this shape, for a message."""
    names = [name for name, _ in shape.choices]
    named = shape.closed or (Holds.BOOLEAN in shape.holds and len(names) > 0)
    said = [] if named else sorted(holds.value for holds in shape.holds)
    if names:
        said.insert(0, f"one of {', '.join(names)}" if len(names) <= 12 else "a known name")
    return " or ".join(said)
