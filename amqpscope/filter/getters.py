"""How a field's value is got from a frame: one small class for each place where it can be.

`get` gives None when the field is absent, and a list where there are several values, any of which
may then match.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from amqpscope.filter.view import View, bodies, one_or_all, part
from dissectors.rows import Composite
from dissectors.v1_0.message import AMQP_SEQUENCE, AMQP_VALUE
from dissectors.v1_0.types import COMPOSITES
from dissectors.v1_0.values import Value

STATES: Final = frozenset(row.name for row in COMPOSITES if "delivery-state" in row.provides)
OUTCOMES: Final = frozenset(row.name for row in COMPOSITES if "outcome" in row.provides)
IN_MESSAGES: Final = frozenset(("declare", "discharge"))
"""Composites that travel as a message's amqp-value (spec 4.2)."""


class Getter(ABC):
    """Where a field is."""

    @abstractmethod
    def get(self, view: View) -> Value:
        """The field's value in this frame, None when it has none."""


class Own(Getter):
    """A fact about the frame that is no field of the protocol."""

    def __init__(self, read: Callable[[View], Value]) -> None:
        self.read = read

    def get(self, view: View) -> Value:
        """Ask the function."""
        return self.read(view)


class Kind(Getter):
    """The frame is of this kind, or it is absent."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def get(self, view: View) -> Value:
        """True, or None."""
        return True if view.unit.kind == self.kind else None


class Performative(Getter):
    """The frame's performative, when it is this one."""

    def __init__(self, row: Composite) -> None:
        self.row = row

    def get(self, view: View) -> Value:
        """The body, or None."""
        body = view.body
        return body if body is not None and body.row is self.row else None


class PerformativeField(Getter):
    """A field of one performative."""

    def __init__(self, row: Composite, place: int) -> None:
        self.row = row
        self.place = place

    def get(self, view: View) -> Value:
        """The field as it was on the wire."""
        body = view.body
        if body is None or body.row is not self.row:
            return None
        return body.wire(self.place)


class SharedField(Getter):
    """A field of the frame's performative, whichever of several that have it."""

    def __init__(self, places: dict[str, int]) -> None:
        self.places = places
        """Where the field is, by performative."""

    def get(self, view: View) -> Value:
        """The field as it was on the wire."""
        body = view.body
        if body is None:
            return None
        place = self.places.get(body.row.name, -1)
        return None if place < 0 else body.wire(place)


class Inside(Getter):
    """A part of another field."""

    def __init__(self, whole: Getter, name: str) -> None:
        self.whole = whole
        self.name = name

    def get(self, view: View) -> Value:
        """The part, None when there is no whole."""
        value = self.whole.get(view)
        return None if value is None else part(value, self.name)


class Nested(Getter):
    """Composites of some types, wherever the frame has them.

    A delivery state is looked for in the frame's `state` alone: an attach that names `modified` as
    its default outcome modifies nothing.
    """

    def __init__(self, name: str) -> None:
        self.names = frozenset((name,))
        self.state = name in STATES
        self.message = name in IN_MESSAGES

    def get(self, view: View) -> Value:
        """All that are found."""
        found: list[Value] = []
        if self.message:
            bodies(view.section(AMQP_VALUE), self.names, found)
        elif view.body is not None:
            where = part(view.body, "state") if self.state else view.body
            bodies(where, self.names, found)
        return one_or_all(found)


class Sections(Getter):
    """The message's sections of some kinds, on the frame that completes it."""

    def __init__(self, *codes: int) -> None:
        self.codes = codes

    def get(self, view: View) -> Value:
        """Their values."""
        if view.step.message is None:
            return None
        found: list[Value] = []
        for code in self.codes:
            found.extend(view.section(code))
        return one_or_all(found)


class Sequence(Getter):
    """The items of all amqp-sequence sections, one list."""

    def get(self, view: View) -> Value:
        """The items, None when there is no such section."""
        if view.step.message is None:
            return None
        sequences = view.section(AMQP_SEQUENCE)
        if not sequences:
            return None
        return [item for items in sequences if isinstance(items, list) for item in items]


class HasSection(Getter):
    """The message has a section of one of these kinds, even if that cannot be decoded."""

    def __init__(self, *codes: int) -> None:
        self.codes = codes

    def get(self, view: View) -> Value:
        """True, or None."""
        return True if any(section.code in self.codes for section in view.sections()) else None


class Several(Getter):
    """The same name in different places."""

    def __init__(self, getters: list[Getter]) -> None:
        self.getters = getters

    def get(self, view: View) -> Value:
        """What they hold together."""
        return one_or_all([getter.get(view) for getter in self.getters])
