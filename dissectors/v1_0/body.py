"""What all composite values share; `bodies` has a class for each.

A body holds its fields in the order of its row as they were on the wire, absent ones None. A value
of another type than its field declares is kept in `wrong`, by position; the field itself then
holds None, or the number if it was a number of another width, so that a field always has the
declared Python type or None. List elements past the last field of the row stay at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from dissectors import composite
from dissectors.native import mypyc_attr
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.values import Value, same

NO_WRONG: Final[dict[int, Value]] = {}
"""What a body has whose fields are all of their declared types; shared, so never added to."""


@mypyc_attr(acyclic=True)
class Body(composite.Composite):
    """A composite value; it does not change once it is made."""

    type: ClassVar[str] = "composite"
    row: ClassVar[Composite]

    def __init__(self, values: list[Value]) -> None:
        self.values = values
        self.wrong: dict[int, Value] = NO_WRONG

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int | slice) -> Value:
        return self.values[place]

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Body)
            and self.row is other.row
            and same(self.values, other.values)
            and same(list(self.wrong.items()), list(other.wrong.items()))
        )

    def __hash__(self) -> int:
        return hash((self.row.name, len(self.values)))

    def __repr__(self) -> str:
        named = zip(self.row.fields, self.values, strict=False)
        said = [f"{field.name.replace('-', '_')}={v!r}" for field, v in named if v is not None]
        return f"{self.__class__.__name__}({', '.join(said)})"

    def wire(self, position: int) -> Value:
        """The value at a position as it was on the wire, of whatever type."""
        found: Value = self.wrong.get(position)
        return self.values[position] if found is None else found

    def type_name(self) -> str:
        """What the specification calls its type."""
        return self.row.name

    def part_named(self, name: str) -> Value:
        """The field of a name as it was on the wire; None where it is absent, or there is none."""
        for place, field in enumerate(self.row.fields):
            if field.name == name:
                return self.wire(place)
        return None
