"""The octets of each direction put in order: what comes next, and what waits behind a hole.

Segments ahead of a hole wait in offset order without overlap; the first copy of an octet wins. An
`Order` delivers them when the hole is filled, or given up as a Gap.
"""

from __future__ import annotations

from typing import Final

from amqpscope.stream.causality import pass_on, settle
from amqpscope.stream.flow import SEQ_MASK, Flow, Waiting, cut
from amqpscope.stream.types import BEYOND, Chunk, Gap, Piece, Segment

MAX_WAITING: Final = 8192
"""Segments of one direction behind a hole."""
MAX_HELD: Final = 8 << 20
"""Octets of one direction behind a hole."""
MAX_HELD_IN_ALL: Final = 64 << 20
HELD_OVERHEAD: Final = 200
"""What a waiting segment costs besides its octets."""


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
            # The segment repeats old octets, so its ACK number may be as old as these.
            ack = BEYOND
        part = Waiting(start, data, missing, segment.packet, segment.time, ack)
        if old >= 0 and not flow.waiting:
            self.deliver(flow, part, out)
            return
        flow.connection.disordered = True
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
                piece = cut(part, start, stop, part.ack if start == part.offset else BEYOND)
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
            ack = part.ack
            if 0 <= ack < flow.acked:
                ack = BEYOND  # older than what was acknowledged before: not that of these octets
            elif ack <= flow.peer.offset:
                flow.acked = max(flow.acked, ack)
            chunk = Chunk(
                flow.connection, flow.sender, flow.offset, part.data, part.packet, part.time, ack
            )
            pass_on(flow, chunk, flow.offset, out)
            self.advance(flow, len(part.data), out)
        if part.missing:
            self.gap(flow, part.missing, part.packet, part.time, out, snapped=True)

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
        if until >= flow.covered:
            flow.doubts = 0
        flow.excused = max(flow.excused, until)
        settle(flow, out)

    def flush(self, flow: Flow, segment: Segment, out: list[Piece]) -> None:
        """Give up every hole."""
        while flow.waiting:
            self.lose(flow, flow.waiting[0].offset, segment, out)
        if flow.fin > flow.offset:
            self.gap(flow, flow.fin - flow.offset, segment.packet, segment.time, out)
        elif flow.doubts:
            self.lose(flow, flow.covered, segment, out)

    def gap(
        self, flow: Flow, size: int, packet: int, time: int, out: list[Piece], snapped: bool = False
    ) -> None:
        """The next octets will not come."""
        gap = Gap(flow.connection, flow.sender, flow.offset, size, packet, time)
        gap.snapped = snapped
        pass_on(flow, gap, flow.offset, out)
        self.advance(flow, size, out)

    def advance(self, flow: Flow, size: int, out: list[Piece]) -> None:
        """Go on behind the next octets, and give what waited for them."""
        flow.offset += size
        flow.seq = (flow.seq + size) & SEQ_MASK
        if flow.doubts and flow.offset >= flow.covered:
            flow.doubts = 0
        if flow.peer.delayed:
            settle(flow, out)
