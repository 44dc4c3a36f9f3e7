"""Placing and applying what moves messages: publish, return, deliver, get, ack and their like."""

from __future__ import annotations

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import OPEN
from amqpscope.model.v0_9.content import Content
from amqpscope.model.v0_9.deliveries import ACTIVE, Consumer, Delivery
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.publishes import Publish
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method


def text(method: Method, name: str) -> str:
    """A short string among the arguments; empty where there is none."""
    value = method.get(name)
    return value if isinstance(value, str) else ""


def number(method: Method, name: str) -> int:
    """A number among the arguments; 0 where there is none."""
    value = method.get(name)
    return value if isinstance(value, int) else 0


def place_publish(event: Event, channel: Channel, method: Method) -> None:
    """What a publish hands over, and whether anything about it is out of the ordinary."""
    confirms = channel.confirms
    publish = Publish(
        confirms.next_number if confirms.on else 0,
        event.mark,
        text(method, "exchange"),
        text(method, "routing-key"),
        channel.places,
    )
    publish.mandatory = bool(method.get("mandatory"))
    publish.immediate = bool(method.get("immediate"))
    event.publish = publish
    connection = event.connection
    if (
        not channel.sure
        or publish.mandatory
        or publish.immediate
        or connection.stage != OPEN
        or connection.blocked is not None
        or channel.closing
        or not channel.flows[1 - event.peer].active
        or publish.exchange in connection.declared.internal
    ):
        event.kinds |= kinds.ODD_PUBLISH
    if channel.transaction is not None:
        event.kinds |= kinds.TRANSACTIONAL


def apply_publish(event: Event, channel: Channel, content: Content | None) -> None:
    """Count a publish."""
    publish = event.publish
    if publish is None:
        return
    channel.publishes += 1
    if content is not None:
        content.publish = publish
    if publish.number:
        channel.confirms.add(publish)
    if publish.mandatory or publish.immediate:
        channel.returns(publish)
    transaction = channel.transaction
    if transaction is not None:
        transaction.publishes += 1
        transaction.work(event.mark)
        publish.work = transaction.current


def place_return(event: Event, channel: Channel, method: Method) -> None:
    """The publish that is given back: the oldest that went the same way and is not confirmed."""
    exchange, key = text(method, "exchange"), text(method, "routing-key")
    for publish in channel.returnable:
        if publish.exchange == exchange and publish.routing_key == key and not publish.returned:
            if publish.settled is None:
                event.publish = publish
                return
            if event.publish is None:
                event.publish = publish


def apply_return(event: Event, channel: Channel, content: Content | None) -> None:
    """A publish came back."""
    publish = event.publish
    if publish is None:
        return
    publish.returned = event.mark
    channel.returnable = [each for each in channel.returnable if each is not publish]
    if content is not None:
        content.publish = publish
        content.returned = True
    event.own.proved = max(event.own.proved, publish.mark.end)


def place_deliver(event: Event, channel: Channel, method: Method) -> None:
    """What a deliver hands over, and whether it is what comes next."""
    tag = text(method, "consumer-tag")
    consumer = channel.consumers.get(tag)
    event.consumer = consumer
    # A stream's deliveries are not acknowledged at all.
    no_ack = (consumer is not None and consumer.no_ack) or method.plan.class_name == "stream"
    tag_number = number(method, "delivery-tag")
    delivery = Delivery(tag_number, event.mark, consumer, no_ack, channel.places)
    handed_over(event, delivery, method)
    delivery.queue = "" if consumer is None else consumer.queue
    deliveries = channel.deliveries
    if (
        consumer is None
        or consumer.state != ACTIVE
        or delivery.tag != deliveries.next_tag
        or not channel.sure
        or channel.closing
        or channel.ok_mark is None
        or not channel.flows[1 - event.peer].active
    ):
        event.kinds |= kinds.ODD_DELIVER
    if not no_ack and consumer is not None and channel.qos and full(channel, consumer):
        event.kinds |= kinds.FULL


def full(channel: Channel, consumer: Consumer) -> bool:
    """One more delivery is more than some limit of this channel allows."""
    for qos in channel.qos:
        if qos.size:
            return True
        if qos.count and (channel.deliveries.unacked >= qos.count or consumer.unacked >= qos.count):
            return True
    return False


