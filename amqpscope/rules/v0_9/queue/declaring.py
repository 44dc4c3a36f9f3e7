"""Declaring queues and naming them (A09-QUE-01 to 07, 14, 19, 20; 3.1.10)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.methods import queue
from amqpscope.rules.v0_9 import ADVISORY, ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.names import (
    LONGEST,
    REPLY_TO,
    RESERVED,
    alike,
    before_0_9_1,
    is_legal_name,
)
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method

NAME: Final = "queue.declare.queue"
DECLARE: Final = 50 << 16 | 10
LOCKED: Final = 405
QUEUE_CLASS: Final = 50
BASIC_CLASS: Final = 60
GENERATED: Final = "amq.gen-"


@rule(
    "A09-QUE-01", "1.1.5.1 amq_queue_32; 3.1.10", MUST, WARNING, on="queue.declare", needs="client"
)
def queue_name_reserved(event: Event, report: Reporter, method: Method) -> None:
    """A client makes no queue whose name begins with "amq.".

    These are names that the broker chooses. A client that reconnects and declares the name that it
    was given before is refused with 403: it has to leave the name empty again.

    Bad (channel):
        client: queue.declare[1] queue="amq.gen-x7" exclusive=true   # <- A09-QUE-01
        server: channel.close[1] reply-code=403 reply-text="ACCESS_REFUSED" class-id=50 method-id=10

    Good (channel):
        client: queue.declare[1] exclusive=true
        server: queue.declare-ok[1] queue="amq.gen-x7"
        client: queue.declare[1] queue="amq.gen-x7" exclusive=true
        server: queue.declare-ok[1] queue="amq.gen-x7"
    """
    name = text(method, "queue")
    if not name.startswith(RESERVED) or name.startswith(REPLY_TO) or method.get("passive"):
        return
    if name in event.connection.declared.queues:
        return
    say = f"the client declares {name!r}, a name reserved for the broker"
    if name.startswith(GENERATED):
        say += ": for a new one the name has to be empty"
    report.sure_if(before_0_9_1(event.connection), event, say, NAME)


@rule("A09-QUE-02", "amq_queue_10", MUST, ERROR, on="queue.declare-ok", needs="sure trusted server")
def generated_queue_name_wrong(
    event: Event, report: Reporter, method: Method, channel: Channel, request: Request
) -> None:
    """Where a declare has no name, the server chooses one that no other queue has.

    Bad (channel):
        client: queue.declare[1] exclusive=true
        server: queue.declare-ok[1] queue=""   # <- A09-QUE-02

    Good (channel):
        client: queue.declare[1] exclusive=true
        server: queue.declare-ok[1] queue="amq.gen-x7"
        client: queue.declare[1] exclusive=true
        server: queue.declare-ok[1] queue="amq.gen-x8"
    """
    if event.skipped or channel.doubtful[CLIENT]:
        return
    asked = request.method
    if asked.get("queue") != "" or asked.get("passive"):
        return
    name, related = text(method, "queue"), ((request.mark, "the declare"),)
    if not name:
        report.sure(event, "the server does not say which name it chose", NAME_OK, related)
        return
    known = event.connection.declared.queues.get(name)
    if known is not None and known.confirmed and known.mark is not request.mark:
        say = f"the server chooses {name!r}, which is another queue's"
        report.suspect(event, say, NAME_OK, (*related, (known.mark, "the other queue")))


NAME_OK: Final = "queue.declare-ok.queue"


@rule("A09-QUE-03", "1.1.5.2", IMPLIED, WARNING, on="queue.declare-ok", needs="sure !skips")
def declare_ok_other_queue(
    event: Event, report: Reporter, method: Method, channel: Channel, request: Request
) -> None:
    """A declare-ok has the name of the queue that was declared.

    Bad (channel):
        client: queue.declare[1] queue="a"
        server: queue.declare-ok[1] queue="b"   # <- A09-QUE-03

    Good (channel):
        client: queue.declare[1] queue="a"
        server: queue.declare-ok[1] queue="a"
    """
    if channel.doubtful[CLIENT]:
        return
    asked, name = text(request.method, "queue"), text(method, "queue")
    if asked and asked != name and not asked.startswith(REPLY_TO):
        say = f"the answer names queue {name!r}, the declare {asked!r}"
        report.sure(event, say, NAME_OK, ((request.mark, "the declare"),))


@rule("A09-QUE-04", "amq_queue_05", MUST, WARNING, on="queue.declare-ok", needs="sure")
def passive_declare_of_missing_queue(event: Event, report: Reporter, request: Request) -> None:
    """A passive declare of a queue that does not exist is refused with 404.

    Here it was deleted before; somebody else may have made it again.

    Bad (queue):
        client: queue.delete[1] queue="q"
        server: queue.delete-ok[1]
        client: queue.declare[1] queue="q" passive=true
        server: queue.declare-ok[1] queue="q"   # <- A09-QUE-04

    Good (queue):
        client: queue.declare[1] queue="q" passive=true
        server: queue.declare-ok[1] queue="q"
    """
    if not request.method.get("passive"):
        return
    name = text(request.method, "queue")
    deleted = event.connection.declared.deleted_queues.get(name)
    if deleted is not None:
        say = f"the server finds queue {name!r}, which was deleted"
        report.suspect(event, say, "", ((deleted, "its delete-ok"), (request.mark, "the declare")))


@rule(
    "A09-QUE-05", "exclusive; amq_queue_04", MUST, WARNING, on="channel.close", needs="server sure"
)
def exclusive_queue_used_by_other(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A queue that another connection has for itself alone is not used.

    Here the server says so with 405. After a connection was lost, its server may keep such a
    queue until it has noticed.

    Bad (channel):
        client: queue.declare[1] queue="mine" exclusive=true   # <- A09-QUE-05
        server: channel.close[1] reply-code=405 reply-text="RESOURCE_LOCKED" class-id=50
                method-id=10

    Good (channel):
        client: queue.declare[1] queue="mine" exclusive=true
        server: queue.declare-ok[1] queue="mine"
    """
    class_id, method_id = number(method, "class-id"), number(method, "method-id")
    if number(method, "reply-code") != LOCKED or class_id not in (QUEUE_CLASS, BASIC_CLASS):
        return
    plan = event.connection.dialect.methods.get(class_id << 16 | method_id)
    mark = channel.sent[CLIENT].get(class_id << 16 | method_id)
    if plan is None or mark is None:
        return
    say = f"{plan.name} of a queue that is exclusive to another connection"
    report.suspect(event, say, "", ((event.mark, "the server's close"),), peer=CLIENT, mark=mark)


