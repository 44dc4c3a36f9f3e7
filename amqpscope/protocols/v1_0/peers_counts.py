"""Frames of AMQP 1.0 with the numbers that their receiver expects.

Where the proxy takes a delivery out, or puts one in, the peers no longer count alike: delivery-ids,
delivery-counts and transfer-ids of all that follows are translated, here and in both directions.
"""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.peers import Output
from amqpscope.protocols.v1_0.peers_edit import field_changes, rebuild
from amqpscope.protocols.v1_0.peers_sessions import Link, Session
from amqpscope.stream.framer import Frame
from dissectors.v1_0.bodies import Disposition, Flow, Transfer
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.framing import Unit

U32: Final = 1 << 32


def translate_flow(
    session: Session, side: int, frame: Frame, unit: Unit, body: Flow
) -> list[Output]:
    """Translate what a flow counts."""
    session.windows[side] = body.incoming_window or 0, body.outgoing_window or 0
    changed: dict[str, int | bool | None] = {}
    if session.hidden[1 - side] and body.next_incoming_id is not None:
        changed["next-incoming-id"] = (body.next_incoming_id + session.hidden[1 - side]) % U32
    if session.hidden[side] and body.next_outgoing_id is not None:
        changed["next-outgoing-id"] = (body.next_outgoing_id - session.hidden[side]) % U32
    link = session.link_of(side, body.handle)
    if link is not None and link.gone[side]:
        gone = ("handle", "delivery-count", "link-credit", "available", "drain", "properties")
        changed |= dict.fromkeys(gone)
    elif link is not None and body.delivery_count is not None:
        shift = link.hidden if side == link.receiver else -link.hidden
        if side == link.receiver and body.link_credit is not None:
            link.credit = body.delivery_count, body.link_credit
        if shift:
            changed["delivery-count"] = (body.delivery_count + shift) % U32
    elif link is not None and side == link.receiver and body.link_credit is not None:
        link.credit = link.count - link.hidden, body.link_credit
    if not changed:
        return [Output(1 - side, frame.raw)]
    return [Output(1 - side, rebuild(frame.raw, unit, field_changes(body, changed)))]


def translate_transfer(
    session: Session, side: int, frame: Frame, unit: Unit, body: Transfer
) -> list[Output]:
    """Translate the delivery-id of a transfer, unless its delivery is withheld."""
    session.next_outgoing[side] += 1
    link = session.link_of(side, body.handle)
    if link is None or link.sender != side:
        return [Output(1 - side, frame.raw)]
    first = link.delivery is None
    if first and body.delivery_id is not None:
        link.delivery = session.serials[side].meet(body.delivery_id)
    withheld = link.withheld or link.gone[side]
    outputs: list[Output] = []
    if withheld:
        session.hidden[side] += 1
        if first and link.delivery is not None:
            session.maps[side].hide(link.delivery)
            link.hidden += 1
    else:
        outputs = [Output(1 - side, renumber(session, side, frame.raw, unit, body))]
    if not body.more or body.aborted:
        outputs += finish_delivery(link, body)
    return outputs


def renumber(session: Session, side: int, raw: bytes, unit: Unit, body: Transfer) -> bytes:
    """A transfer with the delivery-id that its receiver expects."""
    numbers = session.maps[side]
    if numbers.trivial or body.delivery_id is None:
        return raw
    number = numbers.to_receiver(session.serials[side].unwrap(body.delivery_id))
    if number is None or number % U32 == body.delivery_id:
        return raw
    return rebuild(raw, unit, field_changes(body, {"delivery-id": number % U32}))


def finish_delivery(link: Link, body: Transfer) -> list[Output]:
    """The sender has sent all of a delivery: answer it, where the receiver does not get it."""
    outputs: list[Output] = []
    session, sender = link.session, link.sender
    link.count += 1
    number, withheld = link.delivery, link.withheld
    if withheld and not link.gone[sender]:
        channel = session.channels[link.receiver] or 0
        if link.owes_answer and not body.settled and number is not None:
            answer = Disposition(True, number % U32, number % U32, True, link.answer)
            outputs.append(Output(sender, encode_frame(answer, channel), forged=True))
        if link.credit is not None:
            flow = encode_frame(session.flow_for(link), channel)
            outputs.append(Output(sender, flow, forged=True))
    link.delivery, link.withheld = None, False
    link.answer, link.owes_answer = None, False
    return outputs


def translate_disposition(
    session: Session, side: int, frame: Frame, unit: Unit, body: Disposition
) -> list[Output]:
    """Translate the deliveries of a disposition; without those that one peer does not know."""
    owner = 1 - side if body.role else side
    numbers = session.maps[owner]
    if numbers.trivial or body.first is None:
        return [Output(1 - side, frame.raw)]
    serial = session.serials[owner]
    last = body.first if body.last is None else body.last
    if body.role:
        newest = serial.newest or 0
        # The receiver's numbers are near those of the newest delivery as it counts.
        near = numbers.to_receiver(newest)
        shift = 0 if near is None else near - newest
        first = serial.unwrap((body.first - shift) % U32) + shift
        found = numbers.ranges_to_sender(first, first + (last - body.first) % U32)
    else:
        first = serial.unwrap(body.first)
        found = numbers.ranges_to_receiver(first, first + (last - body.first) % U32)
    outputs = []
    for low, high in found:
        fields = {"first": low % U32, "last": None if low == high else high % U32}
        if low == high and body.last is not None:
            fields["last"] = low % U32
        octets = rebuild(frame.raw, unit, field_changes(body, fields))
        outputs.append(Output(1 - side, octets))
    return outputs
