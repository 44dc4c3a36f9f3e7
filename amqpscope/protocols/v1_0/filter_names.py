"""The names of 1.0 in filters: performatives, message sections, composites and their fields.

All of them come from the rows. A name without a dot is, in this order: a kind of frame, a
performative, a message section, a field of the frame's performative, a composite inside the frame,
a field of such a composite, a field of a message section.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.names import (
    FrameView,
    Getter,
    Inside,
    KindTest,
    Known,
    Rests,
    Several,
    one_or_all,
    part,
)
from amqpscope.protocols.shapes import ANY, BINARY, NOTHING, Shape, merge
from amqpscope.protocols.v1_0.shapes import composite, shape_of
from dissectors.v1_0.bodies import Body
from dissectors.v1_0.message import AMQP_SEQUENCE, AMQP_VALUE, DATA, Section, read_section, walk
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITE, COMPOSITES, SECTIONS
from dissectors.v1_0.values import Array, Described, Map, Value

KINDS: Final = ("header", "amqp", "sasl", "empty", "unknown", "malformed")
PERFORMATIVES: Final = tuple(
    row for row in COMPOSITES if "frame" in row.provides or "sasl-frame" in row.provides
)
NESTED: Final = tuple(
    row for row in COMPOSITES if row not in PERFORMATIVES and "section" not in row.provides
)
SECTION_CODES: Final = {name: code for code, name in SECTIONS.items()}
STATES: Final = frozenset(row.name for row in COMPOSITES if "delivery-state" in row.provides)
OUTCOMES: Final = frozenset(row.name for row in COMPOSITES if "outcome" in row.provides)
IN_MESSAGES: Final = frozenset(("declare", "discharge"))
"""Composites that travel as a message's amqp-value (spec 4.2)."""
NONE: Final[list[Section]] = []


def body_of(view: FrameView) -> Body | None:
    """The performative of a frame of 1.0."""
    event = view.event
    return event.unit.body if isinstance(event, Event) else None


def sections(view: FrameView) -> list[Section]:
    """The sections of the message that a frame completes."""
    found: list[Section] | None = view.kept.get("sections")
    if found is None:
        event = view.event
        message = event.message if isinstance(event, Event) else None
        found = view.kept["sections"] = NONE if message is None else walk(message)[0]
    return found


def section_values(view: FrameView, code: int) -> list[Value]:
    """The values of all sections of one kind."""
    values: list[Value] | None = view.kept.get(code)
    if values is None:
        values = []
        message = view.event.message
        if message is not None:
            for section in sections(view):
                if section.code == code:
                    values.append(read_section(message, section)[0])
        view.kept[code] = values
    return values


class Performative(Getter):
    """The frame's performative, when it is this one."""

    rests_on = Rests.PLACE

    def __init__(self, row: Composite) -> None:
        self.row = row

    def get(self, view: FrameView) -> Value:
        """The body, or None."""
        body = body_of(view)
        return body if body is not None and body.row is self.row else None


class PerformativeField(Getter):
    """A field of one performative."""

    rests_on = Rests.FRAME

    def __init__(self, row: Composite, place: int) -> None:
        self.row = row
        self.place = place

    def get(self, view: FrameView) -> Value:
        """The field as it was on the wire."""
        body = body_of(view)
        if body is None or body.row is not self.row:
            return None
        return body.wire(self.place)


class SharedField(Getter):
    """A field of the frame's performative, whichever of several that have it."""

    rests_on = Rests.FRAME

    def __init__(self, places: dict[str, int]) -> None:
        self.places = places
        """Where the field is, by performative."""

    def get(self, view: FrameView) -> Value:
        """The field as it was on the wire."""
        body = body_of(view)
        if body is None:
            return None
        place = self.places.get(body.row.name, -1)
        return None if place < 0 else body.wire(place)


class Nested(Getter):
    """Composites of some types, wherever the frame has them.

    A delivery state is looked for in the frame's `state` alone: an attach that names `modified` as
    its default outcome modifies nothing.
    """

    def __init__(self, name: str) -> None:
        self.names = frozenset((name,))
        self.state = name in STATES
        self.message = name in IN_MESSAGES
        self.rests_on = Rests.STATE if self.message else Rests.FRAME

    def get(self, view: FrameView) -> Value:
        """All that are found."""
        found: list[Value] = []
        if self.message:
            bodies(section_values(view, AMQP_VALUE), self.names, found)
        elif body_of(view) is not None:
            where = part(body_of(view), "state") if self.state else body_of(view)
            bodies(where, self.names, found)
        return one_or_all(found)


