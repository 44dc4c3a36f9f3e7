"""A connection at one instant as lines that can be opened: what is kept of a model as it passes.

Each line has what the client and what the server says. Two instants are compared line by line, so
everything that a frame changed shows. Lines of a link that has not changed are used again: keeping
the states of many frames costs little more than what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from amqpscope.analysis import Conversation
from amqpscope.model.constraint import Constraint
from amqpscope.model.ending import CONNECTION, LINK, SESSION, Ending
from amqpscope.model.mark import Mark
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.connection import Connection, ConnectionEnd
from amqpscope.model.v1_0.constraint import constraint, credit_left, window_left
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.ending import connection_ending, session_ending
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.snapshot import (
    detached_links,
    ended_pairs,
    live_deliveries,
    session_pairs,
)
from amqpscope.protocols.ending_words import (
    brief_words,
    ended_words,
    rest_words,
    waiting,
    who_words,
)
from amqpscope.protocols.v1_0.summary import failed, short, state, tag
from amqpscope.protocols.words import printable, size
from amqpscope.stream.types import PEERS
from dissectors.masking import masked
from dissectors.v1_0.bodies import Body, Coordinator, Source, Target
from dissectors.v1_0.tables import choice
from dissectors.v1_0.values import Value

LISTED: Final = 20
"""Unsettled deliveries of a link that are listed, the oldest."""
UNKNOWN: Final = "?"


class Node(NamedTuple):
    """One line, and those below it."""

    key: str
    """What it is known by among its neighbours, at every instant."""
    label: str
    client: str = ""
    """What the client says; what is to be said at all, where `server` is None."""
    server: str | None = None
    style: str = ""
    """`title`, `held` for what binds a link, `ended` for how something ended, or nothing."""
    frame: int = 0
    """The frame that it speaks of."""
    since: int = 0
    """When that passed, in nanoseconds."""
    children: tuple[Node, ...] = ()

    @property
    def words(self) -> tuple[str, str, str | None]:
        """What is compared with an earlier instant."""
        return self.label, self.client, self.server


class Looker:
    """Makes lines of models."""

    def __init__(self) -> None:
        self.links: dict[tuple[int, int, str, int], tuple[object, Node]] = {}
        """By connection, channel, name and sender: what a link's lines were made of, and they."""

    def __call__(self, conversation: Conversation) -> Node:
        """A connection as it is now."""
        from amqpscope.protocols.v0_9.talk import Talk as Talk09
        from amqpscope.protocols.v1_0.talk import Talk as Talk10
        from amqpscope.tui.state_lines_v0_9 import node_of

        talk = conversation.current
        if isinstance(talk, Talk09):
            return node_of(conversation.number, talk.tracker.connection)
        assert isinstance(talk, Talk10)
        return self.connection(conversation.number, talk.tracker.connection)

    def connection(self, number: int, connection: Connection) -> Node:
        """One connection."""
        client, server = connection.ends
        pairs = (*session_pairs(client, server), *ended_pairs(client, server))
        sessions = [self.session(number, *pair) for pair in pairs]
        names = " -> ".join(
            UNKNOWN if end.open is None else printable(str(end.open.container_id))
            for end in connection.ends
        )
        told = (*opening(connection), *sessions)
        text = f"{standing(client, server)}  {names}"
        return Node(f"connection {number}", f"connection {number}", text, style="title",
                    children=told)  # fmt: skip

    def session(self, number: int, client: SessionEnd | None, server: SessionEnd | None) -> Node:
        """One session and its links."""
        channels = [UNKNOWN if end is None else str(end.channel) for end in (client, server)]
        peers = (client, server)
        rows = (
            pair("may send", [room(end) for end in peers]),
            pair("incoming-window", [announced(end, "incoming_window") for end in peers]),
            pair("outgoing-window", [announced(end, "outgoing_window") for end in peers]),
            pair(
                "next-outgoing-id",
                [serial(None if end is None else end.sending.next_outgoing_id) for end in peers],
            ),
            pair(
                "next-incoming-id",
                [serial(None if end is None else end.receiving.next_incoming_id) for end in peers],
            ),
            pair("unsettled", [str(live_deliveries(end)) for end in peers]),
        )
        ends = (*link_ends(client, server), *detached_links(client, server))
        links = tuple(self.link(number, link) for link in ends)
        known = client if client is not None else server
        ending = None if known is None else session_ending(known)
        label = f"session {'/'.join(channels)}"
        count = f"{len(links)} link{'' if len(links) == 1 else 's'}"
        over = "" if ending is None else f", {brief_words(ending)}"
        told = ended_nodes(ending, SESSION)
        return Node(f"{label} {begun(client, server)}", label,
                    f"channel of client/server, {count}{over}", style="title",
                    children=(*told, *rows, *links))  # fmt: skip

    def link(self, number: int, link: LinkEnd) -> Node:
        """One link, from either of its ends."""
        other = link.pair
        sender = other if link.role else link
        peer = link.session.owner.peer
        sends = peer if sender is link else 1 - peer
        held = constraint(sender if sender is not None else link)
        facts = (print_of(link), other and print_of(other), held.kind, held.detail,
                 held.since.frame, held.since.time, window_left(link.session))  # fmt: skip
        key = (number, link.session.channel, link.name, sends)
        known = self.links.get(key)
        if known is not None and known[0] == facts:
            return known[1]
        ends = (link, other) if peer == 0 else (other, link)
        node = link_node(ends, sends, held)
        self.links[key] = (facts, node)
        return node


