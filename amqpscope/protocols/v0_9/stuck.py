"""What holds each channel and consumer of a 0-9 connection, or the connection before it has any."""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope.model.constraint import OVER, STUCK, WAITS, Meaning
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import Connection
from amqpscope.model.v0_9.constraint import (
    BLOCKED,
    CANCELLED,
    CHANNEL_CLOSED,
    FLOW_STOPPED,
    PREFETCH,
    UNACKED,
    UNCOMMITTED,
    UNCONFIRMED,
    WAITING_REPLY,
    channel_hold,
    consumer_constraint,
    consumer_hold,
)
from amqpscope.model.v0_9.refusal import refusal_of_close
from amqpscope.model.v0_9.snapshot import channel_state
from amqpscope.protocols.stuck import MEANINGS, NO_LINK, Bound, Held, Refused, bound_of
from amqpscope.stream.types import CLIENT, SERVER

# fmt: off
MEANINGS.update({
    BLOCKED:        Meaning(STUCK, "The server takes no publishes."),
    FLOW_STOPPED:   Meaning(STUCK, "A channel.flow has stopped messages."),
    WAITING_REPLY:  Meaning(STUCK, "A method waits for its answer."),
    PREFETCH:       Meaning(STUCK, "The server delivers no more until the client acknowledges."),
    UNCONFIRMED:    Meaning(WAITS, "Publishes are not confirmed yet."),
    UNACKED:        Meaning(WAITS, "Deliveries are not acknowledged yet."),
    UNCOMMITTED:    Meaning(WAITS, "A transaction is open."),
    CHANNEL_CLOSED: Meaning(OVER,  ""),
    CANCELLED:      Meaning(OVER,  ""),
})
# fmt: on


def held_channels(number: int, model: Connection) -> Iterator[Held]:
    """Channels and consumers; of closed channels those that show something of what went wrong."""
    for _, channel in sorted(model.channels.items()):
        yield from held_channel(number, model, channel)
        yield from held_consumers(number, model, channel)
    for channel in model.refused:
        for held in held_channel(number, model, channel):
            yield held._replace(name=f"{held.name} of frame {channel.mark.frame}")
    for place, channel in sorted(model.closed.items()):
        if place in model.channels:
            continue
        unacked = [*held_consumers(number, model, channel, only_unacked=True)]
        if channel.publishes or refused_channel(model, channel):
            yield from held_channel(number, model, channel)
        yield from unacked


def held_consumers(
    number: int, model: Connection, channel: Channel, *, only_unacked: bool = False
) -> Iterator[Held]:
    """What holds each consumer of a channel.

    Cancelled ones are among them where they left deliveries unacknowledged: most clients cancel
    before they close, and what held a consumer until then is still the question.
    """
    for consumer in [*channel.consumers.values(), *channel.gone.values()]:
        if not consumer.unacked and (only_unacked or consumer.tag in channel.gone):
            continue
        bound, before = bound_of(consumer_constraint(model, channel, consumer)), None
        if bound.rank == OVER:
            before = bound_of(consumer_hold(model, channel, consumer))
        yield Held(number, "consumer", consumer.tag, consumer.queue, SERVER, channel.number, bound,
                   before, refused_channel(model, channel))  # fmt: skip


def held_channel(number: int, model: Connection, channel: Channel) -> Iterator[Held]:
    """What holds the publisher on a channel; nothing where there are only consumers."""
    state = channel_state(model, channel)
    if channel.publishes or state.pending or not channel.consumers or channel.closing:
        bound = bound_of(state.constraint)
        before = bound_of(channel_hold(model, channel)) if bound.rank == OVER else None
        where = f"{state.publishes} published" if state.publishes else ""
        yield Held(number, "channel", f"channel {state.number}", where, CLIENT, state.number, bound,
                   before, refused_channel(model, channel))  # fmt: skip


def opening(model: Connection) -> tuple[Bound, Refused | None]:
    """How far a connection came that has not ended, and what was refused."""
    refused = refused_channel(model, None)
    pending = [(peer, each) for peer in (CLIENT, SERVER) for each in model.zero.pending[peer]]
    if pending:
        peer, request = pending[0]
        mark = request.mark
        bound = Bound(WAITING_REPLY, mark.frame, mark.time, 1 - peer, f"to {request.name}")
        return bound, refused
    newest = max((end.last_mark for end in model.ends), key=lambda mark: mark.frame)
    return Bound(NO_LINK, newest.frame, newest.time, CLIENT, ""), refused


def refused_channel(model: Connection, channel: Channel | None) -> Refused | None:
    """The fault because of which a channel, or its connection, was closed."""
    closes = [] if channel is None else [*enumerate(channel.closes)]
    words = ["channel closed"] * len(closes) + ["connection closed"] * 2
    for what, (peer, close) in zip(
        words, [*closes, *((end.peer, end.close) for end in model.ends)], strict=True
    ):
        refusal = None if close is None else refusal_of_close(what, close.code, close.text)
        if close is not None and refusal is not None:
            return Refused(refusal, close.mark.frame, close.mark.time, peer)
    return None
