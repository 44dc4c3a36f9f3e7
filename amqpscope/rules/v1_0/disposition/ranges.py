"""Dispositions: which deliveries they name (DSP; spec 2.6.12, 2.7.6).

A disposition names deliveries by a range of ids, of the direction that its role says. Ranges may
hold ids that mean nothing any more, and word from both sides crosses in flight, so most of what is
odd about them is not wrong. What they say of the deliveries is in `states`.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.serial import distance, unwrap, wire
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import WRONG, Event
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.settlement import mode_of
from amqpscope.model.v1_0.terms import SECOND
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from dissectors.v1_0.bodies import Disposition

HUGE: Final = 100
"""The size from which on a range is compared with the deliveries that there are."""


def range_text(body: Disposition) -> str:
    """The ids of a disposition as shown."""
    if body.last is None or body.last == body.first:
        return f"delivery {body.first}"
    return f"deliveries {body.first} to {body.last}"


def backwards(body: Disposition) -> bool:
    """A range that ends before it begins."""
    return (
        body.first is not None
        and body.last is not None
        and -(1 << 31) < distance(body.last, body.first) < 0
    )


def sender_of(event: Event, body: Disposition) -> SessionEnd | None:
    """The end that sent the deliveries, if all that it sent on the session was seen."""
    session = event.session
    if session is None or not session.whole or session.pair is None or not session.pair.whole:
        return None
    if event.damaged or event.discarded or event.ahead or body.first is None:
        return None
    return session.pair if body.role else session


@rule("DSP-001", "2.7.6", MUST, ERROR, on="odd-disposition")
def disposition_role_wrong(event: Event, report: Reporter, body: Disposition) -> None:
    """A disposition's role says whose deliveries it is about: receiver for those that came in.

    A role the wrong way round makes the partner look for ids that it never had; the deliveries
    that were meant stay unsettled. It is certain only where the ids were never used in the
    direction that the role says and all of them are open in the other.

    Bad (received):
        client: disposition[0] role=sender first=0 settled=true state=accepted()   # <- DSP-001

    Good (received):
        client: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    if event.covered or backwards(body):
        return
    sender = sender_of(event, body)
    if sender is None or not inverted(event, body, sender):
        return
    said, meant = ("receiver", "sender") if body.role else ("sender", "receiver")
    report.sure(
        event,
        f"{range_text(body)} with role {said}: none was ever sent in that direction, while all are"
        f" open in the other, so role {meant} was meant",
        "disposition.role",
    )


def inverted(event: Event, body: Disposition, sender: SessionEnd) -> bool:
    """No id of the range was ever used by `sender`, and all are live the other way."""
    other = sender.pair
    if other is None or other.deliveries.next_delivery_id is None or body.first is None:
        return False
    first_used, next_id = sender.deliveries.first_delivery_id, sender.deliveries.next_delivery_id
    if first_used is not None and next_id is not None:
        first = unwrap(body.first, next_id)
        last = first if body.last is None else first + distance(body.last, body.first)
        if last >= first_used and first < next_id:
            return False
    first = unwrap(body.first, other.deliveries.next_delivery_id)
    last = first if body.last is None else first + distance(body.last, body.first)
    if last - first >= len(other.deliveries.live):
        return False
    for number in range(first, last + 1):
        delivery = other.deliveries.live.get(number)
        if delivery is None:
            return False
        if delivery.link.session.owner is event.partner and not event.knew(delivery.mark):
            return False
    return True


@rule("DSP-002", "2.7.6", IMPLIED, ERROR, on="odd-disposition")
def disposition_range_inverted(event: Event, report: Reporter) -> None:
    """The last id of a disposition does not come before its first one.

    Such a range is empty to one reader and nearly everything to another.

    Bad (sent):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
        server: disposition[0] role=receiver first=1 last=0 settled=true
                state=accepted()   # <- DSP-002

    Good (sent delivery-id=4294967295):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"1" message-format=0 | data(b"1")
        server: disposition[0] role=receiver first=4294967295 last=0 settled=true state=accepted()
    """
    body = event.body
    if isinstance(body, Disposition) and backwards(body) and not event.damaged:
        report.sure(
            event,
            f"a disposition whose range goes from {body.first} back to {body.last}",
            "disposition.last",
        )


