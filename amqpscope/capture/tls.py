"""The TLS layer of a connection: its records, cut out whole, and their plaintext put in place.

A `Records` gives what is inside a record. Every record of a capture gets a number, in the
order in which the records are complete; reading the same capture again gives the same numbers. So
one reading can collect the records to be decrypted, and another find the plaintext of each by its
number.

AMQP's own TLS header (spec 5.2.1) may come before the first record: it is AMQP, so it stays.
"""

from __future__ import annotations

from typing import Final

from amqpscope.capture.handshake import CLIENT_HELLO, HANDSHAKE, RECORD_HEADER, Handshake
from amqpscope.capture.offsets import Lane
from amqpscope.stream.types import CLIENT, Chunk, Connection, Gap, Piece
from amqpscope.stream.types import Tls as Facts

APPLICATION_DATA: Final = 23

MAGIC: Final = b"AMQP"
MAX_RECORD: Final = 16384 + 2048
"""RFC 5246, 6.2.3: what the length field of a record may say."""

_RANDOM: Final = 11
"""Where the random lies in the record of a ClientHello: after both headers and the version."""


class TlsStream:
    """One TLS connection, as far as its records tell."""

    __slots__ = ("client_random", "connection", "decided", "decrypted", "found", "in_band")

    def __init__(self, connection: Connection, in_band: bool) -> None:
        self.connection = connection
        self.in_band = in_band
        self.client_random = b""
        """Names the connection in a key log; empty when the capture has no ClientHello."""
        self.decided = False
        self.decrypted = False
        """Its key is known. Says nothing before `decided`."""
        self.found = False
        """Plaintext came out of it."""


class Records:
    """Takes every TLS record of a capture and gives its plaintext."""

    def __init__(self) -> None:
        self.count = 0

    def record(self, stream: TlsStream, sender: int, record: bytes) -> bytes:
        """The application data inside the next record."""
        raise NotImplementedError

    def end_stream(self, stream: TlsStream) -> None:
        """No more records come from this connection."""


class Tls:
    """The TLS layer of one connection."""

    __slots__ = (
        "_buffers", "_clear", "_facts", "_handshake", "_lanes", "_records", "stream",
    )  # fmt: skip

    def __init__(self, connection: Connection, records: Records, clear: int) -> None:
        self.stream = TlsStream(connection, clear > 0)
        self._facts = connection.tls = Facts()
        self._handshake = Handshake(self._facts)
        self._records = records
        self._clear = clear
        """Octets before the first record of each direction."""
        self._lanes = (Lane(), Lane())
        self._buffers = [bytearray(), bytearray()]

    def feed(self, piece: Chunk | Gap) -> list[Piece]:
        """Take the next octets of either direction; the plaintext of the records they complete."""
        out: list[Piece] = []
        lane = self._lanes[piece.sender]
        if self._facts.plain[piece.sender]:
            out.append(piece)
        elif lane.lost:
            return out
        elif isinstance(piece, Gap):
            lane.lose(piece, out)
        else:
            self._take(lane, piece, out)
        return out

    def _take(self, lane: Lane, chunk: Chunk, out: list[Piece]) -> None:
        ack = self._lanes[1 - chunk.sender].acknowledged_inside(chunk.ack)
        data = chunk.data
        clear = self._clear - lane.outside
        start = chunk.offset
        if clear > 0:
            lane.emit(data[:clear], start + min(clear, len(data)), chunk, ack, out)
            data = data[clear:]
        lane.outside += len(chunk.data)
        end = start + len(chunk.data)
        buffer = self._buffers[chunk.sender]
        buffer += data
        while len(buffer) >= RECORD_HEADER:
            size = RECORD_HEADER + (buffer[3] << 8 | buffer[4])
            if not is_record(buffer):
                self._not_tls(lane, chunk, ack, out)
                return
            if len(buffer) < size:
                return
            record = bytes(buffer[:size])
            del buffer[:size]
            plain = self._plaintext(chunk, record)
            lane.emit(plain, end - len(buffer), chunk, ack, out)

    def _plaintext(self, chunk: Chunk, record: bytes) -> bytes:
        stream, sender = self.stream, chunk.sender
        self._handshake.record(sender, record, chunk.packet)
        if (
            not stream.client_random
            and sender == CLIENT
            and record[0] == HANDSHAKE
            and len(record) >= _RANDOM + 32
            and record[RECORD_HEADER] == CLIENT_HELLO
        ):
            stream.client_random = record[_RANDOM : _RANDOM + 32]
        plain = self._records.record(stream, sender, record)
        if plain:
            stream.found = True
        elif sender == CLIENT and not self._lanes[CLIENT].inside:
            self._facts.quiet = chunk.time
        return plain

    def _not_tls(self, lane: Lane, chunk: Chunk, ack: int, out: list[Piece]) -> None:
        """No TLS came, after AMQP's TLS header or at all: the peer is in the clear, or damaged."""
        data = bytes(self._buffers[chunk.sender])
        self._buffers[chunk.sender] = bytearray()
        first = lane.outside - len(data) == self._clear
        if first and (self._clear or data.startswith(MAGIC)):
            self._facts.plain[chunk.sender] = True
            self.stream.connection.encrypted = False
            lane.emit(data, lane.outside, chunk, ack, out)
        else:
            lane.lose(chunk, out)

    def end(self) -> None:
        """Forget a connection of which both directions have ended."""
        self._records.end_stream(self.stream)


def is_record(data: bytes | bytearray) -> bool:
    """Whether these octets, at least five, begin a TLS record."""
    return (
        20 <= data[0] <= 24
        and data[1] == 3
        and data[2] <= 4
        and (data[3] << 8 | data[4]) <= MAX_RECORD
    )
