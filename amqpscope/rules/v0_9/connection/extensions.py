"""RabbitMQ's extensions of the connection class (A09-CON-34, 35, 38)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ADVISORY, IMPLIED, INFO, WARNING, Reporter, rule
from amqpscope.stream.types import CLIENT, SERVER

BLOCKED = "connection.blocked"
PATIENCE: Final = 5_000_000_000
"""Nanoseconds in which a broker may be busy with a request."""


@rule(
    "A09-CON-34",
    "connection.blocked",
    IMPLIED,
    WARNING,
    on="connection.blocked connection.unblocked",
    needs="server",
)
def blocked_not_announced(event: Event, report: Reporter) -> None:
    """A server says that it blocks only to clients that announced to understand it.

    Bad (plain):
        server: connection.blocked reason="low on memory"   # <- A09-CON-34

    Good (channel):
        server: connection.blocked reason="low on memory"
        server: connection.unblocked
    """
    connection = event.connection
    if connection.start_ok is None:
        return
    if BLOCKED not in event.partner.capabilities:
        related = ((connection.start_ok_mark, "the client's start-ok"),)
        report.sure(event, f"{event.name} to a client that did not announce it", "", related)


@rule("A09-CON-35", "[RMQ]", ADVISORY, INFO, on="odd-publish basic.publish", needs="client")
def publish_while_blocked(event: Event, report: Reporter) -> None:
    """A client stops publishing while the server blocks.

    The server does not read on any more, so all that is sent only fills buffers, and nothing else
    of this connection gets through either.

    Bad (channel):
        server: connection.blocked reason="low on memory"
        @5s client: basic.publish[1] routing-key="q"   # <- A09-CON-35

    Good (channel):
        server: connection.blocked reason="low on memory"
        @5s server: connection.unblocked
        @6s client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
    """
    blocked = event.connection.blocked
    if not event.knew(blocked) or event.since(blocked) <= GRACE:
        return
    if report.once(event.own):
        text = f"the client publishes while it is blocked: {event.connection.blocked_reason}"
        report.suspect(event, text, "", ((blocked, "connection.blocked"),))


@rule("A09-CON-38", "update-secret", IMPLIED, WARNING, on="finished | connection.close")
def update_secret_unanswered(event: Event, report: Reporter) -> None:
    """A new secret is answered by update-secret-ok.

    Bad (channel):
        client: connection.update-secret new-secret="s" reason="expires"
        @5s client: connection.close reply-code=200 reply-text="bye"
        @5s server: connection.close-ok
        @5s server: FIN   # <- A09-CON-38

    Good (channel):
        client: connection.update-secret new-secret="s" reason="expires"
        server: connection.update-secret-ok
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
        server: FIN
        client: FIN
    """
    zero, server = event.connection.zero, event.connection.ends[SERVER]
    closes = event.name == "connection.close" and event.peer == CLIENT
    ends = event.peer == SERVER and event.own.finished in ("fin", "rst")
    if not zero.sure or not (closes or ends):
        return
    for request in zero.pending[CLIENT] + zero.unanswered:
        late = not closes or event.since(request.mark) > PATIENCE
        if request.name == "connection.update-secret" and late and report.once(server):
            text = "the server never answered connection.update-secret"
            report.suspect(event, text, "", ((request.mark, "the new secret"),), peer=SERVER)
            return
