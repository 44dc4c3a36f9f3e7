"""Declaring, deleting and binding exchanges (A09-EXC-01 to 10, 13 to 18; 3.1.3, 3.1.10)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Request
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.methods import exchange
from amqpscope.rules.v0_9 import IMPLIED, INFO, MUST, WARNING, Reporter, parameter, rule
from amqpscope.rules.v0_9.names import (
    LONGEST,
    RESERVED,
    STANDARD,
    alike,
    before_0_9_1,
    exchange_type,
    is_legal_name,
)
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method

TYPES: Final = frozenset(("direct", "fanout", "topic", "headers", "system"))
DECLARE: Final = (40, 10)
DELETE: Final = (40, 20)
WRONG_UNBIND_OK: Final = (40, 41)
BINDINGS: Final = "exchange_exchange_bindings"
NOT_FOUND: Final = 404
UNKNOWN_TYPE: Final = (503, 406)


@parameter("declare")
def find_declare(event: Event) -> Method | None:
    """A client's declare that is to make something, not only to ask for it."""
    method = event.unit.method
    made = method is not None and event.peer == CLIENT and not method.get("passive")
    return method if made else None


@rule("A09-EXC-01", "3.1.10; 1.1.4.1 amq_exchange_15", MUST, WARNING, on="exchange.declare")
def exchange_name_reserved(event: Event, report: Reporter, declare: Method) -> None:
    """A client makes no exchange whose name begins with "amq.".

    These are the broker's own. One that exists may be declared as it is.

    Bad (channel):
        client: exchange.declare[1] exchange="amq.mine" type="direct"   # <- A09-EXC-01
        server: channel.close[1] reply-code=403 reply-text="ACCESS_REFUSED" class-id=40 method-id=10

    Good (channel):
        client: exchange.declare[1] exchange="amq.topic" type="topic" durable=true
        server: exchange.declare-ok[1]
    """
    name = text(declare, "exchange")
    if name.startswith(RESERVED) and name not in STANDARD:
        say = f"the client declares {name!r}, a name reserved for the broker"
        if before_0_9_1(event.connection):
            report.sure(event, say, "exchange.declare.exchange")
        else:
            report.suspect(event, f"{say} unless it exists", "exchange.declare.exchange")


@rule("A09-EXC-02", "3.1.10; 1.1.4.1", MUST, INFO, on="exchange.declare-ok", needs="server")
def reserved_exchange_accepted(event: Event, report: Reporter, request: Request) -> None:
    """A server refuses to make an exchange whose name begins with "amq.", with 403.

    Bad (channel):
        client: exchange.declare[1] exchange="amq.mine" type="direct"   # <- A09-EXC-01
        server: exchange.declare-ok[1]   # <- A09-EXC-02

    Good (channel):
        client: exchange.declare[1] exchange="amq.topic" type="topic" passive=true
        server: exchange.declare-ok[1]
    """
    if request.method.get("passive"):
        return
    name = text(request.method, "exchange")
    if name.startswith(RESERVED) and name not in STANDARD:
        say = f"the server makes {name!r}, a name that is its own"
        report.suspect(event, say, "", ((request.mark, "the declare"),))


@rule("A09-EXC-03", "amq_exchange_16; typed", MUST, WARNING, on="exchange.declare")
def exchange_type_redeclared(event: Event, report: Reporter, declare: Method) -> None:
    """An exchange that exists is not declared with another type.

    Brokers refuse with 406, 507 or 530. Others may have deleted it since.

    Bad (channel):
        client: exchange.declare[1] exchange="amq.topic" type="direct" durable=true # <- A09-EXC-03
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED" class-id=40
                method-id=10

    Good (exchange type="topic"):
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
    """
    name, type = text(declare, "exchange"), text(declare, "type")
    known = exchange_type(event.connection, name)
    if not known or not type or known == type:
        return
    say = f"the client declares {name!r} as {type!r}, it is {known!r}"
    before = event.connection.declared.exchanges.get(name)
    if before is None:
        report.sure(event, say, "exchange.declare.type")
    else:
        related = ((before.mark, "the earlier declare"),)
        report.suspect(event, say, "exchange.declare.type", related)


@rule("A09-EXC-04", "amq_exchange_18", MUST, WARNING, on="connection.close channel.close")
def exchange_type_unsupported(event: Event, report: Reporter, method: Method) -> None:
    """A client declares exchanges of types that the server has.

    Here the server has refused one; with RabbitMQ mostly a plugin is not enabled.

    Bad (channel):
        client: exchange.declare[1] exchange="x" type="x-delayed-message"   # <- A09-EXC-04
        server: connection.close reply-code=503 class-id=40 method-id=10
                reply-text="COMMAND_INVALID - unknown exchange type 'x-delayed-message'"

    Good (channel):
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
    """
    request, code = (
        refused_request(event, method, DECLARE, "exchange.declare"),
        number(method, "reply-code"),
    )
    if request is None or code not in UNKNOWN_TYPE:
        return
    if code != UNKNOWN_TYPE[0] and "exchange type" not in text(method, "reply-text"):
        return
    type = text(request.method, "type")
    say = f"the server has no exchanges of type {type!r}"
    related = ((event.mark, "the server's close"),)
    report.suspect(event, say, "", related, peer=CLIENT, mark=request.mark)


def refused_request(
    event: Event, method: Method, blamed: tuple[int, int], name: str
) -> Request | None:
    """The oldest request of this name that waits, where a close of the server's blames one."""
    code = (number(method, "class-id"), number(method, "method-id"))
    if event.peer != SERVER or code != blamed:
        return None
    channels = list(event.connection.channels.values())
    if event.name == "channel.close":
        channels = [] if event.channel is None else [event.channel]
    for channel in channels:
        for request in channel.pending[CLIENT]:
            if request.name == name and channel.sure:
                return request
    return None


