"""Bindings to exchanges that match headers (A09-TBL-11, 12; 3.1.3.4)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import text
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, parameter, rule
from amqpscope.rules.v0_9.names import exchange_type
from dissectors.v0_9.values import Table

MATCH: Final = "x-match"
WITH_X: Final = frozenset(("all-with-x", "any-with-x"))
"""RabbitMQ's own, that count headers which begin with `x-` too."""
MATCHES: Final = frozenset(("all", "any")) | WITH_X


@parameter("arguments")
def find_arguments(event: Event) -> Table | None:
    """What a bind to an exchange of type headers says, where it is known to be one."""
    method = event.unit.method
    if method is None:
        return None
    source = text(method, "exchange" if event.name == "queue.bind" else "source")
    arguments = method.get("arguments")
    if exchange_type(event.connection, source) != "headers":
        return None
    return arguments if isinstance(arguments, Table) else None


@rule("A09-TBL-11", "3.1.3.4", MUST, ERROR, on="tables queue.bind exchange.bind", needs="client")
def x_match_invalid(event: Event, report: Reporter, arguments: Table) -> None:
    """The x-match of a binding to a headers exchange is "all" or "any".

    RabbitMQ has "all-with-x" and "any-with-x" too, and refuses others with 406.

    Bad (queue):
        client: queue.bind[1] queue="q" exchange="amq.headers"
                arguments={x-match="some" a=1}   # <- A09-TBL-11

    Good (queue):
        client: queue.bind[1] queue="q" exchange="amq.headers" arguments={x-match="any" a=1}
        server: queue.bind-ok[1]
    """
    if MATCH not in [name for name, _ in arguments]:
        return
    value = arguments.get(MATCH)
    if not isinstance(value, str) or value not in MATCHES:
        say = f'x-match is {value!r}, not "all" or "any"'
        report.sure(event, say, f"{event.name}.arguments.{MATCH}")


@rule(
    "A09-TBL-12", "3.1.3.4", IMPLIED, WARNING, on="tables queue.bind exchange.bind", needs="client"
)
def x_binding_key_ignored(event: Event, report: Reporter, arguments: Table) -> None:
    """A binding to a headers exchange does not ask for headers that begin with "x-".

    They are left out when headers are matched, so the binding matches more than it seems to; with
    RabbitMQ "all-with-x" and "any-with-x" count them.

    Bad (queue):
        client: queue.bind[1] queue="q" exchange="amq.headers"
                arguments={x-match="all" x-colour="red" a=1}   # <- A09-TBL-12

    Good (queue):
        client: queue.bind[1] queue="q" exchange="amq.headers"
                arguments={x-match="all-with-x" x-colour="red" a=1}
        server: queue.bind-ok[1]
    """
    if arguments.get(MATCH) in WITH_X:
        return
    for name, _ in arguments:
        if name.startswith("x-") and name != MATCH:
            say = f"{name} does not count when headers are matched"
            report.suspect(event, say, f"{event.name}.arguments.{name}")
            return
