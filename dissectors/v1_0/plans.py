"""The rows of composite types as the codec needs them: by number, types as octets."""

from __future__ import annotations

from typing import Final

from dissectors.v1_0.bodies import BODIES, body_of
from dissectors.v1_0.encodings import INTEGER_OF, TYPE_OF
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITES, field_numbers, primitive
from dissectors.v1_0.values import Array, Symbol, Ulong, Value


class Plan:
    """A composite's row as the reader needs it."""

    def __init__(self, row: Composite) -> None:
        self.name = row.name
        self.code = row.code
        self.size = len(row.fields)
        self.types = field_numbers(row)
        self.multiple = [field.multiple for field in row.fields]
        self.nested = [BODIES.get(primitive(field.type)) for field in row.fields]
        self.names = [field.name for field in row.fields]
        self.padding: list[Value] = [None] * self.size
        self.empty = body_of(row.code, self.padding)
        """The body of which nothing is said: one for all, as bodies do not change."""


PLANS: Final = {row.code: Plan(row) for row in COMPOSITES}
PLAN_OF: Final = [PLANS.get(code) for code in range(256)]
"""The plans by the descriptor of one octet that nearly all have."""
PLANS_BY_SYMBOL: Final = {row.symbol.encode(): PLANS[row.code] for row in COMPOSITES}


def plan_of(descriptor: Value) -> Plan | None:
    """The composite that a descriptor names, in any of its spellings."""
    if isinstance(descriptor, Ulong):
        return PLANS.get(int(descriptor))
    if isinstance(descriptor, Symbol):
        return PLANS_BY_SYMBOL.get(descriptor.encode("utf-8"))
    return None


def field_name(plan: Plan, place: int) -> str:
    """The name of a position, also of one past the row's end."""
    return plan.names[place] if place < plan.size else f"[{place}]"


def fits(plan: Plan, place: int, item: Value) -> bool:
    """Whether a field's value, not of the declared primitive type, is right all the same."""
    nested = plan.nested[place]
    if nested is not None:
        return isinstance(item, nested)
    declared = plan.types[place]
    if declared == 0:
        return True
    if isinstance(item, Array) and plan.multiple[place]:
        return TYPE_OF[item.code] == declared and not item.descriptors
    return False


def usable(item: Value, declared: int) -> Value:
    """A number of another width is still a number; anything else is no use to the model."""
    wants_number = declared > 0 and INTEGER_OF[declared] is not None
    if wants_number and isinstance(item, int) and not isinstance(item, bool):
        return item
    return None
