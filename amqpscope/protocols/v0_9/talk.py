"""One connection of AMQP 0-8, 0-9 or 0-9-1: its framers, its model and its rules."""

from __future__ import annotations

from typing import Final, cast

from amqpscope.model import event as shared
from amqpscope.model.ending import Ending
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import Ended, Level, Login
from amqpscope.model.transactions import TransactionCounts
from amqpscope.model.v0_9.connection import Connection as Model
from amqpscope.model.v0_9.ending import connection_ending, over_at
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.tracker import Tracker
from amqpscope.protocols import talk
from amqpscope.protocols.peers import PeerView
from amqpscope.protocols.state import KnownNodes, StateNode
from amqpscope.protocols.stuck import Bound, Held, Refused
from amqpscope.protocols.v0_9.framer import DialectGuess, Framer
from amqpscope.protocols.v0_9.places import HALTS, ended_places, levels
from amqpscope.protocols.v0_9.state import connection_node
from amqpscope.protocols.v0_9.stuck import held_channels, opening
from amqpscope.protocols.voice import Voice
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.v0_9 import FAMILY, Reporter
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import Chunk, Connection, End, Gap
from dissectors.v0_9.dialects import DEFAULT, by_version, dialect
from dissectors.v0_9.dialects import NAMES as DIALECTS
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.versions import DIALECT_OF
from dissectors.wire import MAGIC

UNKNOWN: Final = "amqp-0-x"
"""A version that never was."""
LOOPBACK: Final = ("127.", "::1")
PROOF: Final = 16
"""Methods in a row that fit a guessed dialect and leave no doubt about it."""


