"""AMQP 1.0 as both peers see it, when the proxy takes frames out, puts some in, or ends links."""

from __future__ import annotations

from typing import Final, cast

from amqpscope.protocols.peers import Action, CannotApplyError, Output, Written
from amqpscope.protocols.v1_0.peers_counts import insert_delivery, renumber
from amqpscope.protocols.v1_0.peers_edit import (
    NULL,
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
from dissectors.v1_0.bodies import Body, Flow, Transfer
from dissectors.v1_0.framing import Unit, decode_unit

OF_LINKS: Final = frozenset(("attach", "transfer", "detach"))
"""Performatives, beside flow, that name a link by its handle."""


class Peers(PassingPeers):
    """Both peers of one connection, and what faults do between them."""

    def __init__(self) -> None:
        super().__init__()
        self.inserted = 0
        """Transfers that were put in."""

    def lacks_room(self, frame: Frame) -> bool:
        """Whether a transfer has to wait for credit, or for a window, that a fault has used up."""
        named = self.link_of_transfer(frame)
        if named is None:
            return False
        session, link = named
        if session.lacks_window(frame.sender):
            return True
        return link.delivery is None and link.lacks_credit

    def waive_room(self, frame: Frame) -> None:
        """Do not let a transfer wait any more, nor those that follow."""
        named = self.link_of_transfer(frame)
        if named is not None:
            named[0].promised[frame.sender] = named[1].promised = None

    def link_of_transfer(self, frame: Frame) -> tuple[Session, Link] | None:
        """The session and link of a transfer that its receiver still awaits, or else nothing."""
        side, unit = frame.sender, cast(Unit, frame.unit)
        body = unit.body
        if not isinstance(body, Transfer) or unit.faults or self.closed:
            return None
        session = self.session_of(side, unit.channel)
        if session is None or any(session.gone) or any(session.ended) or session.parked[side]:
            return None
        link = session.link_of(side, body.handle)
        if link is None or link.sender != side or link.withheld:
            return None
        return None if any(link.gone) or any(link.detached) else (session, link)

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
        """Do not pass a frame on.

        The first transfer of a delivery takes the others with it, and is missing in no count; in
        the place of the last one the receiver is made to forget the delivery.
        """
        body = cast(Unit, frame.unit).body
        if not isinstance(body, Transfer):
            return [each for each in self.translate(frame) if each.forged]
        try:
            session, link, _ = self.transfer_of(frame, "drop")
        except CannotApplyError:
            return []
        if link.delivery is None:
            link.withheld = True
        elif not link.withheld and not body.more:
            aborted = self.abort(frame, link, body)
            self.translate(frame)
            return [aborted]
        elif not link.withheld:
            session.hidden[frame.sender] += 1
        return [each for each in self.translate(frame) if each.forged]

    def abort(self, frame: Frame, link: Link, body: Transfer) -> Output:
        """A transfer that ends a delivery whose beginning has passed: the receiver forgets it."""
        raw = renumber(link.session, frame.sender, frame.raw, cast(Unit, frame.unit), body)
        changes = field_changes(body, {"more": False, "aborted": True})
        octets = rebuild(raw, decode_unit(raw), changes, payload=False)
        return Output(link.receiver, octets, forged=True)

    def duplicate(self, frame: Frame) -> list[Output]:
        """Pass a frame on twice; a transfer stands for its delivery, which comes as two."""
        if not isinstance(cast(Unit, frame.unit).body, Transfer):
            return super().duplicate(frame)
        _, link, _ = self.transfer_of(frame, "duplicate")
        if link.withheld or (link.delivery is not None and not link.parts):
            raise CannotApplyError("the delivery is not passed on, or too large to be copied")
        require_credit(link, 2)
        link.copied = True
        return self.translate(frame)

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
        if session is None or body.row.name in ("open", "close"):
            return [Output(to, raw, forged=True)]
        speaker = 1 - to
        if not written.channelled:
            raw = with_channel(raw, session.channels[speaker] or 0)
        link = self.link_for(session, frame, body, speaker)
        if isinstance(body, Transfer) and body.delivery_id is None and link is not None:
            return self.write_transfer(link, raw, speaker)
        if isinstance(body, Flow):
            about = None if is_of_session(body) else link
            raw = fill(raw, encoded_fields(session.flow_from(speaker, about)))
        elif link is not None and body.row.name in OF_LINKS:
            raw = fill(raw, field_changes(body, {"handle": link.handles[speaker]}))
        return [Output(to, raw, forged=True)]

    def link_for(self, session: Session, frame: Frame, body: Body, speaker: int) -> Link | None:
        """The link that a written frame names, or else that of the matched frame."""
        named = getattr(body, "handle", None)
        if named is not None:
            return session.link_of(speaker, named)
        return session.link_of(frame.sender, getattr(cast(Unit, frame.unit).body, "handle", None))

    def write_transfer(self, link: Link, raw: bytes, speaker: int) -> list[Output]:
        """Put in a transfer that does not name its delivery-id."""
        if link.sender != speaker:
            raise CannotApplyError("the peer that would send this transfer is its link's receiver")
        if link.delivery is not None:
            raise CannotApplyError("a delivery is under way on this link")
        require_credit(link, 1)
        body = cast(Transfer, decode_unit(raw).body)
        tag = body.delivery_tag
        if tag is None:
            self.inserted += 1
            tag = b"amqpscope-%d" % self.inserted
        # A delivery that does not say what it holds is not read by every client.
        needed = {"handle": link.handles[speaker], "message-format": 0}
        return insert_delivery(link, [fill(raw, field_changes(body, needed))], tag)

    def replace(self, frame: Frame, written: Written) -> list[Output]:
        """Send a message in the place of another, under its numbers: its answers are those."""
        raw, matched = written.octets, cast(Unit, frame.unit).body
        body = decode_unit(raw).body if written.family == "v1_0" else None
        if not isinstance(body, Transfer) or not isinstance(matched, Transfer):
            return super().replace(frame, written)
        _, link, _ = self.transfer_of(frame, "replace")
        if body.delivery_id is not None or link.delivery is not None or link.withheld:
            return super().replace(frame, written)
        outputs = self.translate(frame)
        if not outputs:
            return outputs
        passed = outputs[0]
        unit = decode_unit(passed.octets)
        kept = ("handle", "delivery-id", "delivery-tag", "message-format")
        places = [place for place, field in enumerate(body.row.fields) if field.name in kept]
        fields = encoded_fields(unit.body)
        raw = fill(raw, {place: fields[place] for place in places if place in fields})
        if not written.channelled:
            raw = with_channel(raw, unit.channel)
        # What follows of the first message has nothing left to belong to.
        link.withheld = bool(matched.more) and not body.more
        return [Output(passed.to, raw, forged=True), *outputs[1:]]

    def settle(self, frame: Frame, action: Action) -> list[Output]:
        """Answer a delivery in its receiver's place; what passed of it already is aborted."""
        session, link, body = self.transfer_of(frame, action.kind)
        if link.withheld:
            return [each for each in self.translate(frame) if each.forged]
        answer = outcome(action)
        if link.outcomes and answer.row.symbol not in link.outcomes:
            raise CannotApplyError(f"link {link.name!r} has no outcome {answer.row.name}")
        outputs = []
        if link.delivery is not None:
            # Its beginning has passed; the receiver counts it as we do.
            outputs.append(self.abort(frame, link, body))
            session.hidden[frame.sender] -= 1
        link.withheld, link.owes_answer, link.answer = True, True, answer
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


def is_of_session(body: Flow) -> bool:
    """Whether a flow says nothing of a link."""
    about_link = (body.handle, body.delivery_count, body.link_credit, body.available, body.drain)
    return all(value is None for value in about_link)


def fill(raw: bytes, defaults: dict[int, bytes]) -> bytes:
    """A frame with defaults in the fields that it leaves out."""
    unit = decode_unit(raw)
    given = encoded_fields(unit.body)
    missing = {
        place: octets
        for place, octets in defaults.items()
        if given.get(place, NULL) == NULL != octets
    }
    return rebuild(raw, unit, missing) if missing else raw


def require_credit(link: Link, messages: int) -> None:
    """Refuse to put in a message that the receiver does not take."""
    if link.remaining < messages:
        raise CannotApplyError(f"the receiver of link {link.name!r} takes no more messages now")
    if link.session.room_of(link.sender) < messages:
        raise CannotApplyError("the receiver's window takes no more transfers now")
