"""Sessions and links at one instant, as plain values that no later frame changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amqpscope.model.constraint import Constraint
from amqpscope.model.ending import Ending
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.constraint import constraint, credit_left, window_left
from amqpscope.model.v1_0.ending import session_ending
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd


@dataclass(frozen=True)
class LinkState:
    """One link, as its sender and its receiver see it."""

    name: str
    sender: int
    """Which peer sends: 0 the client, 1 the server."""
    handles: tuple[int | None, int | None]
    """The handle numbers of client and server."""
    source: str
    target: str
    snd_settle_mode: int | None
    rcv_settle_mode: int | None
    delivery_count: int | None
    credit: int | None
    available: int | None
    drain: bool
    unsettled: int
    open_delivery: int | None
    """The delivery-id of a delivery whose transfers are not complete."""
    deliveries: int
    constraint: Constraint


@dataclass(frozen=True)
class SessionState:
    """One session: what each peer announced, client first."""

    channels: tuple[int | None, int | None]
    next_outgoing_id: tuple[int | None, int | None]
    window_left: tuple[int | None, int | None]
    """Transfers that each peer may still send."""
    unsettled: tuple[int, int]
    """Deliveries of each peer that are not settled."""
    ending: Ending | None
    """How it ended, with its connection if not before."""


def container(end: ConnectionEnd) -> str | None:
    """The container-id of a peer."""
    return None if end.open is None else end.open.container_id


def session_pairs(
    client: ConnectionEnd, server: ConnectionEnd
) -> Iterator[tuple[SessionEnd | None, SessionEnd | None]]:
    """Live sessions as the client's and the server's end."""
    for session in client.channels.values():
        yield session, session.pair
    for session in server.channels.values():
        if session.pair is None or session.pair.is_ended:
            yield session.pair, session


def ended_pairs(
    client: ConnectionEnd, server: ConnectionEnd
) -> Iterator[tuple[SessionEnd | None, SessionEnd | None]]:
    """Sessions that are over for both peers, the last on each channel."""
    known: set[SessionEnd] = set()
    for end in (client, server):
        for session in end.ended.values():
            pair = session.pair
            live = pair is not None and not pair.is_ended
            if live or session in known:
                continue
            known |= {session} if pair is None else {session, pair}
            yield (session, pair) if end is client else (pair, session)


def session_state(client: SessionEnd | None, server: SessionEnd | None) -> SessionState:
    """The state of a session as of now."""
    known = client if client is not None else server
    return SessionState(
        (None if client is None else client.channel, None if server is None else server.channel),
        (next_id(client), next_id(server)),
        (
            None if client is None else window_left(client),
            None if server is None else window_left(server),
        ),
        (live_deliveries(client), live_deliveries(server)),
        None if known is None else session_ending(known),
    )


def live_deliveries(session: SessionEnd | None) -> int:
    """How many deliveries of a peer are not settled."""
    return 0 if session is None else len(session.deliveries.live)


def next_id(session: SessionEnd | None) -> int | None:
    """A peer's next transfer-id as it would be on the wire."""
    if session is None or session.sending.next_outgoing_id is None:
        return None
    return wire(session.sending.next_outgoing_id)


def session_links(client: SessionEnd | None, server: SessionEnd | None) -> Iterator[LinkEnd]:
    """The links of a session, each once, by one of its ends; those that are over come last."""
    for session in (client, server):
        if session is None:
            continue
        for link in session.handles.values():
            if session is client or link.pair is None or link.pair.is_detached:
                yield link
    yield from detached_links(client, server)


def detached_links(client: SessionEnd | None, server: SessionEnd | None) -> Iterator[LinkEnd]:
    """The links of a session that both peers have detached, the last on each handle."""
    known: set[LinkEnd] = set()
    for session in (client, server):
        for link in () if session is None else session.detached.values():
            pair = link.pair
            live = pair is not None and not pair.is_detached
            if live or link in known:
                continue
            known |= {link} if pair is None else {link, pair}
            yield link


def link_state(link: LinkEnd) -> LinkState:
    """One link, from either of its ends."""
    pair = link.pair
    sender, receiver = (pair, link) if link.role else (link, pair)
    known = sender if sender is not None else link
    peer = link.session.owner.peer
    handles = (link.handle, None if pair is None else pair.handle)
    opened = None if sender is None else sender.sending.open_delivery
    return LinkState(
        name=link.name,
        sender=peer if sender is link else 1 - peer,
        handles=handles if peer == 0 else handles[::-1],
        source=terminus(sender, receiver, "source"),
        target=terminus(receiver, sender, "target"),
        snd_settle_mode=None if sender is None else sender.terms.snd_settle_mode,
        rcv_settle_mode=None if receiver is None else receiver.terms.rcv_settle_mode,
        delivery_count=None
        if sender is None or sender.sending.count_high is None
        else wire(sender.sending.count_high),
        credit=None if sender is None else credit_left(sender),
        available=None if sender is None else sender.sending.available,
        drain=receiver is not None and receiver.receiving.drain,
        unsettled=0 if sender is None else len(sender.sending.unsettled),
        open_delivery=None if opened is None else opened.delivery_id,
        deliveries=known.sending.delivery_total,
        constraint=constraint(known),
    )


def terminus(first: LinkEnd | None, second: LinkEnd | None, name: str) -> str:
    """The address of a terminus: the word of its owner counts, else the other's."""
    for end in (first, second):
        attach = None if end is None else end.attach
        found = None if attach is None else getattr(attach, name)
        address = getattr(found, "address", None)
        if isinstance(address, str):
            return address
    return ""
