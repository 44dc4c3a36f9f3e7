"""Flow frames: session windows and link credit (spec 2.5.6, 2.6.7).

A flow is a peer's word on its own counters and a grant to its partner. Its word is taken: where it
differs from what we counted the difference is reported once, and both readings are allowed from
then on. A grant is kept as the first number that it does not allow (see `knowledge`), counted from
the most generous base that the user of the grant may assume.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.event import MALFORMED, WRONG, Event
from amqpscope.model.knowledge import MAX_GRANTS, Grant, Grants
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from amqpscope.model.serial import HALF, MODULUS, unwrap
from amqpscope.model.session import SessionEnd
from dissectors.v1_0.bodies import Flow

ECHO_LOOP: Final = 1_000_000_000
"""Nanoseconds in which flows that only ask each other for flows are a loop."""
UNSURE: Final = MALFORMED | WRONG
MAX_EARLY: Final = 16
"""Flows kept for a sender that has not attached yet."""


def open_window(session: SessionEnd, partner: SessionEnd) -> None:
    """The window that a begin grants, once it is known where the partner's transfer-ids start."""
    base = partner.initial_outgoing_id
    window = None if session.begin is None else session.begin.incoming_window
    if base is None or window is None:
        return
    session.window.add(base + window, session.mark)
    for grant in session.early.entries:
        # A flow that was sent before the partner's begin was there counts from the same base.
        session.window.add(base + grant.limit, grant.mark)
    session.early.entries = []


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
    count_transfers(session, body)
    grant_window(event, session, body)
    if link is None:
        return
    if link.attach is None:
        session.handles.setdefault(link.handle, link)
    if link.role is True:
        grant_credit(event, link, body)
    elif link.role is False:
        count_deliveries(event, link, body)
    link.flow, link.flow_mark = body, event.mark
    link.flow_proved = event.own.proved


def lose(event: Event, session: SessionEnd, link: LinkEnd | None) -> None:
    """A flow that cannot be read whole: what it granted and counted is not known."""
    session.flow_mark = event.mark
    session.window.lose()
    session.next_outgoing_id = session.counted_id = None
    if link is not None:
        link.flow_mark = event.mark
        link.credit.lose()
        link.count_low = link.count_high = None


def follow_echo(event: Event, session: SessionEnd, body: Flow) -> None:
    """A flow answers a wish for an echo, and may have one itself."""
    pair, link = session.pair, event.link
    if pair is not None and pair.echo is not None:
        asked = pair.echo_link
        if asked is None or (link is not None and asked.pair is link):
            pair.echo = pair.echo_link = None
    if not body.echo:
        session.echo_run = 0
        return
    if session.echo is None:
        session.echo, session.echo_link = event.mark, link
    session.echo_run = echo_run(event, session, body)


def echo_run(event: Event, session: SessionEnd, body: Flow) -> int:
    """How many flows in a row, of both peers in turn, asked for an echo and said nothing new."""
    pair = session.pair
    if pair is None or not pair.echo_run or event.since(pair.flow_mark) > ECHO_LOOP:
        return 1
    if session.echo_run and session.flow != body:
        return 1
    return pair.echo_run + 1


def count_transfers(session: SessionEnd, body: Flow) -> None:
    """The peer says where its own transfer-ids are: take its word."""
    said = body.next_outgoing_id
    if said is not None:
        near = session.near_outgoing_id
        value = said if near is None else unwrap(said, near)
        if session.counted_id is None:
            session.counted_id = value
        elif session.counted_id != value:
            session.miscounted = True
        session.next_outgoing_id = session.near_outgoing_id = value
    if body.outgoing_window is not None:
        session.outgoing_window = body.outgoing_window
        session.announced_id = session.next_outgoing_id


