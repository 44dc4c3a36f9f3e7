"""Messages of the older protocols as rows of deliveries.

What a client publishes is a delivery that its confirm settles; what a queue hands to a client is
one that its ack settles. Without confirms or acks a message is over when all of it was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Step
from amqpscope.model.older import event as kinds
from amqpscope.model.older.deliveries import Delivery
from amqpscope.model.older.event import OlderEvent
from amqpscope.model.older.publishes import Publish
from amqpscope.spark.deliveries import COMPLETE, NOTHING, PRESETTLED
from amqpscope.statistics_older import EXCHANGE, OUTCOMES, QUEUE
from amqpscope.stream import CLIENT, PEERS, SERVER
from dissectors.secrets import clean_name

if TYPE_CHECKING:
    from amqpscope.spark.gather import Gatherer, Minute

Message = Delivery | Publish
Where = tuple[str | None, str | None, int | None]
"""Link, address and delivery-id, or what stands for them."""
CONTENT: Final = kinds.CONTENT_HEADER | kinds.CONTENT_BODY
LARGEST: Final = (1 << 63) - 1
"""What a column can hold: on the wire are tags and sizes of 64 bits."""
STARTS: Final = ("connection.start", "connection.start-ok")


class Pending:
    """A message that is not over."""

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.frames = 0
        """Frames of its body so far."""
        self.octets = 0
        """Those of its body so far."""
        self.size = -1
        """Octets that its header tells of; -1: not seen yet."""

    def complete(self) -> bool:
        """Whether all of it was seen."""
        return 0 <= self.size <= self.octets


class OlderMessages:
    """Follows messages for a gatherer."""

    def __init__(self) -> None:
        self.pending: dict[Message, Pending] = {}

    def take(self, step: Step, event: OlderEvent, into: Gatherer) -> None:
        """One more unit."""
        number = step.conversation.number
        if event.name in STARTS:
            into.persons[number].products[event.peer] = clean_name(event.own.product) or None
        message = message_of(event)
        if event.kinds & kinds.CARRIES:
            if message is not None:
                self.pending[message] = Pending(number)
                self.count(message, number, event.time, into).deliveries += 1
            elif event.publish is not None:
                self.count(event.publish, number, event.time, into).ended.add("returned")
        elif event.covered or event.confirmed:
            for delivery in event.covered:
                self.settled(delivery, event, into)
            for publish in event.confirmed:
                self.settled(publish, event, into)
        elif message is not None and event.kinds & CONTENT:
            self.content(message, event, number, into)

    def content(self, message: Message, event: OlderEvent, number: int, into: Gatherer) -> None:
        """The header of a message, or a part of its body."""
        found = self.pending.get(message)
        minute = self.count(message, number, event.time, into)
        if event.kinds & kinds.CONTENT_BODY:
            minute.transfers += 1
            if found is not None:
                found.frames += 1
                found.octets += event.unit.size
        elif event.unit.content is not None:
            minute.octets += event.unit.content.body_size
            if found is not None:
                found.size = event.unit.content.body_size
        if found is not None and found.complete() and unanswered(message):
            self.over(message, into)

    def settled(self, message: Message, event: OlderEvent, into: Gatherer) -> None:
        """A message has its ack, nack, reject or confirm."""
        mark, found = message.settled, self.pending.get(message)
        if found is None or mark is None or mark.frame != event.mark.frame:
            return
        minute = self.count(message, found.connection, event.time, into)
        minute.ended.add(outcome_of(message) or "")
        minute.latency.add(mark.time - message.mark.time)
        self.over(message, into)

    def count(self, message: Message, connection: int, time: int, into: Gatherer) -> Minute:
        """Where to count what happens now to a message."""
        _, name, sender = place_of(message)
        return into.minute_of(connection, time, name, PEERS[sender])

    def close(self, number: int, into: Gatherer) -> None:
        """A connection is over."""
        for message in [each for each, own in self.pending.items() if own.connection == number]:
            self.over(message, into)

    def over(self, message: Message, into: Gatherer) -> None:
        """Nothing more is expected of a message."""
        found = self.pending.pop(message)
        kind, name, sender = place_of(message)
        mark, settled = message.mark, message.settled
        tag = message.tag if isinstance(message, Delivery) else message.number
        flags = COMPLETE if found.complete() else 0
        if unanswered(message):
            flags |= PRESETTLED
        rows = into.delivered(mark.frame)
        name = clean_name(name)
        place = rows.place(found.connection, f"{kind} {name}", name, PEERS[sender])
        rows.add(
            place, mark.frame, mark.packet, mark.time, min(tag, LARGEST) if tag else NOTHING,
            min(max(message.size, 0), LARGEST), found.frames, flags, outcome_of(message) or "",
            NOTHING if settled is None else settled.packet,
            0 if settled is None else settled.time - mark.time,
            None,
        )  # fmt: skip


def message_of(event: OlderEvent) -> Message | None:
    """The message that a frame belongs to; one that the server returns is not sent again."""
    if event.delivery is not None:
        return event.delivery
    return event.publish if event.peer == CLIENT else None


def where_of(event: OlderEvent) -> Where:
    """The message that a frame belongs to, as the table of frames has it."""
    message: Message | None = event.delivery
    number = 0 if event.delivery is None else event.delivery.tag
    if event.delivery is None and event.publish is not None:
        message, number = event.publish, event.publish.number
    if message is None:
        return None, None, None
    kind, name, _ = place_of(message)
    name = clean_name(name)
    return f"{kind} {name}", name or None, number or None


def place_of(message: Message) -> tuple[str, str, int]:
    """The kind and name of where a message goes or comes from, and who sends it."""
    if isinstance(message, Delivery):
        return QUEUE, message.queue or message.routing_key, SERVER
    if message.exchange:
        return EXCHANGE, message.exchange, CLIENT
    return QUEUE, message.routing_key, CLIENT


def unanswered(message: Message) -> bool:
    """Whether no ack or confirm is to come."""
    return message.no_ack if isinstance(message, Delivery) else message.number == 0


def outcome_of(message: Message) -> str | None:
    """What people call how a message ended."""
    if message.outcome in OUTCOMES:
        return OUTCOMES[message.outcome][isinstance(message, Delivery)]
    return "presettled" if unanswered(message) else message.outcome or None
