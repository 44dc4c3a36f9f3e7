"""Whether a body is what its row says, by tables made from the rows.

Nearly all bodies are, so the question is asked once for each frame here, and only a body that is
not (`unfit`) is looked at by the rules which say what is wrong with it.
"""

from __future__ import annotations

from typing import Final

from dissectors.v1_0.bodies import BODIES
from dissectors.v1_0.body import Body
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITES, RESTRICTED_TYPE
from dissectors.v1_0.values import Map, Symbol, Value

MAX_TAG: Final = 32
"""Octets of a delivery-tag (2.8.7)."""
_KEYED: Final = frozenset(("fields",))
"""Types that are maps with symbols as keys."""
_INNER: Final = frozenset(("error", "source", "target"))
"""Types and archetypes of fields whose own bodies are looked into."""


class Fitness:
    """What a row asks of its fields, by position."""

    def __init__(self, row: Composite) -> None:
        fields = list(enumerate(row.fields))
        self.size = len(fields)
        self.mandatory = [place for place, field in fields if field.mandatory]
        self.tags = [place for place, field in fields if field.type == "delivery-tag"]
        self.keyed = [place for place, field in fields if field.type in _KEYED]
        self.inner = [place for place, field in fields if {field.type, field.requires} & _INNER]
        self.ranged = [place for place, field in fields if highest(field.type) is not None]
        """Fields whose choices are the numbers from 0 on."""
        self.limits = [highest(field.type) or 0 for field in row.fields]
        """The highest of them."""
        self.special = sorted({*self.tags, *self.keyed, *self.inner, *self.ranged})
        """The fields of which more is asked than a type."""

    def takes(self, place: int, value: Value) -> bool:
        """Whether a special field may have this value."""
        if place in self.ranged:
            return bool(value <= self.limits[place])
        if place in self.tags:
            return len(value) <= MAX_TAG
        if place in self.keyed:
            return keyed_by_symbols(value)
        return not isinstance(value, Body) or not unfit(value)


def highest(name: str) -> int | None:
    """The highest of a restricted type's choices, where these are all numbers up to it."""
    row = RESTRICTED_TYPE.get(name)
    values = [] if row is None else [value for _, value in row.choices]
    if not values or any(isinstance(value, (bool, str)) for value in values):
        return None
    return len(values) - 1


FITNESS: Final = {BODIES[row.name]: Fitness(row) for row in COMPOSITES}


def unfit(body: Body) -> bool:
    """A field is missing, surplus, of another type than declared, or out of its range."""
    fitness = FITNESS.get(type(body))
    values = body.values
    if fitness is None or len(values) != fitness.size or body.wrong:
        return True
    for place in fitness.mandatory:
        if values[place] is None:
            return True
    for place in fitness.special:
        value: Value = values[place]
        if value is not None and not fitness.takes(place, value):
            return True
    return False


def keyed_by_symbols(fields: Value) -> bool:
    """A map with symbols for keys, each once."""
    if not isinstance(fields, Map):
        return True
    seen: set[str] = set()
    for key, _ in fields:
        if type(key) is not Symbol or key in seen:
            return False
        seen.add(key)
    return True