def begun(*ends: SessionEnd | LinkEnd | None) -> int:
    """The frame with which a session or link began; another may have its channel or name later."""
    return min(end.mark.frame for end in ends if end is not None)


def print_of(end: LinkEnd) -> tuple[object, ...]:
    """All that a link's lines are made of and that a frame can change."""
    sending = end.sending
    deliveries = tuple(
        (each.mark.frame, each.last_mark.frame, frame_of(each.rcv_state_mark),
         frame_of(each.snd_settled), frame_of(each.rcv_settled))
        for each in islice(sending.unsettled.values(), LISTED)
    )  # fmt: skip
    return (
        end.mark.frame, frame_of(end.flow_mark), frame_of(end.detach_mark), sending.count_high,
        sending.delivery_total, len(sending.unsettled), sending.available, deliveries,
        end.receiving.last_count, end.receiving.drain, credit_left(end) if not end.role else 0,
    )  # fmt: skip


def frame_of(mark: Mark | None) -> int:
    """The frame of a mark; 0 for none."""
    return 0 if mark is None else mark.frame


def opening(connection: Connection) -> Iterator[Node]:
    """What the peers said of the connection itself."""
    ends = connection.ends
    if any(connection.sasl.begun):
        yield sasl_node(connection)
    opens = [end.open for end in ends]
    if any(opens):
        rows = tuple(
            pair(name, [UNKNOWN if body is None else shown(getattr(body, field)) for body in opens])
            for name, field in (
                ("hostname", "hostname"), ("max-frame-size", "max_frame_size"),
                ("channel-max", "channel_max"), ("idle-time-out ms", "idle_time_out"),
            )
        )  # fmt: skip
        names = [UNKNOWN if body is None else shown(body.container_id) for body in opens]
        yield pair("open", names)._replace(children=rows, label="container-id")
    for end in ends:
        if end.close is not None:
            yield Node(f"close {end.peer}", f"close of the {PEERS[end.peer]}",
                       printable(failed(end.close.error)) or "without an error", style="held",
                       frame=frame_of(end.close_mark))  # fmt: skip
    ending = connection_ending(ends)
    if ending is not None and ending.by_tcp:
        yield ended_node(ending, own=CONNECTION)


def sasl_node(connection: Connection) -> Node:
    """How the authentication went."""
    sasl = connection.sasl
    said = "" if sasl.init is None else f"{shown(sasl.init.mechanism)}"
    outcome = "no outcome yet"
    if sasl.outcome is not None:
        code = sasl.outcome.code
        outcome = choice("sasl-code", code) or shown(code)
    return Node("sasl", "SASL", said or "no init yet", outcome)


def standing(client: ConnectionEnd, server: ConnectionEnd) -> str:
    """How far the connection is."""
    ending = connection_ending([client, server])
    if ending is not None:
        return ended_words(ending._replace(condition="", text=""), own=CONNECTION)
    return "open" if client.open is not None and server.open is not None else "opening"


