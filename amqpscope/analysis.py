"""The core of the river: pieces of TCP streams in, Steps out.

An `Analyzer` takes the pieces of one capture in order, finds the connections that use AMQP, numbers
their frames, and lets each connection's own protocol (`protocols.talk.Talk`) decode and follow
them. Only `Step`, `Finding` and the end of a connection leave it: terminal, CI, TUI and Spark read
the same ones; none of them decodes, and none asks which family a step belongs to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from amqpscope.findings import Finding
from amqpscope.model.event import Event
from amqpscope.protocols.protocol import HEADER_SIZE, Protocol
from amqpscope.protocols.registry import (
    PROTOCOLS,
    by_header,
    find_protocol,
    is_header,
    may_become_header,
)
from amqpscope.protocols.talk import Talk
from amqpscope.rules.registry import RuleSet
from amqpscope.stream.framer import UNREAD, Frame
from amqpscope.stream.types import (
    CLIENT,
    PEERS,
    SERVER,
    Analysed,
    Chunk,
    Connection,
    End,
    Gap,
    Piece,
    Window,
)
from dissectors.native import mypyc_attr

AMQP_PORT: Final = 5672
MAGIC: Final = b"AMQP"
MAX_HELD: Final = 64
"""Chunks of a connection that begins in the middle in which a frame is looked for."""
MAX_ODD: Final = 4096
"""Octets of a client that may wait for what a server does that cannot read them."""
ENDED_BOTH: Final = 0b11
"""`Candidate.ended` when both directions are over."""

NO_FAULTS: Final[list[tuple[str, str]]] = []
"""What nearly all units have; shared, so never added to."""
NOTHING: Final[list[Finding]] = []
"""What most units have; shared, so never added to."""


class Conversation:
    """One connection that uses AMQP."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.number = talk.number
        """From 1 in each capture, in the order in which they were recognised."""
        self.connection = talk.connection
        self.answer: Talk | None = None
        """How the server talks, where it does not know what its client asked for."""
        self.asked: Frame | None = None
        """The client's header."""
        self.gaps = 0
        self.labels: dict[int, str] = {}
        """Room for a sink to keep what it says of units over and over."""
        self.last: list[Frame | None] = [None, None]
        """The newest frame of each peer."""
        self.counted = False
        """Its frames are only counted: another process follows them, or nobody asks for them."""
        self.time = 0
        """When the newest frame of either peer passed; 0 before the first."""
        self.judged = True
        """Its frames are checked by the rules, where there are any."""

    @property
    def protocol(self) -> str:
        """What users call the protocol: `amqp-1.0`."""
        return self.talk.protocol

    @property
    def current(self) -> Talk:
        """Whose model knows how the connection goes on and ends."""
        return self.talk if self.answer is None else self.answer

    def talk_of(self, sender: int) -> Talk:
        """What a peer's octets are read by."""
        return self.current if sender == SERVER else self.talk


class Step:
    """One AMQP unit, where it belongs, and what is wrong with it."""

    def __init__(
        self, conversation: Conversation, talk: Talk, event: Event, findings: list[Finding]
    ) -> None:
        self.conversation = conversation
        self.talk = talk
        """What the unit was read by."""
        self.event = event
        self.frame: Frame = event.frame
        self.findings = findings
        """The rules that this unit breaks."""
        self.faults: list[tuple[str, str]] = NO_FAULTS
        """The faults of a proxy that acted here, by name, and what each did."""
        self.gap = -1
        """Nanoseconds since the frame before it on its connection; -1: it is the first."""


class StreamEnd:
    """One direction of a connection that uses AMQP is over, or nothing more of it is read."""

    def __init__(self, conversation: Conversation, end: End) -> None:
        self.conversation = conversation
        self.sender = end.sender
        self.reason = end.reason
        """How TCP ended, as in `stream.types.End`."""
        marks = conversation.connection.marks
        self.faults = NO_FAULTS if marks is None else marks.take(end.packet)
        """The faults of a proxy that acted behind the last frame."""
        self.time = end.time


class StreamWindow:
    """A peer of a connection that uses AMQP has closed or opened its TCP window."""

    def __init__(self, conversation: Conversation, window: Window) -> None:
        self.conversation = conversation
        self.sender = window.sender
        self.zero = window.zero
        self.time = window.time


