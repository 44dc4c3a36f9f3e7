"""When an answer is overdue.

A begin, attach, detach or end is answered by the partner. That it was not is never certain while
the connection lives, so such findings are suspect, and they are made once: at the first frame
after the time has passed, or when a direction ends.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import EVERYTHING
from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.event import FINISHED, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd

ANSWER: Final = 10_000_000_000
"""Nanoseconds in which a partner that lives answers."""
SECOND: Final = 1_000_000_000


def judging(event: Event) -> bool:
    """Answers can be missed now: nobody has closed, and the connection was not over before."""
    if event.own.close is not None or event.partner.close is not None:
        return False
    if event.kinds & FINISHED:
        return not event.partner.finished
    return not event.connection.closing


def owes(event: Event, debtor: ConnectionEnd, mark: Mark | None) -> bool:
    """A frame has waited too long for its answer, and the answer cannot have been overlooked."""
    if mark is None or not mark.frame or event.time - mark.time < ANSWER:
        return False
    carrier = event.connection.carrier
    if carrier is not None and carrier.unseen[debtor.peer]:
        return False
    return debtor.anchored and not debtor.damaged and debtor.open is not None


def seconds(event: Event, mark: Mark | None) -> str:
    """How long ago a frame was."""
    return "" if mark is None else f"{(event.time - mark.time) / SECOND:.1f} s"


def stands_for(session: SessionEnd, waiting: list[SessionEnd]) -> SessionEnd | None:
    """The partner's begin that an unanswered begin without remote-channel seems to answer."""
    begin = session.begin
    if begin is None or begin.remote_channel is not None or begin.wrong or not session.whole:
        return None
    for asked in waiting:
        if asked.begin is None or asked.begin.remote_channel is not None:
            continue
        if not before(asked.mark, session.mark, session.known_then):
            continue
        if common_link(asked, session) is not None:
            return asked
    return None


def before(asked: Mark, answer: Mark, known: int) -> bool:
    """A frame had been read, as far as TCP shows, when its partner sent another."""
    if known < EVERYTHING:
        return asked.end <= known
    return asked.frame < answer.frame


def common_link(asked: SessionEnd, session: SessionEnd) -> tuple[LinkEnd, LinkEnd] | None:
    """A link that was attached on one session and seems to be answered on the other."""
    for own in asked.unpaired:
        for other in session.unpaired:
            if own.name != other.name or own.role is None or other.role is (own.role):
                continue
            if own.named and before(own.mark, other.mark, other.known_then):
                return own, other
    return None