def place_get_ok(event: Event, channel: Channel, method: Method) -> None:
    """What the answer to a get hands over."""
    request = event.request
    no_ack = request is not None and bool(request.method.get("no-ack"))
    tag = number(method, "delivery-tag")
    delivery = Delivery(tag, event.mark, None, no_ack, channel.places)
    handed_over(event, delivery, method)
    if request is not None:
        delivery.queue = text(request.method, "queue") or channel.last_queue or ""
    if (
        request is None
        or delivery.tag != channel.deliveries.next_tag
        or not channel.sure
        or channel.closing
    ):
        event.kinds |= kinds.ODD_DELIVER


def handed_over(event: Event, delivery: Delivery, method: Method) -> None:
    """What deliver and get-ok have in common."""
    delivery.redelivered = bool(method.get("redelivered"))
    delivery.exchange = text(method, "exchange")
    delivery.routing_key = text(method, "routing-key")
    event.delivery = delivery


def apply_delivery(event: Event, channel: Channel, content: Content | None) -> None:
    """Count a delivery."""
    delivery = event.delivery
    if delivery is None:
        return
    if delivery.consumer is None and event.request is None:
        delivery.consumer = assumed_consumer(event, channel)
        if delivery.consumer is not None:
            delivery.no_ack = delivery.consumer.no_ack
            delivery.queue = delivery.consumer.queue
    if content is not None:
        content.delivery = delivery
    channel.deliveries.add(delivery)


def assumed_consumer(event: Event, channel: Channel) -> Consumer | None:
    """The consumer of a delivery whose consume was not seen, or that is gone."""
    method = event.unit.method
    tag = None if method is None else method.get("consumer-tag")
    if not isinstance(tag, str):
        return None
    consumer = Consumer(tag, "", False, False, event.mark)
    consumer.assumed = True
    consumer.state = ACTIVE
    channel.consumers[tag] = consumer
    return consumer


def place_settle(event: Event, channel: Channel, method: Method) -> None:
    """What an ack, nack or reject refers to: deliveries, or publishes if it is the server's."""
    tag = number(method, "delivery-tag")
    multiple = bool(method.get("multiple"))
    if event.peer == CLIENT:
        event.kinds |= kinds.SETTLES
        deliveries = channel.deliveries
        covered = event.covered = deliveries.covered_by(tag, multiple)
        known = tag in deliveries.outstanding or (multiple and not tag and len(covered) > 0)
        plain = known and channel.sure and not deliveries.unsure and not channel.closing
        if not plain or covered[-1].mark.end > event.known:
            event.kinds |= kinds.ODD_SETTLE
        if channel.transaction is not None:
            event.kinds |= kinds.TRANSACTIONAL
        return
    event.kinds |= kinds.CONFIRMS
    confirms = channel.confirms
    confirmed = event.confirmed = confirms.covered_by(tag, multiple)
    known = tag in confirms.outstanding or (multiple and not tag and len(confirmed) > 0)
    plain = known and channel.sure and not confirms.unsure and not channel.closing
    if not plain or confirmed[-1].mark.end > event.known or confirmed[-1].mandatory:
        event.kinds |= kinds.ODD_CONFIRM


def apply_settle(event: Event, channel: Channel, method: Method) -> None:
    """Settle deliveries, or publishes."""
    outcome = method.plan.method
    if event.peer == CLIENT:
        requeue = bool(method.get("requeue"))
        transaction = channel.transaction
        for delivery in event.covered:
            if requeue:
                channel.deliveries.requeue(delivery)
            channel.deliveries.settle(delivery, event.mark, outcome)
            if transaction is not None:
                delivery.transaction = True
                transaction.acked.append(delivery)
                transaction.work(event.mark)
        if event.covered:
            prove(event, channel, event.covered[-1].mark.end)
        elif number(method, "delivery-tag") and channel.deliveries.misnamed is None:
            channel.deliveries.misnamed = event.mark
        return
    for publish in event.confirmed:
        channel.confirms.settle(publish, event.mark, outcome)
    if event.confirmed:
        prove(event, channel, event.confirmed[-1].mark.end)


def prove(event: Event, channel: Channel, end: int) -> None:
    """The sender has read, and dealt with on this channel, so much of its partner's stream."""
    if event.own.proved < end <= event.known:
        event.own.proved = end
    channel.prove(event.peer, end)
