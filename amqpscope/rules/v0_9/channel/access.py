"""Access tickets (A09-CHN-40 to 42; the access class, which 0-9-1 dropped)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.rules.v0_9 import ERROR, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.versions import OLD
from dissectors.v0_9.codec import Method

REALMS: Final = ("/data", "/admin")
SHOWS_TICKET: Final = (
    "exchange.declare exchange.delete queue.declare queue.bind queue.purge queue.delete "
    "basic.consume basic.get basic.publish file.consume file.publish stream.consume stream.publish"
)


@rule(
    "A09-CHN-40", "1.1.3.1", MUST, ERROR, on="access.request", dialects="10-3 0-8", needs="trusted"
)
def realm_prefix_wrong(event: Event, report: Reporter, method: Method) -> None:
    """The realm of an access request begins with /data or /admin.

    Bad (v0_8):
        client: access.request[1] realm="/public" read=true   # <- A09-CHN-40

    Good (v0_8):
        client: access.request[1] realm="/data" read=true
        server: access.request-ok[1] ticket=101
    """
    realm = method.get("realm")
    if isinstance(realm, str) and not realm.startswith(REALMS):
        text = f"the realm {realm!r} begins with neither /data nor /admin"
        report.sure(event, text, "access.request.realm")


@rule(
    "A09-CHN-41",
    "1.1.3.2; per-channel",
    MUST,
    WARNING,
    on=SHOWS_TICKET,
    dialects=OLD,
    needs="client sure",
)
def ticket_from_other_channel(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
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
    ticket = number(method, "ticket")
    if not ticket or ticket in channel.tickets:
        return
    for other in event.connection.channels.values():
        if other is not channel and ticket in other.tickets:
            text = f"ticket {ticket} was given on channel {other.number}"
            text = f"{text}, and is used on channel {channel.number}"
            report.sure(event, text, f"{event.name}.ticket")
            return


@rule(
    "A09-CHN-42",
    "ticket validity",
    MUST,
    INFO,
    on=SHOWS_TICKET,
    default=False,
    dialects=OLD,
    needs="client sure",
)
def ticket_not_granted(event: Event, report: Reporter, method: Method, channel: Channel) -> None:
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
    ticket = number(method, "ticket")
    if ticket not in channel.tickets:
        what = f"ticket {ticket}, which was not given here" if ticket else "no ticket"
        name = text(method, "queue") or text(method, "exchange")
        report.suspect(event, f"{event.name} {name!r} with {what}", f"{event.name}.ticket")
