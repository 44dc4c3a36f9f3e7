"""What is out of the ordinary about a transfer, disposition or flow, found in one look.

Nearly all of them are as they should be, and there are hundreds of thousands; so the rules about
them run only where something here is not plainly in order. To call an ordinary frame odd costs a
little time and nothing else: the rules judge.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import Grants
from amqpscope.model.ledger import WRONG_COUNT, WRONG_INCOMING_ID
from amqpscope.model.serial import HALF, unwrap, wire
from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0.credit import known_count
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.flows import UNSURE, incoming_id, known_transfers
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import MIXED, RECEIVER, SECOND, SETTLED
from dissectors.v1_0.bodies import Disposition, Flow, Transfer

_SPECIAL: Final = kinds.RESUME | kinds.ABORTED | kinds.STATE | kinds.UNATTACHED | kinds.MALFORMED


def of_transfer(
    event: Event, session: SessionEnd, link: LinkEnd, delivery: Delivery, body: Transfer
) -> int:
    """The kinds that a transfer is of beside the plain ones."""
    if event.kinds & kinds.FIRST:
        plain = plain_first(event, session, link, delivery, body)
        found = 0 if within_credit(event, link) else kinds.OVERRUN
    else:
        plain = plain_continuation(event, link, delivery, body)
        found = 0
    if not plain:
        found |= kinds.ODD_TRANSFER
    if not within_window(event, session):
        found |= kinds.OVERRUN
    return found


def plain_first(
    event: Event, session: SessionEnd, link: LinkEnd, delivery: Delivery, body: Transfer
) -> bool:
    """The first transfer of a delivery has what it should, and no more."""
    tag, sending = body.delivery_tag, link.sending
    expected = session.deliveries.next_delivery_id
    if event.kinds & _SPECIAL or tag is None or body.delivery_id is None:
        return False
    return (
        body.message_format is not None
        and body.rcv_settle_mode is None
        and (expected is None or expected == delivery.number)
        and sending.open_delivery is None
        and sending.interrupted is None
        and tag not in sending.unsettled
        and (tag not in sending.freed or event.knew(sending.freed[tag].rcv_settled))
        and len(event.payload) > 0
        and plain_settled(link, bool(body.settled), bool(body.more))
        and fits(event, link, delivery)
    )


def plain_continuation(event: Event, link: LinkEnd, delivery: Delivery, body: Transfer) -> bool:
    """A later transfer repeats its delivery's names, if anything, and nothing else."""
    settled = delivery.sent_settled
    return (
        not event.kinds & _SPECIAL
        and delivery is link.sending.open_delivery
        and (body.delivery_id is None or body.delivery_id == delivery.delivery_id)
        and (body.delivery_tag is None or body.delivery_tag == delivery.tag)
        and (body.message_format is None or body.message_format == delivery.message_format)
        and body.rcv_settle_mode is None
        and (body.settled is None or bool(body.settled) == settled)
        and delivery.size + len(event.payload) > 0
        and plain_settled(link, settled or bool(body.settled), bool(body.more))
        and fits(event, link, delivery)
    )


def plain_settled(link: LinkEnd, settled: bool, more: bool) -> bool:
    """What the transfers say of settlement is what the sender's mode lets them."""
    mode = link.terms.snd_settle_mode
    return mode == MIXED or more or settled == (mode == SETTLED)


def fits(event: Event, link: LinkEnd, delivery: Delivery) -> bool:
    """The delivery is no larger than the receiver takes."""
    pair = link.pair
    most = 0 if pair is None else pair.terms.max_message_size
    return not most or delivery.size + len(event.payload) <= most


def within_credit(event: Event, link: LinkEnd) -> bool:
    """The newest credit lets the sender begin a delivery."""
    pair, count = link.pair, link.sending.count_low
    if pair is None or count is None:
        return False
    return allows(pair.receiving.credit, count, event.known)


