"""Transfers: the deliveries that they make up on a link, and how these count (spec 2.6)."""

from __future__ import annotations

from typing import Final

from amqpscope.model import event as kinds
from amqpscope.model import oddities, settlement
from amqpscope.model.delivery import MAX_KEPT, NO_PARTS, Delivery
from amqpscope.model.event import Event
from amqpscope.model.link import LinkEnd
from amqpscope.model.serial import unwrap, wire
from amqpscope.model.session import MAX_SENT, SessionEnd
from dissectors.v1_0.bodies import Flow, Transfer

_NAMELESS: Final = kinds.KIND["nameless"]
_LISTED: Final = kinds.KIND["listed"]
_ODD_LINK: Final = kinds.KIND["odd-link"]
_WATCHED: Final = kinds.KIND["watched"]


def place_handle(event: Event, session: SessionEnd, handle: int | None) -> LinkEnd | None:
    """Find the link on a handle of the sender; a made-up one where none is attached."""
    if handle is None:
        return None
    link = session.handles.get(handle)
    if link is None:
        if session.whole:
            event.kinds |= kinds.UNATTACHED
        link = LinkEnd(session, handle, None, event.mark)
    event.link = link
    if link.odd:
        event.kinds |= _ODD_LINK
    if link.coordinator:
        event.kinds |= kinds.COORDINATOR
    return link


def place_flow(event: Event, session: SessionEnd, body: Flow) -> None:
    """Tell what kind of flow it is."""
    if body.handle is None:
        event.kinds |= kinds.SESSION_FLOW
    else:
        event.kinds |= kinds.LINK_FLOW
        link = place_handle(event, session, body.handle)
        if link is not None and link.role is not None:
            event.kinds |= kinds.RECEIVER_FLOW if link.role else kinds.SENDER_FLOW
    if not oddities.plain_flow(event, session, body):
        event.kinds |= kinds.ODD_FLOW


def place_transfer(event: Event, session: SessionEnd, body: Transfer) -> None:
    """Find the delivery that a transfer begins or goes on with."""
    frame = event.frame
    event.payload = frame.raw[frame.unit.payload :]
    if body.resume:
        event.kinds |= kinds.RESUME
    if body.state is not None:
        event.kinds |= kinds.STATE | settlement.ODD_STATE
    if body.aborted:
        event.kinds |= kinds.ABORTED
    link = place_handle(event, session, body.handle)
    if link is None:
        return
    delivery = link.delivery
    if link.interrupted is not None and goes_on_with(link.interrupted, body):
        delivery = link.interrupted
        event.kinds |= kinds.CONTINUATION
    elif delivery is None or begins_anew(delivery, body):
        event.kinds |= kinds.FIRST
        if link.role:
            event.kinds |= _ODD_LINK
        if link.lists or (link.pair is not None and link.pair.lists):
            event.kinds |= _LISTED
        number = delivery_number(session, body)
        delivery = Delivery(link, number, body, event.mark)
        if (link.lost and (body.delivery_id is None or body.more)) or (
            body.delivery_id is None and link.attach is None
        ):
            # The capture may have begun, or lost frames, in the middle of a delivery.
            delivery.whole = False
    else:
        event.kinds |= kinds.CONTINUATION
    event.delivery = delivery
    event.kinds |= oddities.of_transfer(event, session, link, delivery, body)
    if not body.more and not body.aborted:
        event.kinds |= kinds.LAST
        event.message = delivery.joined(event.payload, frame.missing)
        if event.message is not None:
            event.kinds |= kinds.MESSAGE
            if link.nameless:
                event.kinds |= _NAMELESS
            if link.watch is not None:
                event.kinds |= _WATCHED


def begins_anew(delivery: Delivery, body: Transfer) -> bool:
    """A transfer with another id and tag than the open delivery begins a new one all the same.

    One with another id alone is taken for a continuation that names its delivery wrongly.
    """
    if body.delivery_id is None or delivery.delivery_id is None:
        return False
    if body.delivery_id == delivery.delivery_id or body.delivery_tag is None:
        return False
    return body.delivery_tag != delivery.tag


def goes_on_with(delivery: Delivery, body: Transfer) -> bool:
    """A transfer names a delivery that was left unfinished."""
    return body.delivery_id is not None and body.delivery_id == delivery.delivery_id