class Sections(Getter):
    """The message's sections of some kinds, on the frame that completes it."""

    def __init__(self, *codes: int) -> None:
        self.codes = codes

    def get(self, view: FrameView) -> Value:
        """The values of all these sections."""
        if view.event.message is None:
            return None
        found: list[Value] = []
        for code in self.codes:
            found.extend(section_values(view, code))
        return one_or_all(found)


class Sequence(Getter):
    """The items of all amqp-sequence sections, one list."""

    def get(self, view: FrameView) -> Value:
        """The items, None when there is no such section."""
        if view.event.message is None:
            return None
        sequences = section_values(view, AMQP_SEQUENCE)
        if not sequences:
            return None
        return [item for items in sequences if isinstance(items, list) for item in items]


class HasSection(Getter):
    """The message has a section of one of these kinds, even if that cannot be decoded."""

    def __init__(self, *codes: int) -> None:
        self.codes = codes

    def get(self, view: FrameView) -> Value:
        """True, or None."""
        return True if any(section.code in self.codes for section in sections(view)) else None


def bodies(value: Value, names: frozenset[str], found: list[Value]) -> None:
    """Add the composites of these types that a value holds at any depth, itself included."""
    if isinstance(value, Body):
        if value.row.name in names:
            found.append(value)
        for item in value:
            if isinstance(item, Body | Map | list | Array | Described):
                bodies(item, names, found)
    elif isinstance(value, Map):
        for _, item in value:
            bodies(item, names, found)
    elif isinstance(value, list | Array):
        for item in value:
            bodies(item, names, found)
    elif isinstance(value, Described):
        bodies(value.value, names, found)


def performative_names(roots: dict[str, Known]) -> None:
    """Kinds of frame, performatives, and their fields under them."""
    for kind in KINDS:
        roots[kind] = Known(KindTest(kind), NOTHING)
    for row in PERFORMATIVES:
        known = roots[row.name] = Known(Performative(row), NOTHING)
        for place, field in enumerate(row.fields):
            known.children[field.name] = Known(PerformativeField(row, place), shape_of(field))


def section_names(roots: dict[str, Known]) -> None:
    """Message sections, alone and under `message`."""
    message = roots["message"]
    for name, code in SECTION_CODES.items():
        getter: Getter = Sequence() if code == AMQP_SEQUENCE else Sections(code)
        shape = composite(name) if name in COMPOSITE else BINARY if code == DATA else ANY
        known = message.children[name] = Known(getter, shape)
        known.presence = HasSection(code)
        if name in roots:  # `header` alone is a protocol header
            roots[name].children |= {
                field.name: Known(Inside(getter, field.name), shape_of(field))
                for field in COMPOSITE[name].fields
            }
        else:
            roots[name] = known
    roots["properties"].hint = "; of a performative: open.properties.{}"
    both = ("delivery-annotations", "message-annotations")
    roots["annotations"] = Known(Sections(*(SECTION_CODES[name] for name in both)), ANY)
    body = roots["body"] = Known(Sections(DATA, AMQP_SEQUENCE, AMQP_VALUE), ANY)
    body.presence = HasSection(DATA, AMQP_SEQUENCE, AMQP_VALUE)


def shared_names(roots: dict[str, Known]) -> None:
    """Fields of performatives without the performative's name."""
    places: dict[str, dict[str, int]] = {}
    shapes: dict[str, list[Shape]] = {}
    for row in PERFORMATIVES:
        for place, field in enumerate(row.fields):
            places.setdefault(field.name, {})[row.name] = place
            shapes.setdefault(field.name, []).append(shape_of(field))
    for name, where in places.items():
        roots.setdefault(name, Known(SharedField(where), merge(shapes[name])))


def nested_names(roots: dict[str, Known]) -> None:
    """Composites inside frames, then their fields and those of sections."""
    for row in NESTED:
        roots.setdefault(row.name, Known(Nested(row.name), composite(row.name)))
    sections = [COMPOSITE[name] for name in SECTION_CODES if name in COMPOSITE]
    for rows in (NESTED, sections):
        getters: dict[str, list[Getter]] = {}
        shapes: dict[str, list[Shape]] = {}
        for row in rows:
            code = SECTION_CODES.get(row.name)
            whole = Nested(row.name) if code is None else Sections(code)
            for field in row.fields:
                getters.setdefault(field.name, []).append(Inside(whole, field.name))
                shapes.setdefault(field.name, []).append(shape_of(field))
        for name, found in getters.items():
            getter = found[0] if len(found) == 1 else Several(found)
            roots.setdefault(name, Known(getter, merge(shapes[name])))
