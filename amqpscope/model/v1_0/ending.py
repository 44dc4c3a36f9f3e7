"""How a connection, session or link of 1.0 ended; see `amqpscope.model.ending`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqpscope.model.ending import (
    CLOSE,
    CONNECTION,
    DETACH,
    END,
    LINK,
    SESSION,
    Ending,
    finished_at,
    first,
    tcp_ending,
    tcp_over,
)
from amqpscope.model.v1_0 import states
from dissectors.v1_0.bodies import Close, Detach, End, Error
from dissectors.v1_0.values import Value

if TYPE_CHECKING:
    from amqpscope.model.v1_0.connection import ConnectionEnd
    from amqpscope.model.v1_0.link import LinkEnd
    from amqpscope.model.v1_0.session import SessionEnd


def both_opened(ends: list[ConnectionEnd]) -> bool:
    """Both peers have opened a connection, or may have done so in octets that are missing."""
    return all(end.open is not None or not end.anchored for end in ends)


def connection_ending(ends: list[ConnectionEnd]) -> Ending | None:
    """How a connection ended; None while it goes on, or where the capture ends first."""
    closes = [
        None if end.close_mark is None else
        Ending(CONNECTION, CLOSE, end.peer, end.close_mark, *error_of(end.close),
               answered=ends[1 - end.peer].is_closed)
        for end in ends
    ]  # fmt: skip
    tcp = tcp_ending(ends)
    return first((*closes, None if tcp is None else tcp._replace(opened=both_opened(ends))))


def over_at(ends: list[ConnectionEnd]) -> int:
    """When a connection was over, or else the capture, in nanoseconds; 0 while it goes on."""
    return tcp_over(ends) or max(
        (
            end.close_mark.time
            for end in ends
            if end.close_mark is not None and ends[1 - end.peer].is_closed
        ),
        default=finished_at(ends),
    )


def session_ending(session: SessionEnd) -> Ending | None:
    """How a session ended, seen from either of its ends; None while it goes on."""
    pair = session.pair
    ends = [
        Ending(SESSION, END, end.owner.peer, end.ended_mark, *error_of(end.ended),
               answered=end.pair is not None and end.pair.is_ended)
        for end in (session, pair)
        if end is not None and end.ended_mark is not None
    ]  # fmt: skip
    owners = owners_of(session)
    return first((*ends, None if owners is None else connection_ending(owners)))


def link_ending(link: LinkEnd) -> Ending | None:
    """How a link ended, seen from either of its ends; None while it goes on."""
    detaches = [ending_of_detach(end) for end in (link, link.pair) if end is not None]
    return first((*detaches, session_ending(link.session)))


def ending_of_detach(end: LinkEnd) -> Ending | None:
    """The ending that the detach of one peer brings."""
    if end.detach_mark is None:
        return None
    answered = end.pair is not None and end.pair.is_detached
    closed = end.stage == states.DETACH_CLOSED
    half = end.state == states.CLOSE_AWAITED
    return Ending(LINK, DETACH, end.session.owner.peer, end.detach_mark, *error_of(end.detach),
                  answered=answered, closed=closed, half=half)  # fmt: skip


def owners_of(session: SessionEnd) -> list[ConnectionEnd] | None:
    """Both ends of the connection of a session, client first; None where one is alone."""
    own, other = session.owner, session.owner.partner
    if other is None:
        return None
    return [own, other] if own.peer == 0 else [other, own]


def error_of(body: Close | End | Detach | None) -> tuple[str, str]:
    """The condition and the description of an error; a condition is `error` where it has none."""
    error: Value = None if body is None else body.error
    if not isinstance(error, Error):
        return ("error", "") if error is not None else ("", "")
    return str(error.condition or "error"), str(error.description or "")
