"""Pieces from a `Spool` through the `Analyzer` once more: real Steps, with the model behind them.

Numbers of frames and connections are those of the capture, also when only one connection is
replayed: each piece knows how many frames were complete before it. A chunk that completes several
frames is cut at their ends, so that the model can be looked at after each of them.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from amqpscope.analysis import MAGIC, Analyzer, Conversation, Numbering, Step
from amqpscope.protocols.sketch import LOST_BEFORE
from amqpscope.stream import types as stream
from amqpscope.tui import spool
from amqpscope.tui.spool import PIECE, PLACE, REASONS, PieceHead, Spool, SpooledLines

BLOCK: Final = 256 * 1024
ALL: Final = 0
"""In place of a connection's number: all of them."""


class PieceIndex:
    """Where the pieces of each connection lie, as far as they are written."""

    def __init__(self, files: Spool, decode_as: dict[int, str]) -> None:
        self.files = files
        self.decode_as = decode_as
        self.facts = SpooledLines(files.facts)
        self.connections: dict[int, dict[str, Any]] = {}
        """The fact about each connection."""
        self.befores: array[int] = array("I")
        self.positions: array[int] = array("Q")
        """Of each piece, the frames before it and its place in `pieces`."""
        self.of: dict[int, array[int]] = {}
        """The pieces of each connection, by their place in these two."""
        self.count = 0
        """Frames in the index."""

    def update(self) -> None:
        """Take what was written since."""
        self.count = self.files.count
        while data := os.pread(self.files.places, BLOCK, len(self.befores) * PLACE.size):
            data = data[: len(data) - len(data) % PLACE.size]
            if not data:
                break
            for connection, before, position in PLACE.iter_unpack(data):
                self.of.setdefault(connection, array("I")).append(len(self.befores))
                self.befores.append(before)
                self.positions.append(position)
        while facts := self.facts.read():
            for fact, _, _ in facts:
                if "connection" in fact:
                    self.connections[fact["connection"]] = fact

    def place(self, connection: int, turn: int) -> int:
        """The piece of a connection that comes at a turn; -1 if there is none yet."""
        if connection == ALL:
            return turn if turn < len(self.befores) else -1
        found = self.of.get(connection)
        return -1 if found is None or turn >= len(found) else found[turn]

    def turn_after(self, connection: int, frame: int) -> int:
        """The turn of a connection's first piece that comes when a frame is complete."""
        found = self.of.get(connection, array("I"))
        return bisect_left(found, frame, key=lambda place: self.befores[place])

    def completed_frames(self, place: int) -> int:
        """How many frames were complete behind a piece."""
        last = place + 1 == len(self.befores)
        return self.count if last else min(self.befores[place + 1], self.count)


