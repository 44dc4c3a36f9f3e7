"""What the methods of 0-9 change for the consumers and channels that messages move over."""

from __future__ import annotations

from typing import Final

from amqpscope.model.place import UNCHANGED, Ended, Level, Place
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.constraint import tightest
from amqpscope.model.v0_9.deliveries import Consumer
from amqpscope.model.v0_9.event import Event
from amqpscope.protocols.talk import NO_ENDED, NO_LEVELS
from amqpscope.stream.types import CLIENT

LEVELS: Final = frozenset((
    "basic.qos-ok", "basic.consume-ok", "basic.recover", "basic.recover-ok", "tx.rollback-ok",
))  # fmt: skip
"""Methods after which the consumers of a channel may have other limits or deliveries."""
CLOSES: Final = frozenset(("channel.close", "channel.close-ok"))
HALTS: Final = {"connection.blocked": True, "connection.unblocked": False}


def levels(event: Event) -> list[Level]:
    """Consumers and channels of which prefetch, acks or confirms may have changed."""
    channel = event.channel
    if channel is None or not event.kinds & kinds.METHOD:
        return NO_LEVELS
    if event.kinds & kinds.CARRIES:
        delivery = event.delivery
        if delivery is not None:
            consumer = delivery.consumer
            if consumer is None:
                return NO_LEVELS
            return [prefetch_level(event, channel, consumer, delivery.place)]
        return [confirm_level(channel)] if event.peer == CLIENT else NO_LEVELS
    if event.covered:
        queues = {
            delivery.consumer: delivery.place
            for delivery in event.covered
            if delivery.consumer is not None
        }
        return [prefetch_level(event, channel, each, queue) for each, queue in queues.items()]
    if event.confirmed:
        return [confirm_level(channel)]
    if event.method_name in LEVELS:
        return [
            prefetch_level(event, channel, each, channel.places.source(each.queue))
            for each in channel.consumers.values()
        ]
    return NO_LEVELS


def prefetch_level(event: Event, channel: Channel, consumer: Consumer, queue: Place) -> Level:
    """How much of its prefetch a consumer of a queue has left."""
    limit, used, _ = tightest(event.connection, channel, consumer)
    left = max(limit - used, 0) if limit else None
    return Level(consumer.place_on(channel.places), left, consumer.unacked, queue, limit)


def confirm_level(channel: Channel) -> Level:
    """How many publishes of a channel are not confirmed, where they are at all."""
    place = channel.places.publishing()
    unconfirmed = len(channel.confirms.outstanding) if channel.confirms.on else UNCHANGED
    return Level(place, UNCHANGED, unconfirmed, place)


def ended_places(event: Event) -> list[Ended]:
    """The channel and consumers that a close ends, or the consumer that is cancelled."""
    channel = event.channel
    if channel is None:
        return NO_ENDED
    if event.method_name in CLOSES:
        consumers = [each.place_on(channel.places) for each in channel.consumers.values()]
        places = [channel.places.publishing(), *consumers]
        return [Ended(place, None, True) for place in places]
    if event.method_name == "basic.cancel-ok" and event.consumer is not None:
        return [Ended(event.consumer.place_on(channel.places), None, True)]
    return NO_ENDED
