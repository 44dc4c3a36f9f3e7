"""Credit, messages and outcomes of a replayed peer of AMQP 1.0, as the live peer allows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from amqpscope.protocols.replay_acts import Refused
from amqpscope.protocols.v1_0.replay_live import LiveLink, LiveSession
from amqpscope.protocols.v1_0.replay_mend import with_fields
from amqpscope.protocols.v1_0.replay_message import substitute
from amqpscope.protocols.v1_0.replay_script import (
    Delivery,
    Grant,
    Piece,
    Verdict,
)
from dissectors.v1_0.bodies import (
    Disposition,
    Error,
    Rejected,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.values import Map, Symbol, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay import Part10

SMALLEST: Final = 512
"""Octets of a frame that every peer takes (2.4.1)."""
USUAL_HEAD: Final = 512
"""Octets before the payload that are allowed for without a closer look."""
NO_LIMIT: Final = 0xFFFFFFFF
TAG: Final = "transfer.delivery-tag"


class DeliverySender:
    """Sends flow, transfer and disposition."""

    def __init__(self, part: Part10) -> None:
        self.part = part

    def send_flow(self, grant: Grant) -> None:
        """Grant credit or open the window, as far as was recorded beyond what has come by now."""
        session, link, body = grant.session.live, grant.link, grant.body
        assert session is not None
        session.window = max(1, body.incoming_window or 0)
        session.outgoing_window = body.outgoing_window or 0
        live = None if link is None else link.live
        if live is None:
            self.part.emit(session.flow(), session.channels[0] or 0)
            return
        if live.sends:
            self.send_sender_flow(live, drained=bool(body.drain))
            return
        credit = (body.link_credit or 0) - (live.received - grant.received)
        credit = min(max(0, credit), NO_LIMIT)
        live.granted = live.received + credit
        self.part.emit(
            with_fields(
                session.flow(),
                handle=live.handles[0],
                delivery_count=live.delivery_count if live.counted else None,
                link_credit=credit,
                drain=body.drain,
                echo=body.echo,
                properties=self.properties_now(body.properties),
            ),
            session.channels[0] or 0,
        )

    def properties_now(self, properties: Value) -> Value:
        """The properties of a flow, with the transaction as it is called now."""
        if not isinstance(properties, Map):
            return properties
        return Map((key, self.part.values.get(value, value)) for key, value in properties)

    def send_sender_flow(self, live: LiveLink, *, drained: bool = False) -> None:
        """Say what is left of the credit; of one that is drained, nothing."""
        session = live.session
        draining = live.draining
        if drained and draining:
            live.delivery_count = (live.delivery_count + live.credit) & 0xFFFFFFFF
            live.credit, live.draining = 0, False
        self.part.emit(
            with_fields(
                session.flow(),
                handle=live.handles[0],
                delivery_count=live.delivery_count,
                link_credit=live.credit,
                drain=draining or None,
            ),
            session.channels[0] or 0,
        )

    def send_transfer(self, piece: Piece) -> bytes:
        """Send a transfer, in as many as the live peer's frame size asks for; what is left."""
        body, payload = piece.body, piece.payload
        live = piece.delivery.link.live
        assert live is not None
        if piece.begins and (self.part.values or self.part.names) and not body.more:
            payload = substitute(payload, self.part.values, self.part.names)
        frame = with_fields(
            body,
            handle=live.handles[0],
            delivery_id=live.session.next_delivery_id if piece.begins else None,
            delivery_tag=body.delivery_tag if not piece.begins else body.delivery_tag or b"0",
            state=self.state_now(body.state),
        )
        try:
            rest = self.split(piece, live, frame, payload)
        except Refused as refused:
            if piece.begins and live.sending is None and refused.finding.path == TAG:
                tag = b"amqpscope-%d" % live.session.next_delivery_id
                rest = self.split(piece, live, with_fields(frame, delivery_tag=tag), payload)
            else:
                self.abort(live)
                raise
        if not rest and (not body.more or body.aborted):
            self.end_delivery(live)
        return rest

    def split(self, piece: Piece, live: LiveLink, frame: Transfer, payload: bytes) -> bytes:
        """Write a transfer as several, where one would be too large; what the window leaves."""
        session = live.session
        peer = self.part.opens[1]
        limit = SMALLEST if peer is None else max(peer.max_frame_size or NO_LIMIT, SMALLEST)
        channel = session.channels[0] or 0
        while True:
            part, payload = payload, b""
            if len(part) + USUAL_HEAD > limit:
                part, payload = cut(frame, part, limit, channel)
            self.part.emit(unfinished(frame) if payload else frame, channel, part)
            if frame.delivery_id is not None:
                self.begin_delivery(piece.delivery, live)
            session.next_outgoing_id = (session.next_outgoing_id + 1) & 0xFFFFFFFF
            session.remote_window -= 1
            if not payload or (session.remote_window <= 0 and not self.part.choices.exact):
                return payload
            frame = with_fields(frame, delivery_id=None, delivery_tag=None)

    def begin_delivery(self, delivery: Delivery, live: LiveLink) -> None:
        """Count a delivery of ours that has begun."""
        session = live.session
        self.part.messages[self.part.side] += 1
        number = live.sending = session.next_delivery_id
        session.next_delivery_id = (number + 1) & 0xFFFFFFFF
        live.delivery_count = (live.delivery_count + 1) & 0xFFFFFFFF
        live.credit -= 1
        delivery.sent = True
        live.outgoing[delivery.place] = number
        if not delivery.settled:
            session.outgoing[number] = delivery

    def end_delivery(self, live: LiveLink) -> None:
        """A delivery of ours is complete, or aborted."""
        live.sending = None
        if live.draining and live.credit <= 0:
            live.draining = False

    def abort(self, live: LiveLink) -> None:
        """Take back a delivery of which a part was sent."""
        if live.sending is not None:
            session = live.session
            session.outgoing.pop(live.sending, None)
            self.part.emit(Transfer(live.handles[0], aborted=True), session.channels[0] or 0)
            session.next_outgoing_id = (session.next_outgoing_id + 1) & 0xFFFFFFFF
            session.remote_window -= 1
            self.end_delivery(live)

    def state_now(self, state: Value) -> Value:
        """A delivery state with the transaction as it is called now."""
        if isinstance(state, TransactionalState) and state.txn_id in self.part.values:
            return with_fields(state, txn_id=self.part.values[state.txn_id])
        return state

    def send_disposition(self, verdict: Verdict) -> None:
        """Answer the deliveries that a recorded disposition speaks of, under their numbers now."""
        body, session = verdict.body, verdict.session.live
        assert session is not None
        numbers: dict[int, Delivery] = {}
        for delivery in verdict.deliveries:
            delivery.verdict = body
            live = delivery.link.live
            if live is None:
                continue
            if body.role:
                found = live.incoming.get(delivery.place)
                if found is not None and not found.settled and live.handles[0] is not None:
                    numbers[found.number] = delivery
            else:
                number = live.outgoing.get(delivery.place)
                if number is not None and number in session.outgoing:
                    numbers[number] = delivery
        for first, last in ranges(list(numbers)):
            made = with_fields(
                body, first=first, last=None if first == last else last,
                state=self.state_now(body.state),
            )  # fmt: skip
            self.dispose(session, made, numbers[first])
            if body.settled:
                self.settle_range(session, body, first, last)

    def dispose(self, session: LiveSession, body: Disposition, delivery: Delivery) -> None:
        """Send a disposition; where it breaks a rule of transactions, the nearest legal one."""
        channel = session.channels[0] or 0
        try:
            self.part.write(body, channel)
        except Refused as refused:
            state = legal_state(body, delivery)
            self.part.emit(body if state is None else with_fields(body, state=state), channel)
            if state is not None:
                self.part.note_change(f"is sent with another state: {refused}")

    def settle_range(self, session: LiveSession, body: Disposition, first: int, last: int) -> None:
        """Forget deliveries that we have settled."""
        for number in range(first, last + 1):
            if body.role:
                found = session.incoming.pop(number, None)
                if found is not None:
                    found.settled = True
            else:
                session.outgoing.pop(number, None)


