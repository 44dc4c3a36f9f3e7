"""A value that has a type of its own, and fields with names."""

from __future__ import annotations

from dissectors.native import mypyc_attr
from dissectors.values import Value


@mypyc_attr(allow_interpreted_subclasses=True, acyclic=True)
class Composite:
    """What every family's composites answer alike: filters and trees ask no more."""

    def type_name(self) -> str:
        """What the specification calls its type."""
        raise NotImplementedError

    def part_named(self, name: str) -> Value:
        """The field of a name as it was on the wire; None where it is absent, or there is none."""
        raise NotImplementedError