@rule("A09-QUE-06", "equivalent", MUST, WARNING, on="queue.declare", dialects=NEW, needs="client")
def queue_redeclared_differently(event: Event, report: Reporter, method: Method) -> None:
    """A queue that exists is declared as it was made: same flags, same arguments.

    RabbitMQ refuses with 406 and says in which argument they differ. Somebody else may have
    deleted the queue since. The versions before 0-9-1 ignore the difference.

    Bad (queue):
        client: queue.declare[1] queue="q" durable=true   # <- A09-QUE-06
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED" class-id=50
                method-id=10

    Good (queue):
        client: queue.declare[1] queue="q"
        server: queue.declare-ok[1] queue="q"
    """
    if method.get("passive"):
        return
    name = text(method, "queue")
    known = event.connection.declared.queues.get(name)
    if known is None or known.passive or not known.confirmed or known.auto_delete:
        return
    new = queue(method, name, event)
    differ = [
        word
        for word, one, other in (
            ("durable", known.durable, new.durable),
            ("exclusive", known.exclusive, new.exclusive),
            ("auto-delete", known.auto_delete, new.auto_delete),
        )
        if one != other
    ]
    if not alike(known.arguments, new.arguments):
        differ.append("arguments")
    if differ:
        say = f"queue {name!r} is declared again, but differs in {' and '.join(differ)}"
        report.suspect(event, say, f"queue.declare.{differ[0]}", ((known.mark, "the one before"),))