class Talk(talk.Talk):
    """Framing, model and rules of one connection."""

    def __init__(
        self, number: int, connection: Connection, assumed: str, version: bytes, holes: list[bool],
        voice: Voice,
    ) -> None:  # fmt: skip
        """`version` are the four octets of the header, empty where none was seen.

        Without a header the dialect is that of `assumed`, until frames show another.
        """
        found = by_version(version)
        announced = UNKNOWN if version else ""
        if found is not None:
            announced = found.protocol
        guess = assumed.removeprefix("amqp-")
        if found is None:
            spoken = DialectGuess(dialect(guess if guess in DIALECTS else DEFAULT), False)
        else:
            spoken = DialectGuess(found, True)
        super().__init__(number, connection, announced or spoken.dialect.protocol, voice)
        self.spoken = spoken
        self.announced = announced
        """The protocol that the client's header named."""
        self.may_be_refused = True
        client, server = connection.anchored
        self.framers = [
            Framer(0, spoken, lost=not client), Framer(1, spoken, lost=not server)
        ]  # fmt: skip
        self.tracker = Tracker(connection.complete, spoken.dialect)
        model = self.tracker.connection
        model.encrypted = connection.encrypted
        model.announced = spoken.sure
        model.loopback = connection.client[0] == connection.server[0] or (
            connection.server[0].startswith(LOOPBACK)
        )
        for end in model.ends:
            # A peer whose beginning was not captured may have said anything.
            end.anchored = connection.anchored[end.peer] and not holes[end.peer]
            if not end.anchored:
                model.zero.lose(end.peer)
        if not (model.ends[0].anchored and model.ends[1].anchored):
            model.stage = "unknown"
        self.reporter = Reporter(number, connection.guessed)
        self.fitting = 0
        """Methods in a row that fit a dialect which was guessed."""

    def peer_view(self) -> PeerView:
        """What keeps the conversations of both peers legal, where a proxy changes them."""
        from amqpscope.protocols.v0_9.peers_quick import QuickPeers

        return QuickPeers(self.spoken)

    def chunk(self, chunk: Chunk) -> list[Frame]:
        """The frames that octets complete."""
        framer = self.framers[chunk.sender]
        self.tracker.heard(chunk.sender, chunk.time, chunk.offset + len(chunk.data))
        if framer.lost and not framer.gap and not chunk.offset:
            framer.lost = chunk.data[:4] != MAGIC or chunk.data[4:8] not in DIALECT_OF
        return framer.feed(chunk)

    @property
    def is_settled(self) -> bool:
        """The dialect is known, and how long the headers of frames are."""
        return self.spoken.sure and all(cast(Framer, each).head for each in self.framers)

    def lose(self, gap: Gap) -> None:
        """What was missed may have said anything."""
        if self.framers[gap.sender].gap:
            # At once, and not with this peer's next frame: its partner may answer what is missing.
            self.tracker.lose(gap.sender, gap.time)

    def locate(self, frame: Frame) -> shared.Event:
        """Say what a frame means, as the model is before it."""
        return self.tracker.locate(frame, cast(Unit, frame.unit))

    def take(self, frame: Frame, rules: RuleSet | None) -> shared.Event:
        """Place a numbered frame in the model and let the rules look at it."""
        unit = cast(Unit, frame.unit)
        event = self.tracker.locate(frame, unit)
        if rules is not None:
            self.check(event, rules)
        self.tracker.apply(event)
        self.newest[frame.sender] = frame
        # What the server says of itself, or the first frames, show the dialect of all that follow.
        model = self.tracker.connection
        if event.method_name == "connection.start" and model.start is not None:
            self.start(model)
        elif self.spoken.dialect is not model.dialect:
            self.tracker.speak(self.spoken.dialect.name)
            self.fitting = 0
        elif not model.announced:
            self.fit(unit)
        self.protocol = self.announced or self.spoken.dialect.protocol
        return event

    def start(self, model: Model) -> None:
        """Take the dialect from who the server says it is, mostly also without a header."""
        spoken = self.spoken
        if not spoken.sure and model.start is not None and model.start.get("version-major") == 8:
            self.tracker.speak(dialect("0-8").name)
            spoken.sure = True
        spoken.sure = spoken.sure or model.rabbit
        spoken.dialect, model.announced = model.dialect, spoken.sure

    def fit(self, unit: Unit) -> None:
        """Count methods in a row that a guessed dialect reads."""
        if unit.label != "method":
            return
        self.fitting = 0 if unit.method is None or unit.faults else self.fitting + 1
        if self.fitting >= PROOF:
            self.tracker.connection.announced = self.spoken.sure = True

    def check(self, event: shared.Event, rules: RuleSet) -> None:
        """Let the rules look at an event."""
        found = self.dispatcher
        if found is None:
            found = self.dispatcher = rules.of(FAMILY)
        own = cast(Event, event)
        dialect = own.connection.dialect.name
        found.check(event, own.method_name, self.reporter, dialect)

    def finish(self, end: End, rules: RuleSet | None) -> None:
        """Let the rules look for what should have come before a direction ended."""
        last = self.last_frame(end.sender)
        if last is None:
            return
        unit = cast(Unit, last.unit)
        event = self.tracker.finish(end.sender, end.reason, end.time, end.packet, last, unit)
        if rules is not None:
            self.check(event, rules)

    @property
    def ends(self) -> list[PeerEnd]:
        """Both peers, client first."""
        return list(self.tracker.connection.ends)

    @property
    def is_open(self) -> bool:
        """The server has sent its open-ok, as far as is known."""
        return self.tracker.connection.stage in ("open", "unknown")

    def ending(self) -> Ending | None:
        """How the connection ended; None while it goes on, or where the capture ends first."""
        return connection_ending(self.tracker.connection)

    def over_at(self) -> int:
        """When the connection was over, or else the capture, in nanoseconds; 0 while it goes on."""
        return over_at(self.tracker.connection)

    def state(self, known: KnownNodes) -> StateNode:
        """Both peers' state, as it is now."""
        return connection_node(self.number, self.tracker.connection)

    def login(self) -> Login:
        """The user of the start-ok and the virtual host of the open."""
        connection = self.tracker.connection
        return Login(connection.user or None, connection.virtual_host)

    def held_places(self) -> list[Held]:
        """What holds each channel and consumer."""
        return list(held_channels(self.number, self.tracker.connection))

    def opening(self) -> tuple[Bound, Refused | None]:
        """How far the connection came, and what was refused."""
        return opening(self.tracker.connection)

    def transactions(self) -> TransactionCounts:
        """What became of the work on channels in transaction mode."""
        return self.tracker.connection.transactions(self.ending() is not None)

    def levels(self, event: shared.Event) -> list[Level]:
        """The consumers and channels of which an event may have changed how much can be sent."""
        return levels(cast(Event, event))

    def halts(self, event: shared.Event) -> bool | None:
        """The server blocks all publishing, or unblocks it."""
        return HALTS.get(event.name)

    def ended_places(self, event: shared.Event) -> list[Ended]:
        """The channels and consumers that an event ends."""
        return ended_places(cast(Event, event))
