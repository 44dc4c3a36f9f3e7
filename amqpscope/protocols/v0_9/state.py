"""The state of a connection of 0-9, its channels and its consumers, as a tree."""

from __future__ import annotations

from itertools import islice

from amqpscope.model.ending import CHANNEL, CONNECTION, CONSUMER
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import Connection
from amqpscope.model.v0_9.snapshot import ChannelState, ConnectionState, ConsumerState, snapshot
from amqpscope.protocols.ending_words import ended_words
from amqpscope.protocols.state import (
    HELD_STYLE,
    LISTED,
    TITLE,
    UNKNOWN,
    StateNode,
    StateRow,
    brief_constraint,
    ended_row,
    held_row,
    pair_row,
    transaction_row,
)
from amqpscope.protocols.words import printable, size
from amqpscope.stream.types import PEERS
from dissectors.secrets import clean_name


def connection_node(number: int, connection: Connection) -> StateNode:
    """The node of a connection, with its channels below."""
    state = snapshot(connection)
    names = " -> ".join(printable(name) if name else UNKNOWN for name in state.products)
    vhost = "" if state.virtual_host is None else f"  vhost {printable(state.virtual_host)}"
    ongoing = stands = standing(state)
    if state.ending is not None:
        stands = ended_words(state.ending._replace(condition="", text=""), own=CONNECTION)
    agreed = ", ".join([
        f"channel-max {limit(state.channel_max)}", f"frame-max {limit(state.frame_max)}",
        f"heartbeat {limit(state.heartbeat)}",
    ])  # fmt: skip
    lines = [f"{state.protocol}, {agreed}"]
    if state.blocked is not None:
        lines.append(f"blocked by the server: {printable(state.blocked) or 'no reason given'}")
    products = [clean_name(name) or None for name in state.products]
    channels = [channel_node(each, channel_of(connection, each)) for each in state.channels]
    label = f"connection {number}"
    transactions = connection.transactions(state.ending is not None)
    if any(transactions):
        lines.append(f"transactions: {transactions.words()}")
    return StateNode(
        label,
        label,
        f"{stands}  {names}",
        style=TITLE,
        children=(*connection_rows(state), *transaction_row(transactions, ()), *channels),
        kind=CONNECTION,
        title=f"{label}  {names}{vhost}" + (f"  {ongoing}" if ongoing else ""),
        fields={
            "connection": number,
            "protocol": state.protocol,
            "products": dict(zip(PEERS, products, strict=True)),
            "virtual-host": clean(state.virtual_host),
            "state": ongoing,
            "ended": None,
            "channel-max": known_number(state.channel_max),
            "frame-max": known_number(state.frame_max),
            "heartbeat": known_number(state.heartbeat),
            "blocked": clean(state.blocked),
            "transactions": transactions._asdict(),
            "channels": [],
        },
        lines=tuple(lines),
        ending=state.ending,
        group="channels",
    )


def channel_of(connection: Connection, state: ChannelState) -> Channel:
    """The channel that a state is of."""
    return connection.channels.get(state.number) or connection.closed[state.number]


def connection_rows(state: ConnectionState) -> list[StateRow]:
    """Who the peers are, what they agreed on, and whether the server blocks."""
    agreed = (
        StateRow("protocol", "protocol", state.protocol),
        StateRow("user", "user", printable(state.user) or UNKNOWN),
        StateRow("vhost", "virtual host", printable(state.virtual_host or UNKNOWN)),
        StateRow("channel-max", "channel-max", limit(state.channel_max)),
        StateRow("frame-max", "frame-max", limit(state.frame_max)),
        StateRow("heartbeat", "heartbeat s", limit(state.heartbeat)),
    )
    rows = [] if state.ending is None else [ended_row(state.ending, own=CONNECTION)]
    names = [printable(name) or UNKNOWN for name in state.products]
    rows.append(pair_row("product", names, agreed))
    if state.blocked is not None:
        reason = printable(state.blocked) or "no reason given"
        rows.append(StateRow("blocked", "blocked by server", reason, style=HELD_STYLE))
    return rows


def standing(state: ConnectionState) -> str:
    """How far a connection is; nothing where it has ended."""
    if state.ending is not None:
        return ""
    return "open" if state.stage in ("open", "unknown") else state.stage


def limit(value: int) -> str:
    """A limit that was agreed on."""
    return "?" if value < 0 else "none" if value == 0 else str(value)


def known_number(value: int) -> int | None:
    """A number, None where it is not known."""
    return None if value < 0 else value


def clean(name: str | None) -> str | None:
    """A name as it was on the wire, but for its secrets."""
    return None if name is None else clean_name(name)