@rule(
    "A09-QUE-07",
    "queue-known",
    MUST,
    ERROR,
    on="queue.bind queue.unbind queue.purge queue.delete basic.consume basic.get",
    needs="client trusted",
)
def queue_name_empty_without_declare(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """An empty queue name means the queue that was declared last on this channel: there is one.

    Bad (channel):
        client: basic.consume[1] queue="" consumer-tag="t"   # <- A09-QUE-07
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND" class-id=60 method-id=20

    Good (channel):
        client: queue.declare[1] exclusive=true
        client: basic.consume[1] queue="" consumer-tag="t"
        server: queue.declare-ok[1] queue="amq.gen-x7"
        server: basic.consume-ok[1] consumer-tag="t"
    """
    if method.get("queue") != "" or DECLARE in channel.sent[CLIENT] or channel.assumed:
        return
    if channel.whole[CLIENT] and channel.last_queue is None:
        say = f"{event.name} names no queue, and none was declared on channel {channel.number}"
        report.sure(event, say, f"{event.name}.queue")


@rule("A09-QUE-14", "syntax, domain", MUST, INFO, on="queue.declare", default=False)
def queue_name_characters(event: Event, report: Reporter, method: Method) -> None:
    """The name of a queue has at most 127 octets: letters, digits and `-`, `_`, `.`, `:`.

    RabbitMQ takes any text of up to 255 octets.

    Bad (channel):
        client: queue.declare[1] queue="my queue"   # <- A09-QUE-14

    Good (channel):
        client: queue.declare[1] queue="my.queue"
    """
    name = text(method, "queue")
    if not is_legal_name(name):
        report.sure(event, f"a queue is called {name!r}", NAME)
    elif len(name) > LONGEST:
        report.sure(event, f"the name of a queue has {len(name)} octets, {LONGEST} at most", NAME)


@rule("A09-QUE-19", "amq_queue_02", ADVISORY, INFO, on="connection.close | finished", needs="!over")
def auto_delete_queue_never_consumed(event: Event, report: Reporter) -> None:
    """A queue that goes when its last consumer goes has a consumer once.

    Without one it stays for ever, and fills if it is bound. Others may consume from it.

    Bad (channel):
        client: queue.declare[1] queue="tmp" auto-delete=true   # <- A09-QUE-19
        server: queue.declare-ok[1] queue="tmp"
        client: connection.close reply-code=200 reply-text="bye"

    Good (channel):
        client: queue.declare[1] queue="tmp" auto-delete=true
        server: queue.declare-ok[1] queue="tmp"
        client: basic.consume[1] queue="tmp" consumer-tag="t"
        server: basic.consume-ok[1] consumer-tag="t"
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    if not event.connection.ends[CLIENT].anchored:
        return
    for each in event.connection.declared.queues.values():
        if each.auto_delete and not (each.consumed or each.exclusive or each.passive):
            say = f"queue {each.name!r} is auto-delete, and nobody consumed from it here"
            report.suspect(event, say, "", peer=CLIENT, mark=each.mark)


@rule("A09-QUE-20", "errata 30", ADVISORY, INFO, on="queue.declare", needs="client")
def durable_exclusive_queue(event: Event, report: Reporter, method: Method) -> None:
    """A queue is not both durable and exclusive.

    An exclusive one goes with its connection, so there is nothing to keep; RabbitMQ takes it for
    transient.

    Bad (channel):
        client: queue.declare[1] queue="q" durable=true exclusive=true   # <- A09-QUE-20

    Good (channel):
        client: queue.declare[1] queue="q" exclusive=true
        server: queue.declare-ok[1] queue="q"
    """
    if method.get("durable") and method.get("exclusive") and not method.get("passive"):
        say = f"queue {text(method, 'queue')!r} is declared durable and exclusive"
        report.sure(event, say, "queue.declare.exclusive")
