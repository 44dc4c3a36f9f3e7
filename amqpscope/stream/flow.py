"""One direction of a TCP connection: how far it got, and what of it waits.

A `Flow` knows the sequence number it expects and the stream offset that number stands for. Two
kinds of waiting are kept apart. Segments ahead of a hole are in `waiting`, in offset order and
without overlap, until the hole is filled or given up (see `ordering`). Pieces that are in order but
acknowledge octets of the peer which have not come yet are in `delayed`, until these have come or
are given up (see `causality`).
"""

from __future__ import annotations

from typing import Final

from amqpscope.stream.types import Connection, Piece, Segment

SEQ_MASK: Final = 0xFFFFFFFF
SEQ_HALF: Final = 0x80000000


class Waiting:
    """A part of a segment that cannot be delivered yet."""

    __slots__ = ("ack", "data", "missing", "offset", "packet", "stop", "time")

    def __init__(
        self, offset: int, data: bytes, missing: int, packet: int, time: int, ack: int
    ) -> None:
        self.offset = offset
        self.data = data
        self.missing = missing
        self.stop = offset + len(data) + missing
        self.packet = packet
        self.time = time
        self.ack = ack


NO_WAITING: Final[list[Waiting]] = []
NO_DELAYED: Final[list[Piece]] = []
"""What no direction of a closed connection has any more; shared, so never added to."""


class Flow:
    """One direction of a connection."""

    __slots__ = (
        "acked", "connection", "covered", "delayed", "doubted", "doubter", "doubts", "ended",
        "excused", "fin", "fin_segment", "held", "isn", "key", "known", "last", "numbered",
        "offset", "peer", "peer_ack", "pending", "sender", "seq", "stopped", "strays", "waiting",
        "zero",
    )  # fmt: skip

    def __init__(self, key: bytes, connection: Connection, sender: int) -> None:
        self.key = key
        self.connection = connection
        self.sender = sender
        self.peer: Flow = self
        self.known = False
        """`seq` and `isn` mean something: a segment of this direction fixed them."""
        self.isn = 0
        """The sequence number before offset 0: that of the SYN, if there was one in the capture."""
        self.seq = 0
        """The sequence number expected next, and below it its offset."""
        self.offset = 0
        self.fin = -1
        """The offset of the FIN, once seen."""
        self.fin_segment: Segment | None = None
        """The segment that carried it."""
        self.ended = False
        self.zero = False
        """The last window announced was zero."""
        self.waiting: list[Waiting] = []
        self.held = 0
        self.delayed: list[Piece] = []
        self.stopped = 0
        """The offset of the first delayed octet."""
        self.excused = 0
        """Nobody waits for octets before this offset any more."""
        self.doubts = 0
        """Packets of the peer that acknowledge octets up to `covered` which we have not seen."""
        self.covered = 0
        self.doubted = 0
        """When the first of them passed."""
        self.doubter = 0
        """The peer's sequence number behind the packet that acknowledged most."""
        self.acked = 0
        """Octets of the peer that this direction's segments have acknowledged, of those seen."""
        self.numbered = False
        """A segment of it has an acknowledgment number, as those of real peers have."""
        self.peer_ack = -1
        """What the peer acknowledged before this direction was known."""
        self.pending: list[Segment] | None = None
        """Both directions' segments, while it is not known who is the client."""
        self.strays = 0
        self.last = 0
        """The packet of the last segment."""

    def begin(self, seq: int) -> None:
        """Let `seq` be the sequence number of offset 0."""
        self.known = True
        self.seq = seq & SEQ_MASK
        self.isn = (seq - 1) & SEQ_MASK

    def shrink(self) -> None:
        """Drop what a closed connection has no use for while it is remembered."""
        self.fin_segment = None
        self.waiting = NO_WAITING
        self.delayed = NO_DELAYED

    def passed(self) -> int:
        """Up to which offset this direction was passed on, or need not be waited for."""
        offset = self.stopped if self.delayed else self.offset
        return max(offset, self.excused)


def distance(seq: int, expected: int) -> int:
    """How far `seq` lies ahead of `expected`, negative when behind (RFC 9293, 3.4)."""
    ahead = (seq - expected) & SEQ_MASK
    return ahead if ahead < SEQ_HALF else ahead - SEQ_MASK - 1


def cut(part: Waiting, start: int, stop: int, ack: int) -> Waiting:
    """The octets of `part` from `start` to `stop`, captured or missing."""
    data = part.data[start - part.offset : stop - part.offset]
    missing = stop - start - len(data)
    return Waiting(start, data, missing, part.packet, part.time, ack)
