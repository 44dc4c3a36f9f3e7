"""Opening channels, their numbers, and what is sent on closed ones (A09-CHN-01 to 03, 08 to 11)."""

from __future__ import annotations

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import Limits
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.names import before_0_9_1
from amqpscope.stream.types import CLIENT, PEERS, SERVER


@rule("A09-CHN-01", "tune channel-max", MUST, ERROR, on="channel.open", needs="client")
def channel_above_channel_max(
    event: Event, report: Reporter, tune: Limits, tune_ok: Limits
) -> None:
    """No channel has a number above the channel-max that both agreed on.

    In 0-9-1 it is the highest number; in the versions before it reads as how many channels there
    may be, so there both have to be exceeded.

    Bad (opened):
        client: channel.open[2048]   # <- A09-CHN-01

    Good (opened):
        client: channel.open[2047]
        server: channel.open-ok[2047]
    """
    connection, number = event.connection, event.unit.channel
    limit = connection.limit("channel_max")
    if limit <= 0 or number <= limit:
        return
    open_now = sum(channel.open for channel in connection.channels.values())
    if before_0_9_1(connection) and open_now < limit:
        return
    related = ((tune.mark, "the server's tune"), (tune_ok.mark, "the client's tune-ok"))
    report.sure(event, f"channel {number} is opened, channel-max is {limit}", "channel", related)


@rule("A09-CHN-02", "channel/open; 504", MUST, ERROR, on="unopened", needs="trusted")
def method_on_closed_channel(event: Event, report: Reporter) -> None:
    """The first on a channel is channel.open.

    After both have closed a channel, it must be opened again. A broker closes the connection with
    504. A client gets here when a thread goes on with a channel that another has closed.

    Bad (opened):
        client: queue.declare[1] queue="q"   # <- A09-CHN-02

    Good (opened):
        client: channel.open[1]
        client: queue.declare[1] queue="q"
        server: channel.open-ok[1]
        server: queue.declare-ok[1] queue="q"
    """
    if event.kinds & (kinds.AFTER_CLOSE | kinds.WRONG_WAY):
        return
    if event.name == "channel.resume":
        return  # Another way to open one, in 0-9.
    number = event.unit.channel
    before = event.connection.closed.get(number)
    if before is None:
        report.sure(event, f"{event.name} on channel {number}, which is not open")
        return
    if not before.sure:
        return
    marks = [
        (mark, f"the {PEERS[peer]}'s {word}")
        for peer, close in enumerate(before.closes)
        if close is not None
        for mark, word in ((close.mark, "close"), (close.answer, "close, answered"))
    ]
    text = f"{event.name} on channel {number}, which is closed"
    report.sure(event, text, "", tuple(marks))


@rule("A09-CHN-03", "1.1.2.1; state", MUST, ERROR, on="channel.open", needs="client clear")
def channel_open_repeated(event: Event, report: Reporter, channel: Channel) -> None:
    """A channel that is open is not opened again.

    A broker closes the connection with 504: "second 'channel.open' seen".

    Bad (channel):
        client: channel.open[1]   # <- A09-CHN-03

    Good (channel):
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    if not channel.assumed:
        text = f"channel {channel.number} is opened again, and was not closed"
        report.sure(event, text, "channel", ((channel.mark, "its open"),))


@rule("A09-CHN-08", "2.3.7; 1.1.2.6", MUST, ERROR, on="channel.open", needs="client sure trusted")
def channel_reopened_before_close_ok(event: Event, report: Reporter, channel: Channel) -> None:
    """A channel that the server has closed is opened again only after the client's close-ok.

    Until then the server drops all that comes on it but the close-ok, or takes the open for a
    second one and closes the connection with 504.

    Bad (channel):
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: channel.open[1]   # <- A09-CHN-08

    Good (channel):
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    close, own = channel.closes[SERVER], channel.closes[CLIENT]
    if close is None or close.answer is not None or channel.assumed:
        return
    text = f"channel {channel.number} is opened again, and the server's close is not answered"
    related = ((close.mark, "the server's close"),)
    if own is None:
        report.sure(event, text, "channel", related)
    elif own.answer is not None and event.knew(close.mark) and not before_0_9_1(event.connection):
        # The closes have crossed, and only 0-9-1 wants each of them answered: the server has seen
        # that of the client at least.
        report.suspect(event, text, "channel", (*related, (own.mark, "the client's own close")))


