"""The core of the river: pieces of TCP streams in, Steps out.

An `Analyzer` takes the pieces of one capture in order, finds the connections that speak AMQP,
cuts them into frames, numbers and decodes these, and follows each connection through the model.
Only `Step` leaves it: terminal, CI, TUI and Spark read the same Steps; none of them decodes.
"""

from __future__ import annotations

from typing import Final

from amqpscope.findings import Finding, make_findings
from amqpscope.frames import Frame, Framer, frame_of
from amqpscope.frames_older import OlderFrame
from amqpscope.model.delivery import NO_PARTS, Delivery
from amqpscope.model.event import Event
from amqpscope.model.link import LinkEnd
from amqpscope.model.older.event import OlderEvent
from amqpscope.model.session import SessionEnd
from amqpscope.model.tracker import Tracker
from amqpscope.older import UNKNOWN, OlderTalk, older_frame, older_start, speaks_older
from amqpscope.resync import YES, find_frame, looks
from amqpscope.rules import Reporter, RuleSet
from amqpscope.rules.older import OlderRuleSet
from amqpscope.stream import CLIENT, SERVER, Chunk, Connection, End, Gap, Piece
from dissectors.v1_0.framing import Header

AMQP_PORT: Final = 5672
MAGIC: Final = b"AMQP"
OLDER_DEFAULT: Final = "amqp-0-9-1"
CURRENT: Final = b"\x01\x00\x00"
"""The version in a header of 1.0."""
MAX_ODD: Final = 4096
"""Octets of a client that may wait for what a server does that cannot read them."""

AMQP_1_0: Final = "amqp-1.0"
OLDER: Final = {
    # the four octets after "AMQP": protocol
    b"\x00\x00\x09\x01": "amqp-0-9-1",
    b"\x01\x01\x00\x09": "amqp-0-9",
    b"\x01\x01\x08\x00": "amqp-0-8",
    b"\x01\x01\x09\x01": "amqp-0-8",
    b"\x01\x01\x0a\x03": "amqp-10-3",
    b"\x01\x01\x00\x0a": "amqp-0-10",
}


NOTHING: Final[list[Finding]] = []
"""What most units have; shared, so never added to."""


class Conversation:
    """One connection that speaks AMQP."""

    def __init__(self, number: int, connection: Connection, protocol: str) -> None:
        self.number = number
        """From 1 in each capture, in the order in which they were recognised."""
        self.connection = connection
        self.protocol = protocol
        self.tracker = Tracker(connection.complete)
        self.tracker.connection.encrypted = connection.encrypted
        self.tracker.connection.carrier = connection
        for end in self.tracker.connection.ends:
            # A peer whose beginning was not captured may have said anything.
            end.anchored = connection.anchored[end.peer]
        self.gaps = 0
        self.labels: dict[int, str] = {}
        """Room for a sink to keep what it says of units over and over."""
        self.last: list[Frame | None] = [None, None]
        """The newest frame of each peer."""
        self.older: OlderTalk | None = None
        """The model, where it speaks one of the older protocols; `tracker` then knows nothing."""


class Step:
    """One AMQP unit, where it belongs, and what is wrong with it."""

    def __init__(self, conversation: Conversation, event: Event, findings: list[Finding]) -> None:
        self.conversation = conversation
        self.frame: Frame = event.frame
        self.session: SessionEnd | None = event.session
        self.link: LinkEnd | None = event.link
        delivery = event.delivery
        self.delivery: Delivery | None = delivery
        # A delivery goes on with the frames that follow; what it was after this one is kept here.
        self.transfers = 0 if delivery is None else delivery.transfers
        """Transfers of the delivery up to this one."""
        self.octets = 0 if delivery is None else delivery.size
        """Octets of its payload up to here."""
        self.earlier = NO_PARTS if delivery is None else delivery.parts
        """Payloads of the delivery that goes on: up to this one, and those that came since."""
        self.message = event.message
        self.parts = event.parts
        """The message by its sections, where rules have looked into it."""
        self.covered = event.covered
        """The deliveries that a disposition speaks of."""
        self.findings = findings
        """The rules that this unit breaks."""
        self.older: OlderEvent | None = None
        """Of a unit of the older protocols: what it is and where it belongs."""