class Replay:
    """One run over the pieces of a connection, or of all; it goes on where it stopped."""

    def __init__(self, places: PieceIndex, connection: int = ALL) -> None:
        self.places = places
        self.connection = connection
        self.numbering = Numbering()
        self.analyzer = Analyzer(places.decode_as, numbering=self.numbering)
        self.frame = 0
        """The newest frame that the model has seen."""
        self.conversations: dict[int, Conversation] = {}
        """Connections as of that frame, by number."""
        self.turn = 0
        self.streams: dict[int, stream.Connection] = {}
        self.waiting: deque[tuple[stream.Piece, int]] = deque()
        """Parts of the present piece, each with the first frame that it completes; 0: none."""
        self.block = b""
        self.start = 0

    def steps(self, last: int = 0) -> Iterator[Step]:
        """The Steps from here on, up to a frame where one is given; the model goes along.

        What comes behind the last frame of all, as the end of a connection, is taken with it.
        """
        limit = last if 0 < last < self.places.count else 0
        while self.waiting or self.load(limit):
            piece, number = self.waiting[0]
            if limit and number > limit:
                return
            self.waiting.popleft()
            for step in self.analyzer.feed(piece):
                self.frame = step.frame.number
                self.conversations[step.conversation.number] = step.conversation
                yield step
            if isinstance(piece, stream.End):
                self.note_end(piece)

    def note_end(self, piece: stream.End) -> None:
        """A direction is over, and the model knows it; for who wants to note it."""

    def take_ends(self, last: int) -> None:
        """Take the ends of directions that come next, before the frame behind a given one."""
        while not self.waiting and self.is_end(self.turn, last):
            self.load(0)
            piece, number = self.waiting[0]
            if number > last:
                return  # it completes a frame, which is cut
            self.waiting.popleft()
            self.analyzer.feed(piece)

    def is_end(self, turn: int, last: int) -> bool:
        """Whether the piece at a turn ends a direction before the frame behind a given one."""
        place = self.places.place(self.connection, turn)
        if place < 0 or self.places.befores[place] > last:
            return False
        return self.read(self.places.positions[place])[0].kind == spool.END

    def load(self, limit: int) -> bool:
        """Take the next piece, unless it comes behind a frame."""
        place = self.places.place(self.connection, self.turn)
        if place < 0 or (limit and self.places.befores[place] >= limit):
            return False
        head, data = self.read(self.places.positions[place])
        self.turn += 1
        if head.connection not in self.streams:
            tcp = connection_of(self.places.connections[head.connection])
            self.streams[head.connection] = tcp
            self.numbering.connections = head.connection - 1
            # It was recognised once, perhaps by what others had shown of this server.
            self.analyzer.speakers.add(tcp.server)
        self.numbering.frames = head.before
        piece, after = self.make_piece(head, data), self.places.completed_frames(place)
        if isinstance(piece, stream.Chunk):
            self.cut(piece, head.connection, head.before, after)
        else:
            self.waiting.append((piece, first_of(head.before, after)))
        return True

    def read(self, position: int) -> tuple[PieceHead, bytes]:
        """One piece and its octets."""
        head = PieceHead._make(PIECE.unpack(self.octets(position, PIECE.size)))
        if head.kind != spool.CHUNK:
            return head, b""
        return head, self.octets(position + PIECE.size, head.size)

    def octets(self, position: int, size: int) -> bytes:
        """Octets of `pieces`, read a block at a time."""
        begin = position - self.start
        if not 0 <= begin <= len(self.block) - size:
            self.start = position
            self.block = os.pread(self.places.files.pieces, max(BLOCK, size), position)
            begin = 0
        return self.block[begin : begin + size]

    def make_piece(self, head: PieceHead, data: bytes) -> stream.Piece:
        """A piece as it was when it was read first."""
        tcp = self.streams[head.connection]
        sender, packet, time = head.sender, head.packet, head.time
        if head.kind == spool.CHUNK:
            return stream.Chunk(tcp, sender, head.offset, data, packet, time, head.ack)
        if head.kind == spool.GAP:
            gap = stream.Gap(tcp, sender, head.offset, head.size, packet, time)
            gap.snapped = bool(head.detail)
            return gap
        if head.kind == spool.END:
            return stream.End(tcp, sender, REASONS[head.detail], packet, time)
        return stream.Window(tcp, sender, bool(head.detail), packet, time)

    def cut(self, chunk: stream.Chunk, connection: int, before: int, after: int) -> None:
        """Put a chunk into the queue, in parts where frames end inside it."""
        if after <= before + 1 or not self.can_cut(chunk, connection):
            self.waiting.append((chunk, first_of(before, after)))
            return
        at, done = 0, before
        for record in self.places.files.records(before + 1, after):
            end = record.offset + record.size - chunk.offset
            # Where the framer looks for a frame, it needs all octets that it had.
            odd = record.flags & LOST_BEFORE or record.missing or record.sender != chunk.sender
            if odd or not at < end <= len(chunk.data):
                break
            done += 1
            self.waiting.append((part(chunk, at, end), done))
            at = end
        if at < len(chunk.data):
            rest = part(chunk, at, len(chunk.data))
            self.waiting.append((rest, first_of(done, after)))

    def can_cut(self, chunk: stream.Chunk, connection: int) -> bool:
        """Whether a chunk can be cut: how a connection is recognised may hang on all its octets."""
        return connection in self.conversations or (
            chunk.data[:4] == MAGIC and chunk.offset == 0 and len(chunk.data) >= 8
        )


def first_of(before: int, after: int) -> int:
    """The first frame that a part completes, by how many were complete before and after it."""
    return before + 1 if after > before else 0


def part(chunk: stream.Chunk, start: int, end: int) -> stream.Chunk:
    """Some octets of a chunk."""
    return stream.Chunk(
        chunk.connection, chunk.sender, chunk.offset + start, chunk.data[start:end],
        chunk.packet, chunk.time, chunk.ack,
    )  # fmt: skip


def connection_of(fact: dict[str, Any]) -> stream.Connection:
    """A TCP connection as its fact has it."""
    client, server = fact["client"], fact["server"]
    tcp = stream.Connection((client[0], client[1]), (server[0], server[1]), False)
    tcp.anchored = fact["anchored"]
    tcp.encrypted = fact["encrypted"]
    return tcp
