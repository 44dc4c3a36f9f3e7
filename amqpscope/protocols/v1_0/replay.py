"""One peer of a recorded conversation of AMQP 1.0, played against a live one.

Whatever is sent has the numbers of the live connection: channels, handles, delivery-ids,
transfer-ids, delivery-counts, windows and transaction ids are those that both peers count now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from amqpscope.protocols.replay import DROP, Act, Choices, Cue, Part, Refused
from amqpscope.protocols.v1_0.replay_live import LiveLink, LiveSession
from amqpscope.protocols.v1_0.replay_mend import changed, mended
from amqpscope.protocols.v1_0.replay_message import Values, substitute
from amqpscope.protocols.v1_0.replay_receive import Receiver
from amqpscope.protocols.v1_0.replay_script import (
    Delivery,
    Grant,
    Link,
    Piece,
    Script,
    Session,
    Verdict,
)
from amqpscope.protocols.v1_0.replay_setup import Setup
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT
from dissectors.notation import write
from dissectors.secrets import names_cbs
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Open,
    Rejected,
    Source,
    Target,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.framing import Unit, decode_unit, measure
from dissectors.v1_0.values import Map, Symbol, Value
from dissectors.wire import DAMAGED, MORE

SMALLEST: Final = 512
"""Octets of a frame that every peer takes (2.4.1)."""
NO_LIMIT: Final = 0xFFFFFFFF
TAG: Final = "transfer.delivery-tag"
SHOWN: Final = 80
"""Octets of a string in a frame that is shown."""
EMPTY: Final = encode_frame()
ENDINGS: Final = frozenset(("detach", "end", "close"))


class Part10(Part):
    """One side of one conversation."""

    def __init__(
        self, frames: Sequence[Frame], side: int, choices: Choices, ending: str = ""
    ) -> None:
        super().__init__(frames, side, choices)
        self.ending = ending
        """How our own peer ended TCP without a close: `fin` or `rst`; empty if it did not."""
        self.script = Script(self)
        self.set_pauses()
        self.setup = Setup(self)
        self.receiver = Receiver(self)
        self.buffer = b""
        self.values: Values = {}
        """What is called otherwise now: addresses, ids, transactions."""
        self.sessions: list[dict[int, LiveSession]] = [{}, {}]
        """By our channels, and by those of the live peer."""
        self.opens: list[Open | None] = [None, None]
        """Ours, and that of the live peer."""
        self.closes = [False, False]
        self.last_sent = 0.0
        self.note_left_out(self.script.left_out)

    # what whoever owns the socket asks

    def start(self) -> None:
        """Begin, when TCP is connected."""
        self.setup.start()

    def receive(self, octets: bytes, now: float) -> None:
        """Take octets of the live peer."""
        if self.guard is not None:
            self.guard.now = now
            self.guard.hear(octets)
        data = self.buffer + octets
        at = 0
        while not self.over:
            size = measure(data, at, len(data))
            if size == MORE or (size != DAMAGED and at + size > len(data)):
                break
            if size == DAMAGED:
                shown = f"octets {data[at : at + 16].hex(' ')}"
                self.diverge("extra", None, "octets that are no frame", shown)
                self.over = "fin"
                return
            raw = data[at : at + size]
            at += size
            unit = decode_unit(raw)
            if unit.header is not None or unit.kind == "sasl":
                self.setup.receive(unit)
            elif unit.kind != "empty":
                self.receiver.receive(raw, unit)
        self.buffer = data[at:]

    @property
    def closed(self) -> bool:
        """Both peers have closed the connection."""
        return all(self.closes)

    def is_moot(self, cue: Cue) -> bool:
        """Whether a cue answers messages of ours that were never sent."""
        asked = cue.about
        return isinstance(asked, list) and not all(delivery.sent for delivery in asked)

    @property
    def frames_end_with_close(self) -> bool:
        """The recording shows the conversation to its end."""
        return any(frame.unit.name == "close" for frame in self.frames[-4:])

    def show(self, raw: bytes) -> str:
        """A frame in notation; of a message to a node that takes tokens, not the message."""
        if names_cbs(raw) and not self.choices.show_secrets:
            return f"{decode_unit(raw).name} of a message with a token"
        return self.cleaned(write(self.covered(raw), SHOWN))

    def beat(self, now: float) -> None:
        """Send an empty frame if the live peer would take us for dead."""
        peer = self.opens[1]
        if self.out:
            self.last_sent = now
        if peer is None or not peer.idle_time_out or self.opens[0] is None or self.closes[0]:
            return
        due = self.last_sent + peer.idle_time_out / 2000
        if now >= due:
            self.put(EMPTY)
            self.last_sent, due = now, now + peer.idle_time_out / 2000
        self.wake = due if self.wake is None else min(self.wake, due)

    # what allows an act

    def missing_cue(self, act: Act) -> str:
        """What has to come before an act; an answer waits for nothing but what it answers."""
        if self.loose and self.answers_now(act):
            return ""
        return super().missing_cue(act)

    def answers_now(self, act: Act) -> bool:
        """Whether an act answers something of the live peer that has come."""
        about = act.about
        if isinstance(about, Link) and about.live is not None:
            if act.kind == "attach":
                return about.initiator != self.side and about.live.handles[1] is not None
            return act.kind == "detach" and about.live.detached[1]
        if isinstance(about, Session) and about.live is not None:
            if act.kind == "begin":
                return about.initiator != self.side and about.live.channels[1] is not None
            return act.kind == "end" and about.live.ended[1]
        return act.kind == "close" and self.closes[1]

    def obstacle(self, act: Act) -> str:
        """Why the live peer does not allow an act now; empty: it does; DROP: it never will."""
        if act.kind in ("open", "raw"):
            return ""
        if self.closes[0]:
            return DROP
        about = act.about
        if isinstance(about, Piece):
            return self.transfer_obstacle(about)
        if isinstance(about, Verdict):
            return self.verdict_obstacle(about)
        if isinstance(about, Grant):
            return self.flow_obstacle(about)
        if isinstance(about, Link):
            return self.link_obstacle(act, about)
        if isinstance(about, Session):
            return self.session_obstacle(act, about)
        return ""

    def session_obstacle(self, act: Act, session: Session) -> str:
        """Of a begin or end."""
        live = session.live
        if act.kind == "begin":
            if session.initiator == self.side or live is not None:
                return ""
            return awaited(session.cues.get("begin"))
        return DROP if live is None or live.channels[0] is None or live.ended[0] else ""

    def link_obstacle(self, act: Act, link: Link) -> str:
        """Of an attach or detach."""
        live = link.live
        if act.kind == "attach":
            session = link.session.live
            if session is None or not session.usable:
                return DROP
            if link.initiator == self.side or live is not None:
                return ""
            return awaited(link.cues.get("attach"))
        return DROP if live is None or live.handles[0] is None or live.detached[0] else ""

    def transfer_obstacle(self, piece: Piece) -> str:
        """Of a transfer: the link, its credit and the session's window."""
        link = piece.delivery.link
        live = link.live
        if live is None or live.handles[0] is None or any(live.detached):
            return DROP
        if not live.session.usable:
            return DROP
        if self.choices.exact:
            return ""
        if live.handles[1] is None:
            return f"the attach of {link.title}"
        if piece.begins and live.sending is not None:
            return f"the end of the delivery before it on {link.title}"
        if not piece.begins and live.sending is None:
            return DROP
        if piece.begins and live.credit <= 0:
            return f"credit on {link.title}"
        if live.session.remote_window <= 0:
            return "the incoming window of the session"
        return ""

    def verdict_obstacle(self, verdict: Verdict) -> str:
        """Of a disposition: the deliveries that it speaks of."""
        session = verdict.session.live
        if session is None or not session.usable:
            return DROP
        known = False
        for delivery in verdict.deliveries:
            live = delivery.link.live
            if live is None:
                continue
            places = live.incoming if verdict.body.role else live.outgoing
            if delivery.place in places:
                known = True
            elif any(live.detached):
                continue
            elif not verdict.body.role:
                return f"the delivery on {delivery.link.title}"
            elif delivery.cue is not None and delivery.cue.left > 0:
                return f"message {delivery.place + 1} on {delivery.link.title}"
        return "" if known else DROP

    def flow_obstacle(self, grant: Grant) -> str:
        """Of a flow: its session and link."""
        session, link = grant.session.live, grant.link
        if session is None or not session.usable:
            return DROP
        if link is None:
            return ""
        live = link.live
        if live is None or live.handles[0] is None or any(live.detached):
            return DROP
        if live.sends and grant.body.drain and not live.draining:
            return DROP  # the drain was answered when it came
        return ""

    # sending

    def send(self, act: Act) -> bool:
        """Put the octets of an act into `out`; whether that was all of it."""
        about = act.about
        if isinstance(about, Piece):
            rest = self.send_transfer(about)
            if rest:
                act.about = Piece(about.delivery, about.body, rest, begins=False)
                act.message = False
            return not rest
        elif isinstance(about, Verdict):
            self.send_disposition(about)
        elif isinstance(about, Grant):
            self.send_flow(about)
        elif isinstance(about, Link):
            self.send_attach(about) if act.kind == "attach" else self.send_detach(act, about)
        elif isinstance(about, Session):
            self.send_begin(about) if act.kind == "begin" else self.send_end(act, about)
        elif act.kind == "open":
            self.send_open(cast(Open, about))
        elif act.kind == "close":
            self.send_close(cast(Close, about))
        else:
            self.out += act.frame.raw
        return True

    def write(self, body: Body, channel: int = 0, payload: bytes = b"") -> None:
        """Put a frame into `out`; before anything else an open, where none could be read."""
        if self.opens[0] is None and not isinstance(body, Open):
            self.send_open(Open("amqpscope"))
        self.put(encode_frame(body, channel, payload))

    def emit(self, body: Body, channel: int = 0, payload: bytes = b"") -> None:
        """Write a frame, without the fields that make it illegal; Refused if that is no help."""
        first: Refused | None = None
        while True:
            try:
                self.write(body, channel, payload)
                break
            except Refused as refused:
                first = first or refused
                less = mended(body, refused.finding.path)
                if less is None:
                    raise first from None
                body = less
        if first is not None:
            self.note_change(f"is sent without {first.finding.path}: {first}")

    def note_change(self, what: str) -> None:
        """Say that a frame of the script is not sent as it was recorded."""
        if self.playing is not None:
            self.add_note(f"frame {self.playing.frame.number} {what}")

    def send_open(self, body: Open) -> None:
        """Open; a client asks for the live host, unless it asked for something else than a host."""
        hostname = body.hostname
        if self.side == CLIENT:
            if self.choices.vhost is not None:
                hostname = f"vhost:{self.choices.vhost}"
            elif hostname is not None and not hostname.startswith("vhost:"):
                hostname = self.choices.host or hostname
        made = changed(body, hostname=hostname)
        if made.container_id is None:
            made = changed(made, container_id="amqpscope")
        self.opens[0] = made
        try:
            self.emit(made)
        except Refused:
            self.emit(Open(made.container_id, hostname))
            raise

    def send_close(self, body: Close) -> None:
        """Close, and send nothing more."""
        self.closes[0] = True
        self.emit(body)
        if self.closes[1]:
            self.over = "fin"

    def send_begin(self, session: Session) -> None:
        """Begin a session, or answer one."""
        live = session.live
        if live is None:
            live = session.live = LiveSession()
            live.script = session
        recorded = cast(Begin, session.begins[self.side])
        self.begin(live, recorded, session.channels[self.side] or 0)

    def begin(self, live: LiveSession, recorded: Begin, channel: int) -> None:
        """Send a begin with the numbers of a recorded one."""
        peer = self.opens[1]
        limit = 65535 if peer is None or peer.channel_max is None else peer.channel_max
        taken = self.sessions[0]
        if channel in taken or channel > limit:
            free = [number for number in range(limit + 1) if number not in taken]
            if not free:
                self.diverge("stuck", None, f"no channel is free: channel-max is {limit}")
                return
            channel = free[0]
        live.next_outgoing_id = recorded.next_outgoing_id or 0
        live.window = live.full_window = max(1, recorded.incoming_window or 0)
        live.outgoing_window = recorded.outgoing_window or 0
        if live.channels[1] is not None and self.receiver.begins[live.channels[1]].handle_max:
            live.handle_max = self.receiver.begins[live.channels[1]].handle_max or 0
        if live.channels[1] is not None:
            begun = self.receiver.begins[live.channels[1]]
            live.remote_window = begun.incoming_window or 0
        self.emit(
            changed(
                recorded,
                remote_channel=live.channels[1],
                next_outgoing_id=live.next_outgoing_id,
                incoming_window=live.window,
                outgoing_window=live.outgoing_window,
            ),
            channel,
        )
        live.channels[0] = channel
        taken[channel] = live

    def send_end(self, act: Act, session: Session) -> None:
        """End a session."""
        live = session.live
        assert live is not None
        self.end(live, cast(End, cast(Unit, act.frame.unit).body))

    def end(self, live: LiveSession, body: End) -> None:
        """End a session; its channel is free when both have."""
        channel = live.channels[0] or 0
        self.emit(body, channel)
        live.ended[0] = True
        self.sessions[0].pop(channel, None)

    def send_attach(self, link: Link) -> None:
        """Attach a link, or answer one."""
        recorded = cast(Attach, link.attaches[self.side])
        session = link.session.live
        assert session is not None
        live = link.live
        if live is None:
            live = LiveLink(session, self.free_name(recorded), not recorded.role)
            live.script = link
        self.attach(live, self.answer_terms(link, live, recorded))
        if link.live is None:
            link.live = live
            session.links.append(live)

    def free_name(self, recorded: Attach) -> str:
        """The name of a link of ours: another one where a link of that name is in use (2.6.1)."""
        taken = {
            link.name
            for session in self.sessions[0].values()
            for link in session.links
            if link.sends != bool(recorded.role) and link.detached != [True, True]
        }
        name, count = str(recorded.name), 1
        while name in taken and not self.choices.exact:
            count += 1
            name = f"{recorded.name}-{count}"
        return name

    def answer_terms(self, link: Link, live: LiveLink, recorded: Attach) -> Attach:
        """An attach of ours for the live link: its name, and addresses as they are called now."""
        source, target = recorded.source, recorded.target
        asked = link.attaches[1 - self.side]
        terms: dict[str, Value] = {}
        if link.initiator != self.side and asked is not None:
            seen = self.receiver.attaches.get(id(live))
            for name in ("snd-settle-mode", "rcv-settle-mode"):
                if seen is not None and recorded.part_named(name) == asked.part_named(name):
                    terms[name.replace("-", "_")] = seen.part_named(name)
            if seen is not None:
                source = echoed(source, asked.source, seen.source)
                target = echoed(target, asked.target, seen.target)
        source = self.renamed(source) if source is recorded.source else source
        target = self.renamed(target) if target is recorded.target else target
        if asked is not None:
            source = self.named_node(source, asked.source)
            target = self.named_node(target, asked.target)
        if not recorded.role and recorded.initial_delivery_count is None:
            terms["initial_delivery_count"] = 0
        if isinstance(recorded.unsettled, Map) and recorded.role and not self.choices.exact:
            # The tags are those of the live sender, as far as it has sent any.
            known = [
                (self.tags[tag], state) for tag, state in recorded.unsettled if tag in self.tags
            ]
            terms["unsettled"] = Map(known) if known else None
        return cast(
            Attach, changed(recorded, name=live.name, source=source, target=target, **terms)
        )

    def named_node(self, answer: Value, asked: Value) -> Value:
        """The answer to who asks for a node of its own: it has an address (3.5.3, 3.5.4)."""
        if not isinstance(answer, Source | Target) or not isinstance(asked, Source | Target):
            return answer
        wants_node = asked.dynamic or answer.dynamic
        if not wants_node or answer.address is not None or self.choices.exact:
            return answer
        return changed(answer, address=f"amqpscope-node-{self.moves}")

    def renamed(self, terminus: Value) -> Value:
        """A source or target whose address is called otherwise now."""
        if isinstance(terminus, Source | Target) and terminus.address in self.values:
            return changed(terminus, address=self.values[terminus.address])
        return terminus

    def attach(self, live: LiveLink, body: Attach) -> None:
        """Send an attach under a handle that is free."""
        session = live.session
        handle = session.free_handle(body.handle or 0)
        self.emit(changed(body, handle=handle), session.channels[0] or 0)
        live.handles[0] = handle
        session.handles[0][handle] = live
        if live.sends:
            live.delivery_count = body.initial_delivery_count or 0
            live.counted = True

    def send_detach(self, act: Act, link: Link) -> None:
        """Detach a link; a link that the peer closes is closed."""
        live = link.live
        assert live is not None
        body = cast(Detach, cast(Unit, act.frame.unit).body)
        self.detach(live, body)

    def detach(self, live: LiveLink, body: Detach) -> None:
        """Send a detach; the handle is free then."""
        if self.receiver.closed_by_peer.get(id(live)):
            body = changed(body, closed=True)
        handle = live.handles[0] or 0
        self.emit(changed(body, handle=handle), live.session.channels[0] or 0)
        live.detached[0] = True
        live.session.handles[0].pop(handle, None)

    def send_flow(self, grant: Grant) -> None:
        """Grant credit or open the window, as far as was recorded beyond what has come by now."""
        session, link, body = grant.session.live, grant.link, grant.body
        assert session is not None
        session.window = max(1, body.incoming_window or 0)
        session.outgoing_window = body.outgoing_window or 0
        live = None if link is None else link.live
        if live is None:
            self.emit(session.flow(), session.channels[0] or 0)
            return
        if live.sends:
            self.send_sender_flow(live, drained=bool(body.drain))
            return
        credit = (body.link_credit or 0) - (live.received - grant.received)
        self.emit(
            changed(
                session.flow(),
                handle=live.handles[0],
                delivery_count=live.delivery_count if live.counted else None,
                link_credit=min(max(0, credit), NO_LIMIT),
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
        return Map((key, self.values.get(value, value)) for key, value in properties)

    def send_sender_flow(self, live: LiveLink, *, drained: bool = False) -> None:
        """Say what is left of the credit; of one that is drained, nothing."""
        session = live.session
        draining = live.draining
        if drained and draining:
            live.delivery_count = (live.delivery_count + live.credit) & 0xFFFFFFFF
            live.credit, live.draining = 0, False
        self.emit(
            changed(
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
        if piece.begins and self.values and not body.more:
            payload = substitute(payload, self.values)
        frame = changed(
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
                rest = self.split(piece, live, changed(frame, delivery_tag=tag), payload)
            else:
                self.abort(live)
                raise
        if not rest and (not body.more or body.aborted):
            self.end_delivery(live)
        return rest

    def split(self, piece: Piece, live: LiveLink, frame: Transfer, payload: bytes) -> bytes:
        """Write a transfer as several, where one would be too large; what the window leaves."""
        session = live.session
        peer = self.opens[1]
        limit = SMALLEST if peer is None else max(peer.max_frame_size or NO_LIMIT, SMALLEST)
        channel = session.channels[0] or 0
        while True:
            head = len(encode_frame(frame, channel))
            room = max(1, limit - head - 1)
            part, payload = payload[:room], payload[room:]
            if head + len(part) + len(payload) <= limit:
                part, payload = part + payload, b""
            self.emit(changed(frame, more=True) if payload else frame, channel, part)
            if frame.delivery_id is not None:
                self.begin_delivery(piece.delivery, live)
            session.next_outgoing_id = (session.next_outgoing_id + 1) & 0xFFFFFFFF
            session.remote_window -= 1
            if not payload or (session.remote_window <= 0 and not self.choices.exact):
                return payload
            frame = changed(frame, delivery_id=None, delivery_tag=None)

    def begin_delivery(self, delivery: Delivery, live: LiveLink) -> None:
        """Count a delivery of ours that has begun."""
        session = live.session
        self.messages[self.side] += 1
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
            self.emit(Transfer(live.handles[0], aborted=True), session.channels[0] or 0)
            session.next_outgoing_id = (session.next_outgoing_id + 1) & 0xFFFFFFFF
            session.remote_window -= 1
            self.end_delivery(live)

    def state_now(self, state: Value) -> Value:
        """A delivery state with the transaction as it is called now."""
        if isinstance(state, TransactionalState) and state.txn_id in self.values:
            return changed(state, txn_id=self.values[state.txn_id])
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
            made = changed(
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
            self.write(body, channel)
        except Refused as refused:
            state = legal_state(body, delivery)
            self.emit(body if state is None else changed(body, state=state), channel)
            if state is not None:
                self.note_change(f"is sent with another state: {refused}")

    def settle_range(self, session: LiveSession, body: Disposition, first: int, last: int) -> None:
        """Forget deliveries that we have settled."""
        for number in range(first, last + 1):
            if body.role:
                found = session.incoming.pop(number, None)
                if found is not None:
                    found.settled = True
            else:
                session.outgoing.pop(number, None)

    # what is left out

    def forgo(self, act: Act) -> None:
        """An act is left out: expect no answer to it, and nobody to pass it on."""
        about = act.about
        if isinstance(about, Piece):
            delivery = about.delivery
            for answer in delivery.answers:
                self.meet(answer.cue)
            delivery.answers.clear()
            if self.side == CLIENT:
                self.receiver.forgo_message(delivery)
        elif isinstance(about, Link) and act.kind == "attach":
            self.abandon(self.receiver.cues_of(about), crossed=True)
            if about.live is not None:
                self.receiver.refuse(about.live, "this attach cannot be answered as recorded")

    # politeness

    def settle_down(self, now: float) -> None:
        """Answer what the script does not, and end where it ends."""
        for session in list(self.sessions[0].values()):
            for link in session.links:
                if link.detached == [False, True] and link.handles[0] is not None:
                    self.answer_detach(link)
                if link.sends and link.draining and link.usable and link.sending is None:
                    self.send_sender_flow(link, drained=True)
            if session.window <= 0 and session.usable:
                session.window = session.full_window
                self.emit(session.flow(), session.channels[0] or 0)
            if session.ended == [False, True]:
                self.answer_end(session)
        if self.closes == [False, True]:
            self.answer_close()
        if self.lanes or self.closes[0] or self.first_missing() is not None:
            return
        if self.ending:
            self.over = self.ending
        elif self.side == CLIENT and self.opens[0] is None:
            self.over = "fin"
        elif self.side == CLIENT:
            self.finish_politely()

    def answer_detach(self, live: LiveLink) -> None:
        """Detach what the live peer has detached, unless the script is about to."""
        link = live.script
        lane = () if link is None else (link.session.place, link.place)
        if link is not None and any(act.kind == "detach" for act in self.lanes.get(lane, ())):
            return
        self.detach(live, Detach(0))

    def answer_end(self, live: LiveSession) -> None:
        """End what the live peer has ended, unless the script is about to."""
        session = live.script
        lane = () if session is None else (session.place,)
        if session is not None and any(act.kind == "end" for act in self.lanes.get(lane, ())):
            return
        self.end(live, End())

    def answer_close(self) -> None:
        """Close after the live peer; what was not sent by now never is."""
        own = next((act for act in self.acts if act.kind == "close"), None)
        self.unsent += sum(map(len, self.lanes.values())) - (own is not None)
        self.lanes.clear()
        self.send_close(Close() if own is None else cast(Close, own.about))

    def finish_politely(self) -> None:
        """Close the connection."""
        if self.opens[0] is not None and not self.closes[0]:
            self.send_close(Close())


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


def awaited(cue: Cue | None) -> str:
    """What an answer waits for; it is dropped where that will not come."""
    return cue.where if cue is not None and cue.left > 0 else DROP


def echoed(answer: Value, asked: Value, seen: Value) -> Value:
    """A terminus of an answer: with the live address, where the recorded one was the one asked."""
    if not isinstance(answer, Source | Target) or not isinstance(asked, Source | Target):
        return answer
    if not isinstance(seen, Source | Target) or asked.dynamic:
        return answer
    if answer.address == asked.address:
        return changed(answer, address=seen.address)
    return answer


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Numbers as ranges of neighbours, in order."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
