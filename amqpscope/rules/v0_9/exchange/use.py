"""Deleting exchanges, bindings between them, keys and flags (A09-EXC-13 to 18)."""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.v0_9.channel import Request
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.publishes import Publish
from amqpscope.rules.v0_9 import IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.exchange.declaring import (
    BINDINGS,
    DELETE,
    NOT_FOUND,
    WRONG_UNBIND_OK,
    refused_request,
)
from amqpscope.rules.v0_9.names import exchange_type
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method

_TOPIC: Final = re.compile(r"(?:[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*)?")


@rule("A09-EXC-13", "delete exists", MUST, WARNING, on="channel.close connection.close")
def missing_exchange_deleted(event: Event, report: Reporter, method: Method) -> None:
    """A client deletes exchanges that exist.

    Here the server says that it does not. RabbitMQ takes any.

    Bad (plain):
        client: exchange.delete[1] exchange="x"   # <- A09-EXC-13
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND" class-id=40 method-id=20

    Good (plain):
        client: exchange.delete[1] exchange="x"
        server: exchange.delete-ok[1]
    """
    request = refused_request(event, method, DELETE, "exchange.delete")
    if request is None or number(method, "reply-code") != NOT_FOUND:
        return
    say = f"the exchange {text(request.method, 'exchange')!r} that is deleted does not exist"
    related = ((event.mark, "the server's close"),)
    report.suspect(event, say, "", related, peer=CLIENT, mark=request.mark)


@rule("A09-EXC-14", "in-use", MUST, WARNING, on="exchange.delete-ok", needs="sure")
def exchange_if_unused_ignored(event: Event, report: Reporter, request: Request) -> None:
    """An exchange that has bindings is not deleted where the client asks for `if-unused`.

    Bindings that others have undone cannot be seen.

    Bad (queue):
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
        client: queue.bind[1] queue="q" exchange="x" routing-key="a"
        server: queue.bind-ok[1]
        client: exchange.delete[1] exchange="x" if-unused=true
        server: exchange.delete-ok[1]   # <- A09-EXC-14

    Good (queue):
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
        client: queue.bind[1] queue="q" exchange="x" routing-key="a"
        server: queue.bind-ok[1]
        client: queue.unbind[1] queue="q" exchange="x" routing-key="a"
        server: queue.unbind-ok[1]
        client: exchange.delete[1] exchange="x" if-unused=true
        server: exchange.delete-ok[1]
    """
    if not request.method.get("if-unused"):
        return
    name, declared = text(request.method, "exchange"), event.connection.declared
    for binding in declared.bindings.values():
        if binding.source != name or not binding.confirmed:
            continue
        queue = declared.queues.get(binding.target) if binding.queue else None
        if queue is None or queue.auto_delete or queue.mark.frame > binding.mark.frame:
            continue
        say = f"the server deletes {name!r}, to which queue {binding.target!r} is bound"
        related = ((binding.mark, "the bind"), (request.mark, "the delete, with if-unused"))
        report.suspect(event, say, "", related)
        return


@rule("A09-EXC-15", "3.1.3.3", MUST, INFO, on="basic.publish", default=False)
def topic_key_characters(event: Event, report: Reporter, publish: Publish) -> None:
    """A routing key for a topic exchange is words of letters and digits with dots between them.

    Real keys have `-` and `_` too, and brokers do not mind.

    Bad (channel):
        client: basic.publish[1] exchange="amq.topic" routing-key="orders..new"   # <- A09-EXC-15

    Good (channel):
        client: basic.publish[1] exchange="amq.topic" routing-key="orders.new"
        client: content-header[1] class=basic body-size=0
    """
    if exchange_type(event.connection, publish.exchange) != "topic":
        return
    if not _TOPIC.fullmatch(publish.routing_key):
        say = f"the key {publish.routing_key!r} is not words of letters and digits"
        report.sure(event, say, "basic.publish.routing-key")


@rule(
    "A09-EXC-16",
    "passive + no-wait",
    IMPLIED,
    WARNING,
    on="exchange.declare queue.declare",
    needs="client",
)
def passive_with_no_wait(event: Event, report: Reporter, method: Method) -> None:
    """A declare that only asks whether something exists wants an answer.

    With passive and no-wait it does nothing, but that RabbitMQ closes the channel if it does not.

    Bad (channel):
        client: exchange.declare[1] exchange="x" passive=true no-wait=true   # <- A09-EXC-16

    Good (channel):
        client: exchange.declare[1] exchange="x" passive=true
        server: exchange.declare-ok[1]
    """
    if method.get("passive") and (method.get("no-wait") or method.get("nowait")):
        report.sure(event, f"{event.name} with passive and no-wait has no effect", event.name)


@rule("A09-EXC-17", "exchange.bind", IMPLIED, WARNING, on="unknown-method", dialects=NEW)
def exchange_unbind_ok_id_wrong(event: Event, report: Reporter) -> None:
    """The answer to exchange.unbind is method 51.

    All other answers have the number after that of their request, so 41 is an easy mistake.

    Bad (channel):
        client: exchange.unbind[1] destination="a" source="b" routing-key="k"
        server: frame-0-x type=1 channel=1 0x00280029   # <- A09-EXC-17, A09-FRM-22

    Good (channel):
        client: exchange.unbind[1] destination="a" source="b" routing-key="k"
        server: exchange.unbind-ok[1]
    """
    unit = event.unit
    if event.peer == SERVER and (unit.class_id, unit.method_id) == WRONG_UNBIND_OK:
        report.sure(event, "exchange.unbind-ok is method 51, not 41", "method-id")


@rule(
    "A09-EXC-18",
    "capability",
    IMPLIED,
    WARNING,
    on="exchange.bind exchange.unbind",
    dialects=NEW,
    needs="client started",
)
def exchange_bind_not_announced(event: Event, report: Reporter) -> None:
    """Exchanges are bound to each other where the server has announced that it can.

    Bad (plain):
        client: exchange.bind[1] destination="a" source="b" routing-key="k"   # <- A09-EXC-18

    Good (channel):
        client: exchange.bind[1] destination="a" source="b" routing-key="k"
        server: exchange.bind-ok[1]
    """
    server = event.partner
    if server.properties is not None and BINDINGS not in server.capabilities:
        related = ((event.connection.start_mark, "the server's start"),)
        report.sure(event, f"{event.name}, and the server has not announced it", "", related)
