"""Access tickets (A09-CHN-40 to 42; the access class, which 0-9-1 dropped)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.rules.v0_9 import ERROR, INFO, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import CLIENT

REALMS: Final = ("/data", "/admin")
WITH_TICKETS: Final = (
    "exchange.declare | exchange.delete | queue.declare | queue.bind | queue.purge | queue.delete "
    "| basic.consume | basic.get | basic.publish | file.consume | file.publish | stream.consume "
    "| stream.publish"
)


@rule("A09-CHN-40", "1.1.3.1", MUST, ERROR, on="access.request", dialects="10-3 0-8")
def realm_prefix_wrong(event: Event, report: Reporter) -> None:
    """The realm of an access request begins with /data or /admin.

    Bad (v0_8):
        client: access.request[1] realm="/public" read=true   # <- A09-CHN-40

    Good (v0_8):
        client: access.request[1] realm="/data" read=true
        server: access.request-ok[1] ticket=101
    """
    method = event.unit.method
    realm = None if method is None else method.get("realm")
    if isinstance(realm, str) and not realm.startswith(REALMS) and event.trusted:
        text = f"the realm {realm!r} begins with neither /data nor /admin"
        report.sure(event, text, "access.request.realm")


@rule(
    "A09-CHN-41", "1.1.3.2; per-channel", MUST, WARNING, on=WITH_TICKETS, dialects="10-3 0-8 0-9="
)
def ticket_from_other_channel(event: Event, report: Reporter) -> None:
    """An access ticket is used on the channel that got it.

    Bad (v0_8):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: access.request[2] realm="/data" read=true
        server: access.request-ok[2] ticket=101
        client: queue.declare[1] ticket=101 queue="q"   # <- A09-CHN-41

    Good (v0_8):
        client: access.request[1] realm="/data" read=true
        server: access.request-ok[1] ticket=101
        client: queue.declare[1] ticket=101 queue="q"
        server: queue.declare-ok[1] queue="q"
    """
    channel, ticket = event.channel, used(event)
    if channel is None or not ticket or not channel.sure or ticket in channel.tickets:
        return
    for other in event.connection.channels.values():
        if other is not channel and ticket in other.tickets:
            text = f"ticket {ticket} was given on channel {other.number}"
            text = f"{text}, and is used on channel {channel.number}"
            report.sure(event, text, f"{event.name}.ticket")
            return


def used(event: Event) -> int:
    """The ticket that a client shows."""
    method = event.unit.method
    return 0 if method is None or event.peer != CLIENT else number(method, "ticket")


@rule(
    "A09-CHN-42",
    "ticket validity",
    MUST,
    INFO,
    on=WITH_TICKETS,
    default=False,
    dialects="10-3 0-8 0-9=",
)
def ticket_not_granted(event: Event, report: Reporter) -> None:
    """A method shows a ticket that the server gave on its channel.

    Servers without access control take any, and clients show none.

    Bad (v0_8):
        client: queue.declare[1] queue="q"   # <- A09-CHN-42

    Good (v0_8):
        client: access.request[1] realm="/data" read=true
        server: access.request-ok[1] ticket=101
        client: queue.declare[1] ticket=101 queue="q"
        server: queue.declare-ok[1] queue="q"
    """
    channel, method, ticket = event.channel, event.unit.method, used(event)
    if channel is None or method is None or event.peer != CLIENT or not channel.sure:
        return
    if ticket not in channel.tickets:
        what = f"ticket {ticket}, which was not given here" if ticket else "no ticket"
        name = text(method, "queue") or text(method, "exchange")
        report.suspect(event, f"{event.name} {name!r} with {what}", f"{event.name}.ticket")
