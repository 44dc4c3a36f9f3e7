"""Messages and outcomes that a live peer of AMQP 1.0 sends, matched with the script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.v1_0.replay_live import LiveDelivery, LiveLink, LiveSession
from amqpscope.protocols.v1_0.replay_message import (
    bare_message,
    compare_ids,
    describe,
    ids_of,
    message_id,
    own_properties,
    renamed,
    request_text,
    substitute,
)
from amqpscope.protocols.v1_0.replay_script import Delivery, Link, state_name
from amqpscope.protocols.v1_0.replay_terms import state_text
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v1_0.bodies import (
    Declared,
    Disposition,
    Released,
    Transfer,
)
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.notation_text import text_value
from dissectors.v1_0.values import Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay_receive import Receiver

NEAR: Final = 16
"""Recorded messages ahead among which one is looked for that does not come in its turn."""
TOKENS: Final = "$cbs"
"""The node that takes tokens, which differ in every run."""


class MessageReceiver:
    """Takes transfers and dispositions."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.part = part = receiver.part
        self.script = part.script
        self._own_ids: set[Value] | None = None

    def transfer(
        self, raw: bytes, unit: Unit, session: LiveSession, live: LiveLink | None, body: Transfer
    ) -> None:
        """Take a part of a message."""
        session.next_incoming_id = ((session.next_incoming_id or 0) + 1) & 0xFFFFFFFF
        session.window -= 1
        if live is None or live.sends:
            self.receiver.take_odd(raw, unit, "transfer on no link")
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
        self.receiver.compare(delivery.cue, raw, *told)
        part.meet(delivery.cue)
        if instead is not None and delivery.verdict is not None:
            self.settle(coming, delivery.verdict.state)
        elif instead is not None:
            self.settle(instead, Released())

    def forgo_message(self, left_out: Delivery) -> None:
        """Do not expect a message back that was never sent."""
        links = [link for session in self.script.sessions for link in session.links]
        waiting = [
            delivery
            for link in links
            for delivery in link.deliveries
            if delivery.cue is not None and delivery.cue.left > 0
        ]
        for same in (bare_message, message_id):
            wanted = same(left_out.payload)
            for delivery in waiting:
                if wanted is not None and same(delivery.payload) == wanted:
                    delivery.forgone = True
                    self.part.meet(delivery.cue)
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
            expected["request"], seen["request"] = request_text(recorded), request_text(live)
            return expected, seen
        annotated = self.part.side == SERVER
        expected.update(describe(recorded, annotated=annotated))
        seen.update(describe(live, annotated=annotated))
        if expected["body"] != seen["body"] and self.part.names:
            now_named = describe(substitute(recorded, {}, self.part.names), annotated=annotated)
            if now_named["body"] == seen["body"]:
                expected["body"] = seen["body"]
        for name, value in own_properties(recorded).items():
            # Of a link, a node or a message that is called otherwise now.
            for values in (self.part.values, self.part.names):
                now = text_value(renamed(value, values))
                if now == seen.get(name):
                    expected[name] = now
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
            self.receiver.compare(expected.cue, raw, fields, seen)
        part.meet(expected.cue)
