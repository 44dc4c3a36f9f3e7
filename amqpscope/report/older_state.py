"""The state of connections of the older protocols at one instant, as text and as plain objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amqpscope.model.ending import CHANNEL, CONNECTION, CONSUMER
from amqpscope.model.older.snapshot import ChannelState, ConsumerState, OlderState
from amqpscope.report.endings import (
    Instant,
    constraint_object,
    ended_words,
    ending_lines,
    held_lines,
)
from amqpscope.report.words import printable, size
from amqpscope.stream import PEERS
from dissectors.secrets import clean_name


def older_state_lines(number: int, state: OlderState, at: Instant) -> Iterator[str]:
    """One connection as a tree."""
    names = " -> ".join(printable(name) if name else "?" for name in state.products)
    vhost = "" if state.virtual_host is None else f"  vhost {printable(state.virtual_host)}"
    yield f"connection {number}  {names}{vhost}{standing(state)}"
    yield from ending_lines(state.ending, CONNECTION, at, "  ")
    agreed = [
        f"{name} {limit(value)}"
        for name, value in (
            ("channel-max", state.channel_max),
            ("frame-max", state.frame_max),
            ("heartbeat", state.heartbeat),
        )
    ]
    yield f"  {state.protocol}, {', '.join(agreed)}"
    if state.blocked is not None:
        yield f"  blocked by the server: {printable(state.blocked) or 'no reason given'}"
    for channel in state.channels:
        yield from channel_lines(channel, at)


def standing(state: OlderState) -> str:
    """How far a connection is that has not ended, at the end of a line."""
    if state.ending is not None:
        return ""
    return f"  {'open' if state.stage in ('open', 'unknown') else state.stage}"


def limit(value: int) -> str:
    """A limit that was agreed on."""
    return "?" if value < 0 else "none" if value == 0 else str(value)


def channel_lines(channel: ChannelState, at: Instant) -> Iterator[str]:
    """One channel, its consumers, and what holds them."""
    modes = [
        word for word, on in (("confirms", channel.confirm), ("tx", channel.transaction)) if on
    ]
    prefetch = f", prefetch {channel.prefetch}" if channel.prefetch else ""
    unseen = "" if channel.sure else ", not all of it was captured"
    told = ", ".join([channel.standing, *modes])
    yield f"  channel {channel.number}  {told}{prefetch}{unseen}"
    yield (
        f"    published {channel.publishes} ({size(channel.published_bytes)}),"
        f" {channel.unconfirmed} unconfirmed; delivered {channel.deliveries}"
        f" ({size(channel.delivered_bytes)}), {channel.unacked} unacked"
    )
    yield from held_lines(channel.constraint, CHANNEL, at, "    ")
    for consumer in channel.consumers:
        yield from consumer_lines(consumer, at)


def consumer_lines(consumer: ConsumerState, at: Instant) -> Iterator[str]:
    """One consumer and what holds it."""
    words = [
        word for word, on in (("no-ack", consumer.no_ack), ("exclusive", consumer.exclusive)) if on
    ]
    if consumer.prefetch:
        words.append(f"prefetch {consumer.prefetch}")
    tag, queue = printable(consumer.tag) or "?", printable(consumer.queue) or "?"
    yield f"    consumer {tag}  of {queue}  {', '.join([consumer.state, *words])}"
    carried = f"{consumer.deliveries} deliveries ({size(consumer.bytes)})"
    yield f"      {carried}, {consumer.unacked} unacked"
    yield from held_lines(consumer.constraint, CONSUMER, at, "      ")


def older_state_object(number: int, state: OlderState, at: Instant) -> dict[str, Any]:
    """One connection, for JSON."""
    ending = state.ending
    return {
        "connection": number,
        "protocol": state.protocol,
        "products": dict(
            zip(PEERS, [clean_name(name) or None for name in state.products], strict=True)
        ),
        "virtual-host": shown(state.virtual_host),
        "state": standing(state).strip() if ending is None else ended_words(ending, own=CONNECTION),
        "ended": at.object(ending),
        "channel-max": known(state.channel_max),
        "frame-max": known(state.frame_max),
        "heartbeat": known(state.heartbeat),
        "blocked": shown(state.blocked),
        "channels": [channel_object(channel, at) for channel in state.channels],
    }


def shown(name: str | None) -> str | None:
    """A name as it was on the wire, but for its secrets."""
    return None if name is None else clean_name(name)


def known(value: int) -> int | None:
    """A number, None where it is not known."""
    return None if value < 0 else value


def channel_object(channel: ChannelState, at: Instant) -> dict[str, Any]:
    """One channel, for JSON."""
    return {
        "channel": channel.number,
        "state": channel.standing,
        "published": channel.publishes,
        "published-bytes": channel.published_bytes,
        "confirm": channel.confirm,
        "unconfirmed": channel.unconfirmed,
        "transaction": channel.transaction,
        "delivered": channel.deliveries,
        "delivered-bytes": channel.delivered_bytes,
        "unacked": channel.unacked,
        "prefetch": channel.prefetch or None,
        "pending": list(channel.pending),
        "complete": channel.sure,
        "consumers": [consumer_object(consumer, at) for consumer in channel.consumers],
        "constraint": constraint_object(channel.constraint, at.now),
        "ended": at.object(channel.constraint.ending),
    }


def consumer_object(consumer: ConsumerState, at: Instant) -> dict[str, Any]:
    """One consumer, for JSON."""
    return {
        "tag": clean_name(consumer.tag),
        "queue": clean_name(consumer.queue) or None,
        "state": consumer.state,
        "no-ack": consumer.no_ack,
        "exclusive": consumer.exclusive,
        "prefetch": consumer.prefetch or None,
        "deliveries": consumer.deliveries,
        "bytes": consumer.bytes,
        "unacked": consumer.unacked,
        "constraint": constraint_object(consumer.constraint, at.now),
        "ended": at.object(consumer.constraint.ending),
    }
