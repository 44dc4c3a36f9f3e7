"""Follows all connections of one capture: numbers frames, makes Steps, keeps late findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from amqpscope.analysis.batch import Batch, StepSink, StreamEnd, StreamWindow
from amqpscope.analysis.numbering import Numbering, Share
from amqpscope.analysis.recognition import (
    OVER,
    Candidate,
    Recognition,
    candidate_of,
    first_header,
)
from amqpscope.analysis.step import NOTHING, Conversation, Step
from amqpscope.findings import Finding
from amqpscope.protocols.protocol import HEADER_SIZE, Protocol
from amqpscope.protocols.registry import PROTOCOLS, by_header, is_header, may_become_header
from amqpscope.protocols.talk import Talk
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream.framer import UNREAD, Frame
from amqpscope.stream.types import PEERS, SERVER, Chunk, Connection, End, Gap, Piece, Window

ENDED_BOTH: Final = 0b11
"""`Candidate.ended` when both directions are over."""


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
        self.recognition = Recognition(decode_as)
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

    @property
    def speakers(self) -> set[tuple[str, int]]:
        """The servers that have sent a protocol header; who knows more of them adds them."""
        return self.recognition.speakers

    @property
    def frames(self) -> int:
        """How many frames have been read so far."""
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
            candidate = self.recognition.meet(piece.connection)
        if isinstance(piece, End):
            candidate.ended |= 1 << piece.sender
            if candidate.ended == ENDED_BOTH:
                self._ended = piece.connection
        if candidate.dismissed:
            return []
        if isinstance(piece, Chunk):
            if candidate.conversation is None:
                found = self.recognition.recognise(candidate, piece)
                return [] if found is None else self.accept(candidate, found[0], found[1])
            return self.chunk(candidate, candidate.conversation, piece)
        if isinstance(piece, Gap):
            return self.gap(candidate, piece)
        if isinstance(piece, End):
            return self.end(candidate, piece)
        return []

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
        """Take a gap: octets of a peer are missing."""
        steps: list[Step] = []
        conversation = candidate.conversation
        if conversation is None:
            candidate.holes[gap.sender] = True
            self.recognition.drop_header(candidate, gap.sender)
            return steps
        self.gaps += 1
        conversation.gaps += 1
        talk = conversation.talk_of(gap.sender)
        frame = talk.gap(gap)
        if frame is not None:
            self.step(conversation, talk, frame, steps)
        talk.lose(gap)
        return steps

    # ends

    def end(self, candidate: Candidate, end: End) -> list[Step]:
        """One direction, or the connection, is over."""
        conversation = candidate.conversation
        if conversation is None:
            if not self.recognition.is_cut_short(candidate, end):
                return []
            first = self.accept(candidate, PROTOCOLS[0], PROTOCOLS[0].name)
            return first + self.end(candidate, end)
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
            peer = PEERS.index(finding.peer)
            fault = marks.fault_behind(finding.packet, peer)
            fault = fault or marks.fault_between(finding.packet, packet, peer)
            own.append(replace(finding, fault=fault) if fault else finding)
    return own
