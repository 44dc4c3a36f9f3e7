"""Transactions of a channel (A09-TX; 1.1.9).

A transaction begins by itself: with tx.select, and after each commit and rollback. A rollback takes
back publishes and acknowledgements, not deliveries.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.model.v0_9.publishes import Publish
from amqpscope.rules.v0_9 import (
    ADVISORY,
    ERROR,
    IMPLIED,
    INFO,
    MUST,
    SHOULD,
    WARNING,
    Reporter,
    rule,
)
from amqpscope.rules.v0_9.basic.cancelling import blames
from amqpscope.rules.v0_9.channel.replies import (
    ENDS,
    ended_channels,
    passed_over,
    report_waiting,
    unasked,
)
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method

UNRELATED: Final = frozenset((200, 320, 501, 502, 503, 504, 505, 540))
"""Codes of closes that do not say that the work of a transaction failed."""


SEEN: Final = "client trusted whole !closing"
"""All that the client has said on the channel was seen, and nobody has closed it."""


@rule("A09-TX-01", "1.1.9.1, transacted", MUST, ERROR, on="tx.commit", needs=SEEN)
def tx_commit_without_select(event: Event, report: Reporter, channel: Channel) -> None:
    """A client commits only on a channel that it has set to transactions.

    The broker closes the channel with 406.

    Bad (channel):
        client: tx.commit[1]   # <- A09-TX-01

    Good (transaction):
        client: tx.commit[1]
        server: tx.commit-ok[1]
    """
    if channel.transaction is None:
        report.sure(event, "tx.commit without a tx.select on this channel")


@rule("A09-TX-02", "1.1.9.1", MUST, ERROR, on="tx.rollback", needs=SEEN)
def tx_rollback_without_select(event: Event, report: Reporter, channel: Channel) -> None:
    """A client rolls back only on a channel that it has set to transactions.

    Bad (channel):
        client: tx.rollback[1]   # <- A09-TX-02

    Good (transaction):
        client: tx.rollback[1]
        server: tx.rollback-ok[1]
    """
    if channel.transaction is None:
        report.sure(event, "tx.rollback without a tx.select on this channel")


@rule("A09-TX-03", "1.1.9 grammar", MUST, ERROR, on=f"tx.* | {ENDS}")
def tx_reply_out_of_order(event: Event, report: Reporter) -> None:
    """Select, commit and rollback are each answered, in their order.

    A client takes the first answer for the first request: two that change places make it believe
    that a commit was done which was not.

    Bad (transaction):
        client: tx.commit[1]
        client: tx.rollback[1]
        server: tx.rollback-ok[1]   # <- A09-TX-03

    Good (transaction):
        client: tx.commit[1]
        client: tx.rollback[1]
        server: tx.commit-ok[1]
        server: tx.rollback-ok[1]

    Bad (transaction):
        server: tx.commit-ok[1]   # <- A09-TX-03

    Good (transaction):
        client: tx.commit[1]
        server: tx.commit-ok[1]
    """
    if not event.name.startswith("tx."):
        report_waiting(event, report, ("tx.",))
        return
    if event.peer != SERVER or not event.trusted:
        return
    if unasked(event):
        report.sure(event, f"{event.name} answers nothing that was asked on this channel")
        return
    skipped = [request for request in passed_over(event) if request.name.startswith("tx.")]
    if skipped:
        first = skipped[0]
        words = f"{event.name} comes before the answer to the earlier {first.name}"
        report.sure(event, words, "", ((first.mark, f"the {first.name}"),))


@rule("A09-TX-04", "1.1.9.4", MUST, WARNING, on="connection.close", needs="server")
def tx_failure_not_raised(event: Event, report: Reporter, method: Method) -> None:
    """A commit or rollback that fails closes its channel, not the connection.

    Bad (transaction):
        client: tx.commit[1]
        server: connection.close reply-code=541 reply-text="INTERNAL_ERROR" class-id=90
                method-id=20   # <- A09-TX-04

    Good (transaction):
        client: tx.commit[1]
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED" class-id=90
                method-id=20
        client: channel.close-ok[1]
    """
    report_whole_connection(event, report, method, ("tx.commit", "tx.rollback"))


def report_whole_connection(
    event: Event, report: Reporter, method: Method, names: tuple[str, ...]
) -> None:
    """Report a connection.close where a channel.close is due."""
    for name in names:
        if blames(event, name) and number(method, "reply-code") not in UNRELATED:
            words = f"a {name} that fails closes the whole connection"
            report.sure(event, words, "connection.close.method-id")
            return


@rule(
    "A09-TX-05",
    "ack exists",
    MUST,
    WARNING,
    on="transactional channel.close",
    needs="server sure counted",
)
def tx_bad_ack_refused_late(event: Event, report: Reporter, channel: Channel) -> None:
    """A wrong acknowledgement is refused when it comes, not when the transaction is committed.

    Bad (transaction):
        client: basic.ack[1] delivery-tag=7   # <- A09-BAS-10
        @1s client: tx.commit[1]
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED" class-id=90
                method-id=20   # <- A09-TX-05

    Good (transaction):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
        client: tx.commit[1]
        server: tx.commit-ok[1]

    Bad (transaction):
        client: basic.ack[1] delivery-tag=7   # <- A09-BAS-10
        @5s client: tx.commit[1]
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED" class-id=60
                method-id=80   # <- A09-TX-05

    Good (transaction):
        client: tx.commit[1]
        server: tx.commit-ok[1]
    """
    bad = channel.deliveries.misnamed
    if channel.transaction is None or bad is None:
        return
    ending = channel.transaction.ending
    if not blames(event, "tx.commit"):
        # The server had the acknowledgement for long, and speaks of it once it gets the commit.
        waited = bool(ending) and ending[0].mark.time - bad.time > GRACE
        if waited and event.knew(ending[0].mark) and blames(event, "basic.ack"):
            words = "an acknowledgement that named nothing is refused when the commit comes"
            report.suspect(event, words, "", ((bad, "the acknowledgement"),))
        return
    if any(fault.sure and fault.mark.frame == bad.frame for fault in event.connection.faults):
        words = "the commit is refused, the acknowledgement before it that named nothing was not"
        report.sure(event, words, "", ((bad, "the acknowledgement"),))


@rule(
    "A09-TX-06", "[RMQ]", IMPLIED, WARNING, on="tx.select confirm.select", needs="client !closing"
)
def tx_with_confirm(event: Event, report: Reporter, channel: Channel) -> None:
    """A channel has transactions or confirms, not both.

    RabbitMQ closes the channel with 406.

    Bad (confirming):
        client: tx.select[1]   # <- A09-TX-06

    Good (confirming):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: tx.select[2]
        server: tx.select-ok[2]
    """
    confirms, transaction = channel.confirms, channel.transaction
    if event.name == "tx.select" and confirms.on:
        related = ((confirms.select_mark, "the confirm.select"),)
        report.sure(event, "tx.select on a channel that is in confirm mode", "", related)
    elif event.name == "confirm.select" and transaction is not None:
        related = ((transaction.select_mark, "the tx.select"),)
        report.sure(event, "confirm.select on a channel with transactions", "", related)


@rule("A09-TX-08", "1.1.6.5", IMPLIED, INFO, on="basic.return", needs="sure !ahead")
def tx_return_before_commit(
    event: Event, report: Reporter, channel: Channel, publish: Publish
) -> None:
    """What is published in a transaction comes back after its commit, if it does.

    Brokers differ in this, so a client has to be ready for both.

    Bad (transaction):
        client: basic.publish[1] exchange="amq.topic" routing-key="a" mandatory=true
        client: content-header[1] class=basic body-size=0
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"   # <- A09-TX-08

    Good (mandatory):
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"
        server: content-header[1] class=basic body-size=0
    """
    first = None if channel.transaction is None else channel.transaction.first_mark
    if first is not None and publish.mark.end >= first.end:
        words = "a message comes back before the transaction it is part of is committed"
        report.suspect(event, words, "", ((publish.mark, "the publish"),))


@rule(
    "A09-TX-09",
    "[RMQ]",
    ADVISORY,
    INFO,
    on="transactional channel.close | connection.close | finished",
    needs="!over",
)
def tx_open_at_close(event: Event, report: Reporter) -> None:
    """Work is committed before its channel is closed; what is not is lost.

    Bad (transaction):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: channel.close[1] reply-code=200 reply-text="bye"   # <- A09-TX-09

    Good (transaction):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: tx.commit[1]
        server: tx.commit-ok[1]
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    if event.own.finished == "capture":
        return
    for channel in ended_channels(event):
        transaction = channel.transaction
        if transaction is None or not channel.whole[CLIENT]:
            continue
        sent, acked = transaction.publishes, len(transaction.acked)
        if sent or acked:
            words = f"not committed: publishes {sent}, acknowledgements {acked}"
            related = ((transaction.first_mark, "the first of them"),)
            report.suspect(event, words, "", related, peer=CLIENT, about=channel.number)


