"""A connection of the older family on its way through the river: pieces in, events out.

The analyzer hands over what belongs to a connection that speaks 0-8, 0-9, 0-9-1 or the early draft,
numbers the frames that come out, and gives the events on as Steps.
"""

from __future__ import annotations

from typing import Final

from amqpscope.findings import Finding, make_findings
from amqpscope.frames import Frame
from amqpscope.frames_older import OlderFrame, OlderFramer, Spoken
from amqpscope.model.older.connection import OlderConnection
from amqpscope.model.older.event import OlderEvent
from amqpscope.model.older.tracker import OlderTracker
from amqpscope.rules.older import OlderReporter, OlderRuleSet
from amqpscope.stream import CLIENT, Chunk, Connection, End, Gap
from dissectors.v0_9.dialects import DEFAULT, VERSION_0_10, VERSIONS, by_version, dialect
from dissectors.v0_9.framing import OlderUnit
from dissectors.v0_9.resync import YES, find_frame, looks

MAGIC: Final = b"AMQP"
UNKNOWN: Final = "amqp-0-x"
"""A version that never was."""
LOOPBACK: Final = ("127.", "::1")
PROOF: Final = 16
"""Methods that fit."""
NOTHING: Final[list[Finding]] = []
"""What most units have; shared, so never added to."""


def speaks_older(version: bytes) -> bool:
    """Whether the four octets after `AMQP` announce a protocol that is read here."""
    if len(version) < 4 or version == VERSION_0_10:
        return False
    # Up to 0-10 the first two numbers are 1, in 0-9-1 they are 0; in 1.0 the second is 1.
    return version in VERSIONS or version[:2] in (b"\x00\x00", b"\x01\x01")


def older_frame(data: bytes) -> bool:
    """Whether frames of the older family begin in octets of which the start was not seen."""
    return find_frame(data, True) >= 0


def older_start(data: bytes) -> bool:
    """Whether a connection begins with a whole frame of the older family, and no header."""
    return looks(data, 0, len(data), 7) == YES


class OlderTalk:
    """One connection of the older family."""

    def __init__(self, connection: Connection, version: bytes, holes: list[bool]) -> None:
        """`version` are the four octets of the header, empty where none was seen."""
        found = by_version(version)
        spoken = Spoken(dialect(DEFAULT) if found is None else found, found is not None)
        self.spoken = spoken
        self.announced = UNKNOWN if version else ""
        """The protocol that the client's header named."""
        if found is not None:
            self.announced = found.protocol
        self.header: OlderFrame | None = None
        """The client's header."""
        client, server = connection.anchored
        self.framers = [
            OlderFramer(0, spoken, lost=not client), OlderFramer(1, spoken, lost=not server)
        ]  # fmt: skip
        self.tracker = OlderTracker(connection.complete, spoken.dialect)
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
        self.reporter = OlderReporter()
        self.guessed = connection.guessed
        self.fitting = 0
        """Methods in a row that fit a dialect which was guessed."""

    @property
    def protocol(self) -> str:
        """What users call it: `amqp-0-9-1`."""
        return self.announced or self.spoken.dialect.protocol

    def chunk(self, chunk: Chunk) -> list[Frame]:
        """The frames that octets complete."""
        framer = self.framers[chunk.sender]
        self.tracker.heard(chunk.sender, chunk.time, chunk.offset + len(chunk.data))
        if framer.lost and not framer.gap and not chunk.offset:
            framer.lost = chunk.data[:4] != MAGIC or chunk.data[4:8] not in VERSIONS
        return framer.feed(chunk)

    def gap(self, gap: Gap) -> Frame | None:
        """Octets are missing; gives the frame that was begun."""
        return self.framers[gap.sender].lose(gap.size, gap.packet, gap.time)

    def lost(self, gap: Gap) -> None:
        """What was missed may have said anything."""
        if self.framers[gap.sender].gap:
            # At once, and not with this peer's next frame: its partner may answer what is missing.
            self.tracker.lose(gap.sender, gap.time)

    def end(self, end: End) -> Frame | None:
        """A direction is over; gives the frame that was begun."""
        return self.framers[end.sender].finish(end.packet, end.time, end.reason == "fin")

    def take(
        self, frame: OlderFrame, rules: OlderRuleSet | None, number: int
    ) -> tuple[OlderEvent, list[Finding]]:
        """Place a numbered frame in the model, and let the rules see it."""
        event = self.tracker.locate(frame, frame.older)
        findings = NOTHING if rules is None else self.check(event, rules, number)
        self.tracker.apply(event)
        # What the server says of itself, or the first frames, tell the dialect of all that follow.
        model = self.tracker.connection
        if frame.older.header is not None and frame.sender == CLIENT and self.header is None:
            self.header = frame
        if event.name == "connection.start" and model.start is not None:
            self.started(model)
        elif self.spoken.dialect is not model.dialect:
            self.tracker.speak(self.spoken.dialect.name)
            self.fitting = 0
        elif not model.announced:
            self.fit(frame.older)
        return event, findings

    def started(self, model: OlderConnection) -> None:
        """The server has said who it is: that tells the dialect, mostly also without a header."""
        spoken = self.spoken
        if not spoken.sure and model.start is not None and model.start.get("version-major") == 8:
            self.tracker.speak(dialect("0-8").name)
            spoken.sure = True
        spoken.sure = spoken.sure or model.rabbit
        spoken.dialect, model.announced = model.dialect, spoken.sure

    def fit(self, unit: OlderUnit) -> None:
        """Many methods in a row that a guessed dialect reads leave no doubt about it."""
        if unit.label != "method":
            return
        self.fitting = 0 if unit.method is None or unit.faults else self.fitting + 1
        if self.fitting >= PROOF:
            self.tracker.connection.announced = self.spoken.sure = True

    def check(self, event: OlderEvent, rules: OlderRuleSet, number: int) -> list[Finding]:
        """What the rules say about an event of the connection with this number."""
        reporter = self.reporter
        rules.check(event, reporter)
        if not reporter.reports:
            return NOTHING
        reports, reporter.reports = reporter.reports, []
        return make_findings(reports, number, self.guessed)

    def finish(
        self, end: End, last: OlderFrame, rules: OlderRuleSet | None, number: int
    ) -> list[Finding]:
        """Let the rules look for what should have come before a direction ended."""
        event = self.tracker.finish(end.sender, end.reason, end.time, end.packet, last, last.older)
        return NOTHING if rules is None else self.check(event, rules, number)
