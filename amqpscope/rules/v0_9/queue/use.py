"""Binding and deleting queues, and what comes of it (A09-QUE-08 to 12, 15, 18; 3.1.3)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.deliveries import ACTIVE, ORPHANED, Consumer
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.methods import binding, named_queue
from amqpscope.rules.v0_9 import IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.exchange.declaring import NOT_FOUND, refused_request
from amqpscope.rules.v0_9.names import STANDARD
from amqpscope.rules.v0_9.versions import OLD
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method

BIND: Final = (50, 20)
NO_ROUTE: Final = 312
FORBIDDEN: Final = 403


@rule("A09-QUE-08", "amq_queue_26, amq_queue_14", MUST, WARNING, on="channel.close")
def bind_to_missing(event: Event, report: Reporter, method: Method) -> None:
    """A bind names a queue and an exchange that exist.

    Here the server says that one of them does not.

    Bad (queue):
        client: queue.bind[1] queue="q" exchange="x" routing-key="a"   # <- A09-QUE-08
        server: channel.close[1] reply-code=404 class-id=50 method-id=20
                reply-text="NOT_FOUND - no exchange 'x' in vhost '/'"

    Good (queue):
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="a"
        server: queue.bind-ok[1]
    """
    request = refused_request(event, method, BIND, "queue.bind")
    if request is None or number(method, "reply-code") != NOT_FOUND:
        return
    queue, exchange = text(request.method, "queue"), text(request.method, "exchange")
    say = f"queue {queue!r} or exchange {exchange!r} does not exist"
    related = ((event.mark, "the server's close"),)
    report.suspect(event, say, "", related, peer=CLIENT, mark=request.mark)


@rule("A09-QUE-09", "amq_queue_25", MUST, WARNING, on="channel.close")
def repeated_bind_refused(event: Event, report: Reporter, method: Method, channel: Channel) -> None:
    """A bind that is the same as one before is taken.

    Bad (queue):
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="a"
        server: queue.bind-ok[1]
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="a"
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED" class-id=50
                method-id=20   # <- A09-QUE-09

    Good (queue):
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="a"
        server: queue.bind-ok[1]
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="a"
        server: queue.bind-ok[1]
    """
    request = refused_request(event, method, BIND, "queue.bind")
    if request is None or request.method.get("arguments"):
        return
    if number(method, "reply-code") in (NOT_FOUND, FORBIDDEN):
        return  # The queue, the exchange or the right to bind may have gone.
    made = binding(event, channel, request.method)
    key = (made.queue, made.source, made.target, made.key)
    before = event.connection.declared.bindings.get(key)
    if before is not None and before.confirmed:
        say = f"the server refuses to bind {made.target!r} to {made.source!r} once more"
        related = ((before.mark, "the bind before"), (request.mark, "this one"))
        report.suspect(event, say, "", related)


@rule("A09-QUE-10", "amq_queue_12", MUST, WARNING, on="queue.bind", dialects=OLD, needs="client")
def durable_queue_on_transient_exchange(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A durable queue is not bound to an exchange that is not.

    0-9-1 has it the other way round, and allows it.

    Bad (v0_9_exchange):
        client: queue.declare[1] queue="q" durable=true
        server: queue.declare-ok[1] queue="q"
        client: queue.bind[1] queue="q" exchange="x"   # <- A09-QUE-10

    Good (v0_9_exchange durable=true):
        client: queue.declare[1] queue="q" durable=true
        server: queue.declare-ok[1] queue="q"
        client: queue.bind[1] queue="q" exchange="x"
        server: queue.bind-ok[1]
    """
    declared = event.connection.declared
    exchange = declared.exchanges.get(text(method, "exchange"))
    queue = declared.queues.get(named_queue(channel, method))
    if exchange is None or queue is None or exchange.passive or queue.passive:
        return
    if exchange.name in STANDARD or not (exchange.confirmed and queue.confirmed):
        return
    if queue.durable and not exchange.durable:
        say = f"durable queue {queue.name!r} is bound to transient exchange {exchange.name!r}"
        related = ((queue.mark, "the queue"), (exchange.mark, "the exchange"))
        report.suspect(event, say, "queue.bind.exchange", related)