@rule("A09-TX-10", "not immediate / not mandatory", SHOULD, INFO, on="transactional odd-publish")
def tx_with_mandatory_or_immediate(
    event: Event, report: Reporter, channel: Channel, publish: Publish
) -> None:
    """A publish in a transaction is neither mandatory nor immediate.

    When and whether it comes back is for each broker to say. Reported once for a channel.

    Bad (transaction):
        client: basic.publish[1] routing-key="q" mandatory=true   # <- A09-TX-10

    Good (transaction):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: tx.commit[1]
        server: tx.commit-ok[1]
    """
    if (publish.mandatory or publish.immediate) and report.once(channel):
        what = "mandatory" if publish.mandatory else "immediate"
        words = f"a publish with {what} in a transaction"
        report.sure(event, words, f"{event.name}.{what}")


@rule("A09-TX-11", "1.1.9.5", IMPLIED, WARNING, on="channel.close connection.close", needs="client")
def tx_rollback_left_unacked(event: Event, report: Reporter) -> None:
    """What a rollback made unacknowledged again is acknowledged later, or recovered.

    A rollback does not bring deliveries again: the client still has them, and nobody else gets
    them until the channel is closed.

    Bad (transaction):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
        client: tx.rollback[1]
        server: tx.rollback-ok[1]
        client: channel.close[1] reply-code=200 reply-text="bye"   # <- A09-TX-11

    Good (transaction):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
        client: tx.rollback[1]
        server: tx.rollback-ok[1]
        client: basic.ack[1] delivery-tag=1
        client: tx.commit[1]
        server: tx.commit-ok[1]
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    for channel in ended_channels(event):
        if channel.transaction is None or not channel.sure:
            continue
        left = [each for each in channel.deliveries.outstanding.values() if each.given_back]
        if left:
            words = f"deliveries rolled back and not acknowledged since: {len(left)}"
            related = ((left[0].mark, "the first of them"),)
            report.suspect(event, words, "", related, about=channel.number)