@rule("DSP-003", "2.7.6", IMPLIED, ERROR, on="odd-disposition")
def disposition_future_id(event: Event, report: Reporter, body: Disposition) -> None:
    """A disposition names deliveries that were sent.

    An id that was not used yet settles, or rejects, a delivery before it exists. A range that only
    ends too far is a warning, since its bounds span a set and receivers skip ids without delivery.

    Bad (sent):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()   # <- DSP-003

    Good (sent delivery-id=4294967295):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"1" message-format=0 | data(b"1")
        server: disposition[0] role=receiver first=4294967295 settled=true state=accepted()
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    if backwards(body):
        return
    sender = sender_of(event, body)
    if sender is None or body.first is None or inverted(event, body, sender):
        return
    next_id = unreachable_id(event, body, sender)
    if next_id is None:
        # Transfers without a delivery-id have numbers that only the two peers know.
        if sender.deliveries.first_delivery_id is None and sender.sending.last_mark is None:
            text = f"{range_text(body)}: none was sent in that direction yet"
            report.sure(event, f"{text}{elsewhere(event, body)}", "disposition.first")
        return
    text = f"{range_text(body)}: beyond what was sent, the next was {wire(next_id)}"
    related = ((newest(sender, next_id), "the newest delivery that it can know"),)
    if event.first >= next_id:
        text = f"{text}{elsewhere(event, body)}"
        report.sure(event, text, "disposition.first", related)
    elif event.last >= next_id:
        report.sure(event, text, "disposition.last", related, severity=WARNING)


def unreachable_id(event: Event, body: Disposition, sender: SessionEnd) -> int | None:
    """The first delivery-id that the sender of a disposition cannot have seen or used."""
    next_id = sender.deliveries.next_delivery_id
    if next_id is None or not body.role:
        return next_id
    # Only what the range covers can matter; of that, what was still on its way.
    for delivery in reversed(event.covered):
        if event.knew(delivery.mark):
            break
        if delivery.number is not None and event.last >= delivery.number:
            next_id = delivery.number
    return next_id


def newest(sender: SessionEnd, next_id: int) -> Mark | None:
    """Where the delivery before an id began."""
    last = sender.deliveries.find(next_id - 1)
    return None if last is None else last.mark


def elsewhere(event: Event, body: Disposition) -> str:
    """Whether the id is open on another session, for which it was probably meant (DSP-005)."""
    end = event.partner if body.role else event.own
    for session in end.channels.values():
        near = session.deliveries.next_delivery_id
        if near is None or body.first is None or session is event.session:
            continue
        first = unwrap(body.first, near)
        if session.pair is not event.session and first in session.deliveries.live:
            return f" (it is open on channel {session.channel}: the wrong session?)"
    return ""


@rule("DSP-004", "2.7.6", IMPLIED, INFO, on="odd-disposition")
def disposition_unknown_id(event: Event, report: Reporter, body: Disposition) -> None:
    """A disposition is about a delivery that is still open.

    For ids that were never used, or that the other side has settled already, it has no effect. Word
    from both sides crosses, so only what its sender provably knew counts. Ranges with some such
    ids are usual.

    Bad (sent delivery-id=5):
        server: disposition[0] role=receiver first=3 settled=true state=accepted()   # <- DSP-004

    Good (sent delivery-id=5):
        server: disposition[0] role=receiver first=3 last=5 settled=true state=accepted()
    """
    if event.first < 0 or backwards(body):
        return
    sender = sender_of(event, body)
    if sender is None or inverted(event, body, sender):
        return
    found, start = event.covered, sender.deliveries.first_delivery_id
    if not found:
        if start is not None and event.last < start:
            text = f"{range_text(body)}: before the first of the session, which was {wire(start)}"
            report.sure(event, text, "disposition.first", severity=WARNING)
        return
    if not body.role or not all(gone(event, delivery) for delivery in found):
        return
    report.sure(
        event,
        f"{range_text(body)}: the sender had settled all of it, and the receiver knew",
        "disposition.first",
        ((found[0].snd_settled, "where the sender settled"),),
        severity=WARNING,
    )


def gone(event: Event, delivery: Delivery) -> bool:
    """The sender has settled it, not by its transfers, and the receiver provably knew."""
    return (
        delivery.snd_settled is not None
        and not delivery.sent_settled
        and not delivery.aborted
        and delivery.rcv_settled is None
        and mode_of(delivery) != SECOND
        and event.surely_knew(delivery.snd_settled)
    )


@rule("DSP-015", "2.7.6", IMPLIED, INFO, on="odd-disposition")
def disposition_after_error_or_close(event: Event, report: Reporter, body: Disposition) -> None:
    """A disposition is about deliveries of a link that still exists.

    When a link is closed its deliveries are forgotten. Nothing forbids a late word on them, but
    nobody listens. A link that is only detached keeps its deliveries.

    Bad (received):
        client: detach[0] handle=0 closed=true
        client: disposition[0] role=receiver first=0 settled=true state=accepted()   # <- DSP-015
        server: detach[0] handle=0 closed=true

    Good (received):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:detach-forced
                description="moved")
        client~1: disposition[0] role=receiver first=0 settled=true state=accepted()
        client: detach[0] handle=0 closed=true
    """
    if not event.covered or sender_of(event, body) is None:
        return
    closed: Mark | None = None
    for delivery in event.covered:
        closed = closing(event, body, delivery)
        if closed is None:
            return
    report.sure(
        event,
        f"{range_text(body)}: the link was closed before, so nothing is left to settle",
        "disposition.first",
        ((closed, "the detach that closed the link"),),
        severity=WARNING,
    )


def closing(event: Event, body: Disposition, delivery: Delivery) -> Mark | None:
    """The detach that closed a delivery's link, if the sender of the disposition knew it."""
    own, other = delivery.link, delivery.link.pair
    if body.role:
        own, other = (other or own), own
    if own.detach is not None and own.detach.closed and own.detach.error is None:
        return own.detach_mark
    detach = None if other is None else other.detach
    if other is None or detach is None or not detach.closed or detach.error is not None:
        return None
    return other.detach_mark if event.surely_knew(other.detach_mark) else None


