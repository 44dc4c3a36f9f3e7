"""The state of connections at one instant, as text and as plain objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amqpscope.analysis import Conversation
from amqpscope.model.older.snapshot import older_snapshot
from amqpscope.model.snapshot import ConnectionState, LinkState, SessionState, snapshot
from amqpscope.report.older_state import older_state_lines, older_state_object
from amqpscope.report.stats import seconds
from amqpscope.report.summary import printable
from amqpscope.stream import PEERS
from dissectors.v1_0.types import choice


def talk_lines(talk: Conversation, now: int) -> Iterator[str]:
    """One connection as it is now, of whatever protocol, as a tree."""
    if talk.older is not None:
        state = older_snapshot(talk.older.tracker.connection)
        return older_state_lines(talk.number, state, now)
    return state_lines(talk.number, snapshot(talk.tracker.connection), now)


def talk_object(talk: Conversation, now: int) -> dict[str, Any]:
    """The same for JSON."""
    if talk.older is not None:
        state = older_snapshot(talk.older.tracker.connection)
        return older_state_object(talk.number, state, now)
    return state_object(talk.number, snapshot(talk.tracker.connection), now)


def state_lines(number: int, state: ConnectionState, now: int) -> Iterator[str]:
    """One connection as a tree."""
    names = " -> ".join(printable(name) if name else "?" for name in state.containers)
    yield f"connection {number}  {names}  {standing(state)}"
    for session in state.sessions:
        yield from session_lines(session, now)


def standing(state: ConnectionState) -> str:
    """How far the connection is."""
    if any(state.closed):
        who = [PEERS[peer] for peer in (0, 1) if state.closed[peer]]
        return f"closed by {' and '.join(who)}"
    return "open" if all(state.opened) else "opening"


def session_lines(session: SessionState, now: int) -> Iterator[str]:
    """One session and its links."""
    yield f"  session on channels {both(session.channels)} (client / server)"
    yield (
        f"    may send {both(session.window_left)} transfers,"
        f" next-outgoing-id {both(session.next_outgoing_id)}, unsettled {both(session.unsettled)}"
    )
    for link in session.links:
        yield from link_lines(link, now)


def link_lines(link: LinkState, now: int) -> Iterator[str]:
    """One link and what holds it."""
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
    held = link.constraint
    since = f" for {seconds(now - held.since.time)}" if held.since.frame else ""
    detail = f" ({held.detail})" if held.detail else ""
    yield (
        f"      {held.kind}{since}, since frame {held.since.frame}{detail};"
        f" the {PEERS[held.peer]} has to move"
    )


def both(numbers: tuple[int | None, int | None]) -> str:
    """A number of the client's and the server's."""
    return " / ".join(map(amount, numbers))


def amount(number: int | None) -> str:
    """A number, or that it is not known."""
    return "?" if number is None else str(number)


def state_object(number: int, state: ConnectionState, now: int) -> dict[str, Any]:
    """For JSON."""
    return {
        "connection": number,
        "containers": dict(zip(PEERS, state.containers, strict=True)),
        "state": standing(state),
        "sessions": [session_object(session, now) for session in state.sessions],
    }


def session_object(session: SessionState, now: int) -> dict[str, Any]:
    """One session, for JSON."""
    return {
        "channels": dict(zip(PEERS, session.channels, strict=True)),
        "next-outgoing-id": dict(zip(PEERS, session.next_outgoing_id, strict=True)),
        "window": dict(zip(PEERS, session.window_left, strict=True)),
        "unsettled": dict(zip(PEERS, session.unsettled, strict=True)),
        "links": [link_object(link, now) for link in session.links],
    }


def link_object(link: LinkState, now: int) -> dict[str, Any]:
    """One link, for JSON."""
    held = link.constraint
    return {
        "name": link.name,
        "sender": PEERS[link.sender],
        "handles": dict(zip(PEERS, link.handles, strict=True)),
        "source": link.source or None,
        "target": link.target or None,
        "credit": link.credit,
        "delivery-count": link.delivery_count,
        "available": link.available,
        "drain": link.drain,
        "unsettled": link.unsettled,
        "deliveries": link.deliveries,
        "constraint": {
            "kind": held.kind,
            "since": held.since.frame or None,
            "seconds": (now - held.since.time) / 1e9 if held.since.frame else None,
            "peer": PEERS[held.peer],
            "detail": held.detail,
        },
    }
