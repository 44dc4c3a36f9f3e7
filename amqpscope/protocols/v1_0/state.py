"""The state of a connection of 1.0 and of its sessions, as a tree; links are in `state_link`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from amqpscope.model.ending import CONNECTION, SESSION, Ending
from amqpscope.model.v1_0.connection import Connection, ConnectionEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.snapshot import (
    SessionState,
    container,
    ended_pairs,
    session_links,
    session_pairs,
    session_state,
)
from amqpscope.model.v1_0.transaction import (
    COMMITTED,
    DISCHARGING,
    GONE,
    LIVE,
    ROLLED_BACK,
    Transaction,
)
from amqpscope.protocols.ending_words import brief_words, ended_words
from amqpscope.protocols.state import (
    HELD_STYLE,
    LISTED,
    TITLE,
    UNKNOWN,
    KnownNodes,
    StateNode,
    StateRow,
    ended_row,
    pair_row,
    transaction_row,
)
from amqpscope.protocols.v1_0.state_link import (
    both,
    by_peer,
    clean,
    first_frame_of,
    link_node,
    plain_text,
    serial,
)
from amqpscope.protocols.v1_0.summary import error_text
from amqpscope.protocols.words import printable
from amqpscope.stream.types import PEERS
from dissectors.v1_0.tables import choice


def connection_node(
    number: int, connection: Connection, ending: Ending | None, known: KnownNodes
) -> StateNode:
    """The node of a connection, with its sessions below."""
    client, server = connection.ends
    containers = (container(client), container(server))
    names = " -> ".join(printable(name) if name else UNKNOWN for name in containers)
    standing = "" if ending is not None else ongoing(client, server)
    pairs = (*session_pairs(client, server), *ended_pairs(client, server))
    sessions = [session_node(number, *pair, known) for pair in pairs]
    label = f"connection {number}"
    stands = standing
    transactions = connection.transactions.counts(ending is not None)
    if ending is not None:
        stands = ended_words(ending._replace(condition="", text=""), own=CONNECTION)
    return StateNode(
        label,
        label,
        f"{stands}  {names}",
        style=TITLE,
        children=(*opening_rows(connection, ending),
                  *transaction_row(transactions, transaction_rows(connection)), *sessions),
        kind=CONNECTION,
        title=f"{label}  {names}" + (f"  {standing}" if standing else ""),
        fields={
            "connection": number,
            "containers": by_peer(map(clean, containers)),
            "state": standing,
            "ended": None,
            "transactions": transactions._asdict(),
            "sessions": [],
        },
        lines=(f"transactions: {transactions.words()}",) if any(transactions) else (),
        ending=ending,
        group="sessions",
    )  # fmt: skip


def transaction_rows(connection: Connection) -> tuple[StateRow, ...]:
    """The newest transactions, each with the frame that ends it, or else began it."""
    newest = [*connection.transactions.known.values()][-LISTED:]
    return tuple(transaction_row_of(each) for each in newest)


def transaction_row_of(transaction: Transaction) -> StateRow:
    """The row of a transaction."""
    mark = transaction.answer or transaction.discharge or transaction.declared
    words = TRANSACTION_WORDS[transaction.state]
    if transaction.state == DISCHARGING:
        words = f"{'rollback' if transaction.fail else 'commit'}, {words}"
    elif transaction.state == ROLLED_BACK and not transaction.fail:
        words = f"{words}, though a commit was asked for"
    elif transaction.state == GONE and transaction.discharge is None:
        words = "rolled back: its control link ended"
    style = HELD_STYLE if transaction.state in (ROLLED_BACK, GONE) else ""
    key = f"transaction {transaction.id.hex()} {transaction.declared.frame}"
    return StateRow(key, f"transaction {transaction.id.hex()}", words, style=style,
                    frame=mark.frame, since=mark.time)  # fmt: skip


TRANSACTION_WORDS: Final = {
    LIVE: "open",
    DISCHARGING: "not answered yet",
    COMMITTED: "committed",
    ROLLED_BACK: "rolled back",
    GONE: "in doubt",
}


def ongoing(client: ConnectionEnd, server: ConnectionEnd) -> str:
    """How far a connection is that has not ended."""
    return "open" if client.open is not None and server.open is not None else "opening"


def opening_rows(connection: Connection, ending: Ending | None) -> Iterator[StateRow]:
    """What the peers said of the connection itself."""
    ends = connection.ends
    if any(connection.sasl.begun):
        yield sasl_row(connection)
    opens = [end.open for end in ends]
    if any(opens):
        rows = tuple(
            pair_row(name, [UNKNOWN if body is None else plain_text(getattr(body, member))
                            for body in opens])
            for name, member in (
                ("hostname", "hostname"), ("max-frame-size", "max_frame_size"),
                ("channel-max", "channel_max"), ("idle-time-out ms", "idle_time_out"),
            )
        )  # fmt: skip
        client, server = (
            UNKNOWN if body is None else plain_text(body.container_id) for body in opens
        )
        yield StateRow("open", "container-id", client, server, children=rows)
    for end in ends:
        if end.close is not None:
            text = printable(error_text(end.close.error)) or "without an error"
            frame = 0 if end.close_mark is None else end.close_mark.frame
            yield StateRow(f"close {end.peer}", f"close of the {PEERS[end.peer]}", text,
                           style=HELD_STYLE, frame=frame)  # fmt: skip
    if ending is not None and ending.by_tcp:
        yield ended_row(ending, own=CONNECTION)


def sasl_row(connection: Connection) -> StateRow:
    """How the authentication went."""
    sasl = connection.sasl
    mechanism = "no init yet" if sasl.init is None else plain_text(sasl.init.mechanism)
    outcome = "no outcome yet"
    if sasl.outcome is not None:
        code = sasl.outcome.code
        outcome = choice("sasl-code", code) or plain_text(code)
    return StateRow("sasl", "SASL", mechanism or "no init yet", outcome)


def session_node(
    number: int, client: SessionEnd | None, server: SessionEnd | None, known: KnownNodes
) -> StateNode:
    """One session and its links."""
    state = session_state(client, server)
    links = [link_node(number, link, known) for link in session_links(client, server)]
    ending = state.ending
    label = "session " + "/".join(UNKNOWN if n is None else str(n) for n in state.channels)
    over = "" if ending is None else f", {brief_words(ending)}"
    own = ending is not None and ending.what == SESSION
    rows = session_rows(state, client, server)
    return StateNode(
        f"{label} {first_frame_of(client, server)}",
        label,
        f"channel of client/server, {len(links)} link{'' if len(links) == 1 else 's'}{over}",
        style=TITLE,
        children=(*([ended_row(ending, SESSION)] if ending is not None and own else []),
                  *rows, *links),
        kind=SESSION,
        title=f"session on channels {both(state.channels)} (client / server)",
        fields={
            "channels": by_peer(state.channels),
            "next-outgoing-id": by_peer(state.next_outgoing_id),
            "window": by_peer(state.window_left),
            "unsettled": by_peer(state.unsettled),
            "ended": None,
            "links": [],
        },
        lines=(
            f"may send {both(state.window_left)} transfers, next-outgoing-id"
            f" {both(state.next_outgoing_id)}, unsettled {both(state.unsettled)}",
        ),
        ending=ending,
        group="links",
    )  # fmt: skip


def session_rows(
    state: SessionState, client: SessionEnd | None, server: SessionEnd | None
) -> tuple[StateRow, ...]:
    """What each peer may send, has announced and counts."""
    peers = (client, server)
    incoming = [None if end is None else end.receiving.next_incoming_id for end in peers]
    return (
        pair_row("may send", known_numbers(state.window_left)),
        pair_row("incoming-window", [announced_window(end, "incoming_window") for end in peers]),
        pair_row("outgoing-window", [announced_window(end, "outgoing_window") for end in peers]),
        pair_row("next-outgoing-id", known_numbers(state.next_outgoing_id)),
        pair_row("next-incoming-id", [serial(each) for each in incoming]),
        pair_row("unsettled", known_numbers(state.unsettled)),
    )


def known_numbers(values: Any) -> list[str]:
    """A number of each peer, or that it is not known."""
    return [UNKNOWN if value is None else str(value) for value in values]


def announced_window(end: SessionEnd | None, name: str) -> str:
    """A window as a peer last announced it."""
    if end is None:
        return UNKNOWN
    said = end.flow if end.flow is not None else end.begin
    return UNKNOWN if said is None else plain_text(getattr(said, name))