class OlderStep(Step):
    """One unit of the older protocols."""

    def __init__(
        self, conversation: Conversation, event: OlderEvent, findings: list[Finding]
    ) -> None:
        self.conversation = conversation
        self.frame = event.frame
        self.session = None
        self.link = None
        self.delivery = None
        self.transfers = 0
        self.octets = 0
        self.earlier = NO_PARTS
        self.message = event.message
        self.parts = None
        self.covered = []
        self.findings = findings
        self.older = event


class Suspect:
    """A connection of which it is not yet known whether it speaks AMQP."""

    def __init__(self, connection: Connection, expected: bool) -> None:
        self.connection = connection
        self.expected = expected
        """It uses a port on which frames are expected, and a start of it was not seen."""
        client, server = connection.anchored
        self.framers = [Framer(0, lost=not client), Framer(1, lost=not server)]
        self.held: list[Chunk] = []
        """The first chunks, while they are too short to tell."""
        self.holes = [False, False]
        """Of which peers octets were missed before it was known."""
        self.conversation: Conversation | None = None
        self.foreign = False
        """The client asked for AMQP 0-10, which is not read."""
        self.refused = False
        """The client asked for one of the older protocols, and the server answered with 1.0."""
        self.dismissed = False


class Analyzer:
    """Follows all connections of one capture."""

    def __init__(
        self,
        decode_as: dict[int, str] | None = None,
        rules: RuleSet | None = None,
        until: int = 0,
    ) -> None:
        self.ports = {AMQP_PORT, *(decode_as or {})}
        self.rules = rules
        """The rules to check; None to decode and follow only."""
        self.until = until
        """The last frame to take, 0 for all: the model then stands as of that frame."""
        self.older_rules = None if rules is None else OlderRuleSet(rules)
        self.reporter = Reporter()
        self.late: list[Finding] = []
        """What was found about units that have been given already: an answer that did not come."""
        self.frames = 0
        self.gaps = 0
        self.conversations = 0
        self.protocols: list[str] = []
        self.speakers: set[tuple[str, int]] = set()
        """The servers that have sent a header of AMQP."""

    def feed(self, piece: Piece) -> list[Step]:
        """Take the next piece; give the Steps of the units that it completed."""
        suspect = piece.connection.state
        if not isinstance(suspect, Suspect):
            suspect = self.meet(piece.connection)
        if suspect.dismissed:
            return []
        if isinstance(piece, Chunk):
            if suspect.conversation is None:
                return self.recognise(suspect, piece)
            return self.chunk(suspect, piece)
        if isinstance(piece, Gap):
            return self.gap(suspect, piece)
        if isinstance(piece, End):
            return self.end(suspect, piece)
        return []

    def faulty(self, pieces: list[Piece]) -> list[Step]:
        """Take the next pieces; give the Steps of the units that break a rule."""
        return [step for piece in pieces for step in self.feed(piece) if step.findings]

    def meet(self, connection: Connection) -> Suspect:
        """See a connection for the first time."""
        ports = {connection.client[1], connection.server[1]}
        expected = not connection.complete and not self.ports.isdisjoint(ports)
        suspect = Suspect(connection, expected)
        connection.state = suspect
        return suspect

    def recognise(self, suspect: Suspect, chunk: Chunk) -> list[Step]:
        """Decide whether a connection speaks AMQP by its first octets."""
        data = b"".join(held.data for held in suspect.held if held.sender == chunk.sender)
        data += chunk.data
        if not data:
            return []
        suspect.held.append(chunk)
        if data[:4] == MAGIC[: len(data)] and len(data) < 8:
            return []
        if begins_with_header(data, suspect.connection.anchored[chunk.sender]):
            protocol = protocol_of(data[4:8])
        elif suspect.expected and (
            find_frame(data, True) >= 0 or find_frame(chunk.data, True) >= 0
        ):
            protocol = AMQP_1_0
        elif suspect.expected and (older_frame(data) or older_frame(chunk.data)):
            protocol = OLDER_DEFAULT
        elif suspect.expected and len(suspect.held) < 64:
            return []
        elif headless(data):
            protocol = AMQP_1_0
        elif older_start(data):
            protocol = OLDER_DEFAULT
        elif not self.odd_start(suspect, chunk):
            suspect.dismissed = True
            suspect.held = []
            return []
        else:
            return []
        return self.accept(suspect, protocol)

    def odd_start(self, suspect: Suspect, chunk: Chunk) -> bool:
        """A server that may speak AMQP is sent something else: wait for what it does."""
        connection = suspect.connection
        expected = connection.server in self.speakers or connection.server[1] in self.ports
        if not connection.complete or not expected:
            return False
        return chunk.sender == CLIENT and sum(len(held.data) for held in suspect.held) <= MAX_ODD

    def accept(self, suspect: Suspect, protocol: str) -> list[Step]:
        """A connection turns out to be AMQP: give it its number and read what was held."""
        self.conversations += 1
        if protocol not in self.protocols:
            self.protocols.append(protocol)
        suspect.conversation = Conversation(self.conversations, suspect.connection, protocol)
        for end in suspect.conversation.tracker.connection.ends:
            if suspect.holes[end.peer]:
                end.anchored = False
        held, suspect.held = suspect.held, []
        version = announced(held)
        # A server that has the first word refuses what it could not read, and nothing follows.
        refusal = suspect.connection.complete and all(each.sender == SERVER for each in held)
        if not refusal and (protocol == OLDER_DEFAULT or speaks_older(version)):
            suspect.conversation.older = OlderTalk(suspect.connection, version, suspect.holes)
        steps: list[Step] = []
        for chunk in held:
            if begins_with_header(chunk.data, False) and not suspect.holes[chunk.sender]:
                suspect.framers[chunk.sender].lost = False
            steps.extend(self.chunk(suspect, chunk))
        return steps

    def chunk(self, suspect: Suspect, chunk: Chunk) -> list[Step]:
        """Octets of a connection that speaks AMQP."""
        steps: list[Step] = []
        conversation = suspect.conversation
        older = None if conversation is None else conversation.older
        if chunk.sender == SERVER and (older is not None or suspect.foreign):
            whole = self.first_word(suspect, chunk)
            if whole is None:
                return steps
            chunk = whole
        if older is not None and not self.refused(suspect, older, chunk):
            for found in older.chunk(chunk):
                self.older_step(suspect, older, found, steps)
            return steps
        if suspect.foreign and not self.answered(suspect, chunk):
            return steps
        for frame in suspect.framers[chunk.sender].feed(chunk):
            self.step(suspect, frame, steps)
            if suspect.dismissed:
                break
        return steps

    def first_word(self, suspect: Suspect, chunk: Chunk) -> Chunk | None:
        """Octets of a server; None while they may be the start of a header that is not whole yet.

        A server that does not speak what its client asked for says so by its own header.
        """
        conversation = suspect.conversation
        if conversation is None or conversation.last[SERVER] is not None or suspect.refused:
            return chunk
        suspect.held.append(chunk)
        data = b"".join([held.data for held in suspect.held])
        if len(data) < 8 and data[:4] == MAGIC[: len(data)]:
            return None
        first = suspect.held[0]
        suspect.held = []
        if first is chunk:
            return chunk
        return Chunk(
            first.connection, SERVER, first.offset, data, chunk.packet, chunk.time, first.ack
        )

    def answered(self, suspect: Suspect, chunk: Chunk) -> bool:
        """Whether octets are the answer of a 1.0 server to a client of an older protocol."""
        conversation = suspect.conversation
        if chunk.sender == CLIENT or conversation is None:
            return False
        if conversation.last[SERVER] is None and chunk.data[:4] != MAGIC[: len(chunk.data)]:
            suspect.dismissed = True
        return not suspect.dismissed

    def refused(self, suspect: Suspect, older: OlderTalk, chunk: Chunk) -> bool:
        """Whether octets are of a server that answers a client of an older protocol with 1.0."""
        conversation = suspect.conversation
        if chunk.sender == CLIENT or suspect.refused or conversation is None:
            return suspect.refused and chunk.sender == SERVER
        if conversation.last[SERVER] is None and not chunk.offset:
            suspect.refused = chunk.data[:4] == MAGIC and chunk.data[5:8] == CURRENT
        asked = older.header
        if suspect.refused and asked is not None:
            # The model of 1.0 has to know what its server answers.
            header = frame_of(CLIENT, 0, asked.raw, 0, asked.packet, asked.time, asked.ack)
            header.number = asked.number
            conversation.tracker.apply(conversation.tracker.locate(header))
        return suspect.refused

    def older_step(
        self, suspect: Suspect, older: OlderTalk, frame: Frame, steps: list[Step]
    ) -> None:
        """Number a frame of an older protocol, place it in its model, and give it on."""
        conversation = suspect.conversation
        if conversation is None or 0 < self.until <= self.frames:
            return
        if not isinstance(frame, OlderFrame):
            return
        self.frames += 1
        frame.number = self.frames
        conversation.last[frame.sender] = frame
        event, findings = older.take(frame, self.older_rules, conversation.number)
        if findings:
            self.late.extend(found for found in findings if found.frame != frame.number)
            findings = [found for found in findings if found.frame == frame.number]
        conversation.protocol = older.protocol
        steps.append(OlderStep(conversation, event, findings))

    def step(self, suspect: Suspect, frame: Frame, steps: list[Step]) -> None:
        """Number a frame, place it in the model, and give it on."""
        conversation = suspect.conversation
        if conversation is None or 0 < self.until <= self.frames:
            return
        self.frames += 1
        frame.number = self.frames
        conversation.last[frame.sender] = frame
        tracker = conversation.tracker
        event = tracker.locate(frame)
        findings = NOTHING if self.rules is None else self.check(conversation, event)
        if findings:
            self.late.extend(found for found in findings if found.frame != frame.number)
            findings = [found for found in findings if found.frame == frame.number]
        tracker.apply(event)
        steps.append(Step(conversation, event, findings))
        header = frame.unit.header
        if header is not None and frame.sender == SERVER:
            self.speakers.add(suspect.connection.server)
        if header is not None and foreign(header):
            # What follows is of another protocol, which other code has to read; but for the answer
            # of a server that does not speak it either.
            suspect.foreign = suspect.foreign or frame.sender == CLIENT

    def check(self, conversation: Conversation, event: Event) -> list[Finding]:
        """What the rules say about an event."""
        reporter = self.reporter
        if self.rules is not None:
            self.rules.check(event, reporter)
        if not reporter.reports:
            return NOTHING
        reports, reporter.reports = reporter.reports, []
        return make_findings(reports, conversation.number, conversation.connection.guessed)

    def gap(self, suspect: Suspect, gap: Gap) -> list[Step]:
        """Octets are missing."""
        conversation = suspect.conversation
        if conversation is None:
            suspect.holes[gap.sender] = True
            suspect.framers[gap.sender].lost = True
            self.drop_header(suspect, gap.sender)
            return []
        self.gaps += 1
        conversation.gaps += 1
        older = conversation.older
        if older is not None and not (suspect.refused and gap.sender == SERVER):
            return self.older_gap(suspect, older, gap)
        framer = suspect.framers[gap.sender]
        frame = framer.lose(gap.size, gap.packet, gap.time)
        steps = self.last(suspect, frame)
        if framer.gap:
            # At once, and not with this peer's next frame: its partner may answer what is missing.
            conversation.tracker.lose(gap.sender, gap.time)
        elif not gap.snapped:
            conversation.tracker.shake(gap.sender)
        return steps

    def drop_header(self, suspect: Suspect, sender: int) -> None:
        """Forget the beginning of a header whose rest is missing: what follows is not its end."""
        data = b"".join(held.data for held in suspect.held if held.sender == sender)
        if data[:4] == MAGIC[: len(data)]:
            suspect.held = [held for held in suspect.held if held.sender != sender]

    def older_gap(self, suspect: Suspect, older: OlderTalk, gap: Gap) -> list[Step]:
        """Octets of an older protocol are missing."""
        steps: list[Step] = []
        frame = older.gap(gap)
        if frame is not None:
            self.older_step(suspect, older, frame, steps)
        older.lost(gap)
        return steps

    def older_end(self, suspect: Suspect, older: OlderTalk, end: End) -> list[Step]:
        """A direction of a connection that speaks an older protocol is over."""
        steps: list[Step] = []
        conversation = suspect.conversation
        frame = older.end(end)
        if frame is not None:
            self.older_step(suspect, older, frame, steps)
        if conversation is not None:
            last = conversation.last[end.sender] or conversation.last[1 - end.sender]
            if isinstance(last, OlderFrame):
                self.late.extend(older.finish(end, last, self.older_rules, conversation.number))
        return steps

    def cut_header(self, suspect: Suspect, older: OlderTalk, end: End) -> list[Step]:
        """What a server sent of a header that it never finished."""
        steps: list[Step] = []
        if end.sender == SERVER:
            held, suspect.held = suspect.held, []
            for chunk in held:
                for frame in older.chunk(chunk):
                    self.older_step(suspect, older, frame, steps)
        return steps

    def end(self, suspect: Suspect, end: End) -> list[Step]:
        """One direction, or the connection, is over."""
        if suspect.conversation is None:
            return self.cut_short(suspect, end)
        older = suspect.conversation.older
        if older is not None and not suspect.refused:
            return self.cut_header(suspect, older, end) + self.older_end(suspect, older, end)
        frame = suspect.framers[end.sender].finish(end.packet, end.time, end.reason == "fin")
        steps = self.last(suspect, frame)
        self.finish(suspect.conversation, end)
        return steps

    def cut_short(self, suspect: Suspect, end: End) -> list[Step]:
        """A direction ends before it was known to be AMQP: inside its header, or with none."""
        held = suspect.held
        if suspect.dismissed or end.reason not in ("fin", "rst") or not held:
            return []
        data = b"".join(chunk.data for chunk in held if chunk.sender == end.sender)
        begun = data[:4] == MAGIC and CURRENT.startswith(data[5:])
        # Silence is an answer in AMQP only of a server that is known to speak it.
        known = suspect.connection.server in self.speakers
        refused = known and end.sender == SERVER and end.reason == "fin" and self.unread(held)
        if not begun and not refused:
            if end.sender == CLIENT and self.unread(held):
                suspect.dismissed = True  # it gave up first, so nobody owes it an answer
            return []
        return self.accept(suspect, AMQP_1_0) + self.end(suspect, end)

    def unread(self, held: list[Chunk]) -> bool:
        """Octets of a client, as many as a header has, that are none, and nothing else."""
        data = b"".join(chunk.data for chunk in held)
        ours = all(chunk.sender == CLIENT for chunk in held)
        return ours and len(data) >= 8 and data[:4] != MAGIC

    def finish(self, conversation: Conversation, end: End) -> None:
        """Let the rules look for what should have come before a direction ended."""
        last = conversation.last[end.sender] or conversation.last[1 - end.sender]
        if last is None:
            return
        tracker = conversation.tracker
        event = tracker.finish(end.sender, end.reason, end.time, end.packet, last)
        if self.rules is not None:
            self.late.extend(self.check(conversation, event))

    def last(self, suspect: Suspect, frame: Frame | None) -> list[Step]:
        """The step of a frame that ended before its time, if there is one."""
        steps: list[Step] = []
        if frame is not None:
            self.step(suspect, frame, steps)
        return steps


def protocol_of(version: bytes) -> str:
    """The protocol that the four octets after `AMQP` announce."""
    return OLDER.get(version, UNKNOWN if speaks_older(version) else AMQP_1_0)


def begins_with_header(data: bytes, anchored: bool) -> bool:
    """Whether octets begin with a header; in mid-stream `AMQP` may be part of `AMQPLAIN`."""
    if data[:4] != MAGIC or len(data) < 8:
        return False
    return anchored or data[5:8] == CURRENT or data[4:8] in OLDER


def announced(held: list[Chunk]) -> bytes:
    """The version in the first header among the first octets of a connection, or nothing."""
    for sender in (CLIENT, SERVER):
        start = b"".join([each.data for each in held if each.sender == sender])[:8]
        if start[:4] == MAGIC:
            return start[4:]
    return b""


def headless(data: bytes) -> bool:
    """A performative where a header should be: no other protocol begins so."""
    return len(data) > 12 and data[:2] == b"\x00\x00" and looks(data, 0, len(data)) == YES


def foreign(header: Header) -> bool:
    """A header of the older family."""
    return bytes((header.id, header.major, header.minor, header.revision)) in OLDER
