"""The state of a link of 1.0: both ends, what holds it, and its unsettled deliveries."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from amqpscope.model.ending import LINK
from amqpscope.model.mark import Mark
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.constraint import constraint, credit_left, window_left
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.snapshot import LinkState, link_state
from amqpscope.protocols.state import (
    LISTED,
    TITLE,
    UNKNOWN,
    KnownNodes,
    StateNode,
    StateRow,
    brief_constraint,
    held_row,
    pair_row,
)
from amqpscope.protocols.v1_0.summary import short, state, tag
from amqpscope.protocols.words import printable, size
from amqpscope.stream.types import PEERS
from dissectors.masking import masked
from dissectors.secrets import clean_name
from dissectors.v1_0.bodies import Body, Coordinator, Source, Target
from dissectors.v1_0.tables import choice
from dissectors.v1_0.values import Value

Ends = tuple[LinkEnd | None, LinkEnd | None]
"""The client's and the server's end of a link."""


def link_node(number: int, link: LinkEnd, known: KnownNodes) -> StateNode:
    """One link, from either of its ends; as it was made before where nothing has changed."""
    other, peer = link.pair, link.session.owner.peer
    sender = other if link.role else link
    held = constraint(link if sender is None else sender)
    facts = (traits(link), other and traits(other), held.kind, held.detail, held.since.frame,
             held.since.time, window_left(link.session))  # fmt: skip
    key = (number, link.session.channel, link.name, peer if sender is link else 1 - peer)
    before = known.get(key)
    if before is not None and before[0] == facts:
        return before[1]
    node = make_node((link, other) if peer == 0 else (other, link), link_state(link))
    known[key] = (facts, node)
    return node


def traits(end: LinkEnd) -> tuple[object, ...]:
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


def first_frame_of(*ends: SessionEnd | LinkEnd | None) -> int:
    """The frame with which a session or link began; another may have its channel or name later."""
    return min(end.mark.frame for end in ends if end is not None)


def make_node(ends: Ends, link: LinkState) -> StateNode:
    """One link as client and server see it."""
    known = ends[0] or ends[1]
    assert known is not None
    arrow = "->" if link.sender == 0 else "<-"
    name = printable(link.name) or f"handle {known.handle}"
    where = printable(known.node()) or "no address"
    modes = (
        choice("sender-settle-mode", link.snd_settle_mode) or UNKNOWN,
        choice("receiver-settle-mode", link.rcv_settle_mode) or UNKNOWN,
    )
    return StateNode(
        f"link {link.sender} {link.name} {first_frame_of(*ends)}",
        f"link {name}",
        f"client {arrow} server  {where}  {brief_constraint(link.constraint)}",
        style=TITLE,
        frame=known.mark.frame,
        children=(held_row(link.constraint, LINK), *link_rows(ends, link)),
        kind=LINK,
        title=f"link {printable(link.name)}  {printable(link.source) or '-'} ->"
        f" {printable(link.target) or '-'}  (client {arrow} server, handles {both(link.handles)})",
        fields={
            "name": clean(link.name),
            "sender": PEERS[link.sender],
            "handles": by_peer(link.handles),
            "source": clean(link.source or None),
            "target": clean(link.target or None),
            "credit": link.credit,
            "delivery-count": link.delivery_count,
            "available": link.available,
            "drain": link.drain,
            "unsettled": link.unsettled,
            "deliveries": link.deliveries,
            "constraint": None,
            "ended": None,
        },
        lines=(
            f"credit {amount(link.credit)}, delivery-count {amount(link.delivery_count)},"
            f" {link.deliveries} deliveries, {link.unsettled} unsettled, modes {'/'.join(modes)}"
            f"{', drain' if link.drain else ''}",
        ),
        constraint=link.constraint,
    )


def link_rows(ends: Ends, link: LinkState) -> tuple[StateRow, ...]:
    """What each peer says of a link."""
    sends = link.sender
    sender, receiver = ends[sends], ends[1 - sends]
    received = None if receiver is None else receiver.receiving.last_count
    available = "" if sender is None else plain_text(link.available)
    credit = UNKNOWN if link.credit is None else f"{link.credit} left"
    return (
        pair_row("credit", in_order(sends, credit, last_grant(receiver))),
        pair_row("delivery-count", in_order(sends, amount(link.delivery_count), serial(received))),
        pair_row("available", in_order(sends, available, "")),
        deliveries_row(sender),
        pair_row("handle", map(amount, link.handles)),
        pair_row("role", roles(ends)),
        pair_row("snd-settle-mode", [mode(end, "snd") for end in ends]),
        pair_row("rcv-settle-mode", [mode(end, "rcv") for end in ends]),
        pair_row("source", [terminus(end, "source") for end in ends]),
        pair_row("target", [terminus(end, "target") for end in ends]),
        pair_row("max-message-size", [limit(end) for end in ends]),
    )


def roles(ends: Iterable[LinkEnd | None]) -> list[str]:
    """Which end sends."""
    return [
        UNKNOWN if end is None or end.role is None else "receiver" if end.role else "sender"
        for end in ends
    ]


def last_grant(receiver: LinkEnd | None) -> str:
    """What the receiver last granted."""
    if receiver is None:
        return UNKNOWN
    flow = receiver.flow
    if flow is None:
        return "none granted"
    drain = ", drain" if receiver.receiving.drain else ""
    return f"granted {plain_text(flow.link_credit)}{drain}"


def deliveries_row(sender: LinkEnd | None) -> StateRow:
    """The unsettled deliveries of a link."""
    if sender is None:
        return StateRow("unsettled", "unsettled", UNKNOWN)
    unsettled = len(sender.sending.unsettled)
    listed = [delivery_row(each) for each in islice(sender.sending.unsettled.values(), LISTED)]
    if unsettled > LISTED:
        listed.append(StateRow("more", f"and {unsettled - LISTED:,} newer ones"))
    count = f"{unsettled:,} of {sender.sending.delivery_total:,} deliveries"
    return StateRow("unsettled", "unsettled", count, children=tuple(listed))


def delivery_row(delivery: Delivery) -> StateRow:
    """One delivery that is not settled."""
    transfers = delivery.transfers
    words = [size(delivery.size), f"in {transfers} transfer{'' if transfers == 1 else 's'}"]
    if isinstance(delivery.tag, bytes):
        words.insert(0, f"tag {tag(delivery.tag)}")
    if not delivery.complete:
        words.append("more to come")
    if delivery.aborted:
        words.append("aborted")
    for who, value in (("sender", delivery.snd_state), ("receiver", delivery.rcv_state)):
        if value is not None:
            words.append(f"{who}: {printable(state(masked(value)))}")
    if delivery.rcv_settled is not None:
        words.append("settled by the receiver")
    mark = delivery.mark
    return StateRow(f"delivery {mark.frame}", f"delivery #{amount(delivery.delivery_id)}",
                    ", ".join(words), frame=mark.frame, since=mark.time)  # fmt: skip


def terminus(end: LinkEnd | None, name: str) -> str:
    """A source or target as one peer has said it."""
    if end is None or end.attach is None:
        return UNKNOWN
    value: Value = getattr(end.attach, name)
    if isinstance(value, Coordinator):
        return "coordinator"
    if not isinstance(value, Source | Target):
        return "none" if value is None else plain_text(value)
    words = ["dynamic" if value.dynamic else "no address"]
    if value.address is not None:
        words = [plain_text(value.address)]
    if value.durable:
        words.append(choice("terminus-durability", value.durable) or plain_text(value.durable))
    if value.expiry_policy is not None:
        words.append(f"expires at {plain_text(value.expiry_policy)}")
    if isinstance(value, Source):
        if value.distribution_mode is not None:
            words.append(plain_text(value.distribution_mode))
        if value.filter:
            words.append(f"filter {plain_text(value.filter)}")
        if isinstance(value.default_outcome, Body):
            words.append(f"default {printable(state(masked(value.default_outcome)))}")
    return ", ".join(words)


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


def in_order(sends: int, sender: str, receiver: str) -> list[str]:
    """The client's value first."""
    return [sender, receiver] if sends == 0 else [receiver, sender]


def by_peer(values: Any) -> dict[str, Any]:
    """What the client and what the server says."""
    return dict(zip(PEERS, values, strict=True))


def both(numbers: tuple[int | None, int | None]) -> str:
    """A number of the client's and the server's."""
    return " / ".join(map(amount, numbers))


def amount(number: int | None) -> str:
    """A number, or that it is not known."""
    return UNKNOWN if number is None else str(number)


def serial(number: int | None) -> str:
    """A serial number as it would be on the wire."""
    return UNKNOWN if number is None else str(wire(number))


def clean(name: str | None) -> str | None:
    """A name as it was on the wire, but for its secrets."""
    return None if name is None else clean_name(name)


def plain_text(value: Value) -> str:
    """A value, without its quotes; nothing where there is none."""
    if value is None:
        return "-"
    return printable(str(value) if isinstance(value, str | int) else short(masked(value)))
