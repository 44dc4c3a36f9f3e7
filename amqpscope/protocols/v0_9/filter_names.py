"""The names of 0-9 in filters: classes, methods, arguments and content properties.

    basic.publish                   frames with this method
    basic.publish.routing-key       one of its arguments
    routing-key, queue, exchange    of the frame's method, or of the message that it is part of
    content-header.delivery-mode    a content property; the same without `content-header.`

All of them come from the rows of all dialects; a name that 1.0 has too is looked for in both.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.protocols.names import FrameView, Getter, KindTest, Known, Rests, add_name
from amqpscope.protocols.shapes import ANY, BINARY, BOOLEAN, NOTHING, NUMBER, TEXT, Shape, merge
from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v0_9.values import Value

HELP: Final = """\
AMQP 0-9-1 (and 0-8, 0-9)
  basic.publish                   frames with this method; basic alone: of this class
  basic.publish.routing-key       one of its arguments; routing-key alone: of any method
  exchange, queue, routing-key    also on the frames of the content, and on its ack
  content-header.priority         a content property; also without content-header.
  headers.color                   on into tables
  method, content-header, content-body, heartbeat   kinds of frame"""
"""What the help of the filter language says of this family."""

KINDS: Final = ("method", "content-header", "content-body", "heartbeat", "trace")
"""Kinds of frame that 1.0 has not."""
_WORDS: Final = Shape(TEXT.holds | BINARY.holds)
SHAPES: Final = {
    "bit": BOOLEAN,
    "shortstr": TEXT,
    "longstr": _WORDS,
    "table": ANY,
    "content": ANY,
}
"""By wire type; the rest are numbers."""


def event_of(view: FrameView) -> Event | None:
    """The event of a frame of this family."""
    return view.event if isinstance(view.event, Event) else None


class Method(Getter):
    """The frame's method is this one, or it is absent."""

    rests_on = Rests.PLACE

    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, view: FrameView) -> Value:
        """True, or None."""
        event = event_of(view)
        return True if event is not None and event.unit.name == self.name else None


class Class(Getter):
    """The frame's method is of this class."""

    rests_on = Rests.PLACE

    def __init__(self, name: str) -> None:
        self.name = f"{name}."

    def get(self, view: FrameView) -> Value:
        """True, or None."""
        event = event_of(view)
        return True if event is not None and event.unit.name.startswith(self.name) else None


class Argument(Getter):
    """An argument of one method, or of whichever method the frame has."""

    rests_on = Rests.FRAME

    def __init__(self, field: str, method: str = "") -> None:
        self.field = field
        self.method = method

    def get(self, view: FrameView) -> Value:
        """The argument as it was on the wire."""
        event = event_of(view)
        method = None if event is None else event.unit.method
        if method is None or (self.method and method.plan.name != self.method):
            return None
        return method.get(self.field)


class Property(Getter):
    """A content property, on the header frame that has it."""

    rests_on = Rests.FRAME

    def __init__(self, field: str) -> None:
        self.field = field

    def get(self, view: FrameView) -> Value:
        """The property, None where its flag is not set."""
        event = event_of(view)
        content = None if event is None else event.unit.content
        return None if content is None else content.get(self.field)


class HeaderField(Getter):
    """What is in a content header before its properties."""

    rests_on = Rests.FRAME

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute

    def get(self, view: FrameView) -> Value:
        """The number that the content header has there."""
        event = event_of(view)
        content = None if event is None else event.unit.content
        return None if content is None else getattr(content, self.attribute)


class Carried(Getter):
    """Exchange, routing key or queue of the message that a frame is part of, or refers to."""

    def __init__(self, field: str) -> None:
        self.field = field
        self.attribute = field.replace("-", "_")

    def get(self, view: FrameView) -> Value:
        """The method's own argument first."""
        event = event_of(view)
        if event is None:
            return None
        method = event.unit.method
        own = None if method is None else method.get(self.field)
        if own is not None:
            return own
        about = (event.delivery, event.publish, event.consumer, *event.covered, *event.confirmed)
        found = {getattr(each, self.attribute, None): None for each in about if each is not None}
        values = [value for value in found if value]
        return values[0] if len(values) == 1 else values or None

    def rests_in(self, name: str) -> Rests:
        """A method that has the argument says it itself."""
        return Rests.FRAME if self.field in methods().get(name, ()) else Rests.STATE


class Body(Getter):
    """The body of a content, on the frame that completes it."""

    def get(self, view: FrameView) -> Value:
        """The octets of the message."""
        event = event_of(view)
        return None if event is None else event.message


@cache
def methods() -> dict[str, dict[str, Shape]]:
    """All methods of all dialects, with the shapes of their arguments."""
    found: dict[str, dict[str, Shape]] = {}
    for name in NAMES:
        for plan in dialect(name).by_name.values():
            fields = found.setdefault(plan.name, {})
            for field in plan.row.fields:
                fields.setdefault(field.name, SHAPES.get(field.type, NUMBER))
    return found


@cache
def properties() -> dict[str, Shape]:
    """The shapes of all content properties, by name."""
    return {
        field.name: SHAPES.get(field.type, NUMBER)
        for name in NAMES
        for row in dialect(name).classes
        for field in row.properties
    }


CARRIED: Final = ("exchange", "routing-key", "queue")
HEADER_FIELDS: Final = {"class-id": "class_id", "weight": "weight", "body-size": "body_size"}


def frame_names(roots: dict[str, Known]) -> None:
    """Kinds of frame."""
    for kind in KINDS:
        roots[kind] = Known(KindTest(kind), NOTHING)


def class_name_known(name: str) -> Known:
    """A class of methods; `queue` is one, and also a field that more people ask for."""
    known = Known(Class(name), NOTHING)
    known.gives_way = True
    return known


def field_names(roots: dict[str, Known]) -> None:
    """Classes and methods, their arguments, and content properties."""
    shared: dict[str, Shape] = {}
    for name, fields in methods().items():
        class_name, _, method = name.partition(".")
        whole = roots.setdefault(class_name, class_name_known(class_name))
        known = whole.children[method] = Known(Method(name), NOTHING)
        for field, shape in fields.items():
            known.children[field] = Known(Argument(field, name), shape)
            shared[field] = merge([shared[field], shape]) if field in shared else shape
    header = roots["content-header"]
    for field, attribute in HEADER_FIELDS.items():
        header.children[field] = Known(HeaderField(attribute), NUMBER)
    for field, shape in properties().items():
        header.children[field] = Known(Property(field), shape)
        add_name(roots, field, Property(field), shape)
    for field, shape in shared.items():
        if field not in CARRIED:
            add_name(roots, field, Argument(field), shape)
    for field in CARRIED:
        add_name(roots, field, Carried(field), TEXT)
    add_name(roots, "body", Body(), BINARY)
