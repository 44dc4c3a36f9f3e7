"""What rules of 1.0 may be given beside the event, where that takes more than a look."""

from __future__ import annotations

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.message import PROPERTIES
from amqpscope.model.v1_0.transaction import ControlMessage
from dissectors.v1_0.bodies import (
    Attach,
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Properties,
    Transfer,
)
from dissectors.v1_0.values import Described, Map, Value


def attach_of(event: Event) -> Attach | None:
    """The attach, if it was read without faults and somebody reads it."""
    body = event.body
    if not isinstance(body, Attach) or event.damaged or event.discarded or not event.trusted:
        return None
    return body


def error_in(event: Event) -> Error | None:
    """The error that a detach, end or close carries, if it could be read."""
    body = event.body
    if isinstance(body, (Detach, End, Close)) and not event.damaged:
        return body.error
    return None


def properties_of(event: Event) -> Properties | None:
    """The properties of a message that is judged, if they are sound enough."""
    message = event.parts
    if message is None or event.discarded:
        return None
    section = message.find(PROPERTIES)
    found = None if section is None else message.value(section)
    return found if isinstance(found, Properties) else None


def control_message(event: Event) -> ControlMessage | None:
    """What a transfer says to a coordinator, if that could be read."""
    found = event.connection.transactions.control(event)
    if found is None or not found.readable or event.discarded:
        return None
    return found


def performative(event: Event) -> Body | None:
    """The body, if it is a performative that was decoded cleanly where one may be expected."""
    body = event.body
    if body is None or event.frame.unit.type != 0 or event.frame.unit.faults:
        return None
    if "frame" not in body.row.provides or event.own.close is not None or not event.trusted:
        return None
    return body


def state_of(event: Event) -> Value:
    """The state in a transfer or disposition."""
    body = event.body
    return body.state if isinstance(body, (Transfer, Disposition)) else None


Parts = list[tuple[str, Value]]
"""Maps and described values, with their paths."""


def parts_of(event: Event) -> Parts | None:
    """All maps and described values in a performative; None without any."""
    body = performative(event)
    if body is None:
        return None
    found: Parts = []
    gather_fields(body, body.row.name, found)
    return found or None


def gather_fields(body: Body, path: str, found: Parts) -> None:
    """Collect from the fields of a body; a delivery state has rules of its own."""
    fields = body.row.fields
    for place, value in enumerate(body.values):
        if may_nest(value) and place < len(fields) and fields[place].name != "state":
            field = fields[place]
            gather(value, f"{path}.{field.name}", bool(field.requires), found)


def may_nest(value: Value) -> bool:
    """Whether something that is collected may be inside a value."""
    if value is None or isinstance(value, int) or isinstance(value, str):
        return False  # as nearly all are
    return isinstance(value, (Body, Map, Described, list))


def gather(value: Value, path: str, slot: bool, found: Parts) -> None:
    """Collect; `slot`: what stands directly here has a rule of its own for its descriptor."""
    if isinstance(value, Body):
        gather_fields(value, path, found)
    elif isinstance(value, Map):
        found.append((path, value))
        for key, inner in value:
            if may_nest(inner):
                gather(inner, f"{path}[{key}]", False, found)
    elif isinstance(value, Described):
        if not slot:
            found.append((path, value))
        gather(value.value, path, False, found)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            if may_nest(inner):
                gather(inner, f"{path}[{place}]", False, found)