@rule("A09-EXC-05", "3.1.3.6, 3.1.10", MUST, WARNING, on="exchange.declare")
def exchange_type_name_not_x(event: Event, report: Reporter, declare: Method) -> None:
    """The name of a type of exchange that is not standard begins with "x-".

    Bad (channel):
        client: exchange.declare[1] exchange="x" type="random"   # <- A09-EXC-05

    Good (channel):
        client: exchange.declare[1] exchange="x" type="x-consistent-hash"
        server: exchange.declare-ok[1]
    """
    type = text(declare, "type")
    if type and type not in TYPES and not type.startswith("x-"):
        say = f'the type {type!r} is not standard and does not begin with "x-"'
        report.sure(event, say, "exchange.declare.type")


@rule("A09-EXC-06", "amq_exchange_05", MUST, WARNING, on="exchange.declare-ok", needs="sure")
def passive_declare_of_missing_exchange(event: Event, report: Reporter, request: Request) -> None:
    """A passive declare of an exchange that does not exist is refused with 404.

    Here it was deleted before; somebody else may have made it again.

    Bad (channel):
        client: exchange.delete[1] exchange="x"
        server: exchange.delete-ok[1]
        client: exchange.declare[1] exchange="x" type="topic" passive=true
        server: exchange.declare-ok[1]   # <- A09-EXC-06

    Good (channel):
        client: exchange.delete[1] exchange="x"
        server: exchange.delete-ok[1]
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
        client: exchange.declare[1] exchange="x" type="topic" passive=true
        server: exchange.declare-ok[1]
    """
    if not request.method.get("passive"):
        return
    name = text(request.method, "exchange")
    deleted = event.connection.declared.deleted_exchanges.get(name)
    if deleted is not None:
        say = f"the server finds exchange {name!r}, which was deleted"
        report.suspect(event, say, "", ((deleted, "its delete-ok"), (request.mark, "the declare")))


@rule("A09-EXC-07", "equivalent", MUST, WARNING, on="exchange.declare-ok", dialects=NEW)
def exchange_redeclare_accepted(event: Event, report: Reporter, request: Request) -> None:
    """A declare of an exchange that exists with other properties is refused.

    The versions before 0-9-1 ignore the difference.

    Bad (exchange type="topic" durable=true):
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]   # <- A09-EXC-07

    Good (exchange type="topic" durable=true):
        client: exchange.declare[1] exchange="x" type="topic" durable=true
        server: exchange.declare-ok[1]
    """
    if request.method.get("passive"):
        return
    new = exchange(request.method, event)
    known = event.connection.declared.exchanges.get(new.name)
    if known is None or known.passive or not known.confirmed or known.auto_delete:
        return
    before = (known.type, known.durable, known.auto_delete, known.internal)
    now = (new.type, new.durable, new.auto_delete, new.internal)
    if before != now or not alike(known.arguments, new.arguments):
        say = f"the server accepts a declare of {new.name!r} that differs from the one before"
        report.suspect(event, say, "", ((known.mark, "the one before"), (request.mark, "this one")))


@rule("A09-EXC-08", "syntax", MUST, INFO, on="exchange.declare", default=False)
def exchange_name_characters(event: Event, report: Reporter, method: Method) -> None:
    """The name of an exchange has letters, digits and `-`, `_`, `.`, `:` only.

    RabbitMQ takes any text.

    Bad (channel):
        client: exchange.declare[1] exchange="my exchange" type="topic"   # <- A09-EXC-08

    Good (channel):
        client: exchange.declare[1] exchange="my.exchange" type="topic"
    """
    name = text(method, "exchange")
    if not is_legal_name(name):
        report.sure(event, f"an exchange is called {name!r}", "exchange.declare.exchange")


@rule("A09-EXC-09", "domain", IMPLIED, INFO, on="exchange.declare", default=False)
def exchange_name_too_long(event: Event, report: Reporter, method: Method) -> None:
    """The name of an exchange has at most 127 octets.

    RabbitMQ takes 255.

    Bad (channel):
        client: exchange.declare[1] exchange="x"*128 type="topic"   # <- A09-EXC-09

    Good (channel):
        client: exchange.declare[1] exchange="x"*127 type="topic"
    """
    size = len(text(method, "exchange").encode())
    if size > LONGEST:
        say = f"the name of an exchange has {size} octets, {LONGEST} at most"
        report.sure(event, say, "exchange.declare.exchange")


@rule(
    "A09-EXC-10",
    "default-access; errata 14",
    MUST,
    WARNING,
    on="exchange.declare exchange.delete exchange.bind queue.bind",
    needs="client",
)
def default_exchange_misused(event: Event, report: Reporter, method: Method) -> None:
    """The default exchange, which has no name, is neither declared nor deleted nor bound.

    Every queue is bound to it by its name. The versions before 0-9-1 let a bind name it.

    Bad (queue):
        client: queue.bind[1] queue="q" exchange="" routing-key="other"   # <- A09-EXC-10
        server: channel.close[1] reply-code=403 reply-text="ACCESS_REFUSED" class-id=50 method-id=20

    Good (queue):
        client: queue.bind[1] queue="q" exchange="amq.direct" routing-key="other"
        server: queue.bind-ok[1]
    """
    if event.name == "queue.bind" and before_0_9_1(event.connection):
        return
    names = ("source", "destination") if event.name == "exchange.bind" else ("exchange",)
    for name in names:
        if method.get(name) == "":
            report.sure(event, f"{event.name} of the default exchange", f"{event.name}.{name}")
            return