def within_window(event: Event, session: SessionEnd) -> bool:
    """The newest windows of both sides have room for a transfer."""
    pair, sending = session.pair, session.sending
    number, own, start = sending.next_outgoing_id, sending.outgoing_window, sending.announced_id
    if pair is None or number is None or own is None or start is None:
        return False
    return number - start < own and allows(pair.receiving.window, number, event.known)


def allows(grants: Grants, number: int, known: int) -> bool:
    """The newest grant is known and allows a number."""
    entries = grants.entries
    if not entries or grants.unsure:
        return False
    newest = entries[-1]
    return newest.limit > number and newest.end <= known


def plain_flow(event: Event, session: SessionEnd, body: Flow) -> bool:
    """A receiver's flow that goes on as the flows before it, or one for the session alone."""
    if event.kinds & UNSURE or body.echo or body.drain or body.available:
        return False
    if not plain_session(event, session, body):
        return False
    link = event.link
    if link is None:
        return (
            body.handle is None
            and body.delivery_count is None
            and body.link_credit is None
            and body.available is None
            and body.drain is None
            and body.properties is None
        )
    return link.role is RECEIVER and plain_credit(event, link, body)


def plain_session(event: Event, session: SessionEnd, body: Flow) -> bool:
    """The transfer-ids of a flow are as they were counted."""
    pair, said, before = session.pair, body.next_incoming_id, session.receiving.next_incoming_id
    sending = session.sending
    own = sending.next_outgoing_id
    if pair is None or said is None or before is None or own is None or sending.miscounted:
        return False
    sender = pair.sending
    if body.next_outgoing_id != wire(own) or sender.miscounted or event.ahead:
        return False
    if session.reported.has(WRONG_INCOMING_ID):
        return False
    value = incoming_id(said, sender)
    sent = known_transfers(event, sender)
    if sent is None or not before <= value <= sent:
        return False
    flow = pair.flow
    announced = None if flow is None else flow.next_outgoing_id
    return announced is None or value >= incoming_id(announced, sender)


def plain_credit(event: Event, link: LinkEnd, body: Flow) -> bool:
    """The delivery-count of a receiver's flow follows the sender's, and there is credit."""
    pair, said, credit = link.pair, body.delivery_count, body.link_credit
    before = link.receiving.last_count
    if pair is None or said is None or before is None or credit is None or credit >= HALF:
        return False
    sender = pair.sending
    peak = sender.count_peak
    if peak is None or sender.count_high is None or sender.miscounted:
        return False
    if link.reported.has(WRONG_COUNT):
        return False
    return before <= unwrap(said, peak) <= known_count(event, sender, peak)


def of_disposition(event: Event, body: Disposition) -> int:
    """ODD_DISPOSITION if there is anything to say about a disposition; else 0."""
    found = event.covered
    if not body.settled or len(found) != event.last - event.first + 1:
        return kinds.ODD_DISPOSITION
    if body.role:
        if body.state is None:
            return kinds.ODD_DISPOSITION
        for delivery in found:
            if not plain_for_receiver(event, delivery):
                return kinds.ODD_DISPOSITION
        return 0
    for delivery in found:
        if delivery.snd_settled is not None or not delivery.complete or delivery.rcv_state is None:
            return kinds.ODD_DISPOSITION
        if delivery.snd_terminal is not None or delivery.link.is_detached:
            return kinds.ODD_DISPOSITION
    return 0


def plain_for_receiver(event: Event, delivery: Delivery) -> bool:
    """A whole unsettled delivery that the receiver may settle as it likes."""
    receiver = delivery.link.pair
    return (
        delivery.settled is None
        and delivery.complete
        and delivery.rcv_terminal is None
        and delivery.mark.end <= event.known
        and delivery.rcv_settle_mode is None
        and receiver is not None
        and not receiver.is_detached
        and receiver.terms.rcv_settle_mode != SECOND
    )
