"""What holds every link, channel and consumer of a capture now: the answer to "why is it stuck?".

Of what is over, also what held it until then: most captures end with a close. A TCP window that a
peer has closed comes before all else, since nothing reaches that peer.
"""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope import stream
from amqpscope.analysis import Conversation, Suspect
from amqpscope.model.connection import ConnectionEnd
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from amqpscope.model.older.snapshot import older_snapshot
from amqpscope.model.older.stall import channel_constraint
from amqpscope.model.stall import (
    CLOSED_WINDOW,
    IDLE,
    NO_CREDIT,
    UNSETTLED,
    Constraint,
    constraint,
    credit_left,
    later,
    window_left,
)
from amqpscope.report.refusals import refused_by
from amqpscope.stream import CLIENT, SERVER
from amqpscope.tui.bounds import OVER, ZERO_WINDOW, Bound, Held, Refused, bound_of
from amqpscope.tui.replay import Places, Replay
from amqpscope.tui.spool import Piece
from amqpscope.tui.unlinked import older_refused, unlinked


class Watching(Replay):
    """A replay that notes which peers have closed their TCP windows, and what has ended."""

    def __init__(self, places: Places) -> None:
        super().__init__(places)
        self.zero: dict[tuple[int, int], int] = {}
        """By connection and peer: since when it takes no octets."""
        self.over: list[Conversation] = []
        """Connections of which a direction has ended since somebody looked."""
        self.time = 0
        """When the newest of these ends passed."""

    def made(self, head: Piece, data: bytes) -> stream.Piece:
        """A piece; a window is noted."""
        piece = super().made(head, data)
        if isinstance(piece, stream.Window):
            if piece.zero:
                self.zero.setdefault((head.connection, piece.sender), piece.time)
            else:
                self.zero.pop((head.connection, piece.sender), None)
        return piece

    def ended(self, piece: stream.End) -> None:
        """Note that a direction is over."""
        suspect = piece.connection.state
        talk = suspect.conversation if isinstance(suspect, Suspect) else None
        if talk is not None:
            self.over.append(talk)
            self.time = max(self.time, piece.time)


def held_by(talk: Conversation, run: Watching) -> Iterator[Held]:
    """All that a connection carries, and what holds it."""
    found = [*(older_held(talk) if talk.older is not None else links_held(talk))]
    for held in found or unlinked(talk):
        receiver = 1 - held.sender
        zero = run.zero.get((talk.number, receiver))
        if zero is not None and held.bound.rank != OVER:
            bound = Bound(ZERO_WINDOW, 0, zero, receiver, held.bound.kind)
            yield held._replace(bound=bound)
        else:
            yield held


def links_held(talk: Conversation) -> Iterator[Held]:
    """The links of a connection, those that are gone too."""
    client, server = talk.tracker.connection.ends
    seen: set[tuple[int, str, int, int]] = set()
    for end in (client, server):
        for link in link_ends(end):
            held = link_held(talk.number, link)
            again = (held.channel, held.name, held.sender, link.mark.frame)
            pair = link.pair
            other = again if pair is None else (*again[:3], pair.mark.frame)
            if again not in seen and other not in seen:
                seen |= {again, other}
                yield held


def link_ends(end: ConnectionEnd) -> Iterator[LinkEnd]:
    """A peer's ends of links, attached ones first."""
    for session in (*end.channels.values(), *end.ended.values()):
        yield from session.handles.values()
        yield from session.detached.values()


def link_held(number: int, link: LinkEnd) -> Held:
    """One link."""
    peer = link.session.owner.peer
    sender = link.pair if link.role else link
    sends = peer if sender is link else 1 - peer
    known = sender if sender is not None else link
    bound = bound_of(constraint(known))
    before = until_then(sender) if bound.rank == OVER and sender is not None else None
    refused = link_refused(link)
    # The client's channel is what both peers' ends have in common.
    session = link.session if peer == CLIENT or link.session.pair is None else link.session.pair
    return Held(number, "link", link.name, link.node(), sends, session.channel, bound, before,
                refused, link.mark.frame)  # fmt: skip


def link_refused(link: LinkEnd) -> Refused | None:
    """The error with which a link, its session or its connection was ended; the first of them."""
    found: list[Refused] = []
    for end in (link, link.pair):
        if end is None:
            continue
        owner = end.session.owner
        for body, mark in ((end.detach, end.detach_mark),
                           (end.session.ended, end.session.ended_mark),
                           (owner.close, owner.close_mark)):  # fmt: skip
            refusal = refused_by(body)
            if refusal is not None and mark is not None:
                found.append(Refused(refusal, mark.frame, mark.time, owner.peer))
    return min(found, key=lambda one: one.frame, default=None)


def until_then(sender: LinkEnd) -> Bound | None:
    """What held a link that is over, as far as credit, window and deliveries tell."""
    receiver, session = sender.pair, sender.session
    if receiver is None or session.pair is None:
        return None
    partner = session.pair.owner.peer
    left, room = credit_left(sender), window_left(session)
    if left is None:
        return None
    if left <= 0:
        since: Mark = later(receiver.flow_mark or receiver.mark, sender.last_mark)
        found = Constraint(NO_CREDIT, since, partner, f"after {sender.deliveries} deliveries")
    elif room is not None and room <= 0:
        since = later(session.pair.flow_mark or session.pair.mark, session.last_mark)
        found = Constraint(CLOSED_WINDOW, since, partner, f"credit {left}")
    elif sender.unsettled:
        oldest = next(iter(sender.unsettled.values()))
        detail = f"{len(sender.unsettled)} unsettled, credit {left}"
        found = Constraint(UNSETTLED, oldest.mark, partner, detail)
    else:
        since = later(receiver.flow_mark or receiver.mark, sender.last_mark)
        found = Constraint(IDLE, since, 1 - partner, f"credit {left}")
    return bound_of(found)


def older_held(talk: Conversation) -> Iterator[Held]:
    """Channels and consumers, and channels that were closed because of a fault."""
    assert talk.older is not None
    model = talk.older.tracker.connection
    number = talk.number
    for channel in older_snapshot(model).channels:
        if channel.number not in model.channels:
            continue
        refused = older_refused(model, model.channels[channel.number])
        if channel.publishes or channel.pending or not channel.consumers:
            name, bound = f"channel {channel.number}", bound_of(channel.constraint)
            where = f"{channel.publishes} published" if channel.publishes else ""
            yield Held(number, "channel", name, where, CLIENT, channel.number, bound, None, refused)
        for consumer in channel.consumers:
            bound = bound_of(consumer.constraint)
            yield Held(number, "consumer", consumer.tag, consumer.queue, SERVER, channel.number,
                       bound, None, refused)  # fmt: skip
    for place, gone in sorted(model.closed.items()):
        refused = older_refused(model, gone)
        if refused is not None and place not in model.channels:
            bound = bound_of(channel_constraint(model, gone))
            yield Held(number, "channel", f"channel {place}", "", CLIENT, place, bound, None,
                       refused)  # fmt: skip
