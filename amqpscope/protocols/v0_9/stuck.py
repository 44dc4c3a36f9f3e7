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
    channel_constraint,
)
from amqpscope.model.v0_9.refusal import closed
from amqpscope.model.v0_9.snapshot import snapshot
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
    """Channels and consumers, and channels that were closed because of a fault."""
    for channel in snapshot(model).channels:
        if channel.number not in model.channels:
            continue
        refused = refused_channel(model, model.channels[channel.number])
        if channel.publishes or channel.pending or not channel.consumers:
            name, bound = f"channel {channel.number}", bound_of(channel.constraint)
            where = f"{channel.publishes} published" if channel.publishes else ""
            yield Held(number, "channel", name, where, CLIENT, channel.number, bound, None, refused)
        for consumer in channel.consumers:
            bound = bound_of(consumer.constraint)
            yield Held(number, "consumer", consumer.tag, consumer.queue, SERVER, channel.number,
                       bound, None, refused)  # fmt: skip
    for place, gone in sorted(model.closed.items()):
        refused = refused_channel(model, gone)
        if refused is not None and place not in model.channels:
            bound = bound_of(channel_constraint(model, gone))
            yield Held(number, "channel", f"channel {place}", "", CLIENT, place, bound, None,
                       refused)  # fmt: skip


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
        refusal = None if close is None else closed(what, close.code, close.text)
        if close is not None and refusal is not None:
            return Refused(refusal, close.mark.frame, close.mark.time, peer)
    return None
