"""What holds a link now: why its sender does not send, since when, and who is waited for."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.model.ending import CONNECTION, SESSION, Ending, link_ending
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from amqpscope.model.session import SessionEnd

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
ENDED_BY: Final = {CONNECTION: CLOSED, SESSION: ENDED}
"""What it is called that a link ended with what carried it."""
RESTING: Final = (IDLE, UNKNOWN)
"""What nobody is to blame for: nothing is to be sent, or it is not known what holds it."""


class Constraint(NamedTuple):
    """What binds a link."""

    kind: str
    since: Mark
    """The frame that brought it about."""
    peer: int
    """Who is waited for: 0 the client, 1 the server; where it is over, who ended it, -1: unknown.
    Where it rests, who would go on."""
    detail: str
    ending: Ending | None = None
    """How it ended, where it is over."""


def waits_for(found: Constraint) -> int | None:
    """Who has to do something for it to go on; None: nobody, as it is over or at rest."""
    return None if found.ending is not None or found.kind in RESTING else found.peer


def constraint(sender: LinkEnd) -> Constraint:
    """What holds the sending end of a link, the strongest first."""
    session = sender.session
    own = session.owner
    partner = 1 - own.peer
    receiver = sender.pair
    ending = link_ending(sender)
    if ending is not None:
        return Constraint(ENDED_BY.get(ending.what, DETACHED), ending.mark, ending.peer, "", ending)
    if session.pair is None:
        return Constraint(WAITING_BEGIN, session.mark, partner, f"on channel {session.channel}")
    if receiver is None:
        return Constraint(WAITING_ATTACH, sender.mark, partner, f"of {sender.label()}")
    return _flow(sender, receiver, session, session.pair)


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
