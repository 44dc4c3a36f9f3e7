"""What a live peer of AMQP 1.0 sends, matched with the script.

What comes in addition is answered where the specification has only one answer: flow echoes, detach,
end and close. A link that nobody recorded is refused, a message that nobody recorded is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.replay_acts import Cue
from amqpscope.protocols.v1_0.replay_live import LiveLink, LiveSession
from amqpscope.protocols.v1_0.replay_receive_messages import MessageReceiver
from amqpscope.protocols.v1_0.replay_script import Link, Session, address_of
from amqpscope.protocols.v1_0.replay_sessions import place_session
from amqpscope.protocols.v1_0.replay_terms import answer_terms, error_text, flag, link_terms
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Open,
    Source,
    Target,
    Transfer,
)
from dissectors.v1_0.body import Body
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.values import Symbol, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay import Part10

WINDOW: Final = 2048


class Receiver:
    """Takes the frames of one connection."""

    def __init__(self, part: Part10) -> None:
        self.part = part
        self.script = part.script
        self.attaches: dict[int, Attach] = {}
        """What the live peer attached, by the identity of the link."""
        self.begins: dict[int, Begin] = {}
        """What it began, by its channel."""
        self.closed_by_peer: dict[int, bool] = {}
        """Links whose detach closes them, by the identity of the link."""
        self.messages = MessageReceiver(self)

    def receive(self, raw: bytes, unit: Unit) -> None:
        """Take the next frame."""
        part, body = self.part, unit.body
        if body is None or (unit.faults and not isinstance(body, Open)):
            self.take_odd(raw, unit, "a frame that cannot be read")
        elif part.closes[1]:
            return
        elif isinstance(body, Open):
            part.opens[1] = body
            self.meet(self.script.cues.get("open"), raw, "open")
        elif isinstance(body, Close):
            self.close(raw, body)
        elif isinstance(body, Begin):
            self.begin(raw, unit.channel, body)
        else:
            session = part.sessions[1].get(unit.channel)
            if session is not None:
                self.take(raw, unit, session, body)
            else:
                self.take_odd(raw, unit, f"{unit.name} outside of a session")

    def take_odd(self, raw: bytes, unit: Unit, where: str) -> None:
        """A frame that belongs to nothing, as the recorded one did, or not."""
        expected = self.script.odd.get(unit.name)
        self.meet(expected.popleft() if expected else None, raw, where)

    def take(self, raw: bytes, unit: Unit, session: LiveSession, body: Body) -> None:
        """Take a frame on a session."""
        if isinstance(body, Attach):
            self.attach(raw, session, body)
        elif isinstance(body, Disposition):
            if not self.messages.disposition(raw, session, body) and self.script.odd.get(unit.name):
                self.take_odd(raw, unit, unit.name)
        elif isinstance(body, End):
            self.end(raw, unit.channel, session, body)
        elif isinstance(body, Flow):
            self.flow(session, body)
        else:
            handle = getattr(body, "handle", None)
            link = None if handle is None else session.handles[1].get(handle)
            if isinstance(body, Transfer):
                self.messages.transfer(raw, unit, session, link, body)
            elif isinstance(body, Detach) and link is not None:
                self.detach(raw, link, body)
            elif self.script.odd.get(unit.name):
                self.take_odd(raw, unit, unit.name)

    def meet(self, cue: Cue | None, raw: bytes, where: str) -> None:
        """Something that was recorded has come, or something that was not."""
        if cue is not None and cue.moot:
            self.part.moves += 1
        elif cue is None or cue.left <= 0:
            self.part.diverge("extra", None, where, self.part.show(raw))
            self.part.moves += 1
        else:
            self.part.meet(cue)

    def compare(
        self, cue: Cue | None, raw: bytes, expected: dict[str, str], seen: dict[str, str]
    ) -> bool:
        """Report the fields in which a frame differs from the recorded one; whether it does."""
        if cue is None:
            return False
        fields = self.part.differences(expected, seen)
        if fields:
            self.part.diverge("changed", cue.frame, cue.where, self.part.show(raw), fields)
        return bool(fields)

    # the connection and its sessions

    def close(self, raw: bytes, body: Close) -> None:
        """Answer a close; nothing follows it."""
        part = self.part
        part.closes[1] = True
        cue = pending(self.script.cues.get("close"), first=part.closes[0])
        recorded = None if cue is None else getattr(cue.frame.unit, "body", None)
        unexpected = False
        if cue is not None:
            unexpected = self.compare(cue, raw, error_text(recorded), error_text(body))
            part.meet(cue)
        elif not part.closes[0] and (part.frames_end_with_close or body.error is not None):
            unexpected = True
            part.diverge("extra", None, "close", part.show(raw))
        part.abandon([each for each in part.cues if each.odd], part.show(raw))
        part.abandon(part.cues, part.show(raw), crossed=part.closes[0] or unexpected)
        if part.closes[0]:
            part.over = "fin"

    def begin(self, raw: bytes, channel: int, body: Begin) -> None:
        """A session that the live peer begins, or its answer to one of ours."""
        part = self.part
        self.begins[channel] = body
        if body.remote_channel is not None:
            live = part.sessions[0].get(body.remote_channel)
            if live is None or live.channels[1] is not None:
                part.diverge("extra", None, "begin", part.show(raw))
                return
            session = live.script
        else:
            live = LiveSession()
            session = next((each for each in self.script.sessions if self.is_free(each)), None)
        live.channels[1] = channel
        part.sessions[1][channel] = live
        live.next_incoming_id = body.next_outgoing_id
        live.handle_max = 0xFFFFFFFF if body.handle_max is None else body.handle_max
        live.take_window(None, body.incoming_window or 0)
        if session is not None:
            session.live, live.script = live, session
            part.meet(session.cues.get("begin"))
        else:
            part.diverge("extra", None, "begin of a session", part.show(raw))
            part.links.begin(live, Begin(None, 0, WINDOW, WINDOW), channel)

    def is_free(self, session: Session) -> bool:
        """Whether a recorded session is one that the live peer may begin now."""
        return session.initiator != self.part.side and session.live is None

    def end(self, raw: bytes, channel: int, live: LiveSession, body: End) -> None:
        """The live peer ends a session."""
        part, session = self.part, live.script
        live.ended[1] = True
        del part.sessions[1][channel]
        cue = None if session is None else pending(session.cues.get("end"), first=live.ended[0])
        if session is not None:
            recorded = None if cue is None else getattr(cue.frame.unit, "body", None)
            if cue is not None:
                self.compare(cue, raw, error_text(recorded), error_text(body))
            if cue is not None or not live.ended[0]:
                self.meet(cue, raw, "end of a session")
            own = [each for link in session.links for each in self.cues_of(link)]
            part.abandon(own, part.show(raw), crossed=live.ended[0] or cue is None)

    def cues_of(self, link: Link) -> list[Cue]:
        """All that is expected of the live peer on a link."""
        cues = list(link.cues.values()) + link.drains
        for delivery in link.deliveries:
            if delivery.cue is not None:
                cues.append(delivery.cue)
            cues.extend(answer.cue for answer in delivery.answers)
        return sorted(cues, key=lambda cue: cue.turn)

    # links

    def attach(self, raw: bytes, session: LiveSession, body: Attach) -> None:
        """A link that the live peer attaches, or its answer to one of ours."""
        part = self.part
        live = next(
            (
                each
                for each in session.links
                if each.handles[1] is None and each.name == body.name and each.sends == body.role
            ),
            None,
        )
        answer = live is not None
        if live is None:
            place_session(self, session, body)
            live = LiveLink(session, body.name, bool(body.role))
            live.script = self.find_link(session, body)
            session.links.append(live)
            if live.script is not None:
                live.script.live = live
                self.learn_name(live.script, body)
        live.handles[1] = body.handle or 0
        session.handles[1][body.handle or 0] = live
        self.attaches[id(live)] = body
        if not live.sends:
            live.delivery_count = body.initial_delivery_count or 0
            live.counted = True
        link = live.script
        if link is None:
            part.diverge("extra", None, f"attach of link {address_of(body)!r}", part.show(raw))
            self.refuse(live, "this link is not in the recording")
            return
        cue = link.cues.get("attach")
        recorded = link.attaches[1 - part.side]
        if recorded is not None:
            told = answer_terms if answer else link_terms
            expected, seen = told(recorded), told(body)
            self.compare(cue, raw, expected, seen)
            self.learn_addresses(recorded, body)
        part.meet(cue)

    def find_link(self, session: LiveSession, body: Attach) -> Link | None:
        """The recorded link that a live one is: by role, then address and name, then turn."""
        if session.script is None:
            return None
        free = [
            link
            for link in session.script.links
            if link.initiator != self.part.side
            and link.live is None
            and bool(link.attach.role) == bool(body.role)
        ]
        wanted, name = address_of(body), body.name
        return max(
            free,
            key=lambda link: (
                4 * (self.address_now(link.attach) == wanted) + 2 * (link.attach.name == name),
                -link.place,
            ),
            default=None,
        )

    def address_now(self, attach: Attach) -> Value:
        """The address of a recorded link as it is called now."""
        recorded = address_of(attach)
        return self.part.values.get(recorded, recorded)

    def learn_addresses(self, recorded: Attach, live: Attach) -> None:
        """Remember what an address is called now, be it made by the peer or changed."""
        pairs = ((recorded.source, live.source), (recorded.target, live.target))
        for old, new in pairs:
            if not isinstance(old, Source | Target) or not isinstance(new, Source | Target):
                continue
            if old.address is not None and new.address is not None and old.address != new.address:
                self.part.values[old.address] = new.address

    def learn_name(self, link: Link, live: Attach) -> None:
        """Remember what a link is called now."""
        if link.attach.name and live.name and link.attach.name != live.name:
            self.part.names[str(link.attach.name)] = str(live.name)

    def refuse(self, live: LiveLink, why: str) -> None:
        """Refuse a link of the live peer."""
        part = self.part
        own = Attach(live.name, 0, live.sends is False)
        if live.sends:
            own = Attach(live.name, 0, False, initial_delivery_count=0)
        part.links.attach(live, own)
        part.links.detach(live, Detach(0, True, Error(Symbol("amqp:not-found"), why)))

    def detach(self, raw: bytes, live: LiveLink, body: Detach) -> None:
        """The live peer detaches a link."""
        part, link = self.part, live.script
        live.detached[1] = True
        self.closed_by_peer[id(live)] = bool(body.closed)
        live.session.handles[1].pop(live.handles[1] or 0, None)
        cue = None if link is None else pending(link.cues.get("detach"), first=live.detached[0])
        if link is not None and (cue is not None or not live.detached[0]):
            if cue is not None:
                recorded = getattr(cue.frame.unit, "body", None)
                expected = {"closed": flag(recorded, "closed"), **error_text(recorded)}
                seen = {"closed": flag(body, "closed"), **error_text(body)}
                if not live.detached[0]:
                    self.compare(cue, raw, expected, seen)
            self.meet(cue, raw, f"detach of {link.title}")
            missed = [d.cue for d in link.deliveries if d.cue is not None] + link.drains
            part.abandon(missed, part.show(raw), crossed=live.detached[0] or cue is None)

    def flow(self, session: LiveSession, body: Flow) -> None:
        """Take windows and credit; answer where an answer is asked for."""
        part = self.part
        session.take_window(body.next_incoming_id, body.incoming_window or 0)
        link = None if body.handle is None else session.handles[1].get(body.handle)
        part.moves += 1
        if link is None:
            if body.echo and session.usable:
                part.emit(session.flow(), session.channels[0] or 0)
            return
        if link.sends:
            link.grant(body)
            if body.drain and link.script is not None:
                for cue in link.script.drains:
                    part.meet(cue)
        else:
            link.delivery_count = (
                link.delivery_count if body.delivery_count is None else (body.delivery_count)
            )
        if body.echo and link.usable and not link.draining:
            if link.sends:
                part.deliveries.send_sender_flow(link)
            else:
                part.emit(session.flow(), session.channels[0] or 0)


def pending(cue: Cue | None, *, first: bool) -> Cue | None:
    """What was recorded of an end; not one that is given up, nor an error where we end first."""
    return None if cue is None or cue.lost or (cue.moot and first) else cue
