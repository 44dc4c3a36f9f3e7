"""The state of a connection of 0-9, its channels and its consumers, as a tree."""

from __future__ import annotations

from amqpscope.model.ending import CHANNEL, CONNECTION, CONSUMER
from amqpscope.model.v0_9.connection import Connection
from amqpscope.model.v0_9.snapshot import ChannelState, ConnectionState, ConsumerState, snapshot
from amqpscope.protocols.state import StateNode
from amqpscope.protocols.words import printable, size
from amqpscope.stream.types import CLIENT, PEERS, SERVER
from dissectors.secrets import clean_name


def connection_node(number: int, connection: Connection) -> StateNode:
    """One connection."""
    state = snapshot(connection)
    names = " -> ".join(printable(name) if name else "?" for name in state.products)
    vhost = "" if state.virtual_host is None else f"  vhost {printable(state.virtual_host)}"
    ongoing = standing(state)
    agreed = ", ".join([
        f"channel-max {limit(state.channel_max)}", f"frame-max {limit(state.frame_max)}",
        f"heartbeat {limit(state.heartbeat)}",
    ])  # fmt: skip
    lines = [f"{state.protocol}, {agreed}"]
    if state.blocked is not None:
        lines.append(f"blocked by the server: {printable(state.blocked) or 'no reason given'}")
    products = [clean_name(name) or None for name in state.products]
    return StateNode(
        CONNECTION,
        f"connection {number}  {names}{vhost}" + (f"  {ongoing}" if ongoing else ""),
        {
            "connection": number,
            "protocol": state.protocol,
            "products": dict(zip(PEERS, products, strict=True)),
            "virtual-host": shown(state.virtual_host),
            "state": ongoing,
            "ended": None,
            "channel-max": known(state.channel_max),
            "frame-max": known(state.frame_max),
            "heartbeat": known(state.heartbeat),
            "blocked": shown(state.blocked),
            "channels": [],
        },
        lines,
        ending=state.ending,
        group="channels",
        children=[channel_node(channel) for channel in state.channels],
    )


def standing(state: ConnectionState) -> str:
    """How far a connection is; nothing where it has ended."""
    if state.ending is not None:
        return ""
    return "open" if state.stage in ("open", "unknown") else state.stage


def limit(value: int) -> str:
    """A limit that was agreed on."""
    return "?" if value < 0 else "none" if value == 0 else str(value)


def known(value: int) -> int | None:
    """A number, None where it is not known."""
    return None if value < 0 else value


def shown(name: str | None) -> str | None:
    """A name as it was on the wire, but for its secrets."""
    return None if name is None else clean_name(name)


def channel_node(channel: ChannelState) -> StateNode:
    """One channel."""
    words = [channel.standing]
    words += ["confirms"] if channel.confirm else []
    words += ["tx"] if channel.transaction else []
    prefetch = f", prefetch {channel.prefetch}" if channel.prefetch else ""
    unseen = "" if channel.sure else ", not all of it was captured"
    return StateNode(
        CHANNEL,
        f"channel {channel.number}  {', '.join(words)}{prefetch}{unseen}",
        {
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
            "consumers": [],
            "constraint": None,
            "ended": None,
        },
        [
            f"published {channel.publishes} ({size(channel.published_bytes)}),"
            f" {channel.unconfirmed} unconfirmed; delivered {channel.deliveries}"
            f" ({size(channel.delivered_bytes)}), {channel.unacked} unacked"
        ],
        constraint=channel.constraint,
        group="consumers",
        children=[consumer_node(consumer) for consumer in channel.consumers],
        name=f"channel {channel.number}",
        label=str(channel.number),
        sender=CLIENT,
    )


def consumer_node(consumer: ConsumerState) -> StateNode:
    """One consumer."""
    words = [consumer.state]
    words += ["no-ack"] if consumer.no_ack else []
    words += ["exclusive"] if consumer.exclusive else []
    words += [f"prefetch {consumer.prefetch}"] if consumer.prefetch else []
    tag, queue = printable(consumer.tag) or "?", printable(consumer.queue) or "?"
    return StateNode(
        CONSUMER,
        f"consumer {tag}  of {queue}  {', '.join(words)}",
        {
            "tag": clean_name(consumer.tag),
            "queue": clean_name(consumer.queue) or None,
            "state": consumer.state,
            "no-ack": consumer.no_ack,
            "exclusive": consumer.exclusive,
            "prefetch": consumer.prefetch or None,
            "deliveries": consumer.deliveries,
            "bytes": consumer.bytes,
            "unacked": consumer.unacked,
            "constraint": None,
            "ended": None,
        },
        [f"{consumer.deliveries} deliveries ({size(consumer.bytes)}), {consumer.unacked} unacked"],
        constraint=consumer.constraint,
        name=consumer.tag,
        label=consumer.queue or consumer.tag,
        sender=SERVER,
    )
