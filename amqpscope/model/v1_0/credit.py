"""Link credit and delivery-counts (spec 2.6.7).

The receiver grants: its flows set how far the sender's delivery-count may go. The sender counts: by
its transfers, and by what its flows state. Its word is believed, and where it cannot be true both
readings are allowed from then on.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import Grant, Grants
from amqpscope.model.mark import Mark
from amqpscope.model.serial import HALF, MODULUS, unwrap
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd, LinkReceiving, LinkSending
from dissectors.v1_0.bodies import Flow

MAX_EARLY: Final = 16
"""Flows kept for a sender that has not attached yet."""


def known_count(event: Event, sender: LinkSending, peak: int) -> int:
    """The highest count of a sender that can have been known to the sender of a frame."""
    for before, end in reversed(sender.unread):
        if end <= event.known:
            break
        peak = before
    return peak


def grant_credit(event: Event, link: LinkEnd, body: Flow) -> None:
    """The receiver sets how far the sender's delivery-count may go."""
    mark, receiving, pair = event.mark, link.receiving, link.pair
    receiving.drain = bool(body.drain)
    if body.drain:
        receiving.drain_mark = mark
        if receiving.first_drain is None:
            receiving.first_drain = mark
    said = body.delivery_count
    if pair is None:
        # The sender's attach is still to come, and with it the base of what was granted before.
        if receiving.guessed_count is None and said is not None and not event.ahead:
            receiving.guessed_count = (said, mark)
        keep_early(receiving, body, mark)
        return
    sender, proved = pair.sending, event.own.proved
    if said is not None:
        near = sender.count_peak
        receiving.last_count = said if near is None else unwrap(said, near)
        early = not link.again and not event.ahead and not event.knew(pair.mark)
        if early and receiving.guessed_count is None:
            receiving.guessed_count = (said, mark)
    sender.forget_read(proved)
    credit = body.link_credit
    if credit is None:
        return
    base = credit_base(body, sender)
    if base is None:
        receiving.credit.lose()
    else:
        receiving.credit.add(base + credit, mark, credit)


def keep_early(receiving: LinkReceiving, body: Flow, mark: Mark) -> None:
    """Note credit that has no base yet; of too many, the smaller of the two oldest goes."""
    early = receiving.early_flows
    if body.link_credit is None:
        return
    early.append((body, mark))
    if len(early) > MAX_EARLY:
        first, second = early[0][0].link_credit or 0, early[1][0].link_credit or 0
        del early[0 if first <= second else 1]


def credit_base(body: Flow, sender: LinkSending) -> int | None:
    """The delivery-count from which credit counts, in the reading that is kinder to the sender.

    A count below the sender's initial one was guessed, before its attach was known.
    """
    initial = sender.initial_count
    said = body.delivery_count
    if said is None:
        return initial
    near = sender.count_peak
    value = said if near is None else unwrap(said, near)
    return value if initial is None else max(value, initial)


def grant_early_credit(receiver: LinkEnd, sender: LinkEnd) -> None:
    """Credit that a receiver granted before it could know the sender's attach."""
    receiving = receiver.receiving
    early, receiving.early_flows = receiving.early_flows, []
    for body, mark in early:
        credit = body.link_credit
        base = credit_base(body, sender.sending)
        if credit is not None and base is not None:
            receiving.credit.add(base + credit, mark, credit)


def count_deliveries(event: Event, link: LinkEnd, body: Flow) -> None:
    """The sender states where its delivery-count is: take its word."""
    sending = link.sending
    sending.available = body.available
    sending.available_from = sending.delivery_total
    if body.available is not None and body.available > sending.available_peak:
        sending.available_peak = body.available
    said = body.delivery_count
    if said is None:
        return
    near = sending.count_peak
    value = sender_count(event, link, said)
    sending.state_count(value, event.mark.end)
    prove_credit(event, link, body, value)
    if body.link_credit:
        sending.stated_credit = True
    low, high = sending.count_low, sending.count_high
    opened = sending.open_delivery is not None
    top = value + 1 if opened else value
    if low is not None and high is not None and impossible(event, link, value):
        sending.miscounted = True
        sending.count_low, sending.count_high = min(low, value), max(high, top)
    else:
        sending.count_low, sending.count_high = value, top
    if near is not None and value - near >= HALF:
        # After such a leap numbers from before and behind it look alike.
        sending.miscounted = True
    # Whether the open delivery is in it is the stack's choice, so its end will not move it.
    sending.counted_open = opened
    if near is None or near < top:
        sending.count_peak = top


def sender_count(event: Event, link: LinkEnd, said: int) -> int:
    """A sender's delivery-count, unwrapped; to drain very large credit it may leap far ahead."""
    near, low = link.sending.count_peak, link.sending.count_low
    if near is None or low is None:
        return said
    value = unwrap(said, near)
    pair = link.pair
    if value < low and pair is not None and pair.receiving.first_drain is not None:
        best = pair.receiving.credit.best(event.known, event.own.proved)
        if best is not None and value + MODULUS <= best.limit:
            return value + MODULUS
    return value


def impossible(event: Event, link: LinkEnd, value: int) -> bool:
    """A count that the sender cannot have: it went back, or past all credit."""
    low, high, pair = link.sending.count_low, link.sending.count_high, link.pair
    if low is not None and value < low:
        return True
    if high is None or value <= high:
        return False
    best = None if pair is None else pair.receiving.credit.best(event.known, event.own.proved)
    return best is None or value > max(best.limit, high)


def prove_credit(event: Event, link: LinkEnd, body: Flow, count: int) -> None:
    """What a sender repeats of the receiver's flows shows that it has read them."""
    pair = link.pair
    if pair is None:
        return
    first = pair.receiving.first_drain
    if body.drain and event.knew(first) and first is not None:
        event.own.prove(first.end)
    credit = body.link_credit
    if credit is not None:
        grant = repeated_grant(event, link, pair.receiving.credit, credit, count + credit)
        if grant is not None:
            event.own.prove(grant.end)


def repeated_grant(
    event: Event, link: LinkEnd, grants: Grants, credit: int, limit: int
) -> Grant | None:
    """The only grant that a sender's credit can come from, as its rest or as it was granted."""
    entries, sending = grants.entries, link.sending
    if not entries or entries[0].end > event.known:
        return None
    oldest = entries[0]
    # Before the first grant its credit was 0 as well, and some stacks may state 0 whatever they
    # have; so 0 says something only of a sender that has stated more. A merged grant replaces
    # all below it.
    telling = sending.stated_credit and sending.initial_count is not None and not link.again
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
