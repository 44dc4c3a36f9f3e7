"""What the frames of 1.0 change for the links and sessions that messages move over."""

from __future__ import annotations

from typing import Final

from amqpscope.model.place import UNCHANGED, Ended, Level, Place
from amqpscope.model.v1_0.connection import Connection
from amqpscope.model.v1_0.constraint import credit_left, window_left
from amqpscope.model.v1_0.ending import link_ending, session_ending
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.protocols.talk import NO_LEVELS, NO_PLACES
from dissectors.v1_0.bodies import Attach, Begin, Close, Detach, Disposition, End, Flow, Transfer

NO_SESSIONS: Final[list[SessionEnd]] = []
"""What most frames end; shared, so never added to."""


def levels(event: Event) -> list[Level]:
    """Links and sessions of which credit, window or unsettled deliveries may have changed."""
    body, session, link = event.unit.body, event.session, event.link
    if body is None or event.unit.type != 0:
        return NO_LEVELS
    if isinstance(body, Disposition):
        links = dict.fromkeys([delivery.link for delivery in event.covered])
        return [
            Level(each.place, UNCHANGED, len(each.sending.unsettled), each.place) for each in links
        ]
    found: list[Level] = []
    moves = isinstance(body, Transfer) or isinstance(body, Flow)
    if link is not None and (moves or isinstance(body, Attach)):
        sender = link.pair if link.role else link
        if sender is not None and sender.live:
            unsettled = len(sender.sending.unsettled) if isinstance(body, Transfer) else UNCHANGED
            found.append(Level(sender.place, credit_left(sender), unsettled, sender.place))
    if session is not None and (moves or isinstance(body, Begin)):
        found.append(window_of(session))
        # What a peer sends takes of its own window; a flow may open its partner's.
        if session.pair is not None and not isinstance(body, Transfer):
            found.append(window_of(session.pair))
    return found


def opened_places(event: Event) -> list[Place]:
    """The session that a begin makes, or the link that an attach makes or completes."""
    body, session, link = event.unit.body, event.session, event.link
    if isinstance(body, Begin) and session is not None:
        return [session.place]
    if isinstance(body, Attach) and link is not None:
        return [link.place]
    return NO_PLACES


def window_of(session: SessionEnd) -> Level:
    """How many transfers a peer may still send on a session."""
    return Level(session.place, window_left(session), UNCHANGED, session.place)


def ended_places(event: Event) -> list[Ended]:
    """The links and sessions that a detach, end or close ends."""
    link = event.link
    if isinstance(event.unit.body, Detach) and link is not None:
        pair = link.pair
        final = pair is None or (
            pair.detach is not None and not (link.sending.unsettled or pair.sending.unsettled)
        )
        return [Ended(link.place, link_ending(link), final)]
    return [each for session in ended_sessions(event) for each in session_places(session)]


def left_places(event: Event) -> list[Place]:
    """The links and sessions that an event ends, without how: to find that out takes long."""
    link = event.link
    if isinstance(event.unit.body, Detach) and link is not None:
        return [link.place]
    found: list[Place] = []
    for session in ended_sessions(event):
        found.append(session.place)
        if session.pair is not None:
            found.append(session.pair.place)
        for each in session.handles.values():
            found.append(each.place)
        for each in session.detached.values():
            found.append(each.place)
    return found


def ended_sessions(event: Event) -> list[SessionEnd]:
    """The sessions that an end or close ends, as both peers have sent it."""
    body, session = event.unit.body, event.session
    if isinstance(body, Close):
        client, server = event.connection.ends
        both = client.close is not None and server.close is not None
        return all_sessions(event.connection) if both else NO_SESSIONS
    if isinstance(body, End) and session is not None:
        both = session.pair is None or session.pair.ended is not None
        return [session] if both else NO_SESSIONS
    return NO_SESSIONS


def all_sessions(connection: Connection) -> list[SessionEnd]:
    """All sessions that a connection still has, each peer's."""
    found: list[SessionEnd] = []
    for end in connection.ends:
        found.extend(end.channels.values())
        found.extend(end.ended.values())
    return found


def closed_places(connection: Connection) -> list[Ended]:
    """All links and sessions that a connection still has."""
    return [each for session in all_sessions(connection) for each in session_places(session)]


def session_places(session: SessionEnd) -> list[Ended]:
    """Both ends of a session, and its links."""
    ends = [session] if session.pair is None else [session, session.pair]
    ending = session_ending(session)
    links: list[LinkEnd] = [*session.handles.values(), *session.detached.values()]
    found = [Ended(end.place, ending, True) for end in ends]
    return found + [Ended(link.place, link_ending(link), True) for link in links]
