"""Distributed transactions, of the versions before 0-9-1 (A09-DTX; 1.1.10)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.transactions.local import SEEN, report_whole_connection
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method

WORK: Final = ("basic.publish", "basic.consume", "basic.get", "file.publish", "stream.publish")
"""Methods that publish or consume messages."""


@rule("A09-DTX-01", "1.1.10.1", MUST, ERROR, on="dtx.start", needs=SEEN)
def dtx_start_without_select(event: Event, report: Reporter, channel: Channel) -> None:
    """A distributed transaction is started only on a channel that was set to them.

    Bad (v0_9):
        client: dtx.start[1] dtx-identifier="x"   # <- A09-DTX-01

    Good (dtx_started):
        server: dtx.start-ok[1]
    """
    if channel.dtx_mark is None:
        report.sure(event, "dtx.start without a dtx.select on this channel")


@rule("A09-DTX-02", "1.1.10.3", MUST, ERROR, on="dtx.start", needs=SEEN)
def dtx_start_not_first(event: Event, report: Reporter, channel: Channel) -> None:
    """A distributed transaction is started before anything is published or consumed.

    Bad (v0_9):
        client: dtx.select[1]
        server: dtx.select-ok[1]
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: dtx.start[1] dtx-identifier="x"   # <- A09-DTX-02

    Good (dtx_started):
        server: dtx.start-ok[1]
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: dtx.start[1] dtx-identifier="y"
        server: dtx.start-ok[1]
    """
    if channel.dtx_start_mark is not None:
        return  # The one after another goes on where that has left off.
    by_name = event.connection.dialect.by_name
    for name in WORK:
        mark = channel.sent[CLIENT].get(by_name[name].code) if name in by_name else None
        if mark is not None:
            words = f"dtx.start comes after a {name}"
            report.sure(event, words, "", ((mark, f"the newest {name}"),))
            return


@rule("A09-DTX-03", "1.1.10.4", MUST, WARNING, on="connection.close", needs="server")
def dtx_failure_not_raised(event: Event, report: Reporter, method: Method) -> None:
    """A start that fails closes its channel, not the connection.

    Bad (dtx_started):
        server: connection.close reply-code=541 reply-text="INTERNAL_ERROR" class-id=100
                method-id=20   # <- A09-DTX-03

    Good (dtx_started):
        server: channel.close[1] reply-code=403 reply-text="ACCESS_REFUSED" class-id=100
                method-id=20
        client: channel.close-ok[1]
    """
    report_whole_connection(event, report, method, ("dtx.start",))


@rule("A09-DTX-04", "dtx", IMPLIED, WARNING, on="tx.select dtx.select", needs="client !closing")
def dtx_with_tx(event: Event, report: Reporter, channel: Channel) -> None:
    """A channel has transactions of its own or distributed ones, not both.

    Bad (v0_9):
        client: tx.select[1]
        server: tx.select-ok[1]
        client: dtx.select[1]   # <- A09-DTX-04

    Good (v0_9):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: tx.select[1]
        client: dtx.select[2]
        server: tx.select-ok[1]
        server: dtx.select-ok[2]
    """
    transaction = channel.transaction
    other = channel.dtx_mark
    if event.name == "dtx.select":
        other = None if transaction is None else transaction.select_mark
    if other is not None:
        report.sure(event, "both tx and dtx on one channel", "", ((other, "the other select"),))
