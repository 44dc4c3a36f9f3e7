"""One peer of a recorded conversation of AMQP 1.0, played against a live one.

Whatever is sent has the numbers of the live connection: channels, handles, delivery-ids,
transfer-ids, delivery-counts, windows and transaction ids are those that both peers count now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import DROP, Act, Choices, Cue, Lane, Refused
from amqpscope.protocols.replay_origins import Passed
from amqpscope.protocols.v1_0.replay_deliveries import DeliverySender
from amqpscope.protocols.v1_0.replay_links import LinkSender
from amqpscope.protocols.v1_0.replay_live import LiveLink, LiveSession
from amqpscope.protocols.v1_0.replay_mend import with_fields, without_path
from amqpscope.protocols.v1_0.replay_message import Values
from amqpscope.protocols.v1_0.replay_obstacles import Obstacles
from amqpscope.protocols.v1_0.replay_origins import only_allows_more, passed_message
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
    Close,
    Detach,
    End,
    Open,
)
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.framing import Unit, decode_unit, measure

SHOWN: Final = 80
"""Octets of a string in a frame that is shown."""
EMPTY: Final = encode_frame()


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
        self.obstacles = Obstacles(self)
        self.links = LinkSender(self)
        self.deliveries = DeliverySender(self)
        self.values: Values = {}
        """What is called otherwise now: addresses, ids, transactions."""
        self.names: dict[str, str] = {}
        """Links that are called otherwise now; programs put their names into messages too."""
        self.sessions: list[dict[int, LiveSession]] = [{}, {}]
        """By our channels, and by those of the live peer."""
        self.opens: list[Open | None] = [None, None]
        """Ours, and that of the live peer."""
        self.opens_alone = False
        """Our open waits for nothing but that of the client."""
        self.last_sent = 0.0
        self.note_left_out(self.script.left_out)
        for frame in [] if choices.exact else self.script.left_out:
            self.forgo_error(frame)

    def start(self) -> None:
        """Send what a client begins with; a server waits."""
        self.setup.start()

    def measure(self, data: bytes, at: int) -> int:
        """How many octets the frame has that begins here, or MORE or DAMAGED."""
        return measure(data, at, len(data))

    def take(self, raw: bytes) -> None:
        """Take a frame of the live peer: the handshake's, or one that a cue may wait for."""
        unit = decode_unit(raw)
        if unit.header is not None or unit.kind == "sasl":
            self.setup.receive(unit)
        elif unit.kind != "empty":
            self.receiver.receive(raw, unit)

    def is_moot(self, cue: Cue) -> bool:
        """Whether a cue answers messages of ours that were never sent."""
        asked = cue.about
        return isinstance(asked, list) and not all(delivery.sent for delivery in asked)

    def is_error(self, frame: Frame) -> bool:
        """Whether a frame is a detach, end or close with an error."""
        body = cast(Unit, frame.unit).body
        return isinstance(body, Detach | End | Close) and body.error is not None

    @property
    def frames_end_with_close(self) -> bool:
        """The recording shows the conversation to its end."""
        return any(frame.unit.name == "close" for frame in self.frames[-4:])

    def show(self, raw: bytes) -> str:
        """A frame in notation; of a message to a node that takes tokens, not the message."""
        if names_cbs(raw) and not self.choices.show_secrets:
            return f"{decode_unit(raw).name} of a message with a token"
        return self.mask_notation(write(self.without_secrets(raw), SHOWN))

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
        if self.loose and self.obstacles.answers_now(act):
            return ""
        missing = super().missing_cue(act)
        if missing and self.obstacles.feeds(act, self.next_cue(act)):
            return ""
        return missing

    def hasten(self) -> bool:
        """Answer an open alone, as the live client begins no session before it has the answer."""
        if self.side == CLIENT or self.opens_alone or self.opens[1] is None or self.opens[0]:
            return super().hasten()
        self.opens_alone = True
        return True

    def prerequisite(self, act: Act) -> Cue | None:
        """What a light act waits for in any case; a client's request, for all before it."""
        about = act.about
        if isinstance(about, Verdict) or (
            isinstance(about, Grant) and only_allows_more(about, self.side)
        ):
            return None
        if self.side == CLIENT or isinstance(about, Grant):
            return self.next_cue(act)
        return self.origin(act) if act.message else None

    def passed(self, about: object) -> Passed | None:
        """What tells the message of a transfer from others."""
        delivery = about.delivery if isinstance(about, Piece) else about
        return passed_message(delivery) if isinstance(delivery, Delivery) else None

    def obstacle(self, act: Act) -> str:
        """Why the live peer does not allow an act now; empty: it does; DROP: it never will."""
        if act.kind == "open":
            return "" if self.opens[0] is None else DROP
        if act.kind == "raw":
            return ""
        if self.closes[0] or (self.closes[1] and act.kind != "close" and not self.choices.exact):
            return DROP
        about = act.about
        if isinstance(about, Piece):
            return self.obstacles.transfer_obstacle(about)
        if isinstance(about, Verdict):
            return self.obstacles.verdict_obstacle(about)
        if isinstance(about, Grant):
            return self.obstacles.flow_obstacle(about)
        if isinstance(about, Link):
            return self.obstacles.link_obstacle(act, about)
        if isinstance(about, Session):
            return self.obstacles.session_obstacle(act, about)
        return ""

    def blockers(self, act: Act) -> list[Cue]:
        """The messages that a disposition waits for."""
        about = act.about
        cues = [each.cue for each in about.deliveries] if isinstance(about, Verdict) else []
        return [cue for cue in cues if cue is not None and cue.left > 0]

    def divided(self, act: Act) -> tuple[object, object]:
        """A disposition of what has come, and one of what has not."""
        about, waiting = act.about, self.blockers(act)
        if not isinstance(about, Verdict) or not waiting:
            return None, None
        late = [each for each in about.deliveries if each.cue in waiting]
        early = about._replace(deliveries=[each for each in about.deliveries if each not in late])
        if self.obstacles.verdict_obstacle(early):
            return None, None
        return early, about._replace(deliveries=late)

    # sending

    def send(self, act: Act) -> bool:
        """Put the octets of an act into `out`; whether that was all of it."""
        about = act.about
        if isinstance(about, Piece):
            rest = self.deliveries.send_transfer(about)
            if rest:
                act.about = Piece(about.delivery, about.body, rest, begins=False)
                act.message = False
            return not rest
        elif isinstance(about, Verdict):
            self.deliveries.send_disposition(about)
        elif isinstance(about, Grant):
            self.deliveries.send_flow(about)
        elif isinstance(about, Link):
            self.links.send_attach(about) if act.kind == "attach" else self.links.send_detach(
                act, about
            )
        elif isinstance(about, Session):
            self.links.send_begin(about) if act.kind == "begin" else self.links.send_end(act, about)
        elif act.kind == "open":
            self.send_open(cast(Open, about))
        elif act.kind == "close":
            self.send_close(cast(Close, about))
        else:
            self.out += act.frame.raw
        return True

    def write(self, body: Body, channel: int = 0, payload: bytes = b"") -> None:
        """Put a frame into `out`; before anything else our open."""
        if self.opens[0] is None and not isinstance(body, Open):
            self.send_open(self.script.opens[self.side] or Open("amqpscope"))
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
                less = without_path(body, refused.finding.path)
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
        made = with_fields(body, hostname=hostname)
        if made.container_id is None:
            made = with_fields(made, container_id="amqpscope")
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
                self.receiver.messages.forgo_message(delivery)
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
                if link.waits_for_drain and not self.ends_badly(session, link):
                    self.deliveries.send_sender_flow(link, drained=True)
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

    def ends_badly(self, session: LiveSession, link: LiveLink) -> bool:
        """Whether our own peer is about to end a link with an error, as far as one can wait."""
        if self.overtaking or session.script is None or link.script is None:
            return False
        place = session.script.place
        lanes: tuple[Lane, ...] = ((), (place,), (place, link.script.place))
        heads = [self.lanes[lane][0].frame for lane in lanes if lane in self.lanes]
        return any(map(self.is_error, heads))

    def answer_detach(self, live: LiveLink) -> None:
        """Detach what the live peer has detached, unless the script is about to."""
        link = live.script
        lane = () if link is None else (link.session.place, link.place)
        if link is not None and any(act.kind == "detach" for act in self.lanes.get(lane, ())):
            return
        self.links.detach(live, Detach(0))

    def answer_end(self, live: LiveSession) -> None:
        """End what the live peer has ended, unless the script is about to."""
        session = live.script
        lane = () if session is None else (session.place,)
        if session is not None and any(act.kind == "end" for act in self.lanes.get(lane, ())):
            return
        self.links.end(live, End())

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
