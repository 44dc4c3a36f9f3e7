"""What the fields of 1.0 can hold, from the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from amqpscope.protocols.shapes import ANY, Holds, Shape
from dissectors.v1_0.rows import Field
from dissectors.v1_0.tables import COMPOSITE, COMPOSITES, RESTRICTED_TYPE, primitive

PRIMITIVES: Final = {
    "boolean": Holds.BOOLEAN,
    "string": Holds.TEXT,
    "symbol": Holds.TEXT,
    "binary": Holds.BINARY,
    "timestamp": Holds.TIME,
    "map": Holds.ANY,
    "list": Holds.ANY,
    "*": Holds.ANY,
}
"""The rest are numbers."""


def composite(*names: str) -> Shape:
    """A value of one of these composite types; it compares by the type's name."""
    choices = tuple((name, name) for name in names)
    fields = tuple(fields_of(name) for name in names)
    return Shape(frozenset((Holds.COMPOSITE,)), choices, closed=True, composites=fields)


@cache
def fields_of(name: str) -> Callable[[], dict[str, Shape]]:
    """The fields of a composite type; the types contain each other, so they wait to be asked."""
    return lambda: {field.name: shape_of(field) for field in COMPOSITE[name].fields}


def shape_of(field: Field) -> Shape:
    """The shape of a row's field."""
    if field.type in COMPOSITE:
        return composite(field.type)
    if field.type == "*":
        names = [row.name for row in COMPOSITES if field.requires in row.provides]
        return composite(*names) if names else ANY
    row = RESTRICTED_TYPE.get(field.requires) or RESTRICTED_TYPE.get(field.type)
    holds = PRIMITIVES.get(primitive(field.type), Holds.NUMBER)
    return Shape(frozenset((holds,)), () if row is None else row.choices, several=field.multiple)
