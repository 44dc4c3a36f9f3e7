"""Counts and times of the older protocols: what was published to each exchange, and what each queue
delivered, gathered from events.

An exchange or queue of a connection is counted as a link is in 1.0: what is published is a delivery
that the client sends, settled by its confirm; what a queue delivers is settled by its ack.
"""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Step
from amqpscope.model.older import event as kinds
from amqpscope.model.older.deliveries import Delivery
from amqpscope.model.older.event import OlderEvent
from amqpscope.model.older.publishes import Publish
from amqpscope.model.older.stall import tightest
from amqpscope.numbers import ConnectionNumbers, LinkNumbers
from amqpscope.stream import CLIENT, PEERS

EXCHANGE: Final = "exchange"
QUEUE: Final = "queue"
OTHERS: Final = "(others)"
MAX_PLACES: Final = 10_000
"""Exchanges and queues of a capture that are counted by name: some make a queue for each reply."""
OUTCOMES: Final = {
    # what the method is called: what people call it; of publishes, and of deliveries
    "ack": ("confirmed", "acked"),
    "nack": ("nacked", "nacked"),
    "reject": ("rejected", "rejected"),
    "recover": ("recovered", "recovered"),
}


class OlderStatistics:
    """Gathers the numbers of the connections of one capture that speak an older protocol."""

    def __init__(self) -> None:
        self.places: dict[tuple[int, str, str], LinkNumbers] = {}
        """By connection, kind and name."""

    def take(self, step: Step, event: OlderEvent, numbers: ConnectionNumbers) -> None:
        """One more unit, which was counted as a frame already."""
        self.introduce(event, numbers)
        if event.kinds & kinds.CARRIES:
            self.begin(event, numbers)
        elif event.kinds & kinds.CONTENT_HEADER:
            found = self.of(event, numbers)
            if found is not None and event.unit.content is not None:
                found.bytes += event.unit.content.body_size
        elif event.kinds & kinds.CONTENT_BODY:
            found = self.of(event, numbers)
            if found is not None:
                found.transfers += 1
        elif event.covered:
            for delivery in event.covered:
                self.settled(event, delivery, numbers)
        elif event.confirmed:
            for publish in event.confirmed:
                self.confirmed(event, publish, numbers)
        elif event.name in ("connection.blocked", "connection.unblocked"):
            self.block(event, event.name == "connection.blocked")

    def introduce(self, event: OlderEvent, numbers: ConnectionNumbers) -> None:
        """Who the peers say they are."""
        if event.name in ("connection.start", "connection.start-ok"):
            own = event.own
            numbers.containers[event.peer] = f"{own.product} {own.version}".strip() or None

    def begin(self, event: OlderEvent, numbers: ConnectionNumbers) -> None:
        """A message begins."""
        publish, delivery = event.publish, event.delivery
        if delivery is not None:
            found = self.queue(delivery, numbers, event)
            found.begin(event.mark.frame, event.mark.packet)
            found.presettled += delivery.no_ack
            found.redelivered += delivery.redelivered
            self.full(event, delivery, found)
        elif publish is not None:
            found = self.exchange(publish, numbers, event)
            if event.peer == CLIENT:
                found.begin(event.mark.frame, event.mark.packet)
            else:
                found.ended.add("returned")

    def of(self, event: OlderEvent, numbers: ConnectionNumbers) -> LinkNumbers | None:
        """The numbers that a frame of a content belongs to."""
        if event.delivery is not None:
            return self.queue(event.delivery, numbers, event)
        if event.publish is not None and event.peer == CLIENT:
            return self.exchange(event.publish, numbers, event)
        return None

    def queue(
        self, delivery: Delivery, numbers: ConnectionNumbers, event: OlderEvent
    ) -> LinkNumbers:
        """The numbers of the queue that a delivery comes from."""
        return self.place(numbers, *queue_of(delivery), 1, event.unit.channel)

    def exchange(
        self, publish: Publish, numbers: ConnectionNumbers, event: OlderEvent
    ) -> LinkNumbers:
        """The numbers of the exchange that a message goes to."""
        return self.place(numbers, *exchange_of(publish), 0, event.unit.channel)

    def place(
        self, numbers: ConnectionNumbers, kind: str, name: str, sender: int, channel: int
    ) -> LinkNumbers:
        """The numbers of one place in one direction."""
        key = (numbers.number, f"{kind}{sender}", name)
        found = self.places.get(key)
        if found is None and len(self.places) >= MAX_PLACES and name != OTHERS:
            return self.place(numbers, kind, OTHERS, sender, channel)
        if found is None:
            found = LinkNumbers(f"{kind} {name}", name, PEERS[sender], channel, kind=kind)
            self.places[key] = found
            numbers.links.append(found)
        return found

    def settled(self, event: OlderEvent, delivery: Delivery, numbers: ConnectionNumbers) -> None:
        """A delivery has its ack, nack or reject."""
        mark = delivery.settled
        if mark is None or mark.frame != event.mark.frame:
            return
        found = self.queue(delivery, numbers, event)
        found.latency.add(mark.time - delivery.mark.time)
        found.ended.add(OUTCOMES[delivery.outcome][1])
        self.full(event, delivery, found)

    def confirmed(self, event: OlderEvent, publish: Publish, numbers: ConnectionNumbers) -> None:
        """A publish has its confirm."""
        mark = publish.settled
        if mark is None or mark.frame != event.mark.frame:
            return
        found = self.exchange(publish, numbers, event)
        found.latency.add(mark.time - publish.mark.time)
        found.ended.add(OUTCOMES[publish.outcome][0])

    def full(self, event: OlderEvent, delivery: Delivery, found: LinkNumbers) -> None:
        """See whether the consumer's prefetch is reached, or not any more."""
        channel, consumer = event.channel, delivery.consumer
        if channel is None or consumer is None:
            return
        limit, used, _ = tightest(event.connection, channel, consumer)
        mark = event.mark
        found.credit.update(limit > 0 and used >= limit, mark.time, mark.frame, mark.packet)

    def block(self, event: OlderEvent, blocked: bool) -> None:
        """The server stops all publishing, or lets it go on."""
        mark = event.mark
        for found in self.places.values():
            if found.sender == PEERS[CLIENT]:
                found.credit.update(blocked, mark.time, mark.frame, mark.packet)


def queue_of(delivery: Delivery) -> tuple[str, str]:
    """What a delivery is counted by: kind and name."""
    return QUEUE, delivery.queue or delivery.routing_key


def exchange_of(publish: Publish) -> tuple[str, str]:
    """What a publish is counted by; the default exchange routes by queue."""
    return (EXCHANGE, publish.exchange) if publish.exchange else (QUEUE, publish.routing_key)