@rule("A09-CHN-09", "2.3.7; 1.1.2.6", MUST, INFO, on="channel.open", needs="client !ahead")
def channel_reopened_too_early(event: Event, report: Reporter) -> None:
    """A channel that the client has closed is opened again only after the server's close-ok.

    RabbitMQ may not be through with the close, take the open for a second one, and close the
    connection with 504. Others may take frames of the old channel for those of the new one.

    Bad (channel):
        client: channel.close[1] reply-code=200 reply-text="bye"
        client: channel.open[1]   # <- A09-CHN-09

    Good (channel):
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    connection, number = event.connection, event.unit.channel
    channel = event.channel
    if channel is not None and (channel.assumed or not channel.sure or not event.trusted):
        channel = None
    if channel is None and number not in connection.channels:
        channel = connection.closed.get(number)
    close = None if channel is None else channel.closes[CLIENT]
    if close is None:
        return
    if close.answer is None or not event.knew(close.answer):
        text = f"channel {number} is opened again before the server's close-ok has come"
        severity = WARNING if close.answer is None and connection.rabbit else INFO
        related = ((close.mark, "the client's close"),)
        report.suspect(event, text, "channel", related, severity=severity)


@rule("A09-CHN-10", "1.1.2.6; channel.close", MUST, ERROR, on="own-closed", needs="trusted")
def frame_after_own_channel_close(event: Event, report: Reporter, channel: Channel) -> None:
    """Who has closed a channel sends nothing more on it but a close-ok.

    The partner may have seen the close already, and the number may be another channel's by then.

    Bad (channel):
        client: channel.close[1] reply-code=200 reply-text="bye"
        client: basic.get[1] queue="q"   # <- A09-CHN-10

    Good (channel):
        client: channel.close[1] reply-code=200 reply-text="bye"
        server~1: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: channel.close-ok[1]
        server: channel.close-ok[1]
    """
    peer = event.peer
    close = channel.closes[peer]
    if close is None or event.name == "channel.open":
        return
    if event.content is not None or event.kinds & kinds.AFTER_CLOSE:
        return
    lost = peer != CLIENT or close.mark.time < event.connection.shaken_until
    if lost and not channel.whole[peer]:
        return  # What was missed since its close may have opened the channel again.
    who, number = PEERS[peer], channel.number
    if report.once(channel, topic=f"the {who} after its close"):
        text = f"the {who} sends {event.name} on channel {number} after its own close"
        report.sure(event, text, "", ((close.mark, "its close"),))


@rule("A09-CHN-11", "1.1.2.6", IMPLIED, INFO, on="channel.close-ok", needs="client")
def frames_lost_after_channel_close(event: Event, report: Reporter, channel: Channel) -> None:
    """What is sent on a channel after its close has arrived is lost.

    A publisher that does not look at what comes in goes on for a while: all of that is dropped.
    What a server has under way when a client closes is legal, and of no use to anybody.

    Bad (channel):
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: channel.close-ok[1]   # <- A09-CHN-11

    Good (channel):
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client~1: basic.publish[1] routing-key="q"
        client~1: content-header[1] class=basic body-size=0
        client: channel.close-ok[1]
    """
    close, count = channel.closes[SERVER], channel.after_close[CLIENT]
    if channel.closes[CLIENT] is not None:
        return  # It has closed as well, and what it sent before is reported by that.
    if close is not None and count:
        frames = "a frame" if count == 1 else f"{count} frames"
        text = f"the client sent {frames} on channel {channel.number} after the server's close"
        report.suspect(event, f"{text}: lost", "", ((close.mark, "the close"),))
