"""Closing a channel: code, cause and answer (A09-CHN-07, 12 to 14; 2.3.6, 2.3.7, 4.5)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.rules.v0_9 import IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import PEERS
from dissectors.v0_9.codec import Method

OK: Final = 200
HARD: Final = "hard-error"
SOFT: Final = "soft-error"
CHANNEL_BY_TEXT: Final = frozenset((402, 540))
"""Codes with which texts before 0-9-1 want a channel closed, though they end connections."""


@rule(
    "A09-CHN-07", "2.3.7; 1.1.2.6", MUST, WARNING, on="finished | connection.close", needs="!over"
)
def channel_close_unanswered(event: Event, report: Reporter) -> None:
    """A channel.close is answered by a close-ok.

    Without it the number cannot be used again, and the closer keeps what it knows of the channel.

    Bad (channel):
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        @5s client: connection.close reply-code=200 reply-text="bye"   # <- A09-CHN-07

    Bad (channel):
        client: channel.close[1] reply-code=200 reply-text="bye"   # <- A09-CHN-07
        @5s client: connection.close reply-code=200 reply-text="bye"

    Good (channel):
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: channel.close-ok[1]
        @5s client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    for channel in event.connection.channels.values():
        report_unanswered(event, channel, report)
        report_given_up(event, channel, report)


def report_given_up(event: Event, channel: Channel, report: Reporter) -> None:
    """Report a close whose sender ends the connection, or the capture, without an answer."""
    close = channel.closes[event.peer]
    if close is None or close.answer is not None or not channel.sure:
        return
    if channel.closes[1 - event.peer] is not None or event.partner.seen < event.partner.reached:
        return
    waited = event.since(close.mark)
    if event.own.finished == "capture":
        waited = event.partner.heard - close.mark.time
    if waited > GRACE:
        number, partner = channel.number, event.partner.peer
        text = f"the close of channel {number} has no answer after {waited / 1e9:.1f} s"
        report.suspect(event, text, peer=partner, mark=close.mark, about=number)


def report_unanswered(event: Event, channel: Channel, report: Reporter) -> None:
    """Report a close that the sender of an event owes an answer to."""
    peer = event.peer
    close, own = channel.closes[1 - peer], channel.closes[peer]
    if close is None or close.answer is not None or not channel.sure:
        return
    if own is not None and not event.connection.dialect.name.startswith("0-9-1"):
        return  # The closes crossed; only 0-9-1 wants both answered.
    late = event.knew(close.mark) and event.since(close.mark) > GRACE
    if late or event.surely_knew(close.mark):
        text = f"the {PEERS[peer]} does not answer the close of channel {channel.number}"
        related = ((close.mark, "the close"),)
        report.suspect(event, text, "", related, about=channel.number)


@rule("A09-CHN-12", "4.5.1, 2.3.6", MUST, WARNING, on="channel.close")
def channel_close_code_class(event: Event, report: Reporter, method: Method) -> None:
    """A channel is closed with 200, or the code of an error that ends channels.

    Some clients close in order with a code of 0, which is noted once.

    Bad (channel):
        server: channel.close[1] reply-code=499 reply-text="no"   # <- A09-CHN-12

    Good (channel):
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED"
        client: channel.close-ok[1]
    """
    dialect = event.connection.dialect
    if not dialect.constants:
        return
    code = number(method, "reply-code")
    known = dialect.constant(code)
    if code == OK or (known is not None and known.level in (SOFT, HARD)):
        return
    what = "not an error code of this version" if known is None else known.name
    if code or report.once(event.own):
        text, severity = f"channel.close with {code}, {what}", WARNING if code else INFO
        report.sure(event, text, "channel.close.reply-code", severity=severity)


@rule("A09-CHN-13", "4.5.1", MUST, WARNING, on="channel.close")
def hard_error_closes_channel_only(event: Event, report: Reporter, method: Method) -> None:
    """An error that ends connections closes the connection, not a channel only.

    The texts before 0-9-1 ask for some of them on a channel themselves: 402 and 540.

    Bad (channel):
        server: channel.close[1] reply-code=503 reply-text="COMMAND_INVALID"   # <- A09-CHN-13

    Good (channel):
        server: connection.close reply-code=503 reply-text="COMMAND_INVALID"
        client: connection.close-ok
    """
    dialect = event.connection.dialect
    code = number(method, "reply-code")
    known = dialect.constant(code)
    if known is None or known.level != HARD:
        return
    if code in CHANNEL_BY_TEXT and not dialect.name.startswith("0-9-1"):
        return
    text = f"channel.close with {code}, {known.name}, which ends a connection"
    report.sure(event, text, "channel.close.reply-code")


@rule("A09-CHN-14", "close class-id", IMPLIED, WARNING, on="channel.close", needs="sure !ahead")
def channel_close_names_wrong_method(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A close names the method that caused it: one that the partner sent on this channel, or none.

    Bad (channel):
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND" class-id=60
                method-id=40   # <- A09-CHN-14

    Good (queue):
        server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED" class-id=50
                method-id=10
        client: channel.close-ok[1]
    """
    partner = event.partner
    class_id, method_id = number(method, "class-id"), number(method, "method-id")
    code = class_id << 16 | method_id
    if not class_id or not method_id or channel.assumed or code in channel.sent[partner.peer]:
        return
    plan = event.connection.dialect.methods.get(code)
    if plan is None and code in partner.sent:
        return
    name = f"{class_id}.{method_id}" if plan is None else plan.name
    text = f"the close blames {name}, which the {PEERS[partner.peer]} has not sent on channel"
    report.sure(event, f"{text} {channel.number}", "channel.close.method-id")