def legal_state(body: Disposition, delivery: Delivery) -> Value:
    """What to say of a delivery in a transaction, or of a request to a coordinator, instead."""
    if not body.role:
        return None
    if delivery.link.address == "coordinator":
        return Rejected(Error(Symbol("amqp:not-allowed"), "the recorded answer is not legal"))
    live = delivery.link.live
    coming = None if live is None else live.incoming.get(delivery.place)
    state = None if coming is None else coming.state
    if isinstance(state, TransactionalState) and not isinstance(body.state, TransactionalState):
        return TransactionalState(state.txn_id, body.state)
    return None


def cut(frame: Transfer, payload: bytes, limit: int, channel: int) -> tuple[bytes, bytes]:
    """What of a payload has room in a frame of so many octets, and what is left."""
    if len(encode_frame(frame, channel)) + len(payload) <= limit:
        return payload, b""
    room = max(1, limit - len(encode_frame(unfinished(frame), channel)))
    return payload[:room], payload[room:]


def unfinished(frame: Transfer) -> Transfer:
    """A transfer that others follow: the first one says in which format the message is (2.7.5)."""
    begins = frame.delivery_id is not None
    message_format = 0 if begins and frame.message_format is None else frame.message_format
    return cast(Transfer, with_fields(frame, more=True, message_format=message_format))


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Numbers as ranges of neighbours, in order."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
