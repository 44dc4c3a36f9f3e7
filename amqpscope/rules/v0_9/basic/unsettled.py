"""What clients leave unacknowledged, and acknowledge unread (A09-BAS-21, 43, 45, 46)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.rules.v0_9 import ADVISORY, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.basic.settling import MULTIPLE, SETTLES, TAG
from amqpscope.rules.v0_9.channel.replies import ended_channels
from amqpscope.rules.v0_9.versions import NEW, rabbit_since
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method

CONSUMER_TIMEOUT: Final = 30 * 60 * 1_000_000_000
"""RabbitMQ's patience with a client that does not acknowledge, as it is set where nobody did."""


@rule("A09-BAS-21", "1.1.6.9", MUST, INFO, on="channel.close connection.close", needs="client")
def get_left_unacked(event: Event, report: Reporter) -> None:
    """What a client gets without `no-ack` it acknowledges.

    Whatever is left when the channel closes goes back to the queue, and will come again.

    Bad (got):
        client: channel.close[1] reply-code=200 reply-text="bye"   # <- A09-BAS-21

    Good (got):
        client: basic.ack[1] delivery-tag=1
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    for channel in ended_channels(event):
        if not channel.sure or channel.deliveries.unsure:
            continue
        left = [each for each in channel.deliveries.outstanding.values() if each.consumer is None]
        if left:
            words = f"answers to basic.get that are not acknowledged: {len(left)}"
            related = ((left[0].mark, "the first of them"),)
            report.suspect(event, words, "", related, about=channel.number)


@rule(
    "A09-BAS-43", "basic.nack capability", IMPLIED, WARNING, on="settles basic.nack", dialects=NEW
)
def nack_not_announced(event: Event, report: Reporter) -> None:
    """A client sends nack only to a server that announced to understand it.

    Bad (plain_consuming):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.nack[1] delivery-tag=1   # <- A09-BAS-43

    Good (delivered):
        client: basic.nack[1] delivery-tag=1
    """
    connection = event.connection
    if connection.start is None or "basic.nack" in event.partner.capabilities:
        return
    if report.once(event.own):
        related = ((connection.start_mark, "the server's start"),)
        report.sure(event, "basic.nack to a server that did not announce it", "", related)


@rule("A09-BAS-45", "[RMQ]", ADVISORY, INFO, on="tick frame")
def delivery_unacked_too_long(event: Event, report: Reporter) -> None:
    """A delivery is acknowledged within RabbitMQ's consumer timeout, half an hour if unset.

    After that the broker closes the channel with 406, and what is unacknowledged goes back.

    Bad (delivered):
        @1900s server: heartbeat   # <- A09-BAS-45
        server: FIN

    Good (delivered):
        @20s client: basic.ack[1] delivery-tag=1
        server: heartbeat
    """
    connection = event.connection
    if not rabbit_since(connection, 3, 8):
        return
    for channel in connection.channels.values():
        oldest = next(iter(channel.deliveries.outstanding.values()), None)
        if oldest is None or channel.closing or channel.deliveries.unsure:
            continue
        if event.since(oldest.mark) > CONSUMER_TIMEOUT and report.once(channel):
            minutes = event.since(oldest.mark) // 60_000_000_000
            words = f"delivery {oldest.tag} is not acknowledged for {minutes} minutes"
            related = ((oldest.mark, "the delivery"),)
            report.suspect(event, words, "", related, peer=CLIENT, about=channel.number)


@rule("A09-BAS-46", "ack multiple", ADVISORY, INFO, on=SETTLES)
def ack_all_while_delivering(event: Event, report: Reporter, method: Method) -> None:
    """To acknowledge all deliveries while some are under way settles what was never read.

    Bad (delivered):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        client~1: basic.ack[1] delivery-tag=0 multiple=true   # <- A09-BAS-46

    Good (delivered):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=0 multiple=true
    """
    if number(method, TAG) or not method.get(MULTIPLE):
        return
    unread = [each for each in event.covered if each.mark.end > event.known]
    if unread:
        words = f"all is acknowledged; deliveries still under way to the client: {len(unread)}"
        related = ((unread[0].mark, "the first of them"),)
        report.suspect(event, words, f"{event.name}.delivery-tag", related)
