"""Frames of AMQP 1.0 with the numbers that their receiver expects.

Where the proxy takes a delivery out, or puts one in, the peers no longer count alike: delivery-ids,
delivery-counts and transfer-ids of all that follows are translated, here and in both directions.
"""

from __future__ import annotations

from typing import Final, cast

from amqpscope.protocols.peers import Output
from amqpscope.protocols.v1_0.peers_edit import field_changes, rebuild
from amqpscope.protocols.v1_0.peers_sessions import Link, Session, distance
from amqpscope.stream.framer import Frame
from dissectors.v1_0.bodies import Disposition, Flow, Transfer
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.framing import Unit, decode_unit
from dissectors.v1_0.values import Value

U32: Final = 1 << 32
MOST_COPIED: Final = 16 << 20
"""Octets of a delivery in several transfers that can be copied."""
LONGER: Final = 8
"""Octets by which a transfer may grow when it is to be continued."""


def translate_flow(
    session: Session, side: int, frame: Frame, unit: Unit, body: Flow
) -> list[Output]:
    """Translate what a flow counts."""
    session.windows[side] = body.incoming_window or 0, body.outgoing_window or 0
    changed: dict[str, int | bool | None] = {}
    if body.next_incoming_id is not None:
        session.received[side] = body.next_incoming_id
        if session.hidden[1 - side] or session.forged[side]:
            first, window = session.window_for(side)
            changed["next-incoming-id"], changed["incoming-window"] = first, window
        else:
            session.named_ids[side] = body.next_incoming_id
    if session.hidden[side] and body.next_outgoing_id is not None:
        changed["next-outgoing-id"] = (body.next_outgoing_id - session.hidden[side]) % U32
    link = session.link_of(side, body.handle)
    if link is not None and link.gone[side]:
        gone = ("handle", "delivery-count", "link-credit", "available", "drain", "properties")
        changed |= dict.fromkeys(gone)
    elif link is not None and side == link.receiver:
        changed |= translate_credit(link, body)
    elif link is not None and body.delivery_count is not None:
        link.count = body.delivery_count  # a sender that drains its credit counts it as used
        if link.hidden:
            changed["delivery-count"] = (body.delivery_count - link.hidden) % U32
    changed = {name: value for name, value in changed.items() if value != flow_field(body, name)}
    if not changed:
        return [Output(1 - side, frame.raw)]
    return [Output(1 - side, rebuild(frame.raw, unit, field_changes(body, changed)))]


def flow_field(body: Flow, name: str) -> Value:
    """A field of a flow."""
    return cast(Value, getattr(body, name.replace("-", "_")))


def translate_credit(link: Link, body: Flow) -> dict[str, int | bool | None]:
    """The credit of a flow, counted from what the sender last knew it to be."""
    count, credit = body.delivery_count, body.link_credit
    if credit is not None:
        link.credit = link.count - link.hidden if count is None else count, credit
    if count is None:
        return {}
    count = (count + link.hidden) % U32
    named = link.named_count
    if named is not None and credit is not None and distance(named, count) < 0:
        credit, count = max(0, credit + distance(named, count)), named
    return {"delivery-count": count, "link-credit": credit}


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
    outputs: list[Output] = []
    if link.withheld or link.gone[side]:
        session.hidden[side] += 1
        if first and link.delivery is not None:
            session.maps[side].hide(link.delivery)
            link.hidden += 1
    else:
        keep_part(link, frame.raw, first, bool(body.more))
        raw = renumber(session, side, frame.raw, unit, body)
        outputs = [Output(1 - side, each) for each in fit(session, side, raw)]
    if not body.more or body.aborted:
        outputs += finish_delivery(link, body)
    return outputs


def keep_part(link: Link, raw: bytes, first: bool, more: bool) -> None:
    """Keep a transfer of a delivery that may be copied when it is whole."""
    if first and (more or link.copied):
        link.parts, link.parts_size = [raw], len(raw)
    elif link.parts:
        link.parts.append(raw)
        link.parts_size += len(raw)
        if link.parts_size > MOST_COPIED:
            link.parts = []


def fit(session: Session, side: int, raw: bytes) -> list[bytes]:
    """A transfer that new numbers have made longer than its receiver takes, as two."""
    over = len(raw) - session.sizes[1 - side]
    if over <= 0:
        return [raw]
    unit = decode_unit(raw)
    body, cut = cast(Transfer, unit.body), len(raw) - over - LONGER
    if cut <= unit.payload:
        return [raw]
    session.promise(side)
    session.hidden[side] -= 1
    first = rebuild(raw[:cut], unit, field_changes(body, {"more": True}))
    rest = Transfer(handle=body.handle, settled=body.settled, more=body.more)
    return [first, encode_frame(rest, unit.channel, raw[cut:])]


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
    """The sender has sent all of a delivery: answer or copy it, where a fault asks for that."""
    outputs: list[Output] = []
    session, sender = link.session, link.sender
    link.count += 1
    number, parts, copied = link.delivery, link.parts, link.copied and not body.aborted
    if link.withheld and not link.gone[sender]:
        channel = session.channels[link.receiver] or 0
        if link.owes_answer and not body.settled and number is not None:
            answer = Disposition(True, number % U32, number % U32, True, link.answer)
            outputs.append(Output(sender, encode_frame(answer, channel), forged=True))
        if link.credit is not None:
            flow = encode_frame(session.flow_from(link.receiver, link), channel)
            outputs.append(Output(sender, flow, forged=True))
    link.delivery, link.withheld, link.answer = None, False, None
    link.owes_answer, link.copied, link.parts = False, False, []
    room = link.remaining and session.room_of(sender) >= len(parts)
    if copied and parts and room and not link.gone[sender]:
        outputs += insert_delivery(link, parts, copied_tag(parts[0]))
    return outputs


def copied_tag(raw: bytes) -> bytes:
    """The delivery-tag of a copy, which its sender is not likely to use itself."""
    body = cast(Transfer, decode_unit(raw).body)
    return (body.delivery_tag or b"")[:30] + b"\xffd"


def insert_delivery(link: Link, parts: list[bytes], tag: bytes) -> list[Output]:
    """Put in a delivery of our own, under the next number that is legal."""
    session, sender = link.session, link.sender
    link.promise()
    session.promise(sender)
    number = session.maps[sender].insert(session.next_delivery(sender))
    outputs = []
    for at, raw in enumerate(parts):
        unit = decode_unit(raw)
        ids: dict[str, Value] = {"delivery-id": None if at else number % U32}
        ids["delivery-tag"] = None if at else tag
        octets = rebuild(raw, unit, field_changes(cast(Transfer, unit.body), ids))
        fitting = fit(session, sender, octets)
        outputs += [Output(link.receiver, each, forged=True) for each in fitting]
    session.hidden[sender] -= len(parts)
    link.hidden -= 1
    channel = session.channels[link.receiver] or 0
    flow = encode_frame(session.flow_from(link.receiver, link), channel)
    return [*outputs, Output(sender, flow, forged=True)]


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