def grant_window(event: Event, session: SessionEnd, body: Flow) -> None:
    """A new limit of the partner's transfer-ids."""
    pair = session.pair
    window = body.incoming_window
    if window is None:
        return
    if pair is None:
        session.early.add(window, event.mark)
        return
    base = pair.initial_outgoing_id
    said = body.next_incoming_id
    if said is not None:
        value = incoming_id(said, pair)
        prove_transfers(event, pair, value)
        # A value that goes back is a fault of its own; nobody has to take a window from it.
        before = session.next_incoming_id
        session.next_incoming_id = value
        if before is not None:
            value = max(value, before)
        base = value if base is None else max(value, base)
    if base is None:
        session.window.lose()
    else:
        session.window.add(base + window, event.mark)


def incoming_id(said: int, pair: SessionEnd) -> int:
    """A next-incoming-id in the partner's own unwrapped count."""
    near = pair.near_outgoing_id
    return said if near is None else unwrap(said, near)


def prove_transfers(event: Event, pair: SessionEnd, next_incoming_id: int) -> None:
    """The peer has counted the partner's transfers up to here, so it has read them."""
    reached = pair.near_outgoing_id
    if reached is None or next_incoming_id > reached:
        return
    sent = pair.sent
    read = 0
    while read < len(sent) and sent[read][0] < next_incoming_id:
        read += 1
    if read:
        end = sent[read - 1][1]
        if end <= event.known:
            event.own.prove(end)
        del sent[:read]


def known_transfers(event: Event, pair: SessionEnd) -> int | None:
    """The partner's next transfer-id as far as the sender of a frame may know it."""
    value = pair.next_outgoing_id
    for transfer, end in reversed(pair.sent):
        if end <= event.known:
            break
        value = transfer
    return value


def known_count(event: Event, sender: LinkEnd, peak: int) -> int:
    """The highest count of a sender that can have been known to the sender of a frame."""
    for before, end in reversed(sender.begun):
        if end <= event.known:
            break
        peak = before
    return peak


def grant_credit(event: Event, link: LinkEnd, body: Flow) -> None:
    """The receiver sets how far the sender's delivery-count may go."""
    mark = event.mark
    link.drain = bool(body.drain)
    if body.drain:
        link.drain_mark = mark
        if link.first_drain is None:
            link.first_drain = mark
    pair = link.pair
    if pair is None:
        # The sender's attach is still to come: it will be told what was granted before.
        if link.guess is None and body.delivery_count is not None and not event.ahead:
            link.guess = (body.delivery_count, mark)
        keep_early(link, body, mark)
        return
    said = body.delivery_count
    if said is not None:
        near = pair.count_peak
        link.last_count = said if near is None else unwrap(said, near)
    forget_read(pair, event.own.proved)
    said_counts = pair.said
    while len(said_counts) > 1 and said_counts[1][1] <= event.own.proved:
        del said_counts[0]
    credit = body.link_credit
    if credit is None:
        return
    base = credit_base(body, pair)
    if base is None:
        link.credit.lose()
    else:
        link.credit.add(base + credit, mark, credit)


def keep_early(link: LinkEnd, body: Flow, mark: Mark) -> None:
    """Note credit that has no base yet; of too many, the smaller of the two oldest goes."""
    early = link.early
    if body.link_credit is None:
        return
    early.append((body, mark))
    if len(early) > MAX_EARLY:
        first, second = early[0][0].link_credit or 0, early[1][0].link_credit or 0
        del early[0 if first <= second else 1]


def credit_base(body: Flow, pair: LinkEnd) -> int | None:
    """The delivery-count from which credit counts, in the reading that is kinder to the sender.

    A count below the sender's initial one was guessed, before its attach was known.
    """
    initial = pair.initial_count
    said = body.delivery_count
    if said is None:
        return initial
    near = pair.count_peak
    value = said if near is None else unwrap(said, near)
    return value if initial is None else max(value, initial)


def forget_read(sender: LinkEnd, proved: int) -> None:
    """Deliveries whose beginning was provably read need no place any more."""
    begun = sender.begun
    read = 0
    while read < len(begun) and begun[read][1] <= proved:
        read += 1
    if read:
        del begun[:read]


