"""Segments of a ring replayed through the analysis: one process's share.

Numbers. `lint` numbers the frames of a capture in the order in which the packets complete them,
over all connections. A share of the connections cannot know these numbers, so its frames get
order keys instead: the packet that completed the frame, and a counter below it. Keys of
different shares never meet and sort as the numbers do; `numbering` ranks them afterwards.
Connections are numbered in the same way, by the packet at which they were recognised. What comes
only because the capture ends is ordered as the reassembler does it, by when the connection was met.
A share that is a whole ring numbers at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Final, Protocol

from amqpscope.analysis import Analyzer, Numbering
from amqpscope.analysis import Share as Part
from amqpscope.capture.decrypt import Decryptor
from amqpscope.capture.keylog import Keys
from amqpscope.capture.tls import Records
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.filter import compile_filter
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.messages import CAPTURE_ENDS
from amqpscope.rules.dispatch import RuleSet
from amqpscope.spark.gather import ROWS, Block, Gatherer
from amqpscope.spark.messages import MessageRows
from amqpscope.spark.work import Work
from amqpscope.stream.reassembly import Reassembler
from amqpscope.stream.types import RST, SYN, Connection, End, Piece, Segment

SHIFT: Final = 24
"""Bits of a key below the packet: frames that one packet can complete."""
AFTER: Final = 1 << 37
"""Added to the packet for what comes when the capture ends."""


class Places(Protocol):
    """Which slice of a ring a key belongs to."""

    def of_key(self, key: int) -> int:
        """The slice of an order key."""


class Slices:
    """The slices of a ring, by their packets."""

    def __init__(self, bases: list[int]) -> None:
        self.bases = bases
        """Packets before each slice, ascending from 0."""

    def of_key(self, key: int) -> int:
        """The slice of an order key; one past the last for what comes at the end."""
        packet = key >> SHIFT
        return len(self.bases) if packet >= AFTER else bisect_right(self.bases, packet - 1) - 1


class Speakers:
    """The peers that sent a protocol header, and in which packet first.

    The analysis knows a server by that when another connection to it begins oddly, and that other
    connection may be replayed elsewhere.
    """

    def __init__(self, packets: dict[bytes, int]) -> None:
        self.waiting = sorted(((packet, name) for name, packet in packets.items()), reverse=True)

    def before(self, packet: int, known: set[tuple[str, int]]) -> None:
        """Add those that spoke before a packet."""
        waiting = self.waiting
        while waiting and waiting[-1][0] < packet:
            known.add(_endpoint(waiting.pop()[1]))


class Replay:
    """Feeds segments to the analysis and gathers rows."""

    def __init__(
        self,
        ring: str,
        work: Work,
        rules: RuleSet,
        slices: Places | None = None,
        collect: Callable[[Records], None] | None = None,
        secrets: list[bytes] | None = None,
        speakers: dict[bytes, int] | None = None,
        judged: bool = True,
        part: Part | None = None,
    ) -> None:
        keys = Keys(*work.keylogs)
        keys.watch(secrets if secrets is not None else [])
        self.decryptor = Decryptor(keys, collect)
        self.unwrapper = Unwrapper(self.decryptor)
        self.reassembler = Reassembler(work.decode_as)
        self.numbering = Numbering()
        self.analyzer = Analyzer(
            work.decode_as, rules if judged else None, numbering=self.numbering, share=part
        )
        self.journeys: Journeys | None = None
        """What follows messages from one connection to another, where all connections are here."""
        if slices is None and work.messages:
            self.journeys = Journeys(rules, collects=True)
        of_key = None if slices is None else slices.of_key
        where = compile_filter(work.where) if work.where else None
        self.gatherer = Gatherer(ring, work.choice, of_key, work.frames, where)
        self.messages: MessageRows | None = None
        if self.journeys is not None:
            self.messages = MessageRows(ring, self.journeys, self.gatherer.link_of_leg)
        self.now = 0
        """When the newest frame passed."""
        self.met: dict[bytes, int] | None = None if slices is None else {}
        """In which packet each connection was met, where order keys are given."""
        self.names: dict[bytes, bytes] = {}
        self.speakers = Speakers(speakers or {})
        self.ended: dict[Connection, int] | None = None
        """Which directions have ended, where rows of a connection are wanted when both have."""

    def feed(self, segments: list[Segment]) -> Iterator[Block]:
        """Take the next segments, in capture order."""
        if self.met is None:
            self.take(self.unwrapper.feed_all(self.reassembler.feed_all(segments)))
        else:
            for segment in segments:
                self.feed_one(segment, self.met)
        self.take_late()
        if self.messages is not None:
            self.messages.take_gone()
        if self.gatherer.count >= ROWS:
            yield from self.blocks()

    def feed_one(self, segment: Segment, met: dict[bytes, int]) -> None:
        """Take one segment and key what it completes by its packet."""
        name = self.names.get(segment.key)
        if name is None:
            name = canonical(segment.key)
            self.names[segment.key] = name
        if name not in met and meets(segment):
            met[name] = segment.packet
        pieces = self.reassembler.feed(segment)
        if pieces:
            self.speakers.before(segment.packet, self.analyzer.speakers)
            pieces = self.unwrapper.feed_all(pieces)
            self.numbering.frames = self.numbering.connections = segment.packet << SHIFT
            self.take(pieces)

    def take(self, pieces: Iterable[Piece]) -> None:
        """Let the analysis see pieces."""
        analyzer, gatherer, journeys = self.analyzer, self.gatherer, self.journeys
        for piece in pieces:
            steps = analyzer.feed(piece)
            if journeys is not None:
                if gatherer.frames_wanted:
                    # Rows of frames are the same where nobody sees all connections of the ring.
                    for step in steps:
                        gatherer.broken[step.frame.number] = step.findings
                journeys.follow(steps)
            for step in steps:
                gatherer.take(step)
                self.now = step.frame.time
            if journeys is not None and isinstance(piece, End):
                self.end_messages(piece, journeys)
            if self.ended is not None and isinstance(piece, End):
                self.end(piece, self.ended)

    def end_messages(self, end: End, journeys: Journeys) -> None:
        """A direction of a connection is over, for the messages on it."""
        conversation = self.analyzer.conversation_of(end.connection)
        if conversation is None:
            return
        if self.messages is not None and end.reason == CAPTURE_ENDS:
            self.messages.end(conversation)
        journeys.end(conversation)

    def end(self, end: End, ended: dict[Connection, int]) -> None:
        """Give out a connection when both its directions are over."""
        connection = end.connection
        ended[connection] = ended.get(connection, 0) | 1 << end.sender
        if ended[connection] == 3:
            del ended[connection]
            conversation = self.analyzer.conversation_of(connection)
            if conversation is not None:
                self.take_late()
                if conversation.number in self.gatherer.persons:
                    self.gatherer.close(conversation.number)

    def take_late(self) -> None:
        """Keep what was found about frames that have passed."""
        for finding in self.analyzer.late_findings():
            self.gatherer.finding(finding)
        if self.journeys is not None:
            for finding in self.journeys.late_findings():
                self.gatherer.finding(finding)

    def finish(self, packet: int = 0, time: int = 0) -> Iterator[Block]:
        """The ring is over; its last segment was in this packet, at this time."""
        if packet:
            # What ends now ends with the ring's last segment, whosever that was.
            self.reassembler.feed(Segment(packet, time, b"", 0, 0, RST, 0, b"", 0))
        pieces = self.reassembler.finish()
        if self.met is None:
            self.take(self.unwrapper.feed_all(pieces))
        else:
            self.finish_each(pieces, self.met)
        self.take_late()
        if self.journeys is not None:
            for finding in self.journeys.finish():
                self.gatherer.finding(finding)
        if self.messages is not None:
            self.messages.finish(self.now)
        self.gatherer.finish()
        self.decryptor.close()
        yield from self.blocks()

    def blocks(self) -> Iterator[Block]:
        """Hand out the rows so far."""
        yield from self.gatherer.blocks()
        if self.messages is not None:
            for table, rows in self.messages.take():
                yield Block(table, 0, rows)

    def finish_each(self, pieces: list[Piece], met: dict[bytes, int]) -> None:
        """Key what the end completes by when its connection was met."""
        packets = {endpoints(key): packet for key, packet in met.items()}
        last: Connection | None = None
        for piece in pieces:
            connection = piece.connection
            if connection is not last:
                last = connection
                ends = sorted((connection.client, connection.server))
                key = AFTER + packets[ends[0], ends[1]] << SHIFT
                self.numbering.frames = self.numbering.connections = key
            self.take(self.unwrapper.feed_all([piece]))


def meets(segment: Segment) -> bool:
    """Whether a segment can be the first that is known of a connection."""
    if segment.flags & SYN:
        return True
    return not segment.flags & RST and bool(segment.payload or segment.missing)


def canonical(key: bytes) -> bytes:
    """One name for both directions of a connection."""
    size = (len(key) - 4) // 2
    source = key[:size] + key[-4:-2]
    destination = key[size : 2 * size] + key[-2:]
    return source + destination if source < destination else destination + source


def source_of(key: bytes) -> bytes:
    """Address and port of who sends under a key."""
    size = (len(key) - 4) // 2
    return key[:size] + key[-4:-2]


def endpoints(name: bytes) -> tuple[tuple[str, int], tuple[str, int]]:
    """Both ends of a canonical name, in order."""
    half = len(name) // 2
    first, second = sorted((_endpoint(name[:half]), _endpoint(name[half:])))
    return first, second


def _endpoint(name: bytes) -> tuple[str, int]:
    family = AF_INET if len(name) == 6 else AF_INET6
    return inet_ntop(family, name[:-2]), name[-2] << 8 | name[-1]
