"""Applying the methods that neither open or close a channel nor move messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.declared import Binding, Exchange, Queue
from amqpscope.model.v0_9.deliveries import ACTIVE, CANCELLING, GONE, ORPHANED, Consumer, Qos
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.publishes import Transaction
from amqpscope.model.v0_9.staging_methods import STAGING
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method
from dissectors.v0_9.values import Table

Apply = Callable[[Event, Channel, Method], None]


def table(method: Method, name: str) -> Table | None:
    """A table among the arguments."""
    value = method.get(name)
    return value if isinstance(value, Table) else None


def waits(method: Method) -> bool:
    """The sender wants an answer."""
    return not (method.get("no-wait") or method.get("nowait"))


def blocked(event: Event, channel: Channel, method: Method) -> None:
    """The server asks the client to stop publishing."""
    event.connection.blocked = event.mark
    event.connection.blocked_reason = text(method, "reason")


def unblocked(event: Event, channel: Channel, method: Method) -> None:
    """The server lets publishers continue."""
    event.connection.blocked = None


def flow(event: Event, channel: Channel, method: Method) -> None:
    """A peer asks its partner to stop, or to go on, sending contents on the channel."""
    asked = channel.flows[event.peer]
    asked.active = bool(method.get("active"))
    asked.mark = event.mark


def flow_ok(event: Event, channel: Channel, method: Method) -> None:
    """The partner has obeyed a channel.flow."""
    asked = channel.flows[1 - event.peer]
    asked.ok_active = bool(method.get("active"))
    asked.ok_mark = event.mark


def request_ok(event: Event, channel: Channel, method: Method) -> None:
    """The server hands out an access ticket."""
    channel.tickets.add(number(method, "ticket"))


def declare_exchange(event: Event, channel: Channel, method: Method) -> None:
    """Without an answer to wait for, a declare is taken as it is said."""
    if not waits(method):
        event.connection.declared.exchange(exchange(method, event))


def exchange_declared(event: Event, channel: Channel, method: Method) -> None:
    """The server has done so."""
    request = event.request
    if request is not None:
        made = exchange(request.method, event)
        made.mark, made.confirmed = request.mark, True
        event.connection.declared.exchange(made)


def exchange(method: Method, event: Event) -> Exchange:
    """What a declare says."""
    made = Exchange(text(method, "exchange"), text(method, "type"), event.mark)
    made.durable = bool(method.get("durable"))
    made.auto_delete = bool(method.get("auto-delete"))
    made.internal = bool(method.get("internal"))
    made.passive = bool(method.get("passive"))
    made.arguments = table(method, "arguments")
    return made


def delete_exchange(event: Event, channel: Channel, method: Method) -> None:
    """An exchange may be gone from now on."""
    event.connection.declared.exchanges.pop(text(method, "exchange"), None)


def declare_queue(event: Event, channel: Channel, method: Method) -> None:
    """What an empty name means from now on; the rest waits for the answer, if there is one."""
    name = text(method, "queue")
    if name:
        channel.last_queue = name
    if not waits(method) and name:
        event.connection.declared.queue(queue(method, name, event))


def queue_declared(event: Event, channel: Channel, method: Method) -> None:
    """The server has done so, and says the name if it had to choose one."""
    name, request = text(method, "queue"), event.request
    if request is None:
        return
    if not text(request.method, "queue"):
        channel.last_queue = name
    made = queue(request.method, name, event)
    made.mark, made.confirmed = request.mark, True
    event.connection.declared.queue(made)


def queue(method: Method, name: str, event: Event) -> Queue:
    """What a declare says."""
    made = Queue(name, event.mark)
    made.durable = bool(method.get("durable"))
    made.exclusive = bool(method.get("exclusive"))
    made.auto_delete = bool(method.get("auto-delete"))
    made.passive = bool(method.get("passive"))
    made.arguments = table(method, "arguments")
    return made


def delete_queue(event: Event, channel: Channel, method: Method) -> None:
    """A queue may be gone from now on."""
    event.connection.declared.queues.pop(named_queue(channel, method), None)


def exchange_deleted(event: Event, channel: Channel, method: Method) -> None:
    """The server has done so."""
    declared, request = event.connection.declared, event.request
    if request is not None:
        name = text(request.method, "exchange")
        declared.delete(declared.deleted_exchanges, name, event.mark)


def queue_deleted(event: Event, channel: Channel, method: Method) -> None:
    """The server has done so: the consumers of this channel get nothing from it any more."""
    declared, request = event.connection.declared, event.request
    if request is None:
        return
    name = named_queue(channel, request.method)
    declared.delete(declared.deleted_queues, name, event.mark)
    for consumer in channel.consumers.values():
        if consumer.queue == name and consumer.state == ACTIVE:
            consumer.state, consumer.gone_mark = ORPHANED, event.mark


def named_queue(channel: Channel, method: Method) -> str:
    """The queue that a method is about: the one declared last, where it names none."""
    return text(method, "queue") or channel.last_queue or ""


def bind(event: Event, channel: Channel, method: Method) -> None:
    """A queue, or an exchange, is bound."""
    made = binding(event, channel, method)
    event.connection.declared.bind(made)


def bound(event: Event, channel: Channel, method: Method) -> None:
    """The server has done so."""
    request = event.request
    if request is not None:
        made = binding(event, channel, request.method)
        made.mark, made.confirmed = request.mark, True
        event.connection.declared.bind(made)


def unbind(event: Event, channel: Channel, method: Method) -> None:
    """A binding may be gone from now on."""
    made = binding(event, channel, method)
    key = (made.queue, made.source, made.target, made.key)
    event.connection.declared.bindings.pop(key, None)


def binding(event: Event, channel: Channel, method: Method) -> Binding:
    """What a bind or unbind says."""
    of_queue = method.plan.class_name == "queue"
    source = text(method, "exchange" if of_queue else "source")
    target = named_queue(channel, method) if of_queue else text(method, "destination")
    return Binding(source, target, text(method, "routing-key"), of_queue, event.mark)


def qos(event: Event, channel: Channel, method: Method) -> None:
    """The client limits what may be under way to it."""
    made = Qos(
        number(method, "prefetch-size"),
        number(method, "prefetch-count"),
        bool(method.get("global")),
        event.mark,
    )
    if event.peer != CLIENT:
        return
    made.class_name = method.plan.class_name
    made.rate = number(method, "consume-rate")
    channel.qos.append(made)
    pending = channel.pending[event.peer]
    if pending and pending[-1].mark is event.mark:
        pending[-1].qos = made


def qos_ok(event: Event, channel: Channel, method: Method) -> None:
    """The limit holds: it takes the place of the older ones of its scope."""
    request = event.request
    made = None if request is None else request.qos
    if made is None:
        return
    made.ok_mark = event.mark
    at = channel.qos.index(made) if made in channel.qos else 0
    channel.qos = [
        each
        for place, each in enumerate(channel.qos)
        if place >= at or each.everywhere != made.everywhere or each.class_name != made.class_name
    ]


def consume(event: Event, channel: Channel, method: Method) -> None:
    """A client asks for a consumer."""
    if event.peer != CLIENT:
        return
    event.connection.consuming = True
    name = named_queue(channel, method)
    made = Consumer(
        text(method, "consumer-tag"),
        name,
        bool(method.get("no-ack")),
        bool(method.get("exclusive")),
        event.mark,
    )
    made.no_local = bool(method.get("no-local"))
    made.class_name = method.plan.class_name
    made.arguments = table(method, "arguments") or table(method, "filter")
    limits = [each for each in channel.qos if not each.everywhere]
    made.qos = limits[-1] if limits else None
    declared = event.connection.declared.queues.get(name)
    if declared is not None:
        declared.consumed = True
    if waits(method):
        pending = channel.pending[event.peer]
        if pending and pending[-1].mark is event.mark:
            pending[-1].consumer = made
    else:
        made.state = ACTIVE
    before = channel.consumers.get(made.tag)
    made.again = before is not None or made.tag in channel.gone
    if made.tag and (before is None or before.state == ORPHANED):
        channel.gone.pop(made.tag, None)
        channel.consumers[made.tag] = made


def consume_ok(event: Event, channel: Channel, method: Method) -> None:
    """The server knows the consumer, and says the tag if it had to choose one."""
    request = event.request
    made = None if request is None else request.consumer
    if made is None:
        return
    made.ok_mark = event.mark
    if made.state != GONE:
        made.state = ACTIVE
    tag = text(method, "consumer-tag")
    if tag:
        made.tag = tag
        channel.gone.pop(tag, None)
        channel.consumers[tag] = made


def cancel(event: Event, channel: Channel, method: Method) -> None:
    """A consumer is to go: the client asks, or the server says that it is so."""
    consumer = channel.consumers.get(text(method, "consumer-tag"))
    if consumer is None:
        return
    consumer.cancel_mark = event.mark
    if event.peer == SERVER:
        consumer.state, consumer.gone_mark = GONE, event.mark
        channel.leave(consumer)
        return
    consumer.state = CANCELLING
    pending = channel.pending[event.peer]
    if pending and pending[-1].mark is event.mark:
        pending[-1].consumer = consumer


def cancel_ok(event: Event, channel: Channel, method: Method) -> None:
    """A consumer is gone."""
    request = event.request
    consumer = None if request is None else request.consumer
    if event.peer == SERVER and consumer is not None:
        consumer.state, consumer.gone_mark = GONE, event.mark
        channel.leave(consumer)


def recover(event: Event, channel: Channel, method: Method) -> None:
    """All that is not acknowledged comes again."""
    if event.peer == CLIENT:
        channel.deliveries.recover(event.mark)


def tx_select(event: Event, channel: Channel, method: Method) -> None:
    """The client wants transactions on this channel."""
    if event.peer == CLIENT and channel.transaction is None:
        channel.transaction = Transaction(event.mark)


def tx_select_ok(event: Event, channel: Channel, method: Method) -> None:
    """The server has begun transactions on the channel."""
    if channel.transaction is not None and channel.transaction.ok_mark is None:
        channel.transaction.ok_mark = event.mark


def tx_end(event: Event, channel: Channel, method: Method) -> None:
    """The client commits, or rolls back."""
    if event.peer == CLIENT and channel.transaction is not None:
        channel.transaction.end(event.mark, method.plan.name == "tx.rollback")


def tx_ended(event: Event, channel: Channel, method: Method) -> None:
    """The server has done so: after a rollback, what was acknowledged is not."""
    transaction = channel.transaction
    if transaction is None or not transaction.ending:
        return
    ending = transaction.ending.pop(0)
    event.connection.transacted[1 if ending.rollback else 0] += 1
    for delivery in ending.acked:
        delivery.transaction = False
        delivery.committed = None if ending.rollback else event.mark
    if ending.rollback:
        channel.deliveries.give_back(ending.acked)


def dtx_select(event: Event, channel: Channel, method: Method) -> None:
    """A client asks for distributed transactions."""
    if channel.dtx_mark is None:
        channel.dtx_mark = event.mark


def dtx_start(event: Event, channel: Channel, method: Method) -> None:
    """A distributed transaction begins."""
    channel.dtx_start_mark = event.mark


def confirm_select(event: Event, channel: Channel, method: Method) -> None:
    """From now on each publish has a number."""
    confirms = channel.confirms
    if event.peer == CLIENT and confirms.select_mark is None:
        confirms.select_mark = event.mark
        # Publishes before this do not count, so none of those that do was missed.
        confirms.unsure = False


def confirm_select_ok(event: Event, channel: Channel, method: Method) -> None:
    """The server has begun to confirm publishes."""
    if channel.confirms.ok_mark is None:
        channel.confirms.ok_mark = event.mark


METHODS: Final[dict[str, Apply]] = {
    "connection.blocked": blocked,
    "connection.unblocked": unblocked,
    "channel.flow": flow,
    "channel.flow-ok": flow_ok,
    "access.request-ok": request_ok,
    "exchange.declare": declare_exchange,
    "exchange.declare-ok": exchange_declared,
    "exchange.delete": delete_exchange,
    "exchange.delete-ok": exchange_deleted,
    "exchange.bind": bind,
    "exchange.bind-ok": bound,
    "exchange.unbind": unbind,
    "queue.declare": declare_queue,
    "queue.declare-ok": queue_declared,
    "queue.delete": delete_queue,
    "queue.delete-ok": queue_deleted,
    "queue.bind": bind,
    "queue.bind-ok": bound,
    "queue.unbind": unbind,
    **{f"{name}.qos": qos for name in ("basic", "file", "stream")},
    **{f"{name}.qos-ok": qos_ok for name in ("basic", "file", "stream")},
    **{f"{name}.consume": consume for name in ("basic", "file", "stream")},
    **{f"{name}.consume-ok": consume_ok for name in ("basic", "file", "stream")},
    **{f"{name}.cancel": cancel for name in ("basic", "file", "stream")},
    **{f"{name}.cancel-ok": cancel_ok for name in ("basic", "file", "stream")},
    "basic.recover": recover,
    "basic.recover-async": recover,
    "basic.recover-sync": recover,
    "tx.select": tx_select,
    "tx.select-ok": tx_select_ok,
    "tx.commit": tx_end,
    "tx.rollback": tx_end,
    "tx.commit-ok": tx_ended,
    "tx.rollback-ok": tx_ended,
    "dtx.select": dtx_select,
    "dtx.start": dtx_start,
    "confirm.select": confirm_select,
    "confirm.select-ok": confirm_select_ok,
    **STAGING,
}
"""What each method changes; those that are not here change nothing that is followed."""
