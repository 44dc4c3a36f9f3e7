"""Applying the methods that stage files, and those of the message class of 0-9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.staging import MAX_STAGED, Reference, Staging
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method
from dissectors.v0_9.values import Content as Body


def open_file(event: Event, channel: Channel, method: Method) -> None:
    """A peer wants to stage a file."""
    made = Staging(text(method, "identifier"), number(method, "content-size"), event.mark)
    own = event.own
    own.staged.pop(made.identifier, None)
    own.staged[made.identifier] = made
    if len(own.staged) > MAX_STAGED:
        del own.staged[next(iter(own.staged))]
    pending = channel.pending[event.peer]
    if pending and pending[-1].mark is event.mark:
        pending[-1].staging = made


def open_file_ok(event: Event, channel: Channel, method: Method) -> None:
    """The partner says at which octet a staged file begins."""
    request = event.request
    staging = None if request is None else request.staging
    if staging is None:
        return
    staging.ok_mark = event.mark
    staging.staged = number(method, "staged-size")
    pending = channel.pending[event.peer]
    if pending and pending[-1].mark is event.mark:
        pending[-1].staging = staging


def stage(event: Event, channel: Channel, method: Method) -> None:
    """The file itself follows as the content."""
    request = event.request
    staging = None if request is None else request.staging
    if staging is not None:
        staging.content = event.content
    channel.stagings[event.peer] = staging


def named_reference(method: Method) -> str | bytes | None:
    """The reference that a method is about."""
    value = method.get("reference")
    return value if isinstance(value, (str, bytes)) else None


def body_reference(method: Method) -> str | bytes | None:
    """The reference that a transfer names in the place of its body."""
    body = method.get("body")
    return body.value if isinstance(body, Body) and body.reference == 1 else None


def open_reference(event: Event, channel: Channel, method: Method) -> None:
    """A reference is open, also where an older one is taken up again."""
    reference = named_reference(method)
    if reference is not None:
        own = channel.references[event.peer]
        own.known.pop(reference, None)
        own.known[reference] = Reference(event.mark)
        own.trim()


def append_reference(event: Event, channel: Channel, method: Method) -> None:
    """Who appends takes it to be open."""
    reference = named_reference(method)
    known = channel.references[event.peer].known
    if reference is not None and reference not in known:
        open_reference(event, channel, method)


def close_reference(event: Event, channel: Channel, method: Method) -> None:
    """A reference is complete."""
    append_reference(event, channel, method)
    reference = named_reference(method)
    if reference is not None:
        found = channel.references[event.peer].known[reference]
        found.closed = found.closed or event.mark


def transfer(event: Event, channel: Channel, method: Method) -> None:
    """A message whose body may be elsewhere."""
    reference, envelope = body_reference(method), event.unit.envelope
    if reference is not None and envelope is not None:
        own = channel.references[event.peer]
        own.transfers[envelope.id] = reference
        own.trim()


def consume_message(event: Event, channel: Channel, method: Method) -> None:
    """A consumer of the message class."""
    if event.peer == CLIENT:
        own = channel.references[CLIENT]
        own.destinations[text(method, "destination")] = event.mark
        own.trim()


def cancel_message(event: Event, channel: Channel, method: Method) -> None:
    """A consumer of staged files ends."""
    if event.peer == CLIENT:
        channel.references[CLIENT].destinations.pop(text(method, "destination"), None)


STAGING: Final[dict[str, Callable[[Event, Channel, Method], None]]] = {
    "file.open": open_file,
    "file.open-ok": open_file_ok,
    "file.stage": stage,
    "message.open": open_reference,
    "message.resume": open_reference,
    "message.append": append_reference,
    "message.close": close_reference,
    "message.transfer": transfer,
    "message.consume": consume_message,
    "message.cancel": cancel_message,
}
