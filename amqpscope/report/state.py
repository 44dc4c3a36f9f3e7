"""The state of connections at one instant, as text and as plain objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from amqpscope.analysis import Conversation
from amqpscope.insight.endings import talk_ending
from amqpscope.model.ending import CONNECTION, LINK, SESSION
from amqpscope.model.older.snapshot import older_snapshot
from amqpscope.model.snapshot import ConnectionState, LinkState, SessionState, snapshot
from amqpscope.report.endings import (
    Instant,
    constraint_object,
    ended_words,
    ending_lines,
    held_lines,
)
from amqpscope.report.older_state import older_state_lines, older_state_object
from amqpscope.report.summary import printable
from amqpscope.stream import PEERS
from dissectors.secrets import clean_name
from dissectors.v1_0.types import choice


def talk_lines(talk: Conversation, at: Instant) -> Iterator[str]:
    """One connection as it is at an instant, of whatever protocol, as a tree."""
    if talk.older is not None:
        return older_state_lines(talk.number, older_snapshot(talk.older.tracker.connection), at)
    return state_lines(talk.number, connection_state(talk), at)


def talk_object(talk: Conversation, at: Instant) -> dict[str, Any]:
    """One connection as it is at an instant, of whatever protocol, for JSON."""
    if talk.older is not None:
        return older_state_object(talk.number, older_snapshot(talk.older.tracker.connection), at)
    return state_object(talk.number, connection_state(talk), at)


def connection_state(talk: Conversation) -> ConnectionState:
    """A connection of 1.0, as it is now."""
    # A login that was refused is not in the frames that end a connection.
    return replace(snapshot(talk.tracker.connection), ending=talk_ending(talk))


def state_lines(number: int, state: ConnectionState, at: Instant) -> Iterator[str]:
    """One connection as a tree."""
    names = " -> ".join(printable(name) if name else "?" for name in state.containers)
    yield f"connection {number}  {names}{standing(state)}"
    yield from ending_lines(state.ending, CONNECTION, at, "  ")
    for session in state.sessions:
        yield from session_lines(session, at)


def standing(state: ConnectionState) -> str:
    """How far a connection is that has not ended, at the end of a line."""
    if state.ending is not None:
        return ""
    return "  open" if all(state.opened) else "  opening"


def session_lines(session: SessionState, at: Instant) -> Iterator[str]:
    """One session and its links."""
    yield f"  session on channels {both(session.channels)} (client / server)"
    yield from ending_lines(session.ending, SESSION, at, "    ")
    yield (
        f"    may send {both(session.window_left)} transfers,"
        f" next-outgoing-id {both(session.next_outgoing_id)}, unsettled {both(session.unsettled)}"
    )
    for link in session.links:
        yield from link_lines(link, at)


def link_lines(link: LinkState, at: Instant) -> Iterator[str]:
    """One link and what holds it, or how it ended."""
    arrow = "->" if link.sender == 0 else "<-"
    handles = both(link.handles)
    yield (
        f"    link {printable(link.name)}  {printable(link.source) or '-'} ->"
        f" {printable(link.target) or '-'}  (client {arrow} server, handles {handles})"
    )
    modes = (
        choice("sender-settle-mode", link.snd_settle_mode) or "?",
        choice("receiver-settle-mode", link.rcv_settle_mode) or "?",
    )
    yield (
        f"      credit {amount(link.credit)}, delivery-count {amount(link.delivery_count)},"
        f" {link.deliveries} deliveries, {link.unsettled} unsettled, modes {'/'.join(modes)}"
        f"{', drain' if link.drain else ''}"
    )
    yield from held_lines(link.constraint, LINK, at, "      ")


def both(numbers: tuple[int | None, int | None]) -> str:
    """A number of the client's and the server's."""
    return " / ".join(map(amount, numbers))


def amount(number: int | None) -> str:
    """A number, or that it is not known."""
    return "?" if number is None else str(number)


def shown(name: str | None) -> str | None:
    """A name as it was on the wire, but for its secrets."""
    return None if name is None else clean_name(name)


def state_object(number: int, state: ConnectionState, at: Instant) -> dict[str, Any]:
    """One connection, for JSON."""
    ending = state.ending
    return {
        "connection": number,
        "containers": dict(zip(PEERS, map(shown, state.containers), strict=True)),
        "state": standing(state).strip() if ending is None else ended_words(ending, own=CONNECTION),
        "ended": at.object(ending),
        "sessions": [session_object(session, at) for session in state.sessions],
    }


def session_object(session: SessionState, at: Instant) -> dict[str, Any]:
    """One session, for JSON."""
    return {
        "channels": dict(zip(PEERS, session.channels, strict=True)),
        "next-outgoing-id": dict(zip(PEERS, session.next_outgoing_id, strict=True)),
        "window": dict(zip(PEERS, session.window_left, strict=True)),
        "unsettled": dict(zip(PEERS, session.unsettled, strict=True)),
        "ended": at.object(session.ending),
        "links": [link_object(link, at) for link in session.links],
    }


def link_object(link: LinkState, at: Instant) -> dict[str, Any]:
    """One link, for JSON."""
    return {
        "name": shown(link.name),
        "sender": PEERS[link.sender],
        "handles": dict(zip(PEERS, link.handles, strict=True)),
        "source": shown(link.source or None),
        "target": shown(link.target or None),
        "credit": link.credit,
        "delivery-count": link.delivery_count,
        "available": link.available,
        "drain": link.drain,
        "unsettled": link.unsettled,
        "deliveries": link.deliveries,
        "constraint": constraint_object(link.constraint, at.now),
        "ended": at.object(link.constraint.ending),
    }
