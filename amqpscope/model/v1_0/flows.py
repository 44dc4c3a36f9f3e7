"""Flow frames, and the windows of sessions that they grant (spec 2.5.6).

A flow states a peer's own counters and grants something to its partner. What it states is believed:
where it differs from what we counted, the difference is reported once, and both readings are
allowed from then on. A grant is kept as the first number that it does not allow (see `knowledge`),
counted from the most generous base that the user of the grant may assume. What a flow says of a
link is in `credit`.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.ledger import UNMET_ECHO
from amqpscope.model.serial import unwrap
from amqpscope.model.v1_0 import credit
from amqpscope.model.v1_0.event import MALFORMED, WRONG, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd, SessionSending
from dissectors.v1_0.bodies import Flow

ECHO_LOOP: Final = 1_000_000_000
"""Nanoseconds in which flows that only ask each other for flows are a loop."""
UNSURE: Final = MALFORMED | WRONG
"""Kinds of flows that say nothing reliable."""


def open_window(session: SessionEnd, partner: SessionEnd) -> None:
    """The window that a begin grants, once it is known where the partner's transfer-ids start."""
    base, receiving = partner.sending.initial_outgoing_id, session.receiving
    window = None if session.begin is None else session.begin.incoming_window
    if base is None or window is None:
        return
    receiving.window.add(base + window, session.mark)
    for grant in receiving.early_windows.entries:
        # A flow that was sent before the partner's begin was there counts from the same base.
        receiving.window.add(base + grant.limit, grant.mark)
    receiving.early_windows.entries = []


def apply(event: Event, body: Flow) -> None:
    """A flow, for a session or for a link in it."""
    session, link = event.session, event.link
    if session is None:
        return
    if event.kinds & UNSURE or event.frame.missing:
        lose(event, session, link)
        return
    follow_echo(event, session, body)
    session.flow, session.flow_mark = body, event.mark
    count_transfers(session.sending, body)
    grant_window(event, session, body)
    if link is None:
        return
    if link.attach is None:
        session.handles.setdefault(link.handle, link)
    if link.role is True:
        credit.grant_credit(event, link, body)
    elif link.role is False:
        credit.count_deliveries(event, link, body)
    link.flow, link.flow_mark = body, event.mark
    link.flow_proved = event.own.proved


def lose(event: Event, session: SessionEnd, link: LinkEnd | None) -> None:
    """A flow that cannot be read whole: what it granted and counted is not known."""
    session.flow_mark = event.mark
    session.receiving.window.lose()
    session.sending.lose()
    if link is not None:
        link.flow_mark = event.mark
        link.receiving.credit.lose()
        link.sending.count_low = link.sending.count_high = None


def follow_echo(event: Event, session: SessionEnd, body: Flow) -> None:
    """A flow answers a request for an echo, and may have one itself."""
    pair, link, echo = session.pair, event.link, session.echo
    if pair is not None and pair.echo.mark is not None:
        asked = pair.echo.link
        if asked is None or (link is not None and asked.pair is link):
            pair.echo.mark = pair.echo.link = None
    if not body.echo:
        echo.run = 0
        return
    if echo.mark is None or session.reported.key_of(UNMET_ECHO) == echo.mark.frame:
        echo.mark, echo.link = event.mark, link
    echo.run = echo_run(event, session, body)


def echo_run(event: Event, session: SessionEnd, body: Flow) -> int:
    """How many flows in a row, of both peers in turn, asked for an echo and said nothing new."""
    pair = session.pair
    if pair is None or not pair.echo.run or event.since(pair.flow_mark) > ECHO_LOOP:
        return 1
    if session.echo.run and session.flow != body:
        return 1
    return pair.echo.run + 1


def count_transfers(sending: SessionSending, body: Flow) -> None:
    """The peer states where its own transfer-ids are: take its word."""
    said = body.next_outgoing_id
    if said is not None:
        near = sending.near_outgoing_id
        value = said if near is None else unwrap(said, near)
        if sending.counted_id is None:
            sending.counted_id = value
        elif sending.counted_id != value:
            sending.miscounted = True
        sending.next_outgoing_id = sending.near_outgoing_id = value
    if body.outgoing_window is not None:
        sending.outgoing_window = body.outgoing_window
        sending.announced_id = sending.next_outgoing_id


def grant_window(event: Event, session: SessionEnd, body: Flow) -> None:
    """A new limit of the partner's transfer-ids."""
    pair, receiving = session.pair, session.receiving
    window = body.incoming_window
    if window is None:
        return
    if pair is None:
        receiving.early_windows.add(window, event.mark)
        return
    base = pair.sending.initial_outgoing_id
    said = body.next_incoming_id
    if said is not None:
        value = incoming_id(said, pair.sending)
        prove_transfers(event, pair.sending, value)
        # A value that goes back is a fault of its own; nobody has to take a window from it.
        before = receiving.next_incoming_id
        receiving.next_incoming_id = value
        if before is not None:
            value = max(value, before)
        base = value if base is None else max(value, base)
    if base is None:
        receiving.window.lose()
    else:
        receiving.window.add(base + window, event.mark)


def incoming_id(said: int, sender: SessionSending) -> int:
    """A next-incoming-id in the unwrapped count of who sends the transfers."""
    near = sender.near_outgoing_id
    return said if near is None else unwrap(said, near)


def prove_transfers(event: Event, sender: SessionSending, next_incoming_id: int) -> None:
    """The peer has counted the partner's transfers up to here, so it has read them."""
    reached = sender.near_outgoing_id
    if reached is None or next_incoming_id > reached:
        return
    unread = sender.unread
    read = 0
    while read < len(unread) and unread[read][0] < next_incoming_id:
        read += 1
    if read:
        end = unread[read - 1][1]
        if end <= event.known:
            event.own.prove(end)
        del unread[:read]


def known_transfers(event: Event, sender: SessionSending) -> int | None:
    """The next transfer-id of a sender, as far as the sender of a frame may know it."""
    value = sender.next_outgoing_id
    for transfer, end in reversed(sender.unread):
        if end <= event.known:
            break
        value = transfer
    return value