@rule("A09-QUE-11", "amq_queue_17", MUST, WARNING, on="queue.bind", dialects=OLD, needs="client")
def bind_to_internal_exchange(event: Event, report: Reporter, method: Method) -> None:
    """A queue is not bound to an internal exchange.

    Bad (v0_9_exchange internal=true):
        client: queue.bind[1] queue="q" exchange="x"   # <- A09-QUE-11

    Good (v0_9_exchange):
        client: queue.bind[1] queue="q" exchange="x"
        server: queue.bind-ok[1]
    """
    exchange = event.connection.declared.exchanges.get(text(method, "exchange"))
    if exchange is not None and exchange.internal and not exchange.passive:
        say = f"a queue is bound to {exchange.name!r}, which is internal"
        report.suspect(event, say, "queue.bind.exchange", ((exchange.mark, "its declare"),))


@rule("A09-QUE-12", "delete if-empty, if-unused", MUST, WARNING, on="queue.delete-ok", needs="sure")
def queue_delete_flags_ignored(
    event: Event, report: Reporter, method: Method, channel: Channel, request: Request
) -> None:
    """A queue with messages or consumers is not deleted where the client asks for that.

    Bad (queue):
        client: queue.delete[1] queue="q" if-empty=true
        server: queue.delete-ok[1] message-count=3   # <- A09-QUE-12

    Good (queue):
        client: queue.delete[1] queue="q" if-empty=true
        server: queue.delete-ok[1] message-count=0
    """
    if event.skipped:
        return
    related, count = ((request.mark, "the delete"),), number(method, "message-count")
    name = named_queue(channel, request.method)
    if request.method.get("if-empty") and count:
        say = f"queue {name!r} is deleted with {count} messages, if-empty was asked for"
        report.sure(event, say, "queue.delete-ok.message-count", related)
    elif request.method.get("if-unused"):
        for consumer in channel.consumers.values():
            if consumer.queue == name and consumer.state == ACTIVE and not consumer.assumed:
                say = f"queue {name!r} is deleted, and has consumer {consumer.tag!r}"
                report.suspect(event, say, "", (*related, (consumer.mark, "the consumer")))
                return


@rule("A09-QUE-15", "1.1.5.7", IMPLIED, WARNING, on="odd-deliver", needs="sure server")
def deliver_after_queue_delete(event: Event, report: Reporter, consumer: Consumer) -> None:
    """After a queue is deleted, nothing comes from it any more.

    Bad (consuming):
        client: queue.delete[1] queue="q"
        server: queue.delete-ok[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"   # <- A09-QUE-15

    Good (consuming):
        client: queue.delete[1] queue="q"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: queue.delete-ok[1]
    """
    if consumer.state == ORPHANED:
        say = f"a delivery to {consumer.tag!r}, whose queue {consumer.queue!r} is deleted"
        report.sure(event, say, "", ((consumer.gone_mark, "the delete-ok"),))


@rule("A09-QUE-18", "amq_queue_34", MUST, WARNING, on="basic.return", needs="server")
def default_binding_missing(event: Event, report: Reporter, method: Method) -> None:
    """A message to the default exchange with the name of a queue as its key reaches that queue.

    Somebody else may have deleted the queue since it was declared.

    Bad (queue):
        client: basic.publish[1] exchange="" routing-key="q" mandatory=true
        client: content-header[1] class=basic body-size=0
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" routing-key="q" # <- A09-QUE-18

    Good (queue):
        client: basic.publish[1] exchange="" routing-key="other" mandatory=true
        client: content-header[1] class=basic body-size=0
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" routing-key="other"
        server: content-header[1] class=basic body-size=0
    """
    if method.get("exchange") != "":
        return
    known = event.connection.declared.queues.get(text(method, "routing-key"))
    if known is None or number(method, "reply-code") != NO_ROUTE or not known.confirmed:
        return
    expires = known.arguments is not None and known.arguments.get("x-expires") is not None
    if not (known.auto_delete or known.passive or expires):
        say = f"no route to queue {known.name!r}, which was declared here"
        report.suspect(event, say, "basic.return.routing-key", ((known.mark, "its declare"),))
