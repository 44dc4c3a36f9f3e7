"""A recorded conversation of AMQP 1.0 as its sessions, links and deliveries, in their order.

Places are numbered by their first frame, of either peer. Each keeps the cues that its frames are
to the peer that is played, and the live place that it is mapped to while it is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import Cue
from amqpscope.stream.framer import Frame
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Close,
    Coordinator,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    Source,
    Target,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.body import Body
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.values import Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay_live import LiveLink, LiveSession

SASL: Final = 3
GOOD: Final = frozenset(("accepted", "received", ""))
"""Outcomes that no message or grant of a broker depends on."""
MOST_DELIVERIES: Final = 1 << 20
"""The largest range of a disposition that is looked at one by one."""


class Answer(NamedTuple):
    """What the other peer says of a delivery of ours."""

    cue: Cue
    settled: bool
    state: Value


class Delivery:
    """A recorded delivery."""

    __slots__ = ("aborted", "answers", "cue", "first", "forgone", "link", "number", "parts",
                 "place", "sent", "settled", "state", "tag", "verdict")  # fmt: skip

    def __init__(self, link: Link, place: int, frame: Frame, body: Transfer) -> None:
        self.link = link
        self.place = place
        """Which one of its link it is, from 0."""
        self.first = frame
        self.number = body.delivery_id
        self.tag = body.delivery_tag
        self.parts: list[bytes] = []
        self.settled = bool(body.settled)
        self.state: Value = body.state
        self.aborted = False
        self.sent = False
        """We have sent it to the live peer."""
        self.forgone = False
        """The live peer does not send it, as we have not sent it before."""
        self.answers: deque[Answer] = deque()
        self.verdict: Disposition | None = None
        """What we have answered to it."""
        self.cue: Cue | None = None
        """Of one that the other peer sends: when all of it has come."""

    @property
    def payload(self) -> bytes:
        """The whole message."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)


class Link:
    """A recorded link."""

    def __init__(self, session: Session, place: int, initiator: int) -> None:
        self.session = session
        self.place = place
        self.initiator = initiator
        self.attaches: list[Attach | None] = [None, None]
        self.handles: list[int | None] = [None, None]
        self.cues: dict[str, Cue] = {}
        self.deliveries: list[Delivery] = []
        self.open_delivery: Delivery | None = None
        self.received = 0
        """Messages of the other peer that have come whole."""
        self.drains: list[Cue] = []
        """When the other peer asks for what is there and no more."""
        self.live: LiveLink | None = None

    @property
    def attach(self) -> Attach:
        """The attach of who began it."""
        found = self.attaches[self.initiator]
        return Attach() if found is None else found

    @property
    def sender(self) -> int:
        """The peer that sends messages."""
        return 1 - self.initiator if self.attach.role else self.initiator

    @property
    def address(self) -> str:
        """What people know the link by."""
        return address_of(self.attach) or str(self.attach.name)

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"link {self.address!r}"


class Session:
    """A recorded session."""

    def __init__(self, place: int, initiator: int) -> None:
        self.place = place
        self.initiator = initiator
        self.channels: list[int | None] = [None, None]
        self.begins: list[Begin | None] = [None, None]
        self.cues: dict[str, Cue] = {}
        self.links: list[Link] = []
        self.by_handle: list[dict[int, Link]] = [{}, {}]
        self.numbers: list[dict[int, Delivery]] = [{}, {}]
        """Deliveries that are not settled, by who sent them and by delivery-id."""
        self.live: LiveSession | None = None


class Grant(NamedTuple):
    """A flow of ours."""

    session: Session
    link: Link | None
    body: Flow
    received: int
    """Deliveries of the link that had come by then, where we receive."""


class Piece(NamedTuple):
    """A transfer of ours."""

    delivery: Delivery
    body: Transfer
    payload: bytes
    begins: bool


class Verdict(NamedTuple):
    """A disposition of ours."""

    session: Session
    deliveries: list[Delivery]
    body: Disposition


