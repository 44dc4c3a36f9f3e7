"""What holds every link, channel and consumer of a capture now: the answer to "why is it stuck?".

Of what is over, also what held it until then: most captures end with a close. A TCP window that a
peer has closed comes before all else, since nothing reaches that peer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from amqpscope import stream
from amqpscope.analysis import Conversation
from amqpscope.model.connection import ConnectionEnd
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from amqpscope.model.older.snapshot import older_snapshot
from amqpscope.model.older.stall import (
    BLOCKED,
    CANCELLED,
    CHANNEL_CLOSED,
    FLOW_STOPPED,
    PREFETCH,
    UNACKED,
    UNCOMMITTED,
    UNCONFIRMED,
    WAITING_REPLY,
)
from amqpscope.model.stall import (
    CLOSED,
    CLOSED_WINDOW,
    DETACHED,
    DRAINING,
    ENDED,
    IDLE,
    NO_CREDIT,
    UNKNOWN,
    UNSETTLED,
    WAITING_ATTACH,
    WAITING_BEGIN,
    Constraint,
    constraint,
    credit_left,
    later,
    window_left,
)
from amqpscope.stream import CLIENT, SERVER
from amqpscope.tui.replay import Places, Replay
from amqpscope.tui.spool import Piece

ZERO_WINDOW: Final = "TCP window closed"


class Meaning(NamedTuple):
    """What a constraint is to the reader."""

    rank: int
    """How much it looks like a fault; 0 the most."""
    text: str


STUCK, WAITS, UNSURE, RESTS, OVER = range(5)
# fmt: off
MEANINGS: Final = {
    ZERO_WINDOW:    Meaning(STUCK,  "It does not read from its socket, whose buffer is full."),
    NO_CREDIT:      Meaning(STUCK,  "No delivery may begin until a flow grants link-credit."),
    CLOSED_WINDOW:  Meaning(STUCK,  "No link of the session may send until a flow opens it."),
    WAITING_BEGIN:  Meaning(STUCK,  "The begin was not answered."),
    WAITING_ATTACH: Meaning(STUCK,  "The attach was not answered."),
    DRAINING:       Meaning(STUCK,  "Credit has to be used, or given back in a flow."),
    BLOCKED:        Meaning(STUCK,  "The server takes no publishes."),
    FLOW_STOPPED:   Meaning(STUCK,  "A channel.flow has stopped messages."),
    WAITING_REPLY:  Meaning(STUCK,  "A method waits for its answer."),
    PREFETCH:       Meaning(STUCK,  "The server delivers no more until the client acknowledges."),
    UNSETTLED:      Meaning(WAITS,  "There is credit, but deliveries have no outcome yet."),
    UNCONFIRMED:    Meaning(WAITS,  "Publishes are not confirmed yet."),
    UNACKED:        Meaning(WAITS,  "Deliveries are not acknowledged yet."),
    UNCOMMITTED:    Meaning(WAITS,  "A transaction is open."),
    UNKNOWN:        Meaning(UNSURE, "The capture began too late, or has gaps."),
    IDLE:           Meaning(RESTS,  "Nothing holds it: there is nothing to send."),
    DETACHED:       Meaning(OVER,   ""),
    ENDED:          Meaning(OVER,   ""),
    CLOSED:         Meaning(OVER,   ""),
    CHANNEL_CLOSED: Meaning(OVER,   ""),
    CANCELLED:      Meaning(OVER,   ""),
}
# fmt: on


class Bound(NamedTuple):
    """What binds something."""

    kind: str
    frame: int
    """The frame that brought it about; 0: none."""
    time: int
    peer: int
    """Who has to move."""
    detail: str

    @property
    def rank(self) -> int:
        """How much it looks like a fault."""
        meaning = MEANINGS.get(self.kind)
        return UNSURE if meaning is None else meaning.rank


class Held(NamedTuple):
    """One link, or a channel or consumer of the older protocols."""

    connection: int
    what: str
    """`link`, `channel` or `consumer`."""
    name: str
    address: str
    sender: int
    """Who sends on it."""
    channel: int
    bound: Bound
    before: Bound | None = None
    """Of what is over: what held it until then."""

    @property
    def key(self) -> tuple[int, str, str, int, int]:
        """What it is known by."""
        return self.connection, self.what, self.name, self.sender, self.channel

    @property
    def worst(self) -> Bound:
        """What held it while it could be held at all."""
        return self.bound if self.before is None else self.before


class Watching(Replay):
    """A replay that notes which peers have closed their TCP windows."""

    def __init__(self, places: Places) -> None:
        super().__init__(places)
        self.zero: dict[tuple[int, int], int] = {}
        """By connection and peer: since when it takes no octets."""

    def made(self, head: Piece, data: bytes) -> stream.Piece:
        """A piece; a window is noted."""
        piece = super().made(head, data)
        if isinstance(piece, stream.Window):
            if piece.zero:
                self.zero.setdefault((head.connection, piece.sender), piece.time)
            else:
                self.zero.pop((head.connection, piece.sender), None)
        return piece


def held_by(talk: Conversation, run: Watching) -> Iterator[Held]:
    """All that a connection carries, and what holds it."""
    found = older_held(talk) if talk.older is not None else links_held(talk)
    for held in found:
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
    # The client's channel is what both peers' ends have in common.
    session = link.session if peer == CLIENT or link.session.pair is None else link.session.pair
    return Held(number, "link", link.name, link.node(), sends, session.channel, bound, before)


def bound_of(found: Constraint) -> Bound:
    """A constraint without the model behind it."""
    return Bound(found.kind, found.since.frame, found.since.time, found.peer, found.detail)


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
    """Channels and consumers."""
    assert talk.older is not None
    state = older_snapshot(talk.older.tracker.connection)
    number = talk.number
    for channel in state.channels:
        if channel.publishes or channel.pending or not channel.consumers:
            name, bound = f"channel {channel.number}", bound_of(channel.constraint)
            where = f"{channel.publishes} published" if channel.publishes else ""
            yield Held(number, "channel", name, where, CLIENT, channel.number, bound)
        for consumer in channel.consumers:
            bound = bound_of(consumer.constraint)
            yield Held(number, "consumer", consumer.tag, consumer.queue, SERVER, channel.number,
                       bound)  # fmt: skip
