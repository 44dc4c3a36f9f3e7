"""Transfers: the deliveries that they make up on a link, and how these count (spec 2.6)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.serial import unwrap
from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0 import fast_paths, settlement
from amqpscope.model.v1_0.delivery import MAX_KEPT, NO_PARTS, Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
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
    if link.terms.coordinator:
        event.kinds |= kinds.COORDINATOR
    return link


def place_flow(event: Event, session: SessionEnd, body: Flow) -> None:
    """Find the link of a flow, and what kind of flow it is."""
    if body.handle is None:
        event.kinds |= kinds.SESSION_FLOW
    else:
        event.kinds |= kinds.LINK_FLOW
        link = place_handle(event, session, body.handle)
        if link is not None and link.role is not None:
            event.kinds |= kinds.RECEIVER_FLOW if link.role else kinds.SENDER_FLOW
    if not fast_paths.plain_flow(event, session, body):
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
    delivery, interrupted = link.sending.open_delivery, link.sending.interrupted
    if interrupted is not None and goes_on_with(interrupted, body):
        delivery = interrupted
        event.kinds |= kinds.CONTINUATION
    elif delivery is None or begins_anew(delivery, body):
        delivery = new_delivery(event, session, link, body)
    else:
        event.kinds |= kinds.CONTINUATION
    event.delivery = delivery
    event.kinds |= fast_paths.of_transfer(event, session, link, delivery, body)
    if not body.more and not body.aborted:
        complete_message(event, link, delivery)


def new_delivery(event: Event, session: SessionEnd, link: LinkEnd, body: Transfer) -> Delivery:
    """The delivery that a first transfer begins."""
    pair = link.pair
    event.kinds |= kinds.FIRST
    if link.role:
        event.kinds |= _ODD_LINK
    if link.terms.lists_unsettled or (pair is not None and pair.terms.lists_unsettled):
        event.kinds |= _LISTED
    delivery = Delivery(link, delivery_number(session, body), body, event.mark)
    unnamed = body.delivery_id is None
    if (link.sending.lost and (unnamed or body.more)) or (unnamed and link.attach is None):
        # The capture may have begun, or lost frames, in the middle of a delivery.
        delivery.whole = False
    return delivery


def complete_message(event: Event, link: LinkEnd, delivery: Delivery) -> None:
    """Put together the message that a last transfer completes, if all of it was seen."""
    event.kinds |= kinds.LAST
    event.message = delivery.join_payload(event.payload, event.frame.missing)
    if event.message is not None:
        event.kinds |= kinds.MESSAGE
        if link.terms.anonymous:
            event.kinds |= _NAMELESS
        if link.sending.watch is not None:
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
    """The unwrapped delivery-id of a new delivery; the next one if it does not carry one."""
    expected = session.deliveries.next_delivery_id
    if body.delivery_id is None:
        return expected
    return body.delivery_id if expected is None else unwrap(body.delivery_id, expected)


def apply_transfer(event: Event, body: Transfer) -> None:
    """Let a transfer take effect."""
    session, link, delivery, frame = event.session, event.link, event.delivery, event.frame
    if session is None:
        return
    session.sending.count(event.mark.end)
    if link is None or delivery is None:
        return
    if link.attach is None:
        session.handles.setdefault(link.handle, link)
    if event.kinds & kinds.FIRST:
        session.deliveries.begin(delivery)
        link.sending.begin(delivery)
        if event.kinds & _LISTED:
            note_resumed(link, body)
    sending = link.sending
    delivery.last_mark = event.mark
    sending.last_mark = event.mark
    session.sending.last_mark = event.mark
    if body.rcv_settle_mode is not None:
        delivery.rcv_settle_mode = body.rcv_settle_mode
    going_on = bool(body.more) and not body.aborted
    delivery.add(event.payload, frame.missing, going_on)
    event.transfers, event.octets, event.earlier = delivery.transfers, delivery.size, delivery.parts
    if body.state is not None:
        settlement.state_by_sender(delivery, body.state, event.mark)
    if body.settled:
        delivery.sent_settled = True
        settlement.settle_by_sender(delivery, event.mark)
    if going_on:
        if sending.open_delivery is not delivery:
            sending.interrupted = sending.open_delivery
            sending.open_delivery = delivery
    else:
        end_delivery(event, session, link, delivery, bool(body.aborted))
        if frame.unit.faults:
            # Whether more was to follow may be among what could not be read.
            sending.lost = True


def note_resumed(link: LinkEnd, body: Transfer) -> None:
    """A delivery that was listed as unsettled comes back, or a new one that should not be there."""
    pair = link.pair
    if body.resume:
        if body.delivery_tag is not None:
            link.sending.resumed.add(body.delivery_tag)
    elif pair is not None and pair.attach is not None and pair.attach.incomplete_unsettled:
        pair.receiving.breach = link.session.owner.last_mark


def end_delivery(
    event: Event, session: SessionEnd, link: LinkEnd, delivery: Delivery, aborted: bool
) -> None:
    """The last transfer of a delivery, or its abort."""
    link.sending.end(delivery, aborted)
    if aborted:
        delivery.aborted = True
        delivery.lose()
        settlement.settle_by_sender(delivery, event.mark)
        session.deliveries.finish(delivery)
        return
    delivery.complete = True
    delivery.parts = NO_PARTS
    message = event.message
    if message is not None and delivery.snd_settled is None and len(message) <= MAX_KEPT:
        delivery.content = message
    if delivery.snd_settled:
        session.deliveries.finish(delivery)