def ended_nodes(ending: Ending | None, what: str) -> tuple[Node, ...]:
    """How something ended; nothing where it ended with what carries it, which says so."""
    return () if ending is None or ending.what != what else (ended_node(ending, what),)


def ended_node(ending: Ending, own: str) -> Node:
    """How something ended, and the frame that did so or was the last that was received."""
    if own and ending.what != own:
        text = f"with the {ending.what};"
    else:
        # The widget knows from when times are counted, and puts the time in.
        text = f"{who_words(ending, own)};, {rest_words(ending)}"
    return Node("ended", "ended", text, style="ended", frame=ending.mark.frame,
                since=ending.mark.time)  # fmt: skip


def link_ends(client: SessionEnd | None, server: SessionEnd | None) -> Iterator[LinkEnd]:
    """The links of a session, each once."""
    for session in (client, server):
        if session is not None:
            for link in session.handles.values():
                if session is client or link.pair is None or link.pair.detach is not None:
                    yield link


def link_node(
    ends: tuple[LinkEnd | None, LinkEnd | None], sends: int, held: Constraint
) -> Node:  # fmt: skip
    """One link as client and server see it."""
    known = ends[0] or ends[1]
    assert known is not None
    sender, receiver = ends[sends], ends[1 - sends]
    count = None if sender is None else sender.sending.count_high
    received = None if receiver is None else receiver.receiving.last_count
    available = "" if sender is None else shown(sender.sending.available)
    arrow = "->" if sends == 0 else "<-"
    name = printable(known.name) or f"handle {known.handle}"
    where = printable(known.node()) or "no address"
    rows = (
        pair("credit", order(sends, credit(sender), granted(receiver))),
        pair("delivery-count", order(sends, serial(count), serial(received))),
        pair("available", order(sends, available, "")),
        deliveries(sender),
        pair("handle", [UNKNOWN if end is None else str(end.handle) for end in ends]),
        pair("role", roles(ends)),
        pair("snd-settle-mode", [mode(end, "snd") for end in ends]),
        pair("rcv-settle-mode", [mode(end, "rcv") for end in ends]),
        pair("source", [terminus(end, "source") for end in ends]),
        pair("target", [terminus(end, "target") for end in ends]),
        pair("max-message-size", [limit(end) for end in ends]),
    )  # fmt: skip
    over = held.ending
    kind = held.kind if over is None else brief_words(over)
    return Node(f"link {sends} {known.name} {begun(*ends)}",
                f"link {name}", f"client {arrow} server  {where}  {kind}", style="title",
                frame=known.mark.frame, children=(held_node(held, LINK), *rows))  # fmt: skip


def held_node(held: Constraint, what: str) -> Node:
    """What holds something, and who is waited for; or how it ended."""
    if held.ending is not None:
        return ended_node(held.ending, own=what)
    detail = f" ({printable(held.detail)})" if held.detail else ""
    return Node("held", "held by", f"{held.kind}{detail}{waiting(held)}", style="held",
                frame=held.since.frame, since=held.since.time)  # fmt: skip


def roles(ends: Iterable[LinkEnd | None]) -> list[str]:
    """Which end sends."""
    return [
        UNKNOWN if end is None or end.role is None else "receiver" if end.role else "sender"
        for end in ends
    ]


def credit(sender: LinkEnd | None) -> str:
    """What the sender may still send."""
    left = None if sender is None else credit_left(sender)
    return UNKNOWN if left is None else f"{left} left"


def granted(receiver: LinkEnd | None) -> str:
    """What the receiver last granted."""
    if receiver is None:
        return UNKNOWN
    flow = receiver.flow
    if flow is None:
        return "none granted"
    drain = ", drain" if receiver.receiving.drain else ""
    return f"granted {shown(flow.link_credit)}{drain}"