class Batch:
    """What comes next of a capture: Steps, then late findings, then what happened to TCP.

    The model behind the Steps is as of the last of them.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.findings: list[Finding] = []
        """Those about units that were handed over before: an answer that did not come."""
        self.end: StreamEnd | None = None
        self.window: StreamWindow | None = None
        self.pieces = 0
        """How many pieces it was made of; 0: there is nothing new, or nothing more is wanted."""
        self.pause = True
        """What follows has to be read first: a good time to write what was kept for a while."""


@mypyc_attr(allow_interpreted_subclasses=True)
class StepSink:
    """Takes Steps the moment they come: compiled, for those who want every frame of a capture."""

    def take(self, steps: list[Step]) -> None:
        """Take the Steps of the next piece."""
        raise NotImplementedError

    def is_due(self) -> bool:
        """Whether something was found that is to be handed over before the next piece."""
        return False


class FaultySteps(StepSink):
    """Keeps the Steps of the units that break a rule."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def take(self, steps: list[Step]) -> None:
        """Keep some of the Steps of the next piece."""
        for step in steps:
            if step.findings:
                self.steps.append(step)

    def drain(self) -> list[Step]:
        """Hand over what was kept since the last call."""
        steps = self.steps
        if steps:
            self.steps = []
        return steps


class Share:
    """Some of the connections of a capture."""

    def __init__(self, chosen: frozenset[int], every: int = 0) -> None:
        self.chosen = chosen
        """By their numbers."""
        self.every = every
        """Or, if not 0, by their places among so many, over and over."""

    def has(self, number: int) -> bool:
        """Whether a connection is one of them."""
        place = (number - 1) % self.every if self.every else number
        return place in self.chosen


class Numbering:
    """Counts the frames and connections of a capture.

    Who reads only a part of a capture moves the counts on, before it hands over what comes next.
    """

    def __init__(self) -> None:
        self.frames = 0
        self.connections = 0
        self.pieces = 0


class Candidate(Analysed):
    """What the analysis knows of a connection; at first not even whether it uses AMQP."""

    def __init__(self, connection: Connection, expected: bool) -> None:
        self.connection = connection
        self.expected = expected
        """It uses a port on which frames are expected, and a start of it was not seen."""
        self.held: list[Chunk] = []
        """The first chunks, while they are too short to say."""
        self.holes = [False, False]
        """Of which peers octets were missed before it was known."""
        self.conversation: Conversation | None = None
        self.dismissed = False
        self.ended = 0
        """Which directions are over, a bit for each peer."""


OVER: Final = Candidate(Connection(("", 0), ("", 0), False), False)
"""What is left of every connection that has ended: nothing of it is read any more."""
OVER.dismissed = True


def candidate_of(connection: Connection) -> Candidate | None:
    """What the analysis keeps with a connection; None before it has met it."""
    analysed = connection.analysed
    return analysed if isinstance(analysed, Candidate) else None


