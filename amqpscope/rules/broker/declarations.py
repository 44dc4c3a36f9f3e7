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
    if known.exclusive and known.kind == "queue" and not said.generated:
        text = f"queue {said.name!r} is used, which is exclusive to connection {known.connection}"
        report.claim("A09-QUE-05", said, known, text, "", SERVER)


def named_twice(known: Declaration, said: Declaration, report: Reporter) -> None:
    """The broker chooses a name for a queue that another connection's queue has."""
    if said.generated and not known.fleeting:
        text = f"the broker chooses {said.name!r}, as a queue of connection {known.connection} is"
        report.claim("A09-QUE-02", said, known, f"{text} called", "queue.declare-ok.queue", SERVER)


def deleted_in_use(consumer: Declaration, said: Declaration, report: Reporter) -> None:
    """The broker deletes a queue that another connection consumes from, though only if unused."""
    if said.if_unused:
        text = f"queue {said.name!r} is deleted, and connection {consumer.connection} consumes"
        report.claim("A09-QUE-12", said, consumer, f"{text} from it", "", SERVER)


def unreachable(known: Declaration, said: Declaration, report: Reporter) -> None:
    """The broker has no way to a queue that another connection has declared."""
    if not known.fleeting and not known.exclusive:
        text = f"no route to queue {said.name!r}, which connection {known.connection} declared"
        report.claim("A09-QUE-18", said, known, text, "basic.return.routing-key", SERVER)


def consumed_by_two(known: Declaration, said: Declaration, report: Reporter) -> None:
    """The broker lets a second consumer have a queue of which one is to be the only one."""
    if known.exclusive or said.exclusive:
        where = f"connection {known.connection}"
        text = f"a second consumer of {said.name!r}, besides that of {where}; one is exclusive"
        report.claim("A09-BAS-34", said, known, text, "", SERVER)