def deliveries(sender: LinkEnd | None) -> Node:
    """The unsettled deliveries of a link."""
    if sender is None:
        return Node("unsettled", "unsettled", UNKNOWN)
    unsettled = len(sender.sending.unsettled)
    listed = [delivery_node(each) for each in islice(sender.sending.unsettled.values(), LISTED)]
    if unsettled > LISTED:
        listed.append(Node("more", f"and {unsettled - LISTED:,} newer ones"))
    count = f"{unsettled:,} of {sender.sending.delivery_total:,} deliveries"
    return Node("unsettled", "unsettled", count, children=tuple(listed))


def delivery_node(delivery: Delivery) -> Node:
    """One delivery that is not settled."""
    number = UNKNOWN if delivery.delivery_id is None else str(delivery.delivery_id)
    said = [size(delivery.size), f"in {unit(str(delivery.transfers), 'transfer')}"]
    if isinstance(delivery.tag, bytes):
        said.insert(0, f"tag {tag(delivery.tag)}")
    if not delivery.complete:
        said.append("more to come")
    if delivery.aborted:
        said.append("aborted")
    for who, value in (("sender", delivery.snd_state), ("receiver", delivery.rcv_state)):
        if value is not None:
            said.append(f"{who}: {printable(state(masked(value)))}")
    if delivery.rcv_settled is not None:
        said.append("settled by the receiver")
    return Node(f"delivery {delivery.mark.frame}", f"delivery #{number}", ", ".join(said),
                frame=delivery.mark.frame, since=delivery.mark.time)  # fmt: skip


def terminus(end: LinkEnd | None, name: str) -> str:
    """A source or target as one peer has said it."""
    if end is None or end.attach is None:
        return UNKNOWN
    value: Value = getattr(end.attach, name)
    if isinstance(value, Coordinator):
        return "coordinator"
    if not isinstance(value, Source | Target):
        return "none" if value is None else shown(value)
    said = ["dynamic" if value.dynamic else "no address"]
    if value.address is not None:
        said = [shown(value.address)]
    if value.durable:
        said.append(choice("terminus-durability", value.durable) or shown(value.durable))
    if value.expiry_policy is not None:
        said.append(f"expires at {shown(value.expiry_policy)}")
    if isinstance(value, Source):
        if value.distribution_mode is not None:
            said.append(shown(value.distribution_mode))
        if value.filter:
            said.append(f"filter {shown(value.filter)}")
        if isinstance(value.default_outcome, Body):
            said.append(f"default {printable(state(masked(value.default_outcome)))}")
    return ", ".join(said)


def mode(end: LinkEnd | None, which: str) -> str:
    """A settle mode as one peer has said it."""
    if end is None or end.attach is None:
        return UNKNOWN
    if which == "snd":
        name, value = "sender-settle-mode", end.terms.snd_settle_mode
    else:
        name, value = "receiver-settle-mode", end.terms.rcv_settle_mode
    return choice(name, value) or str(value)


def limit(end: LinkEnd | None) -> str:
    """The largest message that a peer takes."""
    if end is None or end.attach is None:
        return UNKNOWN
    return str(end.terms.max_message_size) if end.terms.max_message_size else "no limit"


def pair(label: str, values: Iterable[str]) -> Node:
    """A line with a value of each peer."""
    client, server = values
    return Node(label, label, client, server)


def order(sends: int, sender: str, receiver: str) -> list[str]:
    """The client's value first."""
    return [sender, receiver] if sends == 0 else [receiver, sender]


def announced(end: SessionEnd | None, name: str) -> str:
    """A window as a peer last announced it."""
    if end is None:
        return UNKNOWN
    said = end.flow if end.flow is not None else end.begin
    return UNKNOWN if said is None else shown(getattr(said, name))


def room(end: SessionEnd | None) -> str:
    """What a peer may still send by the other's window."""
    left = None if end is None else window_left(end)
    return UNKNOWN if left is None else str(left)


def serial(number: int | None) -> str:
    """A serial number as it would stand on the wire."""
    return UNKNOWN if number is None else str(wire(number))


def unit(number: str, noun: str) -> str:
    """`1 transfer`, `2 transfers`."""
    return f"{number} {noun}{'' if number == '1' else 's'}"


def shown(value: Value) -> str:
    """A value, without its quotes; nothing where there is none."""
    if value is None:
        return "-"
    return printable(str(value) if isinstance(value, str | int) else short(masked(value)))
