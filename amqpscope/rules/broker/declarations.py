"""What two connections do not agree on: queues, exchanges, consumers (A09-QUE, A09-EXC, A09-BAS).

The rules themselves look at single connections; here are the checks that need two. Others may have
deleted and made again what is declared, so that nothing here is ever certain.
"""

from __future__ import annotations

from amqpscope.model.broker.declaration import Declaration
from amqpscope.rules.broker import Reporter
from amqpscope.stream.types import CLIENT, SERVER


def redeclared(known: Declaration, said: Declaration, report: Reporter) -> None:
    """A client declares what another connection has declared otherwise."""
    if known.fleeting or known.exclusive or said.exclusive:
        return
    where = f"on connection {known.connection}"
    if said.kind == "exchange":
        before, now = known.facts["type"], said.facts["type"]
        if before != now:
            text = f"exchange {said.name!r} is declared as {now!r}, {where} as {before!r}"
            report.claim("A09-EXC-03", said, known, text, "exchange.declare.type", CLIENT)
        return
    differ = [name for name, value in said.facts.items() if known.facts.get(name) != value]
    if differ:
        text = f"queue {said.name!r} is declared with other {', '.join(differ)} than {where}"
        report.claim("A09-QUE-06", said, known, text, f"queue.declare.{differ[0]}", CLIENT)


def taken_from_owner(known: Declaration, said: Declaration, report: Reporter) -> None:
    """The broker lets a connection use a queue that another has for itself."""
    if known.exclusive and known.kind == "queue":
        text = f"queue {said.name!r} is used, which connection {known.connection} has for itself"
        report.claim("A09-QUE-05", said, known, text, "", SERVER)


def consumed_by_two(known: Declaration, said: Declaration, report: Reporter) -> None:
    """The broker lets a second consumer have a queue of which one is to be the only one."""
    if known.exclusive or said.exclusive:
        where = f"connection {known.connection}"
        text = (
            f"a second consumer of {said.name!r} beside that of {where}, one is to be the only one"
        )
        report.claim("A09-BAS-34", said, known, text, "", SERVER)