def channel_node(state: ChannelState, channel: Channel) -> StateNode:
    """One channel and its consumers."""
    modes = [word for word, on in (("confirms", state.confirm), ("tx", state.transaction)) if on]
    words = ", ".join([state.standing, *modes])
    prefetch = f", prefetch {state.prefetch}" if state.prefetch else ""
    unseen = "" if state.sure else ", not all of it was captured"
    label = f"channel {state.number}"
    return StateNode(
        label,
        label,
        f"{words}{unseen}  {brief_constraint(state.constraint)}",
        style=TITLE,
        children=(*channel_rows(state, channel), *map(consumer_node, state.consumers)),
        kind=CHANNEL,
        title=f"{label}  {words}{prefetch}{unseen}",
        fields={
            "channel": state.number,
            "state": state.standing,
            "published": state.publishes,
            "published-bytes": state.published_bytes,
            "confirm": state.confirm,
            "unconfirmed": state.unconfirmed,
            "transaction": state.transaction,
            "delivered": state.deliveries,
            "delivered-bytes": state.delivered_bytes,
            "unacked": state.unacked,
            "prefetch": state.prefetch or None,
            "pending": list(state.pending),
            "complete": state.sure,
            "consumers": [],
            "constraint": None,
            "ended": None,
        },
        lines=(
            f"published {state.publishes} ({size(state.published_bytes)}),"
            f" {state.unconfirmed} unconfirmed; delivered {state.deliveries}"
            f" ({size(state.delivered_bytes)}), {state.unacked} unacked",
        ),
        constraint=state.constraint,
        group="consumers",
    )


def channel_rows(state: ChannelState, channel: Channel) -> tuple[StateRow, ...]:
    """What holds a channel, what passed on it, and what waits for an answer."""
    published = f"{state.publishes:,} ({size(state.published_bytes)})"
    delivered = f"{state.deliveries:,} ({size(state.delivered_bytes)})"
    unconfirmed = tuple(
        StateRow(f"publish {number}", f"publish #{number}",
                 f"to {printable(each.exchange) or 'the default exchange'}"
                 f" with {printable(each.routing_key) or 'no routing key'}",
                 frame=each.mark.frame, since=each.mark.time)
        for number, each in islice(channel.confirms.outstanding.items(), LISTED)
    )  # fmt: skip
    unacked = tuple(
        StateRow(f"delivery {number}", f"delivery #{number}",
                 f"of {printable(each.queue) or UNKNOWN}, {size(each.size)}"
                 f"{', redelivered' if each.redelivered else ''}",
                 frame=each.mark.frame, since=each.mark.time)
        for number, each in islice(channel.deliveries.outstanding.items(), LISTED)
    )  # fmt: skip
    return (
        held_row(state.constraint, CHANNEL),
        StateRow("published", "published", published),
        StateRow("unconfirmed", "unconfirmed", f"{state.unconfirmed:,}", children=unconfirmed),
        StateRow("delivered", "delivered", delivered),
        StateRow("unacked", "unacked", f"{state.unacked:,}", children=unacked),
        prefetch_row(state.prefetch),
        StateRow("pending", "waiting for", ", ".join(state.pending) or "nothing"),
    )


def prefetch_row(prefetch: int) -> StateRow:
    """How many deliveries may be without an acknowledgement."""
    return StateRow("prefetch", "prefetch", str(prefetch) if prefetch else "no limit")


def consumer_node(state: ConsumerState) -> StateNode:
    """The node of a consumer."""
    modes = [word for word, on in (("no-ack", state.no_ack), ("exclusive", state.exclusive)) if on]
    words = ", ".join([state.state, *modes])
    prefetch = f", prefetch {state.prefetch}" if state.prefetch else ""
    tag, queue = printable(state.tag) or UNKNOWN, printable(state.queue) or UNKNOWN
    label = f"consumer {tag}"
    return StateNode(
        label,
        label,
        f"of {queue}  {words}  {brief_constraint(state.constraint)}",
        style=TITLE,
        children=(
            held_row(state.constraint, CONSUMER),
            StateRow("deliveries", "deliveries", f"{state.deliveries:,} ({size(state.bytes)})"),
            StateRow("unacked", "unacked", f"{state.unacked:,}"),
            prefetch_row(state.prefetch),
        ),
        kind=CONSUMER,
        title=f"{label}  of {queue}  {words}{prefetch}",
        fields={
            "tag": clean_name(state.tag),
            "queue": clean_name(state.queue) or None,
            "state": state.state,
            "no-ack": state.no_ack,
            "exclusive": state.exclusive,
            "prefetch": state.prefetch or None,
            "deliveries": state.deliveries,
            "bytes": state.bytes,
            "unacked": state.unacked,
            "constraint": None,
            "ended": None,
        },
        lines=(f"{state.deliveries} deliveries ({size(state.bytes)}), {state.unacked} unacked",),
        constraint=state.constraint,
    )
