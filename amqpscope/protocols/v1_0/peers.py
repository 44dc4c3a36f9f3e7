"""AMQP 1.0 as both peers see it, when the proxy takes frames out, puts some in, or ends links."""

from __future__ import annotations

from typing import cast

from amqpscope.protocols.peers import Action, CannotApplyError, Output, Written
from amqpscope.protocols.v1_0.peers_counts import U32
from amqpscope.protocols.v1_0.peers_edit import (
    encoded_fields,
    field_changes,
    read_settings,
    rebuild,
    with_channel,
)
from amqpscope.protocols.v1_0.peers_outcomes import error_of, outcome
from amqpscope.protocols.v1_0.peers_passing import PassingPeers
from amqpscope.protocols.v1_0.peers_sessions import Link, Session
from amqpscope.stream.framer import Frame
from dissectors.notation_scanner import NotationError
from dissectors.v1_0.bodies import Transfer
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.framing import Unit, decode_unit


class Peers(PassingPeers):
    """Both peers of one connection, and what faults do between them."""

    def __init__(self) -> None:
        super().__init__()
        self.inserted = 0
        """Transfers that were put in."""

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
        needed: dict[str, bytes | int] = {}
        if body.delivery_tag is None:
            self.inserted += 1
            needed["delivery-tag"] = b"amqpscope-%d" % self.inserted
        if body.message_format is None:
            # A delivery that does not say what it holds is not read by every client.
            needed["message-format"] = 0
        if needed:
            raw = rebuild(raw, unit, field_changes(body, needed))
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


def require_credit(link: Link, messages: int) -> None:
    """Refuse to put in a message that the receiver does not take."""
    if link.remaining < messages:
        raise CannotApplyError(f"the receiver of link {link.name!r} takes no more messages now")
