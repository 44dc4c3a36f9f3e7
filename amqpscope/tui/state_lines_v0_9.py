"""A connection of 0-9 at one instant as lines; see `state_lines`."""

from __future__ import annotations

from itertools import islice

from amqpscope.model.constraint import Constraint
from amqpscope.model.ending import CHANNEL, CONNECTION, CONSUMER
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import Connection
from amqpscope.model.v0_9.snapshot import ChannelState, ConsumerState, snapshot
from amqpscope.protocols.ending_words import brief_words, ended_words
from amqpscope.protocols.v0_9.state import limit, standing
from amqpscope.protocols.words import printable, size
from amqpscope.tui.state_lines import LISTED, Node, ended_node, held_node, pair


def node_of(number: int, connection: Connection) -> Node:
    """One connection."""
    state = snapshot(connection)
    names = " -> ".join(printable(name) if name else "?" for name in state.products)
    agreed = (
        Node("protocol", "protocol", state.protocol),
        Node("user", "user", printable(state.user) or "?"),
        Node("vhost", "virtual host", printable(state.virtual_host or "?")),
        Node("channel-max", "channel-max", limit(state.channel_max)),
        Node("frame-max", "frame-max", limit(state.frame_max)),
        Node("heartbeat", "heartbeat s", limit(state.heartbeat)),
    )
    products = pair("product", [printable(name) or "?" for name in state.products])
    rows = [products._replace(children=agreed)]
    if state.blocked is not None:
        reason = printable(state.blocked) or "no reason given"
        rows.append(Node("blocked", "blocked by server", reason, style="held"))
    stands = standing(state).strip()
    if state.ending is not None:
        rows.insert(0, ended_node(state.ending, own=CONNECTION))
        stands = ended_words(state.ending._replace(condition="", text=""), own=CONNECTION)
    for each in state.channels:
        channel = connection.channels.get(each.number) or connection.closed[each.number]
        rows.append(channel_node(each, channel))
    label = f"connection {number}"
    return Node(label, label, f"{stands}  {names}", style="title", children=tuple(rows))


def channel_node(state: ChannelState, channel: Channel) -> Node:
    """One channel and its consumers."""
    modes = [word for word, on in (("confirms", state.confirm), ("tx", state.transaction)) if on]
    if not state.sure:
        modes.append("not all of it was captured")
    published = f"{state.publishes:,} ({size(state.published_bytes)})"
    delivered = f"{state.deliveries:,} ({size(state.delivered_bytes)})"
    unconfirmed = tuple(
        Node(f"publish {number}", f"publish #{number}",
             f"to {printable(each.exchange) or 'the default exchange'}"
             f" with {printable(each.routing_key) or 'no routing key'}",
             frame=each.mark.frame, since=each.mark.time)
        for number, each in islice(channel.confirms.outstanding.items(), LISTED)
    )  # fmt: skip
    unacked = tuple(
        Node(f"delivery {number}", f"delivery #{number}",
             f"of {printable(each.queue) or '?'}, {size(each.size)}"
             f"{', redelivered' if each.redelivered else ''}",
             frame=each.mark.frame, since=each.mark.time)
        for number, each in islice(channel.deliveries.outstanding.items(), LISTED)
    )  # fmt: skip
    rows = (
        held_node(state.constraint, CHANNEL),
        Node("published", "published", published),
        Node("unconfirmed", "unconfirmed", f"{state.unconfirmed:,}", children=unconfirmed),
        Node("delivered", "delivered", delivered),
        Node("unacked", "unacked", f"{state.unacked:,}", children=unacked),
        Node("prefetch", "prefetch", str(state.prefetch) if state.prefetch else "no limit"),
        Node("pending", "waiting for", ", ".join(state.pending) or "nothing"),
        *map(consumer_node, state.consumers),
    )
    label = f"channel {state.number}"
    told = ", ".join([state.standing, *modes])
    return Node(label, label, f"{told}  {kind(state.constraint)}", style="title", children=rows)


def kind(held: Constraint) -> str:
    """What holds something, or how it ended, in a few words."""
    return held.kind if held.ending is None else brief_words(held.ending)


def consumer_node(state: ConsumerState) -> Node:
    """One consumer."""
    words = [w for w, on in (("no-ack", state.no_ack), ("exclusive", state.exclusive)) if on]
    rows = (
        held_node(state.constraint, CONSUMER),
        Node("deliveries", "deliveries", f"{state.deliveries:,} ({size(state.bytes)})"),
        Node("unacked", "unacked", f"{state.unacked:,}"),
        Node("prefetch", "prefetch", str(state.prefetch) if state.prefetch else "no limit"),
    )
    label = f"consumer {printable(state.tag) or '?'}"
    told = ", ".join([state.state, *words])
    text = f"of {printable(state.queue) or '?'}  {told}  {kind(state.constraint)}"
    return Node(label, label, text, style="title", children=rows)
