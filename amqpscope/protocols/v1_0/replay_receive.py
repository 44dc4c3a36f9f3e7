"""What a live peer of AMQP 1.0 sends, matched with the script.

What comes in addition is answered where the specification has only one answer: flow echoes, detach,
end and close. A link that nobody recorded is refused, a message that nobody recorded is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.replay import Cue
from amqpscope.protocols.v1_0.replay_live import LiveDelivery, LiveLink, LiveSession
from amqpscope.protocols.v1_0.replay_message import bare_message, compare_ids, describe, ids_of
from amqpscope.protocols.v1_0.replay_script import Delivery, Link, Session, address_of, state_name
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Close,
    Coordinator,
    Declared,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Open,
    Rejected,
    Released,
    Source,
    Target,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.body import Body
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.notation_text import text_value
from dissectors.v1_0.values import Symbol, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay import Part10

NEAR: Final = 16
"""Recorded messages ahead among which one is looked for that does not come in its turn."""
TOKENS: Final = "$cbs"
"""The node that takes tokens, which differ in every run."""
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
        self._own_ids: set[Value] | None = None

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
            if not self.disposition(raw, session, body) and self.script.odd.get(unit.name):
                self.take_odd(raw, unit, unit.name)
        elif isinstance(body, End):
            self.end(raw, unit.channel, session, body)
        elif isinstance(body, Flow):
            self.flow(session, body)
        else:
            handle = getattr(body, "handle", None)
            link = None if handle is None else session.handles[1].get(handle)
            if isinstance(body, Transfer):
                self.transfer(raw, unit, session, link, body)
            elif isinstance(body, Detach) and link is not None:
                self.detach(raw, link, body)
            elif self.script.odd.get(unit.name):
                self.take_odd(raw, unit, unit.name)

    def meet(self, cue: Cue | None, raw: bytes, where: str) -> None:
        """Something that was recorded has come, or something that was not."""
        if cue is None or cue.left <= 0:
            self.part.diverge("extra", None, where, self.part.show(raw))
            self.part.moves += 1
        else:
            self.part.meet(cue)

    def compare(
        self, cue: Cue | None, raw: bytes, expected: dict[str, str], seen: dict[str, str]
    ) -> None:
        """Report the fields in which a frame differs from the recorded one."""
        if cue is None:
            return
        fields = self.part.differences(expected, seen)
        if fields:
            self.part.diverge("changed", cue.frame, cue.where, self.part.show(raw), fields)

    # the connection and its sessions

    def close(self, raw: bytes, body: Close) -> None:
        """Answer a close; nothing follows it."""
        part = self.part
        part.closes[1] = True
        cue = self.script.cues.get("close")
        recorded = None if cue is None else getattr(cue.frame.unit, "body", None)
        if cue is not None:
            self.compare(cue, raw, error_text(recorded), error_text(body))
            part.meet(cue)
        elif not part.closes[0] and part.frames_end_with_close:
            part.diverge("extra", None, "close", part.show(raw))
        part.abandon(part.cues, part.show(raw), crossed=part.closes[0])
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
            part.begin(live, Begin(None, 0, WINDOW, WINDOW), channel)

    def is_free(self, session: Session) -> bool:
        """Whether a recorded session is one that the live peer may begin now."""
        return session.initiator != self.part.side and session.live is None

    def end(self, raw: bytes, channel: int, live: LiveSession, body: End) -> None:
        """The live peer ends a session."""
        part, session = self.part, live.script
        live.ended[1] = True
        del part.sessions[1][channel]
        cue = None if session is None else session.cues.get("end")
        if session is not None:
            recorded = None if cue is None else getattr(cue.frame.unit, "body", None)
            if cue is not None:
                self.compare(cue, raw, error_text(recorded), error_text(body))
            own = [each for link in session.links for each in self.cues_of(link)]
            part.abandon(own, part.show(raw), crossed=live.ended[0])
            if cue is not None or not live.ended[0]:
                self.meet(cue, raw, "end of a session")

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
            live = LiveLink(session, body.name, bool(body.role))
            live.script = self.find_link(session, body)
            session.links.append(live)
            if live.script is not None:
                live.script.live = live
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

    def refuse(self, live: LiveLink, why: str) -> None:
        """Refuse a link of the live peer."""
        part = self.part
        own = Attach(live.name, 0, live.sends is False)
        if live.sends:
            own = Attach(live.name, 0, False, initial_delivery_count=0)
        part.attach(live, own)
        part.detach(live, Detach(0, True, Error(Symbol("amqp:not-found"), why)))

    def detach(self, raw: bytes, live: LiveLink, body: Detach) -> None:
        """The live peer detaches a link."""
        part, link = self.part, live.script
        live.detached[1] = True
        self.closed_by_peer[id(live)] = bool(body.closed)
        live.session.handles[1].pop(live.handles[1] or 0, None)
        cue = None if link is None else link.cues.get("detach")
        if link is not None and (cue is not None or not live.detached[0]):
            if cue is not None:
                recorded = getattr(cue.frame.unit, "body", None)
                expected = {"closed": flag(recorded, "closed"), **error_text(recorded)}
                seen = {"closed": flag(body, "closed"), **error_text(body)}
                if not live.detached[0]:
                    self.compare(cue, raw, expected, seen)
            missed = [d.cue for d in link.deliveries if d.cue is not None]
            part.abandon(missed + link.drains, part.show(raw), crossed=live.detached[0])
            self.meet(cue, raw, f"detach of {link.title}")

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
                part.send_sender_flow(link)
            else:
                part.emit(session.flow(), session.channels[0] or 0)

    # messages

    def transfer(
        self, raw: bytes, unit: Unit, session: LiveSession, live: LiveLink | None, body: Transfer
    ) -> None:
        """Take a part of a message."""
        session.next_incoming_id = ((session.next_incoming_id or 0) + 1) & 0xFFFFFFFF
        session.window -= 1
        if live is None or live.sends:
            self.take_odd(raw, unit, "transfer on no link")
            return
        coming = live.coming
        if coming is None:
            coming = live.coming = LiveDelivery(live, body)
            live.received += 1
            live.delivery_count = (live.delivery_count + 1) & 0xFFFFFFFF
            session.incoming[coming.number] = coming
            live.incoming[live.turn] = coming
        coming.parts.append(raw[unit.payload :])
        coming.settled = coming.settled or bool(body.settled)
        coming.state = body.state if body.state is not None else coming.state
        if not body.more or body.aborted:
            coming.aborted = bool(body.aborted)
            live.coming = None
            if coming.settled or coming.aborted:
                session.incoming.pop(coming.number, None)
            self.part.messages[1 - self.part.side] += 1
            self.message(raw, live, coming)

    def message(self, raw: bytes, live: LiveLink, coming: LiveDelivery) -> None:
        """Match a whole message with the recorded one whose turn it is."""
        part, link = self.part, live.script
        if link is None:
            return
        turn = self.find_turn(live, link, coming)
        if turn is None:
            part.diverge("extra", None, f"message on {link.title}", part.show(raw))
            part.moves += 1
            self.settle(coming, Released())
            return
        if turn != live.turn:
            live.incoming.pop(live.turn, None)
        for skipped in link.deliveries[live.turn : turn]:
            if skipped.cue is not None:
                part.miss(skipped.cue, part.show(raw))
        delivery = link.deliveries[turn]
        instead = live.incoming.get(turn) if turn < live.turn else None
        live.turn = turn + 1
        live.incoming[turn] = coming
        coming.script = delivery
        if not coming.settled and delivery.tag is not None and coming.tag is not None:
            part.tags[delivery.tag] = coming.tag
        told = self.contrast(link, delivery, coming)
        live.changed = bool(part.differences(*told))
        self.compare(delivery.cue, raw, *told)
        part.meet(delivery.cue)
        if instead is not None and delivery.verdict is not None:
            self.settle(coming, delivery.verdict.state)
        elif instead is not None:
            self.settle(instead, Released())

    def forgo_message(self, left_out: Delivery) -> None:
        """Do not expect a message back that was never sent."""
        wanted = bare_message(left_out.payload)
        links = [link for session in self.script.sessions for link in session.links]
        for delivery in [delivery for link in links for delivery in link.deliveries]:
            cue = delivery.cue
            if cue is None or cue.left <= 0 or bare_message(delivery.payload) != wanted:
                continue
            delivery.forgone = True
            self.part.meet(cue)
            return

    def settle(self, coming: LiveDelivery, state: Value) -> None:
        """Settle a message of the live peer that the script does not settle."""
        session = coming.link.session
        if coming.settled or coming.aborted or not session.usable:
            return
        coming.settled = True
        session.incoming.pop(coming.number, None)
        verdict = Disposition(True, coming.number, None, True, state)
        self.part.emit(verdict, session.channels[0] or 0)

    def find_turn(self, live: LiveLink, link: Link, coming: LiveDelivery) -> int | None:
        """Which recorded message this is: the next, unless one soon after it is the very same."""
        turn, count = live.turn, len(link.deliveries)
        while turn < count and link.deliveries[turn].forgone:
            turn += 1
        payload = b"".join(coming.parts)
        if turn >= count:
            late = live.changed and link.deliveries[turn - 1].payload == payload
            return turn - 1 if late else None
        if link.deliveries[turn].payload == payload:
            return turn
        for at in range(turn + 1, min(turn + NEAR, count)):
            if link.deliveries[at].payload == payload:
                return at
        # What was expected before: then what came in its place was an addition.
        if live.changed and link.deliveries[turn - 1].payload == payload:
            return turn - 1
        return turn

    def own_ids(self) -> set[Value]:
        """The ids that our own peer has made up, where that is the client."""
        if self._own_ids is None:
            links = [link for session in self.script.sessions for link in session.links]
            ours = [link for link in links if link.sender == self.part.side == CLIENT]
            sent = [ids_of(each.payload) for link in ours for each in link.deliveries]
            self._own_ids = set().union(*sent)
        return self._own_ids

    def contrast(
        self, link: Link, delivery: Delivery, coming: LiveDelivery
    ) -> tuple[dict[str, str], dict[str, str]]:
        """What tells of the recorded message, and of the one that came."""
        expected = {"settled": str(delivery.settled).lower(), "state": state_text(delivery.state)}
        seen = {"settled": str(coming.settled).lower(), "state": state_text(coming.state)}
        expected["aborted"] = str(delivery.aborted).lower()
        seen["aborted"] = str(coming.aborted).lower()
        recorded, live = delivery.payload, b"".join(coming.parts)
        if recorded == live or link.address.startswith(TOKENS) or delivery.aborted:
            return expected, seen
        if link.address == "coordinator":
            return expected, seen
        annotated = self.part.side == SERVER
        expected.update(describe(recorded, annotated=annotated))
        seen.update(describe(live, annotated=annotated))
        for name, (old, new) in compare_ids(
            recorded, live, self.part.values, self.own_ids()
        ).items():
            expected[name], seen[name] = old, new
        return expected, seen

    def disposition(self, raw: bytes, session: LiveSession, body: Disposition) -> bool:
        """Take the answers to deliveries; whether there are any such deliveries."""
        part = self.part
        known: dict[int, Delivery] = session.outgoing
        if not body.role:
            known = {
                number: each.script
                for number, each in session.incoming.items()
                if each.script is not None
            }
        first = body.first or 0
        last = first if body.last is None else body.last
        span = (last - first) & 0xFFFFFFFF
        if span < len(known):
            numbers = [(first + step) & 0xFFFFFFFF for step in range(span + 1)]
        else:
            numbers = [number for number in known if (number - first) & 0xFFFFFFFF <= span]
        part.moves += 1
        unsettled: list[int] = []
        found = False
        for number in numbers:
            delivery = known.get(number)
            if delivery is None:
                continue
            found = True
            if not body.settled and body.role and self.is_final(delivery, body):
                unsettled.append(number)
            self.answer(raw, delivery, body)
            if body.settled:
                (session.outgoing if body.role else session.incoming).pop(number, None)
        for number in unsettled:
            session.outgoing.pop(number, None)
            part.emit(Disposition(False, number, None, True, body.state), session.channels[0] or 0)
        return found

    def is_final(self, delivery: Delivery, body: Disposition) -> bool:
        """Whether the live peer waits for us to settle, where the recorded one settled itself."""
        outcome = state_name(body.state) not in ("received", "")
        return outcome and all(answer.settled for answer in delivery.answers)

    def answer(self, raw: bytes, delivery: Delivery, body: Disposition) -> None:
        """Match the answer to one delivery with what was recorded."""
        part = self.part
        if not delivery.answers:
            if part.side == SERVER and part.frames_end_with_close and body.state is not None:
                where = f"disposition on {delivery.link.title}"
                part.diverge("extra", None, where, part.show(raw))
            return
        expected = delivery.answers.popleft()
        while body.settled and not expected.settled and delivery.answers:
            part.meet(expected.cue)
            expected = delivery.answers.popleft()
        recorded, live = expected.state, body.state
        if isinstance(recorded, Declared) and isinstance(live, Declared):
            part.values[recorded.txn_id] = live.txn_id
        fields = {"settled": str(expected.settled).lower(), "state": state_text(recorded)}
        seen = {"settled": str(bool(body.settled)).lower(), "state": state_text(live)}
        if part.side == CLIENT or recorded is None or live is None:
            # A server may settle at once what another settles later; the outcome is what counts.
            del fields["settled"], seen["settled"]
        if expected.cue.left > 0:
            self.compare(expected.cue, raw, fields, seen)
        part.meet(expected.cue)


def error_text(body: object) -> dict[str, str]:
    """The condition of an error, if there is one."""
    error = getattr(body, "error", None)
    return {"error": str(error.condition)} if isinstance(error, Error) else {}


def flag(body: object, name: str) -> str:
    """A boolean field that is false where it is absent."""
    return "true" if getattr(body, name, None) else "false"


def state_text(state: Value) -> str:
    """A delivery state as far as it is compared: without what names a transaction."""
    if isinstance(state, TransactionalState):
        return f"transactional-state({state_text(state.outcome)})"
    if isinstance(state, Declared):
        return "declared"
    if isinstance(state, Rejected):
        return f"rejected({''.join(error_text(state).values())})"
    return "absent" if state is None else text_value(state)


def link_terms(attach: Attach) -> dict[str, str]:
    """What tells of a link that a peer asks for."""
    told = {"address": address_of(attach)}
    for name in ("snd-settle-mode", "rcv-settle-mode"):
        told[name] = str(attach.part_named(name) or 0)
    if attach.snd_settle_mode is None:
        told["snd-settle-mode"] = "2"
    terminus = attach.source if attach.role else attach.target
    if isinstance(terminus, Source):
        for name in ("durable", "expiry-policy", "distribution-mode", "filter", "capabilities"):
            told[f"source.{name}"] = text_value(terminus.part_named(name))
    elif isinstance(terminus, Target):
        for name in ("durable", "expiry-policy", "capabilities"):
            told[f"target.{name}"] = text_value(terminus.part_named(name))
    return told


def answer_terms(attach: Attach) -> dict[str, str]:
    """What tells of the answer to an attach: whether the link was refused."""
    terminus = attach.target if attach.role else attach.source
    refused = not isinstance(terminus, Source | Target | Coordinator)
    return {"refused": str(refused).lower()}
