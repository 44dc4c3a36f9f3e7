"""The state of a connection of 1.0, its sessions and its links, as a tree."""

from __future__ import annotations

from typing import Any

from amqpscope.model.ending import CONNECTION, LINK, SESSION, Ending
from amqpscope.model.v1_0.connection import Connection
from amqpscope.model.v1_0.snapshot import LinkState, SessionState, snapshot
from amqpscope.protocols.state import StateNode
from amqpscope.protocols.words import printable
from amqpscope.stream.types import PEERS
from dissectors.secrets import clean_name
from dissectors.v1_0.tables import choice


def connection_node(number: int, connection: Connection, ending: Ending | None) -> StateNode:
    """One connection."""
    state = snapshot(connection)
    names = " -> ".join(printable(name) if name else "?" for name in state.containers)
    standing = "" if ending is not None else "open" if all(state.opened) else "opening"
    return StateNode(
        CONNECTION,
        f"connection {number}  {names}" + (f"  {standing}" if standing else ""),
        {
            "connection": number,
            "containers": by_peer(map(shown, state.containers)),
            "state": standing,
            "ended": None,
            "sessions": [],
        },
        ending=ending,
        group="sessions",
        children=[session_node(session) for session in state.sessions],
    )


def session_node(session: SessionState) -> StateNode:
    """One session."""
    return StateNode(
        SESSION,
        f"session on channels {both(session.channels)} (client / server)",
        {
            "channels": by_peer(session.channels),
            "next-outgoing-id": by_peer(session.next_outgoing_id),
            "window": by_peer(session.window_left),
            "unsettled": by_peer(session.unsettled),
            "ended": None,
            "links": [],
        },
        [
            f"may send {both(session.window_left)} transfers, next-outgoing-id"
            f" {both(session.next_outgoing_id)}, unsettled {both(session.unsettled)}"
        ],
        ending=session.ending,
        group="links",
        children=[link_node(link) for link in session.links],
    )


def link_node(link: LinkState) -> StateNode:
    """One link."""
    arrow = "->" if link.sender == 0 else "<-"
    modes = (
        choice("sender-settle-mode", link.snd_settle_mode) or "?",
        choice("receiver-settle-mode", link.rcv_settle_mode) or "?",
    )
    return StateNode(
        LINK,
        f"link {printable(link.name)}  {printable(link.source) or '-'} ->"
        f" {printable(link.target) or '-'}  (client {arrow} server, handles {both(link.handles)})",
        {
            "name": shown(link.name),
            "sender": PEERS[link.sender],
            "handles": by_peer(link.handles),
            "source": shown(link.source or None),
            "target": shown(link.target or None),
            "credit": link.credit,
            "delivery-count": link.delivery_count,
            "available": link.available,
            "drain": link.drain,
            "unsettled": link.unsettled,
            "deliveries": link.deliveries,
            "constraint": None,
            "ended": None,
        },
        [
            f"credit {amount(link.credit)}, delivery-count {amount(link.delivery_count)},"
            f" {link.deliveries} deliveries, {link.unsettled} unsettled, modes {'/'.join(modes)}"
            f"{', drain' if link.drain else ''}"
        ],
        constraint=link.constraint,
        name=link.name,
        label=link.source or link.target or link.name,
        sender=link.sender,
    )


def by_peer(values: Any) -> dict[str, Any]:
    """What the client and what the server says."""
    return dict(zip(PEERS, values, strict=True))


def both(numbers: tuple[int | None, int | None]) -> str:
    """A number of the client's and the server's."""
    return " / ".join(map(amount, numbers))


def amount(number: int | None) -> str:
    """A number, or that it is not known."""
    return "?" if number is None else str(number)


def shown(name: str | None) -> str | None:
    """A name as it was on the wire, but for its secrets."""
    return None if name is None else clean_name(name)
