"""Which recorded session a live one is, where a client begins its sessions in another order.

A begin says nothing of what its session is for, so sessions are taken in turn first. The first
link of one tells more: where only another session has such a link, the two change places.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from amqpscope.protocols.v1_0.replay_live import LiveSession
from amqpscope.protocols.v1_0.replay_script import Link, Session, address_of
from dissectors.v1_0.bodies import Attach

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay_receive import Receiver


def place_session(receiver: Receiver, live: LiveSession, body: Attach) -> None:
    """Find the recorded session whose link is attached first on a live one."""
    session = live.script
    if session is None or session.initiator == receiver.part.side or live.links:
        return
    for other in (session, *receiver.script.sessions):
        if is_open(other, session) and any(fits(receiver, link, body) for link in other.links):
            if other is not session:
                exchange(receiver, session, other)
            return


def is_open(other: Session, session: Session) -> bool:
    """Whether a live session of the same peer may be this one: none is, or it has no links."""
    live = other.live
    unused = live is None or not (live.links or any(live.ended))
    return unused and other.initiator == session.initiator


def fits(receiver: Receiver, link: Link, body: Attach) -> bool:
    """Whether a recorded link that nobody has attached is of this role and address."""
    if link.live is not None or bool(link.attach.role) != bool(body.role):
        return False
    return bool(receiver.address_now(link.attach) == address_of(body))


def exchange(receiver: Receiver, one: Session, other: Session) -> None:
    """Let two recorded sessions change places: live sessions, and what is left to be begun."""
    one.live, other.live = other.live, one.live
    for session in (one, other):
        if session.live is not None:
            session.live.script = session
    one.cues["begin"], other.cues["begin"] = other.cues["begin"], one.cues["begin"]
    lanes = receiver.part.lanes
    waiting = [(each, lanes.get((each.place,))) for each in (one, other)]
    begins = [(each, acts.popleft()) for each, acts in waiting if acts and acts[0].kind == "begin"]
    for session, _ in begins:
        if not lanes[session.place,]:
            del lanes[session.place,]
    for session, act in begins:
        act.about = now = other if session is one else one
        act.lane = (now.place,)
        lanes.setdefault(act.lane, deque()).appendleft(act)