def grant_early_credit(link: LinkEnd, pair: LinkEnd) -> None:
    """Credit that a receiver granted before it could know the sender's attach."""
    early, link.early = link.early, []
    for body, mark in early:
        credit = body.link_credit
        base = credit_base(body, pair)
        if credit is not None and base is not None:
            link.credit.add(base + credit, mark, credit)


def count_deliveries(event: Event, link: LinkEnd, body: Flow) -> None:
    """The sender says where its delivery-count is: take its word."""
    link.available = body.available
    if body.available is not None and body.available > link.available_peak:
        link.available_peak = body.available
    said = body.delivery_count
    if said is None:
        return
    near = link.count_peak
    value = sender_count(event, link, said)
    link.said.append((value, event.mark.end))
    if len(link.said) > MAX_GRANTS:
        # The lower of the two oldest excuses more.
        del link.said[0 if link.said[0][0] >= link.said[1][0] else 1]
    prove_credit(event, link, body, value)
    if body.link_credit:
        link.stated = True
    low, high = link.count_low, link.count_high
    opened = link.delivery is not None
    top = value + 1 if opened else value
    if low is not None and high is not None and impossible(event, link, value):
        link.miscounted = True
        link.count_low, link.count_high = min(low, value), max(high, top)
    else:
        link.count_low, link.count_high = value, top
    if near is not None and value - near >= HALF:
        # After such a leap numbers from before and behind it look alike.
        link.miscounted = True
    # Whether the open delivery is in it is the stack's choice, so its end will not move it.
    link.counted_open = opened
    if near is None or near < top:
        link.count_peak = top


def sender_count(event: Event, link: LinkEnd, said: int) -> int:
    """A sender's delivery-count, unwrapped; to drain very large credit it may leap far ahead."""
    near, low = link.count_peak, link.count_low
    if near is None or low is None:
        return said
    value = unwrap(said, near)
    pair = link.pair
    if value < low and pair is not None and pair.first_drain is not None:
        best = pair.credit.best(event.known, event.own.proved)
        if best is not None and value + MODULUS <= best.limit:
            return value + MODULUS
    return value


def impossible(event: Event, link: LinkEnd, value: int) -> bool:
    """A count that the sender cannot have: it went back, or past all credit."""
    low, high = link.count_low, link.count_high
    if low is not None and value < low:
        return True
    if high is None or value <= high:
        return False
    best = None if link.pair is None else link.pair.credit.best(event.known, event.own.proved)
    return best is None or value > max(best.limit, high)


def prove_credit(event: Event, link: LinkEnd, body: Flow, count: int) -> None:
    """What a sender repeats of the receiver's flows shows that it has read them."""
    pair = link.pair
    if pair is None:
        return
    first = pair.first_drain
    if body.drain and event.knew(first) and first is not None:
        event.own.prove(first.end)
    credit = body.link_credit
    if credit is not None:
        grant = repeated(event, link, pair.credit, credit, count + credit)
        if grant is not None:
            event.own.prove(grant.end)


def repeated(event: Event, link: LinkEnd, grants: Grants, credit: int, limit: int) -> Grant | None:
    """The only grant that a sender's credit can come from, as its rest or as it was granted."""
    entries = grants.entries
    if not entries or entries[0].end > event.known:
        return None
    oldest = entries[0]
    # Before the first grant its credit was 0 as well, and some stacks may state 0 whatever they
    # have; so 0 says something only of a sender that has stated more. A merged grant stands for
    # all below it.
    telling = link.stated and link.initial_count is not None and not link.again
    if oldest.end > event.own.proved and credit == 0 and not telling:
        return None
    if oldest.merged and (limit < oldest.limit or credit <= oldest.amount):
        return None
    found: Grant | None = None
    for grant in entries:
        if grant.end > event.known:
            break
        fits = grant.limit == limit or grant.amount == credit
        if fits or (credit == 0 and grant.limit < limit):
            if found is not None:
                return None
            found = grant
    return found