class Script:
    """Puts the frames of a conversation into a part: acts, cues, and the places they are about."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.side = part.side
        self.sessions: list[Session] = []
        self.channels: list[dict[int, Session]] = [{}, {}]
        self.opens: list[Open | None] = [None, None]
        self.cues: dict[str, Cue] = {}
        self.headers: list[list[bytes]] = [[], []]
        self.mechanisms: SaslMechanisms | None = None
        self.init: SaslInit | None = None
        self.outcome: SaslOutcome | None = None
        self.challenged = False
        self.odd: dict[str, deque[Cue]] = {}
        """Frames of the other peer that nobody could read, or that belong to nothing, by name."""
        self.left_out: list[Frame] = []
        """Frames of ours that nobody could read, or that belong to nothing."""
        for frame in part.frames:
            self.take(frame)

    def take(self, frame: Frame) -> None:
        """Take the next frame."""
        unit = frame.unit
        assert isinstance(unit, Unit)
        if unit.header is not None:
            self.headers[frame.sender].append(frame.raw)
        elif unit.kind == "sasl" and unit.body is not None:
            self.take_sasl(unit.body)
        elif unit.kind != "empty" and (
            unit.body is None
            or (unit.faults and not isinstance(unit.body, Open))
            or not self.take_body(frame, unit, unit.body)
        ):
            self.take_odd(frame, unit)

    def take_odd(self, frame: Frame, unit: Unit) -> None:
        """Take a frame that is not legal: of ours it is sent only if asked for."""
        if frame.sender == self.side:
            self.left_out.append(frame)
            if self.part.choices.exact:
                self.part.add_act("raw", frame, ())
        else:
            cue = self.part.add_cue(frame, f"{unit.name} that belongs to nothing")
            cue.odd = True
            self.odd.setdefault(unit.name, deque()).append(cue)

    def take_sasl(self, body: Body) -> None:
        """Remember how the client logged in."""
        if isinstance(body, SaslMechanisms):
            self.mechanisms = body
        elif isinstance(body, SaslInit):
            self.init = body
        elif isinstance(body, SaslOutcome):
            self.outcome = body
        else:
            self.challenged = True

    def take_body(self, frame: Frame, unit: Unit, body: Body) -> bool:
        """Take a performative; whether it belongs to something."""
        if isinstance(body, Open | Close):
            return self.take_connection(frame, body)
        if isinstance(body, Begin):
            return self.take_begin(frame, unit.channel, body)
        session = self.channels[frame.sender].get(unit.channel)
        if session is None:
            return False
        if isinstance(body, End):
            del self.channels[frame.sender][unit.channel]
            self.note(frame, "end", (session.place,), session, session.cues, "end of the session")
            return True
        if isinstance(body, Attach):
            return self.take_attach(frame, session, body)
        if isinstance(body, Disposition):
            return self.take_disposition(frame, session, body)
        if isinstance(body, Flow) and body.handle is None:
            if frame.sender == self.side:
                act = self.part.add_act("flow", frame, (session.place, -1))
                act.about, act.light = Grant(session, None, body, 0), True
            return True
        handle = getattr(body, "handle", None)
        link = None if handle is None else session.by_handle[frame.sender].get(handle)
        return link is not None and self.take_link(frame, unit, link, body)

    def note(
        self, frame: Frame, kind: str, lane: tuple[int, ...], about: object,
        cues: dict[str, Cue], where: str,
    ) -> None:  # fmt: skip
        """An act of ours, or a cue of the other peer."""
        if frame.sender == self.side:
            self.part.add_act(kind, frame, lane, about)
        else:
            cues[kind] = self.part.add_cue(frame, where)

    def take_connection(self, frame: Frame, body: Open | Close) -> bool:
        """An open or close."""
        if isinstance(body, Open):
            if self.opens[frame.sender] is not None:
                return False
            self.opens[frame.sender] = body
        kind = body.row.name
        self.note(frame, kind, (), body, self.cues, kind)
        return True

    def take_begin(self, frame: Frame, channel: int, body: Begin) -> bool:
        """A begin, or the answer to one."""
        sender = frame.sender
        if channel in self.channels[sender]:
            return False
        session = None
        if body.remote_channel is not None:
            session = self.channels[1 - sender].get(body.remote_channel)
            if session is None or session.channels[sender] is not None:
                return False
        if session is None:
            session = Session(len(self.sessions), sender)
            self.sessions.append(session)
        session.channels[sender], session.begins[sender] = channel, body
        self.channels[sender][channel] = session
        self.note(frame, "begin", (session.place,), session, session.cues, "begin of a session")
        return True

    def take_attach(self, frame: Frame, session: Session, body: Attach) -> bool:
        """An attach, or the answer to one."""
        sender = frame.sender
        if body.handle is None or body.name is None or body.handle in session.by_handle[sender]:
            return False
        link = find_link(session.links, sender, body)
        if link is None:
            link = Link(session, len(session.links), sender)
            session.links.append(link)
        link.attaches[sender], link.handles[sender] = body, body.handle
        session.by_handle[sender][body.handle] = link
        lane = (session.place, link.place)
        self.note(frame, "attach", lane, link, link.cues, f"attach of {link.title}")
        return True

    def take_link(self, frame: Frame, unit: Unit, link: Link, body: Body) -> bool:
        """A frame on a link."""
        ours = frame.sender == self.side
        lane = (link.session.place, link.place)
        if isinstance(body, Detach):
            del link.session.by_handle[frame.sender][link.handles[frame.sender] or 0]
            self.note(frame, "detach", lane, link, link.cues, f"detach of {link.title}")
            return True
        if isinstance(body, Flow):
            if ours:
                act = self.part.add_act("flow", frame, lane)
                act.about, act.light = Grant(link.session, link, body, link.received), True
            elif body.drain and link.sender == self.side:
                cue = self.part.add_cue(frame, f"drain of {link.title}")
                link.drains.append(cue)
            return True
        if isinstance(body, Transfer) and link.sender == frame.sender:
            self.take_transfer(frame, unit, link, body)
            return True
        return False

    def take_transfer(self, frame: Frame, unit: Unit, link: Link, body: Transfer) -> None:
        """A transfer of a delivery."""
        delivery = link.open_delivery
        begins = delivery is None
        if delivery is None:
            delivery = link.open_delivery = Delivery(link, len(link.deliveries), frame, body)
            link.deliveries.append(delivery)
            if delivery.number is not None:
                link.session.numbers[frame.sender][delivery.number] = delivery
        payload = frame.raw[unit.payload :]
        delivery.parts.append(payload)
        delivery.settled = delivery.settled or bool(body.settled)
        delivery.state = body.state if body.state is not None else delivery.state
        if frame.sender == self.side:
            lane = (link.session.place, link.place)
            act = self.part.add_act("transfer", frame, lane)
            act.about, act.light = Piece(delivery, body, payload, begins), True
            act.message = begins
        if not body.more or body.aborted:
            link.open_delivery = None
            delivery.aborted = bool(body.aborted)
            if delivery.settled:
                link.session.numbers[frame.sender].pop(delivery.number or 0, None)
            if frame.sender != self.side:
                link.received += 1
                delivery.cue = self.part.add_cue(frame, f"message on {link.title}")
                delivery.cue.about, delivery.cue.message = delivery, True
                delivery.cue.commits = link.address == "coordinator"

    def take_disposition(self, frame: Frame, session: Session, body: Disposition) -> bool:
        """A disposition, of as many deliveries as it speaks of."""
        owner = 1 - frame.sender if body.role else frame.sender
        first = body.first if body.first is not None else -1
        last = first if body.last is None else body.last
        numbers = session.numbers[owner]
        span = (last - first) & 0xFFFFFFFF
        if span < MOST_DELIVERIES:
            wanted = [(first + step) & 0xFFFFFFFF for step in range(span + 1)]
            found = [numbers[number] for number in wanted if number in numbers]
        else:
            found = list(numbers.values())
        if not found:
            return False
        if body.settled:
            for delivery in found:
                numbers.pop(delivery.number or 0, None)
        if frame.sender == self.side:
            lane = (session.place, found[0].link.place)
            act = self.part.add_act("disposition", frame, lane, Verdict(session, found, body))
            act.light = bool(body.role)
            return True
        where = f"disposition ({state_name(body.state) or 'settled'}) on {found[0].link.title}"
        cue = self.part.add_cue(frame, where, len(found))
        cue.soft = bool(body.role) and state_name(body.state) in GOOD
        for delivery in found:
            delivery.answers.append(Answer(cue, bool(body.settled), body.state))
        if body.role:
            cue.about = found
        return True

    @property
    def uses_sasl(self) -> bool:
        """The client logged in by SASL."""
        return any(raw[4] == SASL for raw in self.headers[0])


def find_link(links: list[Link], sender: int, body: Attach) -> Link | None:
    """The link that an attach answers."""
    for link in reversed(links):
        own = link.attaches[1 - sender]
        if link.attaches[sender] is not None or own is None:
            continue
        if own.name == body.name and own.role != body.role:
            return link
    return None


def address_of(attach: Attach) -> str:
    """The node at the other end, as the peer that attaches names it."""
    terminus = attach.source if attach.role else attach.target
    if isinstance(terminus, Coordinator):
        return "coordinator"
    if isinstance(terminus, Source | Target):
        if terminus.dynamic:
            return "dynamic"
        return "" if terminus.address is None else str(terminus.address)
    return ""


def state_name(state: Value) -> str:
    """The outcome of a delivery state, also of one in a transaction."""
    if isinstance(state, TransactionalState):
        return state_name(state.outcome)
    return state.row.name if isinstance(state, Body) else ""
