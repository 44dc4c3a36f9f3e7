"""Requests and their answers: which is whose, in plain frames and in those of 0-9 (H3, 4.4)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9 import messages
from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.dialogue import Asked
from amqpscope.model.v0_9.event import Event
from amqpscope.stream.types import SERVER
from dissectors.v0_9.codec import Method
from dissectors.v0_9.framing import REQUEST, Envelope, Unit

CONSUMER_TAG: Final = "consumer-tag"
MAX_UNANSWERED: Final = 64
"""Requests of a channel that were passed over and are remembered."""


def place_answer(event: Event, channel: Channel, name: str) -> None:
    """Find what a reply answers."""
    pending, late = channel.pending[1 - event.peer], channel.unanswered
    if late and event.peer == SERVER:
        # Some brokers answer a consume later than what was asked after it.
        place = answered_request(event.unit, late, name, True)
        if place >= 0:
            event.request = late[place]
            event.consumer = event.request.consumer
            return
    place = answered_request(event.unit, pending, name, False)
    if place >= 0:
        event.request = pending[place]
        event.skipped = place
        event.consumer = event.request.consumer
        return
    if late and event.peer == SERVER:
        place = answered_request(event.unit, late, name, False)
        if place >= 0:
            event.request = late[place]
            event.consumer = event.request.consumer
            return
    if channel.sure and not channel.doubtful[1 - event.peer] and not event.unit.envelope:
        event.kinds |= kinds.UNASKED


def answered_request(unit: Unit, requests: list[Request], name: str, exactly: bool) -> int:
    """Which of the requests a reply of this name answers; -1 for none.

    Brokers may answer those about consumers in another order: there the tag decides, and `exactly`
    takes nothing else.
    """
    tag = None if unit.method is None else unit.method.get(CONSUMER_TAG)
    first = -1
    for place, request in enumerate(requests):
        if name not in request.replies:
            continue
        if tag is not None and request.method.get(CONSUMER_TAG) == tag:
            return place
        if first < 0:
            first = place
            if tag is None:
                break
    return -1 if exactly else first


def answer(event: Event, channel: Channel) -> None:
    """A request has its answer; those before it will not have theirs any more."""
    request = event.request
    if request is None:
        return
    if request in channel.unanswered:
        channel.unanswered = [each for each in channel.unanswered if each is not request]
        messages.prove(event, channel, request.mark.end)
        return
    pending = channel.pending[1 - event.peer]
    if event.skipped and not channel.doubtful[1 - event.peer]:
        channel.unanswered = [*channel.unanswered, *pending[: event.skipped]][-MAX_UNANSWERED:]
    del pending[: event.skipped + 1]
    messages.prove(event, channel, request.mark.end)
    if not pending:
        channel.doubtful[1 - event.peer] = not channel.sure


def converse(event: Event, channel: Channel, method: Method, envelope: Envelope) -> None:
    """A request or response frame (0-9)."""
    own, other = channel.dialogues[event.peer], channel.dialogues[1 - event.peer]
    if event.unit.type == REQUEST:
        plan = method.plan
        own.ask(Asked(envelope.id, plan.name, plan.replies, event.mark))
        own.seen = max(own.seen, envelope.mark)
        return
    own.response_id, own.response_mark = envelope.id, event.mark
    for asked in other.answered_requests(envelope.mark, envelope.batch):
        del other.open[asked.id]
        messages.prove(event, channel, asked.mark.end)
