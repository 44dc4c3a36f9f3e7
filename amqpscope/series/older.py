"""The series of consumers and channels, in the older protocols.

A value is what the model says after a frame. Levels are looked at only upon frames that may change
them, since a channel may have many consumers.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.older import event as kinds
from amqpscope.model.older.channel import Channel
from amqpscope.model.older.deliveries import Consumer
from amqpscope.model.older.event import OlderEvent
from amqpscope.model.older.stall import tightest
from amqpscope.series.gathered import Gathered, LinkSeries
from amqpscope.statistics_older import exchange_of, queue_of
from amqpscope.stream import CLIENT, PEERS, SERVER

LEVELS: Final = frozenset((
    "basic.qos-ok", "basic.consume-ok", "basic.recover", "basic.recover-ok", "tx.rollback-ok",
))  # fmt: skip
"""Methods after which the consumers of a channel may have other limits or deliveries."""
ENDS: Final = frozenset(("channel.close", "channel.close-ok"))


class OlderPlots:
    """Gathers the series of connections that speak an older protocol."""

    def __init__(self, gathered: Gathered) -> None:
        self.gathered = gathered
        self.consumers: dict[Consumer, LinkSeries | None] = {}
        """None: there are too many."""
        self.channels: dict[Channel, LinkSeries | None] = {}

    def take(self, connection: int, event: OlderEvent) -> None:
        """One more unit."""
        channel = event.channel
        if channel is None or not event.kinds & kinds.METHOD:
            return
        if event.kinds & kinds.CARRIES:
            self.begin(connection, event, channel)
        elif event.covered:
            self.settled(connection, event, channel)
        elif event.confirmed:
            self.confirmed(connection, event, channel)
        elif event.name in LEVELS:
            for consumer in channel.consumers.values():
                self.level(connection, event, channel, consumer)
        elif event.name in ENDS:
            self.over(channel, event.time)
        elif event.name == "basic.cancel-ok" and event.consumer is not None:
            self.cancelled(event.consumer, event.time)

    def begin(self, connection: int, event: OlderEvent, channel: Channel) -> None:
        """A message begins."""
        delivery, publish = event.delivery, event.publish
        if delivery is not None:
            self.count(connection, queue_of(delivery), SERVER, event.time)
            if delivery.consumer is not None:
                found = self.level(connection, event, channel, delivery.consumer)
                if found is not None:
                    found.deliveries.add(event.time, delivery.size)
        elif publish is not None and event.peer == CLIENT:
            self.count(connection, exchange_of(publish), CLIENT, event.time)
            found = self.published(connection, event, channel)
            if found is not None:
                found.deliveries.add(event.time, max(publish.size, 0))

    def count(self, connection: int, place: tuple[str, str], sender: int, time: int) -> None:
        """One more delivery of an exchange or queue."""
        series = self.gathered.place((connection, " ".join(place), PEERS[sender]))
        if series is not None:
            series.add(time, 0)

    def settled(self, connection: int, event: OlderEvent, channel: Channel) -> None:
        """Deliveries have their ack, nack or reject."""
        consumers: dict[Consumer, None] = {}
        for delivery in event.covered:
            consumer, mark = delivery.consumer, delivery.settled
            if consumer is None:
                continue
            consumers[consumer] = None
            found = self.consumers.get(consumer)
            if found is not None and mark is not None and mark.frame == event.mark.frame:
                found.latency.add(event.time, max(mark.time - delivery.mark.time, 0))
        for consumer in consumers:
            self.level(connection, event, channel, consumer)

    def confirmed(self, connection: int, event: OlderEvent, channel: Channel) -> None:
        """Publishes have their confirm."""
        found = self.published(connection, event, channel)
        for publish in event.confirmed if found is not None else ():
            mark = publish.settled
            if found is not None and mark is not None and mark.frame == event.mark.frame:
                found.latency.add(event.time, max(mark.time - publish.mark.time, 0))

    def level(
        self, connection: int, event: OlderEvent, channel: Channel, consumer: Consumer
    ) -> LinkSeries | None:
        """How much of its prefetch a consumer has used."""
        if consumer not in self.consumers:
            name, queue = consumer.tag, consumer.queue
            made = LinkSeries("consumer", connection, name, queue, PEERS[SERVER])
            self.consumers[consumer] = self.gathered.add(made)
        found = self.consumers[consumer]
        if found is not None:
            limit, used, _ = tightest(event.connection, channel, consumer)
            found.limit = limit
            found.credit.add(event.time, max(limit - used, 0) if limit else None)
            found.unsettled.add(event.time, consumer.unacked)
        return found

    def published(self, connection: int, event: OlderEvent, channel: Channel) -> LinkSeries | None:
        """How many publishes of a channel are not confirmed, where they are at all."""
        if channel not in self.channels:
            name = f"channel {channel.number}"
            made = LinkSeries("channel", connection, name, "", PEERS[CLIENT])
            self.channels[channel] = self.gathered.add(made)
        found = self.channels[channel]
        if found is not None and channel.confirms.on:
            found.unsettled.add(event.time, len(channel.confirms.outstanding))
        return found

    def over(self, channel: Channel, time: int) -> None:
        """A channel is closed, and its consumers with it."""
        found = self.channels.pop(channel, None)
        if found is not None:
            found.unsettled.add(time, None)
        for consumer in channel.consumers.values():
            self.cancelled(consumer, time)

    def cancelled(self, consumer: Consumer, time: int) -> None:
        """A consumer gets nothing any more."""
        found = self.consumers.pop(consumer, None)
        if found is not None:
            found.credit.add(time, None)
            found.unsettled.add(time, None)