class Analyzer:
    """Follows all connections of one capture."""

    def __init__(
        self,
        decode_as: dict[int, str] | None = None,
        rules: RuleSet | None = None,
        until: int = 0,
        numbering: Numbering | None = None,
        share: Share | None = None,
        judged: Share | None = None,
    ) -> None:
        self.share = share
        """The connections to follow, None for all; of the others frames are only counted."""
        self.judged = judged
        """The connections to check by the rules; None for all."""
        self.decode_as = decode_as or {}
        """The protocol that is assumed on a port where a connection begins in the middle."""
        self.rules = rules
        """The rules to check; None to decode and follow only."""
        self.until = until
        """The last frame to take, 0 for all: the model is then as of that frame."""
        self.numbering = Numbering() if numbering is None else numbering
        self._late: list[Finding] = []
        self._ended: Connection | None = None
        """The connection that ended with the newest piece: known until the next one comes."""
        self.gaps = 0
        self.protocols: list[str] = []
        self.speakers: set[tuple[str, int]] = set()
        """The servers that have sent a protocol header."""

    @property
    def frames(self) -> int:
        """Frames so far."""
        return self.numbering.frames

    @property
    def conversations(self) -> int:
        """Connections with AMQP so far."""
        return self.numbering.connections

    def conversation_of(self, connection: Connection) -> Conversation | None:
        """What is known of a connection; None while it is not known to use AMQP.

        Of one that has ended it is dropped with the next piece.
        """
        candidate = candidate_of(connection)
        return None if candidate is None else candidate.conversation

    def is_dismissed(self, connection: Connection) -> bool:
        """Whether a connection turned out not to use AMQP, or nothing more of it is read."""
        candidate = candidate_of(connection)
        return candidate is not None and candidate.dismissed

    def take(self, pieces: list[Piece], start: int = 0, sink: StepSink | None = None) -> Batch:
        """Take the next pieces of a list, up to where a batch ends.

        It ends with a piece that completes frames, something about an earlier frame, or the end of
        a direction. Frames go to the sink instead where there is one.
        """
        batch, due = Batch(), False
        for at in range(start, len(pieces)):
            piece = pieces[at]
            if self.until and self.is_behind(piece):
                break
            batch.pieces += 1
            steps = self.feed(piece)
            if steps:
                if sink is None:
                    batch.steps = steps
                else:
                    sink.take(steps)
                    due = sink.is_due()
            if not isinstance(piece, Chunk) and self.note(piece, batch):
                break
            if batch.steps or self._late or due:
                break
        batch.findings = self.late_findings()
        batch.pause = start + batch.pieces >= len(pieces)
        return batch

    def note(self, piece: Piece, batch: Batch) -> bool:
        """Put what happens to the TCP of a conversation into a batch; whether something did."""
        conversation = self.conversation_of(piece.connection)
        if conversation is None or conversation.counted:
            return False
        if isinstance(piece, End):
            batch.end = StreamEnd(conversation, piece)
            return True
        if isinstance(piece, Window):
            batch.window = StreamWindow(conversation, piece)
            return True
        return False

    def is_behind(self, piece: Piece) -> bool:
        """Whether a piece comes after the last frame to take; ends of directions may follow it."""
        if self.numbering.frames < self.until or not isinstance(piece, Chunk):
            return False
        return self.conversation_of(piece.connection) is not None

    def late_findings(self) -> list[Finding]:
        """Hand over what was found since the last call about units that had been handed over."""
        if not self._late:
            return NOTHING
        late = self._late
        self._late = []
        return late

    def feed(self, piece: Piece) -> list[Step]:
        """Take the next piece; give the Steps of the units that it completed."""
        self.numbering.pieces += 1
        if self._ended is not None:
            self._ended.analysed = OVER
            self._ended = None
        candidate = candidate_of(piece.connection)
        if candidate is None:
            candidate = self.meet(piece.connection)
        if isinstance(piece, End):
            candidate.ended |= 1 << piece.sender
            if candidate.ended == ENDED_BOTH:
                self._ended = piece.connection
        if candidate.dismissed:
            return []
        if isinstance(piece, Chunk):
            if candidate.conversation is None:
                return self.recognise(candidate, piece)
            return self.chunk(candidate, candidate.conversation, piece)
        if isinstance(piece, Gap):
            return self.gap(candidate, piece)
        if isinstance(piece, End):
            return self.end(candidate, piece)
        return []

    # recognising

    def meet(self, connection: Connection) -> Candidate:
        """See a connection for the first time."""
        expected = not connection.complete and self.is_expected(connection)
        candidate = Candidate(connection, expected)
        connection.analysed = candidate
        return candidate

    def is_expected(self, connection: Connection) -> bool:
        """Whether AMQP is expected on a port of this connection."""
        client, server = connection.client[1], connection.server[1]
        if AMQP_PORT in (client, server):
            return True
        return client in self.decode_as or server in self.decode_as

    def assumed_protocol(self, connection: Connection) -> str:
        """The protocol that the user named for a port of this connection; empty for none."""
        decode_as = self.decode_as
        return decode_as.get(connection.server[1]) or decode_as.get(connection.client[1]) or ""

    def recognise(self, candidate: Candidate, chunk: Chunk) -> list[Step]:
        """Decide by its first octets whether a connection uses AMQP, and which."""
        data = b"".join(held.data for held in candidate.held if held.sender == chunk.sender)
        data += chunk.data
        if not data:
            return []
        candidate.held.append(chunk)
        if may_become_header(data):
            return []
        if is_header(data, candidate.connection.anchored[chunk.sender]):
            protocol, name = by_header(data)
            return self.accept(candidate, protocol, name)
        assumed = self.assumed_protocol(candidate.connection)
        protocols = self.expected_protocols(assumed)
        if candidate.expected:
            for protocol in protocols:
                if protocol.finds_frame(data) or protocol.finds_frame(chunk.data):
                    return self.accept(candidate, protocol, assumed or protocol.name)
            if len(candidate.held) < MAX_HELD:
                return []
        for protocol in protocols:
            if protocol.starts(data):
                return self.accept(candidate, protocol, assumed or protocol.name)
        if not self.odd_start(candidate, chunk):
            candidate.dismissed = True
            candidate.held = []
        return []

    def expected_protocols(self, assumed: str) -> list[Protocol]:
        """The families whose frames are looked for: the one that the user named, or all."""
        protocol = find_protocol(assumed) if assumed else None
        return PROTOCOLS if protocol is None else [protocol]

    def odd_start(self, candidate: Candidate, chunk: Chunk) -> bool:
        """A server that may know AMQP is sent something else: wait for what it does."""
        connection = candidate.connection
        port = connection.server[1]
        expected = port == AMQP_PORT or port in self.decode_as or self.is_speaker(connection)
        if not connection.complete or not expected:
            return False
        return chunk.sender == CLIENT and sum(len(held.data) for held in candidate.held) <= MAX_ODD

    def is_speaker(self, connection: Connection) -> bool:
        """Whether the server is known to use AMQP."""
        return connection.server in self.speakers

    def accept(self, candidate: Candidate, protocol: Protocol, name: str) -> list[Step]:
        """A connection turns out to be AMQP: give it its number and read what was held."""
        connection = candidate.connection
        if name not in self.protocols:
            self.protocols.append(name)
        held, candidate.held = candidate.held, []
        header = first_header(held)
        if connection.complete and all(each.sender == SERVER for each in held):
            # A server that has the first word refuses what it could not read; nothing follows.
            protocol = PROTOCOLS[0]
        elif header:
            protocol = by_header(header)[0]
        self.numbering.connections += 1
        number = self.numbering.connections
        talk = protocol.talk(number, connection, name, header[4:], candidate.holes)
        conversation = candidate.conversation = Conversation(talk)
        if self.share is not None and not self.share.has(number):
            conversation.counted = True
            talk.count_frames()
        if self.judged is not None:
            conversation.judged = self.judged.has(number)
        steps: list[Step] = []
        for chunk in held:
            if is_header(chunk.data, False) and not candidate.holes[chunk.sender]:
                talk.begin(chunk)
            steps.extend(self.chunk(candidate, conversation, chunk))
        return steps

    # following

    def chunk(self, candidate: Candidate, conversation: Conversation, chunk: Chunk) -> list[Step]:
        """Octets of a connection that uses AMQP."""
        steps: list[Step] = []
        if chunk.sender == SERVER and conversation.talk.may_be_refused:
            whole = self.first_word(candidate, conversation, chunk)
            if whole is None:
                return steps
            chunk = whole
        talk = conversation.talk_of(chunk.sender)
        for frame in talk.chunk(chunk):
            self.step(conversation, talk, frame, steps)
        candidate.dismissed = talk.dismissed
        return steps

    def first_word(
        self, candidate: Candidate, conversation: Conversation, chunk: Chunk
    ) -> Chunk | None:
        """Octets of a server; None while they may be the start of a header that is not whole yet.

        A server that does not know what its client asked for says so by its own header.
        """
        if conversation.last[SERVER] is not None or conversation.answer is not None:
            return chunk
        candidate.held.append(chunk)
        data = b"".join([held.data for held in candidate.held])
        if may_become_header(data):
            return None
        first = candidate.held[0]
        candidate.held = []
        if first is not chunk:
            chunk = Chunk(
                first.connection, SERVER, first.offset, data, chunk.packet, chunk.time, first.ack
            )
        self.answer(candidate, conversation, chunk)
        return chunk

    def answer(self, candidate: Candidate, conversation: Conversation, chunk: Chunk) -> None:
        """See whether a server answers with the header of another family than it was asked for."""
        talk, asked = conversation.talk, conversation.asked
        if chunk.offset or not is_header(chunk.data, False):
            return
        protocol, name = by_header(chunk.data)
        if name == protocol.name and protocol.voice is not talk.voice:
            version = chunk.data[4:HEADER_SIZE]
            conversation.answer = protocol.talk(
                talk.number, talk.connection, name, version, candidate.holes
            )
            if asked is not None:
                conversation.answer.hear_header(asked)
            if conversation.counted:
                conversation.answer.count_frames()

    def step(self, conversation: Conversation, talk: Talk, frame: Frame, steps: list[Step]) -> None:
        """Number a frame, let its protocol place it in the model, and give it on."""
        numbering = self.numbering
        if 0 < self.until <= numbering.frames:
            return
        numbering.frames += 1
        conversation.last[frame.sender] = frame
        if conversation.counted:
            self.count(conversation, talk, frame)
            return
        frame.number = numbering.frames
        event = talk.take(frame, self.rules if conversation.judged else None)
        findings = talk.findings()
        if findings:
            findings = attribute_faults(findings, conversation.connection, frame.packet)
            self._late.extend([found for found in findings if found.frame != frame.number])
            findings = [found for found in findings if found.frame == frame.number]
        step = Step(conversation, talk, event, findings)
        if conversation.time:
            step.gap = max(frame.time - conversation.time, 0)
        conversation.time = frame.time
        marks = conversation.connection.marks
        if marks is not None:
            step.faults = marks.take(frame.packet)
        steps.append(step)
        self.hear(conversation, frame)

    def hear(self, conversation: Conversation, frame: Frame) -> None:
        """Note what a protocol header says of its connection and its server."""
        if frame.unit.header is not None:
            if frame.sender == SERVER:
                self.speakers.add(conversation.connection.server)
            elif conversation.asked is None:
                conversation.asked = frame

    def count(self, conversation: Conversation, talk: Talk, frame: Frame) -> None:
        """Follow a frame only as far as how the next ones are cut depends on it."""
        if frame.unit is UNREAD:
            talk.newest[frame.sender] = frame
            return
        frame.number = self.numbering.frames
        talk.take(frame, None)
        self.hear(conversation, frame)
        talk.count_frames()

    def gap(self, candidate: Candidate, gap: Gap) -> list[Step]:
        """Octets are missing."""
        steps: list[Step] = []
        conversation = candidate.conversation
        if conversation is None:
            candidate.holes[gap.sender] = True
            self.drop_header(candidate, gap.sender)
            return steps
        self.gaps += 1
        conversation.gaps += 1
        talk = conversation.talk_of(gap.sender)
        frame = talk.gap(gap)
        if frame is not None:
            self.step(conversation, talk, frame, steps)
        talk.lose(gap)
        return steps

    def drop_header(self, candidate: Candidate, sender: int) -> None:
        """Forget the beginning of a header whose rest is missing: what follows is not its end."""
        data = b"".join(held.data for held in candidate.held if held.sender == sender)
        if not data or may_become_header(data) or is_header(data, True):
            candidate.held = [held for held in candidate.held if held.sender != sender]

    # ends

    def end(self, candidate: Candidate, end: End) -> list[Step]:
        """One direction, or the connection, is over."""
        conversation = candidate.conversation
        if conversation is None:
            return self.cut_short(candidate, end)
        steps: list[Step] = []
        talk = conversation.current
        if end.sender == SERVER and candidate.held:
            # What a server sent of a header that it never finished.
            held, candidate.held = candidate.held, []
            for chunk in held:
                for frame in talk.chunk(chunk):
                    self.step(conversation, talk, frame, steps)
        begun = talk.end(end)
        if begun is not None:
            self.step(conversation, talk, begun, steps)
        if conversation.counted:
            return steps
        talk.finish(end, self.rules if conversation.judged else None)
        found = attribute_faults(talk.findings(), conversation.connection, end.packet)
        self._late.extend(found)
        return steps

    def cut_short(self, candidate: Candidate, end: End) -> list[Step]:
        """A direction ends before it was known to be AMQP: inside its header, or with none."""
        held = candidate.held
        if candidate.dismissed or end.reason not in ("fin", "rst") or not held:
            return []
        data = b"".join(chunk.data for chunk in held if chunk.sender == end.sender)
        begun = data[:4] == MAGIC and may_become_header(data) and PROTOCOLS[0].may_begin(data[4:])
        # Silence is an answer in AMQP only of a server that is known to use it.
        known = self.is_speaker(candidate.connection)
        refused = known and end.sender == SERVER and end.reason == "fin" and is_unread(held)
        if not begun and not refused:
            if end.sender == CLIENT and is_unread(held):
                candidate.dismissed = True  # it gave up first, so nobody owes it an answer
            return []
        steps = self.accept(candidate, PROTOCOLS[0], PROTOCOLS[0].name)
        return steps + self.end(candidate, end)


def attribute_faults(findings: list[Finding], connection: Connection, packet: int) -> list[Finding]:
    """Findings with the fault of a proxy that they rest on; without those that it only copied.

    `packet` is the one that brought them up.
    """
    marks = connection.marks
    if marks is None:
        return findings
    own: list[Finding] = []
    for finding in findings:
        if finding.packet > marks.copied:
            fault = marks.fault_behind(finding.packet, PEERS.index(finding.peer))
            fault = fault or marks.fault_between(finding.packet, packet)
            own.append(replace(finding, fault=fault) if fault else finding)
    return own


def is_unread(held: list[Chunk]) -> bool:
    """Octets of a client, as many as a header has, that are none, and nothing else."""
    data = b"".join(chunk.data for chunk in held)
    ours = all(chunk.sender == CLIENT for chunk in held)
    return ours and len(data) >= HEADER_SIZE and data[:4] != MAGIC


def first_header(held: list[Chunk]) -> bytes:
    """The first header among the first octets of a connection, the client's first; or nothing."""
    for sender in (CLIENT, SERVER):
        start = b"".join([each.data for each in held if each.sender == sender])[:HEADER_SIZE]
        if is_header(start, True):
            return start
    return b""
