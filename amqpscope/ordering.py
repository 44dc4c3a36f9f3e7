"""One direction of a TCP connection: what came in order, and what waits behind a hole.

A `Flow` knows the sequence number it expects and the stream offset that number stands for. Segments
ahead of a hole wait in offset order without overlap; the first copy of an octet wins. An `Order`
delivers them when the hole is filled, or given up as a Gap.
"""

from __future__ import annotations

from typing import Final

from amqpscope.stream import Chunk, Connection, Gap, Piece, Segment

MAX_WAITING: Final = 8192
"""Segments of one direction behind a hole."""
MAX_HELD: Final = 8 << 20
"""Octets of one direction behind a hole."""
MAX_HELD_IN_ALL: Final = 64 << 20
HELD_OVERHEAD: Final = 200
"""What a waiting segment costs besides its octets."""

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


class Flow:
    """One direction of a connection."""

    __slots__ = (
        "connection", "covered", "doubts", "ended", "fin", "held", "isn", "key", "known", "last",
        "offset", "peer", "peer_ack", "sender", "seq", "strays", "waiting", "zero",
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
        self.ended = False
        self.zero = False
        """The last window announced was zero."""
        self.waiting: list[Waiting] = []
        self.held = 0
        self.doubts = 0
        """Packets in a row that acknowledge octets up to `covered` which we have not seen."""
        self.covered = 0
        self.peer_ack = -1
        """What the peer acknowledged before this direction was known."""
        self.strays = 0
        self.last = 0
        """The packet of the last segment."""

    def begin(self, seq: int) -> None:
        """Let `seq` be the sequence number of offset 0."""
        self.known = True
        self.seq = seq & SEQ_MASK
        self.isn = (seq - 1) & SEQ_MASK


def distance(seq: int, expected: int) -> int:
    """How far `seq` lies ahead of `expected`, negative when behind (RFC 9293, 3.4)."""
    ahead = (seq - expected) & SEQ_MASK
    return ahead if ahead < SEQ_HALF else ahead - SEQ_MASK - 1


class Order:
    """Puts the octets of all directions in order, and bounds what waits."""

    def __init__(self) -> None:
        self.held = 0
        """Octets that wait, of all directions."""

    def place(self, flow: Flow, start: int, segment: Segment, ack: int, out: list[Piece]) -> None:
        """Take the octets of a segment that begins at `start`."""
        data = segment.payload
        missing = segment.missing
        old = flow.offset - start
        if len(data) + missing <= max(old, 0):
            return
        if old > 0:
            missing -= max(0, old - len(data))
            data = data[old:]
            start = flow.offset
        part = Waiting(start, data, missing, segment.packet, segment.time, ack)
        if old >= 0 and not flow.waiting:
            self.deliver(flow, part, out)
            return
        self.hold(flow, part)
        self.release(flow, out)
        while flow.waiting and (
            len(flow.waiting) > MAX_WAITING or flow.held > MAX_HELD or self.held > MAX_HELD_IN_ALL
        ):
            self.lose(flow, flow.waiting[0].offset, segment, out)

    def hold(self, flow: Flow, part: Waiting) -> None:
        """Keep those octets of `part` that do not wait already."""
        waiting = flow.waiting
        low = 0
        high = len(waiting)
        while low < high:
            middle = (low + high) // 2
            if waiting[middle].offset <= part.offset:
                low = middle + 1
            else:
                high = middle
        start = part.offset
        if low > 0:
            start = max(start, waiting[low - 1].stop)
        while start < part.stop:
            stop = part.stop
            if low < len(waiting):
                stop = min(stop, waiting[low].offset)
            if start < stop:
                piece = cut(part, start, stop)
                waiting.insert(low, piece)
                flow.held += len(piece.data) + HELD_OVERHEAD
                self.held += len(piece.data) + HELD_OVERHEAD
                low += 1
            if low == len(waiting):
                return
            start = waiting[low].stop
            low += 1

    def release(self, flow: Flow, out: list[Piece]) -> None:
        """Deliver what waits no more for anything before it."""
        count = 0
        for part in flow.waiting:
            if part.offset != flow.offset:
                break
            self.deliver(flow, part, out)
            flow.held -= len(part.data) + HELD_OVERHEAD
            self.held -= len(part.data) + HELD_OVERHEAD
            count += 1
        if count:
            del flow.waiting[:count]

    def deliver(self, flow: Flow, part: Waiting, out: list[Piece]) -> None:
        """Give the octets that come next, and say what is missing behind them."""
        if part.data:
            out.append(
                Chunk(
                    flow.connection,
                    flow.sender,
                    flow.offset,
                    part.data,
                    part.packet,
                    part.time,
                    part.ack,
                )
            )
            self.advance(flow, len(part.data))
        if part.missing:
            self.gap(flow, part.missing, part.packet, part.time, out)

    def lose(self, flow: Flow, until: int, segment: Segment, out: list[Piece]) -> None:
        """Give up the holes before `until`, and deliver what waited behind them."""
        while flow.offset < until:
            stop = until
            if flow.waiting:
                stop = min(stop, flow.waiting[0].offset)
            elif until - flow.offset == 1:
                # One octet more than we saw is the FIN that the capture lost, not data.
                break
            self.gap(flow, stop - flow.offset, segment.packet, segment.time, out)
            self.release(flow, out)

    def flush(self, flow: Flow, segment: Segment, out: list[Piece]) -> None:
        """Give up every hole."""
        while flow.waiting:
            self.lose(flow, flow.waiting[0].offset, segment, out)
        if flow.fin > flow.offset:
            self.gap(flow, flow.fin - flow.offset, segment.packet, segment.time, out)
        elif flow.doubts:
            self.lose(flow, flow.covered, segment, out)

    def gap(self, flow: Flow, size: int, packet: int, time: int, out: list[Piece]) -> None:
        """The next octets will not come."""
        out.append(Gap(flow.connection, flow.sender, flow.offset, size, packet, time))
        self.advance(flow, size)

    def advance(self, flow: Flow, size: int) -> None:
        """Go on behind the next octets."""
        flow.offset += size
        flow.seq = (flow.seq + size) & SEQ_MASK


def cut(part: Waiting, start: int, stop: int) -> Waiting:
    """The octets of `part` from `start` to `stop`, captured or missing."""
    data = part.data[start - part.offset : stop - part.offset]
    missing = stop - start - len(data)
    return Waiting(start, data, missing, part.packet, part.time, part.ack)
