"""Writes pieces as a capture again: the same octets, losses, acknowledgements and ends.

What is written has one packet for each piece, so that a reader gets the same pieces. TLS
and WebSocket are off already; what the rules want to know of them goes into a comment.
"""

from __future__ import annotations

from typing import IO, Final

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.stream.carrier import note_carrier
from amqpscope.stream.marks import COPY, FAULT
from amqpscope.stream.types import (
    ACK,
    BEYOND,
    CLIENT,
    FIN,
    SERVER,
    SYN,
    Chunk,
    Connection,
    End,
    Gap,
    Piece,
    Window,
)

UNKNOWN_LOSS: Final = 60_000
"""Octets for a loss whose size is not known: as many as one packet can announce."""
OPEN: Final = 65535
"""The window of a peer that can take more."""
APART: Final = 0x01000193
"""How far the sequence numbers of connections are apart, so that a port pair can be used again."""


class Rewriter:
    """Writes the pieces of all connections, in order."""

    def __init__(self, file: IO[bytes]) -> None:
        self.writer = CaptureWriter(file)
        self.talks: dict[Connection, _Talk] = {}

    def write(self, piece: Piece) -> None:
        """Write the next piece."""
        talk = self.talks.get(piece.connection)
        if talk is None:
            talk = _Talk(self.writer, piece, len(self.talks))
            self.talks[piece.connection] = talk
        talk.write(piece)


class _Talk:
    """A connection while its pieces are written again as packets."""

    def __init__(self, writer: CaptureWriter, first: Piece, number: int) -> None:
        connection = first.connection
        self.talk = ConnectionWriter(writer, connection.client, connection.server)
        self.base = [(number * APART + each) & 0x7FFFFFFF for each in (1000, 2000)]
        """The sequence number of each peer's first octet."""
        self.passed = [0, 0]
        """Octets of each peer so far."""
        self.losses: list[list[int]] = [[], []]
        """Where octets of an unknown number are missing."""
        self.windows = [OPEN, OPEN]
        self.comment = note_carrier(connection)
        self.marks = connection.marks
        self.noted = 0
        """How many of a proxy's faults are written."""
        self.reset = False
        time = connection.opened or first.time
        if connection.anchored[CLIENT]:
            self._segment(CLIENT, time, SYN, -1, -1)
        if connection.anchored[SERVER]:
            self._segment(SERVER, time, SYN | ACK, -1, 0)
        if connection.complete:
            self._segment(CLIENT, time, ACK, 0, 0)

    def write(self, piece: Piece) -> None:
        self._note_faults(piece)
        if isinstance(piece, Chunk):
            self._data(piece)
        elif isinstance(piece, Gap):
            self._lose(piece)
        elif isinstance(piece, Window):
            self.windows[piece.sender] = 0 if piece.zero else OPEN
            start = self.passed[piece.sender]
            self._segment(piece.sender, piece.time, ACK, start, self._octets_read(piece))
        elif isinstance(piece, End):
            self._end(piece)

    def _note_faults(self, piece: Piece) -> None:
        """Say again what a proxy did up to here: which fault acted, and how, without details."""
        marks = self.marks
        if marks is None:
            return
        while self.noted < len(marks.faults) and marks.faults[self.noted][0] <= piece.packet:
            kind = marks.actions[self.noted].partition(" ")[0]
            self.talk.writer.comment = f"{FAULT}{marks.faults[self.noted][1]}: {kind}"
            sender = marks.proxy
            self._segment(sender, piece.time, ACK, self.passed[sender], self.passed[1 - sender])
            self.noted += 1

    def _data(self, chunk: Chunk) -> None:
        sender, passed = chunk.sender, self.passed[1 - chunk.sender]
        if chunk.ack >= BEYOND:
            # A number older than the one before it says nothing about the octets beside it.
            number = self._number(1 - sender, passed)
            self.talk.window = self.windows[sender]
            self.talk.seq[sender] = self._number(sender, chunk.offset)
            self.talk.segment(sender, chunk.time, ACK, b"", number)
        if self.marks is not None and chunk.packet <= self.marks.copied:
            self.comment = COPY
        ack = 0 if chunk.ack >= BEYOND else chunk.ack
        self._segment(sender, chunk.time, ACK, chunk.offset, ack, chunk.data)
        self.passed[sender] = chunk.offset + len(chunk.data)

    def _lose(self, gap: Gap) -> None:
        sender, known = gap.sender, self._octets_read(gap)
        if gap.snapped and gap.size > 0:
            self._segment(sender, gap.time, ACK, gap.offset, known, b"", gap.size)
        if gap.size < 0:
            # A packet without its octets: else nothing would say that there is a loss.
            self._segment(sender, gap.time, ACK, gap.offset, known, b"", UNKNOWN_LOSS)
            self.losses[sender].append(gap.offset)
        self.passed[sender] = max(self.passed[sender], gap.offset + max(gap.size, 0))

    def _end(self, end: End) -> None:
        sender = end.sender
        if end.reason == "fin":
            self._segment(sender, end.time, FIN | ACK, self.passed[sender], self._octets_read(end))
        elif end.reason == "rst" and not self.reset:
            self.reset = True
            self.talk.seq[sender] = self._number(sender, self.passed[sender])
            self.talk.seq[1 - sender] = self._number(1 - sender, self._octets_read(end) - 1) + 1
            self.talk.reset(sender, end.time)

    def _octets_read(self, piece: Piece) -> int:
        """What the sender of something without octets had read: all that had passed."""
        return self.passed[1 - piece.sender]

    def _number(self, sender: int, offset: int) -> int:
        """The sequence number of an octet."""
        lost = sum(hole <= offset for hole in self.losses[sender])
        return self.base[sender] + offset + lost * UNKNOWN_LOSS

    def _segment(
        self, sender: int, time: int, flags: int, offset: int, ack: int, data: bytes = b"",
        missing: int = 0,
    ) -> None:  # fmt: skip
        talk = self.talk
        talk.window = self.windows[sender]
        talk.seq[sender] = self._number(sender, offset)
        # An acknowledgement is about the octets before its number, and what is lost comes behind.
        number = 0 if ack < 0 else self._number(1 - sender, ack - 1) + 1
        if not data:
            talk.segment(sender, time, flags, b"", number, missing)
            return
        talk.writer.comment, self.comment = self.comment, ""
        talk.send(sender, time, data, number)