@rule("DSP-017", "2.7.6", IMPLIED, INFO, on="odd-disposition")
def disposition_noop(event: Event, report: Reporter, body: Disposition) -> None:
    """A disposition settles deliveries or states something of them.

    One that does neither is noise.

    Bad (sent):
        server: disposition[0] role=receiver first=0   # <- DSP-017

    Good (sent):
        server: disposition[0] role=receiver first=0 state=received(section-number=0
                section-offset=0)
    """
    if body.settled or body.state is not None:
        return
    if not event.kinds & WRONG and not event.damaged:
        text = f"{range_text(body)}: neither settled nor given a state"
        report.sure(event, text, "disposition")


@rule("DSP-019", "2.7.6", IMPLIED, INFO, on="odd-disposition")
def disposition_range_huge(event: Event, report: Reporter, body: Disposition) -> None:
    """A disposition's range is about as large as the set of deliveries that are open.

    A range of millions over a handful of deliveries is probably a counter that wrapped or two ids
    mixed up; what it was meant to settle is anybody's guess.

    Bad (sent delivery-id=1000):
        server: disposition[0] role=receiver first=0 last=1000 settled=true
                state=accepted()   # <- DSP-019

    Good (sent delivery-id=1000):
        server: disposition[0] role=receiver first=1000 last=1000 settled=true state=accepted()
    """
    if event.last - event.first < HUGE or event.first < 0:
        return
    sender = sender_of(event, body)
    due = None if sender is None else sender.deliveries.next_delivery_id
    if sender is None or due is None or event.last >= due:
        return
    live = len(sender.deliveries.live)
    size = event.last - event.first + 1
    if live and size > 2 * live and size > 2 * len(event.covered):
        text = f"{range_text(body)}: {size} ids, though open deliveries number {live}"
        report.sure(event, text, "disposition.last")