def delivery_number(session: SessionEnd, body: Transfer) -> int | None:
    """The unwrapped delivery-id of a new delivery; the next one if it is not told."""
    expected = session.next_delivery_id
    if body.delivery_id is None:
        return expected
    return body.delivery_id if expected is None else unwrap(body.delivery_id, expected)


def apply_transfer(event: Event, body: Transfer) -> None:
    """One more transfer."""
    session, link, delivery, frame = event.session, event.link, event.delivery, event.frame
    if session is None:
        return
    transfer = session.next_outgoing_id
    if transfer is not None:
        session.remember(transfer, event.mark.end)
        session.next_outgoing_id = session.near_outgoing_id = transfer + 1
        if session.counted_id is not None:
            session.counted_id += 1
    if link is None or delivery is None:
        return
    if link.attach is None:
        session.handles.setdefault(link.handle, link)
    if event.kinds & kinds.FIRST:
        begin_delivery(session, link, delivery)
        if event.kinds & _LISTED:
            note_resumed(link, body)
    delivery.last_mark = event.mark
    link.last_mark = event.mark
    session.last_mark = event.mark
    if body.rcv_settle_mode is not None:
        delivery.rcv_settle_mode = body.rcv_settle_mode
    going_on = bool(body.more) and not body.aborted
    delivery.add(event.payload, frame.missing, going_on)
    if body.state is not None:
        settlement.state_by_sender(delivery, body.state, event.mark)
    if body.settled:
        delivery.sent_settled = True
        settlement.settle_by_sender(delivery, event.mark)
    if going_on:
        if link.delivery is not delivery:
            link.interrupted = link.delivery
            link.delivery = delivery
    else:
        end_delivery(event, session, link, delivery, bool(body.aborted))
        if frame.unit.faults:
            # Whether more was to follow may be among what could not be read.
            link.lost = True


def note_resumed(link: LinkEnd, body: Transfer) -> None:
    """A delivery that was listed as unsettled comes back, or a new one that should not be there."""
    pair = link.pair
    if body.resume:
        if body.delivery_tag is not None:
            link.resumed.add(body.delivery_tag)
    elif pair is not None and pair.attach is not None and pair.attach.incomplete_unsettled:
        pair.breached = link.session.owner.last_mark


def begin_delivery(session: SessionEnd, link: LinkEnd, delivery: Delivery) -> None:
    """Count a new delivery, and keep it until it is settled."""
    number = delivery.number
    if number is not None:
        expected = session.next_delivery_id
        if expected is not None and number != expected:
            session.skipped_id = None if number == session.skipped_id else expected + 1
            delivery.due_id = wire(expected)
        elif session.skipped_id is not None:
            session.skipped_id += 1
        session.next_delivery_id = number + 1
        if session.first_delivery_id is None:
            session.first_delivery_id = number
        session.live[number] = delivery
    if delivery.tag is not None:
        link.unsettled[delivery.tag] = delivery
    if link.delivery is not None:
        link.interrupted = link.delivery
        link.delivery = None
    link.deliveries += 1
    # Whether a resumed delivery counts is not said; one after a loss may have been counted before.
    link.counted_open = link.lost or delivery.resumed
    link.lost = False
    count, peak = link.count_high, link.count_peak
    if count is None or peak is None:
        return
    begun = link.begun
    begun.append((peak, delivery.mark.end))
    if len(begun) > MAX_SENT:
        del begun[: MAX_SENT // 2]
    link.count_high = count + 1
    if peak <= count:
        link.count_peak = count + 1


def end_delivery(
    event: Event, session: SessionEnd, link: LinkEnd, delivery: Delivery, aborted: bool
) -> None:
    """The last transfer of a delivery, or its abort."""
    if link.delivery is delivery:
        link.delivery = None
    if link.interrupted is delivery:
        link.interrupted = None
    if aborted:
        link.aborts += 1
        link.counted_open = False
        delivery.aborted = True
        delivery.lose()
        settlement.settle_by_sender(delivery, event.mark)
        session.finish(delivery)
        return
    delivery.complete = True
    delivery.parts = NO_PARTS
    message = event.message
    if message is not None and delivery.snd_settled is None and len(message) <= MAX_KEPT:
        delivery.content = message
    if link.count_low is not None and not link.counted_open:
        link.count_low += 1
    link.counted_open = False
    if delivery.snd_settled:
        session.finish(delivery)
