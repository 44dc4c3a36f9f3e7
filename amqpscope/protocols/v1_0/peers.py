"""AMQP 1.0 as both peers see it, when the proxy takes frames out, puts some in, or ends links."""

from __future__ import annotations

from typing import Final, cast

from amqpscope.protocols.peers import Action, CannotApplyError, Output, PeerView, Written
from amqpscope.protocols.v1_0.peers_edit import (
    encoded_fields,
    field_changes,
    read_settings,
    rebuild,
    with_channel,
)
from amqpscope.protocols.v1_0.peers_sessions import Link, Session
from amqpscope.stream.framer import Frame
from dissectors.notation_scanner import NotationError
from dissectors.v1_0.bodies import (
    Accepted,
    Attach,
    Begin,
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Modified,
    Open,
    Rejected,
    Released,
    Transfer,
)
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.framing import Unit, decode_unit
from dissectors.v1_0.values import Symbol

U32: Final = 1 << 32
CONDITIONS: Final = {
    "detach": "amqp:link:detach-forced",
    "end": "amqp:internal-error",
    "close": "amqp:connection:forced",
    "reject": "amqp:internal-error",
}
"""The error of an action that names none."""


class Peers(PeerView):
    """Both peers of one connection."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.gone = [False, False]
        """Which peers the proxy has sent a close, and has not been answered by."""
        self.closed = False
        """The proxy has closed the connection."""
        self.opened = [False, False]
        self.idle_time_out = [0, 0]
        """Milliseconds, as each peer announced them."""
        self.pending: Error | None = None
        """The error with which the connection is closed as soon as both peers have opened it."""
        self.inserted = 0

    @property
    def is_over(self) -> bool:
        """Whether a connection that the proxy closed has been closed by both peers."""
        return self.closed and not any(self.gone)

    @property
    def is_open(self) -> bool:
        """Whether both peers have opened the connection."""
        return all(self.opened)

    def patience_of(self, side: int) -> tuple[float, str]:
        """After how many seconds of silence a peer may close, and what says so; 0: never."""
        return self.idle_time_out[side] / 1000, "idle-time-out"

    def session_of(self, side: int, channel: int) -> Session | None:
        """The session that a peer uses a channel for."""
        for session in reversed(self.sessions):
            if session.channels[side] == channel and not session.ended[side]:
                return session
        return None

    # Frames that pass

    def translate(self, frame: Frame) -> list[Output]:
        """What is sent in the place of a frame that passes."""
        side, unit = frame.sender, cast(Unit, frame.unit)
        body = unit.body
        if self.closed:
            if isinstance(body, Close):
                self.gone[side] = False
            return []
        if body is None or unit.faults:
            return [Output(1 - side, frame.raw)]
        if isinstance(body, Begin):
            return self.begin(side, frame, unit, body)
        session = self.session_of(side, unit.channel)
        if session is None:
            return self.pass_connection_frame(side, frame, body)
        if session.gone[side]:
            if isinstance(body, End):
                session.gone[side] = False
                self.end_side(session, side)
            return []
        return self.pass_session_frame(session, side, frame, unit, body)

    def pass_connection_frame(self, side: int, frame: Frame, body: Body) -> list[Output]:
        """A frame that belongs to no session."""
        passed = [Output(1 - side, frame.raw)]
        if isinstance(body, Open):
            self.opened[side] = True
            self.idle_time_out[side] = body.idle_time_out or 0
            if self.pending is not None and all(self.opened):
                return [*passed, *self.close_both(self.pending)]
        return passed

    def pass_session_frame(
        self, session: Session, side: int, frame: Frame, unit: Unit, body: Body
    ) -> list[Output]:
        """A frame of a session that both peers may use."""
        attaches = isinstance(body, Attach) and session.awaits_detach(side, body.name)
        if session.parked[side] or attaches:
            session.parked[side].append(frame)
            return []
        if isinstance(body, Transfer):
            return self.transfer(session, side, frame, unit, body)
        if isinstance(body, Disposition):
            return self.disposition(session, side, frame, unit, body)
        if isinstance(body, Flow):
            return self.flow(session, side, frame, unit, body)
        passed = [Output(1 - side, frame.raw)]
        if isinstance(body, Attach):
            link = session.attach(side, body)
            if link.pending is not None and link.attached:
                return [*passed, *self.detach_both(link, cast(Error, link.pending))]
        elif isinstance(body, Detach):
            gone = session.link_of(side, body.handle)
            if gone is not None:
                swallowed = gone.gone[side]
                gone.gone[side], gone.detached[side] = False, True
                if all(gone.detached):
                    session.forget(gone)
                return self.unpark(session, 1 - side) if swallowed else passed
        elif isinstance(body, End):
            self.end_side(session, side)
        return passed

    def unpark(self, session: Session, side: int) -> list[Output]:
        """What a peer sent while its partner had not answered a detach."""
        parked, session.parked[side] = session.parked[side], []
        return [output for frame in parked for output in self.translate(frame)]

    def begin(self, side: int, frame: Frame, unit: Unit, body: Begin) -> list[Output]:
        """A peer begins a session, or answers its partner's begin."""
        session = None
        if body.remote_channel is not None:
            session = self.session_of(1 - side, body.remote_channel)
        if session is None:
            session = Session()
            self.sessions.append(session)
        session.channels[side] = unit.channel
        session.next_outgoing[side] = body.next_outgoing_id or 0
        session.windows[side] = body.incoming_window or 0, body.outgoing_window or 0
        passed = [Output(1 - side, frame.raw)]
        if session.pending is not None and session.begun:
            passed += self.end_both(session, cast(Error, session.pending))
        return passed

    def end_side(self, session: Session, side: int) -> None:
        """A peer has ended a session."""
        session.ended[side] = True
        if all(session.ended):
            self.sessions.remove(session)

    def flow(
        self, session: Session, side: int, frame: Frame, unit: Unit, body: Flow
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

    def transfer(
        self, session: Session, side: int, frame: Frame, unit: Unit, body: Transfer
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
            outputs = [Output(1 - side, self.renumber(session, side, frame.raw, unit, body))]
        if not body.more or body.aborted:
            outputs += self.finish_delivery(link, body)
        return outputs

    def renumber(
        self, session: Session, side: int, raw: bytes, unit: Unit, body: Transfer
    ) -> bytes:
        """A transfer with the delivery-id that its receiver expects."""
        numbers = session.maps[side]
        if numbers.trivial or body.delivery_id is None:
            return raw
        number = numbers.to_receiver(session.serials[side].unwrap(body.delivery_id))
        if number is None or number % U32 == body.delivery_id:
            return raw
        return rebuild(raw, unit, field_changes(body, {"delivery-id": number % U32}))

    def finish_delivery(self, link: Link, body: Transfer) -> list[Output]:
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

    def disposition(
        self, session: Session, side: int, frame: Frame, unit: Unit, body: Disposition
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

    # What faults do

    def transfer_of(self, frame: Frame, what: str) -> tuple[Session, Link, Transfer]:
        """The session and link of a transfer that a fault takes out."""
        unit = cast(Unit, frame.unit)
        body = unit.body
        session = self.session_of(frame.sender, unit.channel)
        if not isinstance(body, Transfer) or session is None or unit.faults:
            raise CannotApplyError(f"{what} is for a transfer")
        link = session.link_of(frame.sender, body.handle)
        if link is None or link.sender != frame.sender or not link.attached:
            raise CannotApplyError(f"{what}: the link of this transfer is not known")
        return session, link, body

    def withhold(self, frame: Frame) -> list[Output]:
        """Do not pass a frame on; a delivery that is one frame is missing in no count."""
        body = cast(Unit, frame.unit).body
        if isinstance(body, Transfer) and not body.more:
            try:
                _, link, _ = self.transfer_of(frame, "drop")
            except CannotApplyError:
                return []
            if link.delivery is None:
                link.withheld = True
        return [each for each in self.translate(frame) if each.forged]

    def duplicate(self, frame: Frame) -> list[Output]:
        """Pass a frame on twice; a delivery that is one frame as two deliveries."""
        body = cast(Unit, frame.unit).body
        if not isinstance(body, Transfer) or body.more:
            return super().duplicate(frame)
        session, link, _ = self.transfer_of(frame, "duplicate")
        if link.delivery is not None:
            return super().duplicate(frame)
        require_credit(link, 2)
        passed = self.translate(frame)
        tag = (body.delivery_tag or b"")[:30] + b"\xffd"
        changes = field_changes(body, {"delivery-tag": tag})
        copy = rebuild(frame.raw, cast(Unit, frame.unit), changes)
        return [*passed, *self.insert_transfer(session, link, copy)]

    def insert_transfer(self, session: Session, link: Link, raw: bytes) -> list[Output]:
        """Put in a delivery of our own, under the next number that is legal."""
        sender = link.sender
        if link.delivery is not None:
            raise CannotApplyError("a delivery is under way on this link")
        require_credit(link, 1)
        number = session.maps[sender].insert(session.next_delivery(sender))
        unit = decode_unit(raw)
        body = cast(Transfer, unit.body)
        changes = field_changes(body, {"delivery-id": number % U32})
        session.hidden[sender] -= 1
        link.hidden -= 1
        flow = encode_frame(session.flow_for(link), session.channels[link.receiver] or 0)
        return [
            Output(link.receiver, rebuild(raw, unit, changes), forged=True),
            Output(sender, flow, forged=True),
        ]

    def change(self, frame: Frame, notation: str) -> list[Output]:
        """Pass a frame on with other values in its fields."""
        body = cast(Unit, frame.unit).body
        if body is None:
            raise CannotApplyError("this frame has no fields")
        try:
            changes = read_settings(notation, body.row)
        except NotationError as error:
            raise CannotApplyError(f"{error.reason} of {body.row.name}") from error
        outputs = []
        for output in self.translate(frame):
            if output.forged:
                outputs.append(output)
            else:
                octets = rebuild(output.octets, decode_unit(output.octets), changes)
                outputs.append(Output(output.to, octets, forged=True))
        return outputs

    def merge(self, frame: Frame, passed: Output, edited: bytes) -> bytes:
        """An edited frame, with the numbers that the frame itself would have been passed with."""
        unit = decode_unit(edited)
        bodies = cast(Unit, frame.unit).body, decode_unit(passed.octets).body, unit.body
        if passed.octets == frame.raw or len({type(body) for body in bodies}) > 1:
            return edited
        sent, shown, wanted = (encoded_fields(body) for body in bodies)
        kept = {
            place: octets
            for place, octets in shown.items()
            if octets != sent.get(place) and sent.get(place) == wanted.get(place)
        }
        return rebuild(edited, unit, kept) if kept else edited

    def write(self, frame: Frame, written: Written, to: int) -> list[Output]:
        """Put in a frame; its channel, handle and delivery-id default to what is right there."""
        if written.family != "v1_0":
            raise CannotApplyError(f"{written.name} is no frame of AMQP 1.0")
        raw = written.octets
        unit = decode_unit(raw)
        body = unit.body
        if body is None or "frame" not in body.row.provides or unit.header is not None:
            return [Output(to, raw, forged=True)]
        session = self.session_of(frame.sender, frame.unit.channel)
        speaker = 1 - to
        if body.row.name in ("open", "close"):
            return [Output(to, raw, forged=True)]
        if session is not None and not written.channelled:
            raw = with_channel(raw, session.channels[speaker] or 0)
        matched = cast(Unit, frame.unit).body
        places = [field.name for field in body.row.fields]
        if session is None or matched is None or "handle" not in places:
            return [Output(to, raw, forged=True)]
        handle = getattr(matched, "handle", None)
        named = body[places.index("handle")]
        link = session.link_of(frame.sender, handle)
        if named is not None:
            link = session.link_of(speaker, named)
        elif link is not None:
            changes = field_changes(body, {"handle": link.handles[speaker]})
            raw = rebuild(raw, decode_unit(raw), changes)
        if isinstance(body, Transfer) and body.delivery_id is None and link is not None:
            return self.write_transfer(session, link, raw, speaker)
        return [Output(to, raw, forged=True)]

    def write_transfer(
        self, session: Session, link: Link, raw: bytes, speaker: int
    ) -> list[Output]:
        """Put in a transfer that does not name its delivery-id."""
        if link.sender != speaker:
            raise CannotApplyError("the peer that would send this transfer is its link's receiver")
        unit = decode_unit(raw)
        body = cast(Transfer, unit.body)
        if body.delivery_tag is None:
            self.inserted += 1
            tag = b"amqpscope-%d" % self.inserted
            raw = rebuild(raw, unit, field_changes(body, {"delivery-tag": tag}))
        return self.insert_transfer(session, link, raw)

    def settle(self, frame: Frame, action: Action) -> list[Output]:
        """Answer a delivery in its receiver's place; what passed of it already is aborted."""
        session, link, body = self.transfer_of(frame, action.kind)
        if link.withheld:
            return [each for each in self.translate(frame) if each.forged]
        outputs = []
        if link.delivery is not None:
            # Its beginning has passed: the receiver has to forget it, and counts it as we do.
            unit = cast(Unit, frame.unit)
            changes = field_changes(body, {"more": False, "aborted": True})
            octets = rebuild(frame.raw, unit, changes, payload=False)
            outputs.append(Output(link.receiver, octets, forged=True))
            session.hidden[frame.sender] -= 1
        link.withheld, link.owes_answer, link.answer = True, True, outcome(action)
        return [*outputs, *[each for each in self.translate(frame) if each.forged]]

    def end(self, frame: Frame, action: Action) -> list[Output]:
        """Pass a frame on, then end what it belongs to for both peers."""
        error = error_of(action)
        unit = cast(Unit, frame.unit)
        session = self.session_of(frame.sender, unit.channel)
        if action.kind == "close":
            if self.closed or self.pending is not None:
                raise CannotApplyError("the connection is closed already")
            self.pending = error
            passed = self.translate(frame)
            if any(each.forged for each in passed) or not all(self.opened):
                return passed
            return [*passed, *self.close_both(error)]
        passed = self.translate(frame)
        session = session or self.session_of(frame.sender, unit.channel)
        if session is None:
            return self.refuse_end(action, "session", passed)
        if action.kind == "end":
            if any(session.gone) or any(session.ended):
                return self.refuse_end(action, "session that is not ended", passed)
            session.pending = error
            return [*passed, *(self.end_both(session, error) if session.begun else [])]
        link = session.link_of(frame.sender, getattr(unit.body, "handle", None))
        if link is None or any(link.gone) or any(link.detached):
            return self.refuse_end(action, "link that is attached", passed)
        link.pending = error
        return [*passed, *(self.detach_both(link, error) if link.attached else [])]

    def refuse_end(self, action: Action, what: str, passed: list[Output]) -> list[Output]:
        """A frame that was passed on belongs to nothing that could be ended."""
        raise CannotApplyError(f"{action.kind}: this frame belongs to no {what}", passed)

    def detach_both(self, link: Link, error: Error) -> list[Output]:
        """Detach a link from both peers."""
        outputs = []
        for side in (0, 1):
            channel = link.session.channels[1 - side] or 0
            detach = Detach(handle=link.handles[1 - side], closed=True, error=error)
            outputs.append(Output(side, encode_frame(detach, channel), forged=True))
            link.gone[side] = True
        link.pending = None
        return outputs

    def end_both(self, session: Session, error: Error) -> list[Output]:
        """End a session for both peers."""
        outputs = []
        for side in (0, 1):
            channel = session.channels[1 - side] or 0
            outputs.append(Output(side, encode_frame(End(error=error), channel), forged=True))
            session.gone[side] = True
        session.pending = None
        return outputs

    def close_both(self, error: Error) -> list[Output]:
        """Close the connection for both peers."""
        self.closed, self.pending, self.gone = True, None, [True, True]
        octets = encode_frame(Close(error=error))
        return [Output(side, octets, forged=True) for side in (0, 1)]


def require_credit(link: Link, messages: int) -> None:
    """Refuse to put in a message that the receiver does not take."""
    if link.remaining < messages:
        raise CannotApplyError(f"the receiver of link {link.name!r} takes no more messages now")


def outcome(action: Action) -> Body:
    """The delivery state of an action."""
    if action.kind == "accept":
        return Accepted()
    if action.kind == "release":
        return Released()
    if action.kind == "modify":
        values = action.values
        return Modified(
            True if values.get("delivery-failed") == "true" else None,
            True if values.get("undeliverable-here") == "true" else None,
        )
    if action.kind in ("reject", "nack"):
        return Rejected(error_of(action))
    raise CannotApplyError(f"AMQP 1.0 has no {action.kind}")


def error_of(action: Action) -> Error:
    """The error of an action."""
    usual = CONDITIONS.get(action.kind, "amqp:internal-error")
    condition = Symbol(action.values.get("condition", usual))
    return Error(condition, action.values.get("description", "a fault of amqpscope proxy"))
