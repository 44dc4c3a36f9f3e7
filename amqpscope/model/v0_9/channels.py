"""Channels as they are opened, assumed, closed and remembered (4.2)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.ledger import SHARED_CHANNEL
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9 import messages
from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.connection import Connection
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.refusal import FINE
from dissectors.v0_9.codec import Method

MAX_CLOSED: Final = 1024
"""Channels that are remembered after they are closed."""
MAX_REFUSED: Final = 100
"""Those closed for a fault that are remembered although their number was opened again."""


def channel_of(event: Event, number: int, opens: bool) -> Channel:
    """The channel of this number, or one that is assumed."""
    connection = event.connection
    channel = connection.channels.get(number)
    if channel is None:
        channel = Channel(number, True, event.mark)
        if not opens and connection.ends[0].anchored and connection.ends[1].anchored:
            event.kinds |= kinds.UNOPENED
    event.channel = channel
    return channel


def closes(event: Event, channel: Channel) -> None:
    """See whether the channel is closed, for its sender or for its partner."""
    if channel.closes[event.peer] is not None:
        event.kinds |= kinds.OWN_CLOSED
    other = channel.closes[1 - event.peer]
    if other is not None and event.knew(other.mark):
        event.kinds |= kinds.PEER_CLOSED


def place_end(event: Event, channel: Channel) -> None:
    """A channel is over: a tangle of contents that is left is reported now."""
    for assembly in channel.assemblies:
        if assembly.tangle is not None and not assembly.tangle.reported.has(SHARED_CHANNEL):
            event.kinds |= kinds.UNTANGLES
            event.tangle = assembly.tangle


def open_channel(event: Event, method: Method) -> None:
    """The client opens a channel: what was under its number is over."""
    number = event.unit.channel
    old = event.channel
    channel = Channel(number, False, event.mark)
    channel.out_of_band = messages.text(method, "out-of-band")
    partner = event.partner
    if not partner.anchored and not partner.sound:
        # Nothing of the partner is seen, or nothing again since it was lost.
        channel.whole[partner.peer] = False
        channel.doubtful[event.peer] = True
    if event.time < event.connection.scrambled_until:
        # What was said on it may have come before this.
        channel.lose(0)
        channel.lose(1)
    if old is not None:
        reuse(channel, old)
    before = event.connection.closed.pop(number, None)
    if old is not None and not old.assumed:
        before = old
    channel.generation = 0 if before is None else before.generation + 1
    if before is not None:
        remember(event.connection, before)
        if any(close is not None and close.code >= FINE for close in before.closes):
            event.connection.refused.append(before)
            del event.connection.refused[:-MAX_REFUSED]
    channel.ask(event.peer, Request(method, event.mark, method.plan.replies))
    channel.sent[event.peer][method.plan.code] = event.mark
    event.connection.channels[number] = channel
    event.channel = channel


def reuse(channel: Channel, old: Channel) -> None:
    """A number is opened again: until a close of the old channel is answered, who owes that
    answer goes on with the old one, and what it sends says nothing of the new one.
    """
    for peer in (0, 1):
        close = old.closes[1 - peer]
        if close is not None and close.answer is None:
            channel.owes[peer] = True
            channel.whole[peer] = False
            channel.doubtful = [True, True]


def close_ok(event: Event, channel: Channel) -> None:
    """A close is answered; with all of them answered, the number is free."""
    if channel.owes[event.peer]:
        channel.owes[event.peer] = False
        return
    close = channel.closes[1 - event.peer]
    if close is not None:
        close.answer = event.mark
    elif channel.sure:
        return  # It answers nothing.
    if all(each is None or each.answer is not None for each in channel.closes):
        event.connection.channels.pop(channel.number, None)
        remember(event.connection, channel)


def remember(connection: Connection, channel: Channel) -> None:
    """Keep a channel that is over, for a while, without what takes room."""
    if channel.transaction is not None:
        lost, doubtful = channel.transaction.abandon()
        connection.transacted[1] += lost
        connection.transacted[2] += doubtful
    channel.release()
    closed = connection.closed
    closed.pop(channel.number, None)
    closed[channel.number] = channel
    if len(closed) > MAX_CLOSED:
        del closed[next(iter(closed))]
