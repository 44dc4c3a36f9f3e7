"""One connection in its own protocol: octets in, events and findings out.

The analysis numbers frames and hands them round; all that depends on the protocol is asked here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.findings import Finding
from amqpscope.model.ending import CONNECTION, Ending, finished_at, tcp_ending, tcp_over
from amqpscope.model.event import Event
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import Ended, Level, Login, Place
from amqpscope.model.transactions import NO_TRANSACTIONS, TransactionCounts
from amqpscope.protocols.ending_words import ended_words
from amqpscope.protocols.peers import PeerView
from amqpscope.protocols.state import ENDED, TITLE, KnownNodes, StateNode, StateRow, ended_row
from amqpscope.protocols.stuck import NO_LINK, Bound, Held, Refused
from amqpscope.rules.dispatch import Dispatcher, RuleSet
from amqpscope.rules.reporter import Reporter
from amqpscope.stream.framer import Frame, Framer
from amqpscope.stream.types import CLIENT, SERVER, Chunk, Connection, End, Gap
from dissectors.native import mypyc_attr

if TYPE_CHECKING:
    from amqpscope.protocols.voice import Voice

NO_FINDINGS: Final[list[Finding]] = []
"""What most frames have; shared, so never added to."""
NO_LEVELS: Final[list[Level]] = []
NO_ENDED: Final[list[Ended]] = []
NO_PLACES: Final[list[Place]] = []


@mypyc_attr(allow_interpreted_subclasses=True)
class Talk:
    """Framing, model and rules of one connection."""

    def __init__(self, number: int, connection: Connection, protocol: str, voice: Voice) -> None:
        self.number = number
        """The connection's number in its capture."""
        self.connection = connection
        self.protocol = protocol
        """What users call it: `amqp-0-9-1`; what the server says may change it."""
        self.voice = voice
        """How what its frames say is shown."""
        self.may_be_refused = False
        """The server may answer with the header of another family: it does not know this one."""
        self.dismissed = False
        """What follows is of no protocol that is read."""
        self.newest: list[Frame | None] = [None, None]
        """The newest frame of each peer."""

        client, server = connection.anchored
        self.peers = [PeerEnd(CLIENT, client), PeerEnd(SERVER, server)]
        """How much was seen of each peer, where the model has no ends of its own."""
        self.framers: list[Framer] = []
        """What cuts each peer's octets into frames, client first."""
        self.reporter = Reporter(number, connection.guessed)
        """Takes what the rules report."""
        self.dispatcher: Dispatcher | None = None
        """The rules of the family that run."""

    # octets to frames

    def chunk(self, chunk: Chunk) -> list[Frame]:
        """The frames that octets complete."""
        return self.framers[chunk.sender].feed(chunk)

    def begin(self, chunk: Chunk) -> None:
        """The first octets of a peer are a header, so that frames begin there."""
        self.framers[chunk.sender].lost = False

    def gap(self, gap: Gap) -> Frame | None:
        """Octets are missing; returns the frame that was begun."""
        return self.framers[gap.sender].lose(gap.size, gap.packet, gap.time)

    def lose(self, gap: Gap) -> None:
        """What was missed may have said anything; asked when the frame begun was taken."""

    def end(self, end: End) -> Frame | None:
        """A direction is over; returns the frame that was begun."""
        return self.framers[end.sender].finish(end.packet, end.time, end.reason == "fin")

    @property
    def is_settled(self) -> bool:
        """Nothing that frames say can change any more how octets are cut into frames."""
        return True

    def count_frames(self) -> None:
        """Only count frames from now on, as far as how octets are cut does not depend on them."""
        if self.is_settled:
            for framer in self.framers:
                framer.counting = True

    # frames to events

    def take(self, frame: Frame, rules: RuleSet | None) -> Event:
        """Place a numbered frame in the model and let the rules look at it."""
        event = self.locate(frame)
        if rules is not None:
            self.check(event, rules)
        self.apply(event)
        self.newest[frame.sender] = frame
        return event

    def locate(self, frame: Frame) -> Event:
        """Say what a frame means, as the model is before it."""
        raise NotImplementedError

    def apply(self, event: Event) -> None:
        """Let the model learn what a frame says."""
        end = self.peers[event.peer]
        end.frames += 1
        end.last_mark = event.mark

    def check(self, event: Event, rules: RuleSet) -> None:
        """Let the rules look at an event."""
        if self.dispatcher is None:
            self.dispatcher = rules.of(self.family)
        self.dispatcher.check(event, event.name, self.reporter)

    def consider(self, frame: Frame, rules: RuleSet) -> list[Finding]:
        """What the rules would report of a frame if it were sent; nothing is remembered of it."""
        self.reporter.trial = True
        self.check(self.locate(frame), rules)
        self.reporter.trial = False
        return self.findings()

    def finish(self, end: End, rules: RuleSet | None) -> None:
        """A direction ended: let the rules look for what should have come before."""
        partner = self.peers[1 - end.sender]
        self.peers[end.sender].finish(end.reason, end.time, end.packet, partner)

    @property
    def family(self) -> str:
        """What the rules call the family."""
        return self.protocol

    def last_frame(self, sender: int) -> Frame | None:
        """The newest frame of a peer, or else of its partner."""
        newest = self.newest[sender]
        return self.newest[1 - sender] if newest is None else newest

    def findings(self) -> list[Finding]:
        """What the rules have reported since this was last asked."""
        return self.reporter.take() if self.reporter.findings else NO_FINDINGS

    def hear_header(self, asked: Frame) -> None:
        """Learn the header of a client that asked for another family, which a server answers."""

    def peer_view(self) -> PeerView:
        """What keeps the conversations of both peers legal, where a proxy changes them."""
        return PeerView()

    # what the model knows

    @property
    def ends(self) -> list[PeerEnd]:
        """Both peers, client first."""
        return self.peers

    @property
    def is_open(self) -> bool:
        """Both peers have opened the connection, as far as the capture shows."""
        return True

    def ending(self) -> Ending | None:
        """How the connection ended; None while it goes on, or where the capture ends first."""
        return tcp_ending(self.ends)

    def over_at(self) -> int:
        """When the connection was over, or else the capture, in nanoseconds; 0 while it goes on."""
        ends = self.ends
        return tcp_over(ends) or finished_at(ends)

    def state(self, known: KnownNodes) -> StateNode:
        """Both peers' state, as it is now; nodes that have not changed are those of `known`."""
        ending = self.ending()
        ongoing = "" if ending is not None else "open" if self.is_open else "opening"
        label, stands = f"connection {self.number}", ongoing
        rows: list[StateRow] = []
        if ending is not None:
            rows.append(ended_row(ending, CONNECTION))
            stands = ended_words(ending._replace(condition="", text=""), own=CONNECTION)
        return StateNode(
            label,
            label,
            f"{stands}  {self.protocol}",
            style=TITLE,
            children=tuple(rows),
            kind=CONNECTION,
            title=f"{label}  {self.protocol}" + (f"  {ongoing}" if ongoing else ""),
            fields={
                "connection": self.number,
                "protocol": self.protocol,
                "state": ongoing,
                ENDED: None,
            },
            ending=ending,
        )

    def login(self) -> Login:
        """As whom the client uses the server, and which part of it."""
        return Login()

    def held_places(self) -> list[Held]:
        """What holds each link, channel and consumer; none where the connection has none."""
        return []

    def opening(self) -> tuple[Bound, Refused | None]:
        """How far a connection came that has neither link nor channel, and what was refused."""
        return Bound(NO_LINK, 0, 0, 0, ""), None

    def transactions(self) -> TransactionCounts:
        """What became of the transactions of the connection."""
        return NO_TRANSACTIONS

    def levels(self, event: Event) -> list[Level]:
        """The places of which an event may have changed how much can be sent."""
        return NO_LEVELS

    def opened_places(self, event: Event) -> list[Place]:
        """The places that an event makes known, whether or not a message goes there."""
        return NO_PLACES

    def halts(self, event: Event) -> bool | None:
        """Whether an event stops all that the client sends, or lets it go on; None: neither."""
        return None

    def ended_places(self, event: Event) -> list[Ended]:
        """The places that an event ends."""
        return NO_ENDED

    def left(self, event: Event) -> list[Place]:
        """The places that an event ends, without how they ended."""
        return [each.place for each in self.ended_places(event)]

    def closed_places(self) -> list[Ended]:
        """All places that end with the connection, when both directions are over."""
        return NO_ENDED
