"""One connection of AMQP 1.0: its framers, its model and its rules."""

from __future__ import annotations

from typing import Final, cast

from amqpscope.model import event as shared
from amqpscope.model.ending import Ending
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import Ended, Level, Login, Place
from amqpscope.model.transactions import TransactionCounts
from amqpscope.model.v1_0.ending import connection_ending, over_at
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.message import look_into
from amqpscope.model.v1_0.tracker import Tracker
from amqpscope.protocols import talk
from amqpscope.protocols.peers import PeerView
from amqpscope.protocols.state import KnownNodes, StateNode
from amqpscope.protocols.stuck import Bound, Held, Refused
from amqpscope.protocols.v1_0.framer import Framer, frame_of
from amqpscope.protocols.v1_0.places import (
    closed_places,
    ended_places,
    left_places,
    levels,
    opened_places,
)
from amqpscope.protocols.v1_0.state import connection_node
from amqpscope.protocols.v1_0.stuck import held_links, opening
from amqpscope.protocols.v1_0.versions import is_foreign
from amqpscope.protocols.voice import Voice
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.v1_0 import FAMILY, Reporter
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, SERVER, Chunk, Connection, End, Gap
from dissectors.v1_0.tables import choice
from dissectors.wire import MAGIC

NO_FRAMES: Final[list[Frame]] = []


class Talk(talk.Talk):
    """Framing, model and rules of one connection."""

    def __init__(
        self, number: int, connection: Connection, protocol: str, holes: list[bool], voice: Voice
    ) -> None:
        """`holes`: of which peers octets were missed before the protocol was known."""
        super().__init__(number, connection, protocol, voice)
        self.framers = [
            Framer(CLIENT, lost=not connection.anchored[CLIENT] or holes[CLIENT]),
            Framer(SERVER, lost=not connection.anchored[SERVER] or holes[SERVER]),
        ]
        self.tracker = Tracker(connection.complete)
        model = self.tracker.connection
        model.encrypted = connection.encrypted
        model.carrier = connection
        for end in model.ends:
            # A peer whose beginning was not captured may have said anything.
            end.anchored = connection.anchored[end.peer] and not holes[end.peer]
        self.reporter = Reporter(number, connection.guessed)

    def peer_view(self) -> PeerView:
        """What keeps the conversations of both peers legal, where a proxy changes them."""
        from amqpscope.protocols.v1_0.peers_quick import QuickPeers

        return QuickPeers()

    def chunk(self, chunk: Chunk) -> list[Frame]:
        """The frames that octets complete; behind a header of another family nothing is read."""
        if self.may_be_refused:
            if chunk.sender == CLIENT:
                return NO_FRAMES
            if self.newest[SERVER] is None and chunk.data[:4] != MAGIC[: len(chunk.data)]:
                self.dismissed = True
                return NO_FRAMES
        return self.framers[chunk.sender].feed(chunk)

    def lose(self, gap: Gap) -> None:
        """What was missed may have said anything."""
        if self.framers[gap.sender].gap:
            # At once, and not with this peer's next frame: its partner may answer what is missing.
            self.tracker.lose(gap.sender, gap.time)
        elif not gap.snapped:
            self.tracker.shake(gap.sender)

    def locate(self, frame: Frame) -> shared.Event:
        """Say what a frame means, as the model is before it."""
        return self.tracker.locate(frame)

    def take(self, frame: Frame, rules: RuleSet | None) -> shared.Event:
        """Place a numbered frame in the model and let the rules look at it."""
        tracker = self.tracker
        event = tracker.locate(frame)
        if rules is not None:
            self.check(event, rules)
        tracker.apply(event)
        self.newest[frame.sender] = frame
        if (
            frame.sender == CLIENT
            and frame.unit.header is not None
            and is_foreign(frame.unit.header)
        ):
            # What follows is of another family, which is not read; but for the answer of a server
            # that does not know it either.
            self.may_be_refused = True
        return event

    def check(self, event: shared.Event, rules: RuleSet) -> None:
        """Let the rules look at an event."""
        found = self.dispatcher
        if found is None:
            found = self.dispatcher = rules.of(FAMILY)
        if event.message is not None:
            look_into(cast(Event, event))
        found.check(event, event.frame.unit.name, self.reporter)

    def finish(self, end: End, rules: RuleSet | None) -> None:
        """Let the rules look for what should have come before a direction ended."""
        last = self.last_frame(end.sender)
        if last is None:
            return
        event = self.tracker.finish(end.sender, end.reason, end.time, end.packet, last)
        if rules is not None:
            self.check(event, rules)

    def hear_header(self, asked: Frame) -> None:
        """Learn the header of a client that asked for another family, which a server answers."""
        header = frame_of(CLIENT, 0, asked.raw, 0, asked.packet, asked.time, asked.ack)
        header.number = asked.number
        self.tracker.apply(self.tracker.locate(header))
        self.newest[CLIENT] = header

    @property
    def ends(self) -> list[PeerEnd]:
        """Both peers, client first."""
        return list(self.tracker.connection.ends)

    @property
    def is_open(self) -> bool:
        """Both peers have sent their open."""
        client, server = self.tracker.connection.ends
        return client.open is not None and server.open is not None

    def ending(self) -> Ending | None:
        """How the connection ended; a refused login is not in the frames that end it."""
        model = self.tracker.connection
        ending = connection_ending(model.ends)
        outcome = model.sasl.outcome
        if ending is not None and ending.by_tcp and outcome is not None and outcome.code:
            code = choice("sasl-code", outcome.code) or str(outcome.code)
            return ending._replace(text=f"login refused: {code}")
        return ending

    def over_at(self) -> int:
        """When the connection was over, or else the capture, in nanoseconds; 0 while it goes on."""
        return over_at(self.tracker.connection.ends)

    def state(self, known: KnownNodes) -> StateNode:
        """Both peers' state, as it is now."""
        return connection_node(self.number, self.tracker.connection, self.ending(), known)

    def login(self) -> Login:
        """The user of the SASL layer and the hostname of the client's open."""
        connection = self.tracker.connection
        opened = connection.ends[CLIENT].open
        return Login(connection.sasl.user or None, None if opened is None else opened.hostname)

    def held_places(self) -> list[Held]:
        """What holds each link."""
        return list(held_links(self.number, self.tracker.connection))

    def opening(self) -> tuple[Bound, Refused | None]:
        """How far the connection came, and what was refused."""
        return opening(self.tracker.connection)

    def transactions(self) -> TransactionCounts:
        """What became of the transactions that were declared."""
        return self.tracker.connection.transactions.counts(self.ending() is not None)

    def levels(self, event: shared.Event) -> list[Level]:
        """The links and sessions of which an event may have changed credit or window."""
        return levels(cast(Event, event))

    def opened_places(self, event: shared.Event) -> list[Place]:
        """The session of a begin, the link of an attach."""
        return opened_places(cast(Event, event))

    def ended_places(self, event: shared.Event) -> list[Ended]:
        """The links and sessions that an event ends."""
        return ended_places(cast(Event, event))

    def left(self, event: shared.Event) -> list[Place]:
        """The links and sessions that an event ends, without how they ended."""
        return left_places(cast(Event, event))

    def closed_places(self) -> list[Ended]:
        """The links and sessions that are left when the connection is over."""
        return closed_places(self.tracker.connection)
