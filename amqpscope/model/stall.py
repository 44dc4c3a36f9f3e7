"""What holds a link now: why its sender does not send, since when, and who has to move."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.model.connection import ConnectionEnd
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from amqpscope.model.session import SessionEnd
from amqpscope.stream import PEERS

# fmt: off
WAITING_BEGIN:  Final = "waiting for begin"
WAITING_ATTACH: Final = "waiting for attach"
DETACHED:       Final = "detached"
ENDED:          Final = "session ended"
CLOSED:         Final = "connection closed"
NO_CREDIT:      Final = "no credit"
CLOSED_WINDOW:  Final = "session window closed"
DRAINING:       Final = "draining"
UNSETTLED:      Final = "waiting for settlement"
IDLE:           Final = "idle"
UNKNOWN:        Final = "unknown"
# fmt: on
TCP_ENDS: Final = ("fin", "rst")


class Constraint(NamedTuple):
    """What binds a link."""

    kind: str
    since: Mark
    """The frame that brought it about."""
    peer: int
    """Who has to move: 0 the client, 1 the server."""
    detail: str


def constraint(sender: LinkEnd) -> Constraint:
    """What holds the sending end of a link, the strongest first."""
    session = sender.session
    own = session.owner
    partner = 1 - own.peer
    receiver = sender.pair
    closed = _closed(own) or (None if session.pair is None else _closed(session.pair.owner))
    if closed is not None:
        return closed
    for end, ended in ((session, session.ended_mark), (session.pair, _ended(session.pair))):
        if end is not None and ended is not None:
            return Constraint(ENDED, ended, end.owner.peer, "")
    if sender.detach_mark is not None:
        return Constraint(DETACHED, sender.detach_mark, own.peer, "by the sender")
    if session.pair is None:
        return Constraint(WAITING_BEGIN, session.mark, partner, f"on channel {session.channel}")
    if receiver is None:
        return Constraint(WAITING_ATTACH, sender.mark, partner, f"of {sender.label()}")
    if receiver.detach_mark is not None:
        return Constraint(DETACHED, receiver.detach_mark, partner, "by the receiver")
    return _flow(sender, receiver, session, session.pair)


def _closed(end: ConnectionEnd) -> Constraint | None:
    if end.close_mark is not None:
        return Constraint(CLOSED, end.close_mark, end.peer, f"by the {PEERS[end.peer]}")
    if end.finished in TCP_ENDS:
        return Constraint(CLOSED, end.last_mark, end.peer, f"{end.finished} after it, no close")
    return None


def _ended(session: SessionEnd | None) -> Mark | None:
    return None if session is None else session.ended_mark


def _flow(sender: LinkEnd, receiver: LinkEnd, session: SessionEnd, other: SessionEnd) -> Constraint:
    """What holds a link that is up."""
    partner = other.owner.peer
    left = credit_left(sender)
    if left is None:
        grant = receiver.credit.latest()
        if grant is None and receiver.attach is not None:
            return Constraint(NO_CREDIT, receiver.mark, partner, "none was granted yet")
        return Constraint(UNKNOWN, sender.mark, partner, "the capture does not tell the credit")
    if left <= 0:
        since = later(receiver.flow_mark or receiver.mark, sender.last_mark)
        return Constraint(NO_CREDIT, since, partner, f"after {sender.deliveries} deliveries")
    room = window_left(session)
    if room is not None and room <= 0:
        since = later(other.flow_mark or other.mark, session.last_mark)
        return Constraint(CLOSED_WINDOW, since, partner, f"credit {left}")
    if receiver.drain and receiver.drain_mark is not None:
        return Constraint(DRAINING, receiver.drain_mark, 1 - partner, f"credit {left}")
    since = later(receiver.flow_mark or receiver.mark, sender.last_mark)
    if sender.unsettled:
        oldest = next(iter(sender.unsettled.values()))
        detail = f"{len(sender.unsettled)} unsettled, credit {left}"
        return Constraint(UNSETTLED, oldest.mark, partner, detail)
    return Constraint(IDLE, since, 1 - partner, f"credit {left}")


def later(one: Mark, other: Mark | None) -> Mark:
    """The later of two places."""
    return other if other is not None and other.frame > one.frame else one


def credit_left(sender: LinkEnd) -> int | None:
    """The sender's link-credit by the last grant that passed; None: unknown."""
    receiver = sender.pair
    if receiver is None or sender.count_high is None or receiver.credit.unsure:
        return None
    grant = receiver.credit.latest()
    return None if grant is None else grant.limit - sender.count_high


def window_left(session: SessionEnd) -> int | None:
    """The transfers that a peer may still send by the last window that passed; None: unknown."""
    other = session.pair
    if other is None or session.next_outgoing_id is None or other.window.unsure:
        return None
    grant = other.window.latest()
    return None if grant is None else grant.limit - session.next_outgoing_id
