"""One direction of a connection through a layer (TLS, WebSocket): octets outside and inside.

A layer takes octets away (records, HTTP, frame headers), so places in the stream differ on its two
sides. A lane remembers which place inside was complete at which place outside; TCP's
acknowledgements are translated with that.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from amqpscope.stream.types import BEYOND, Chunk, Gap, Piece

MAX_MARKS: Final = 4096
"""Places remembered for acknowledgements to come; older ones count as acknowledged."""


class Lane:
    """How far one direction got, outside and inside."""

    __slots__ = ("_inner", "_outer", "_start", "inside", "lost", "outside")

    def __init__(self) -> None:
        self.outside = 0
        """Where the next octet outside is expected."""
        self.inside = 0
        """Octets that came out so far."""
        self.lost = False
        """After a gap: nothing more can be read."""
        self._start = 0
        self._outer: list[int] = []
        self._inner: list[int] = []

    def emit(self, data: bytes, complete: int, chunk: Chunk, ack: int, out: list[Piece]) -> None:
        """Octets `data` came out of `chunk`; outside they end at `complete`."""
        if not data:
            return
        out.append(
            Chunk(chunk.connection, chunk.sender, self.inside, data, chunk.packet, chunk.time, ack)
        )
        self.inside += len(data)
        if len(self._outer) >= MAX_MARKS:
            half = MAX_MARKS // 2
            self._start = self._inner[half - 1]
            del self._outer[:half]
            del self._inner[:half]
        self._outer.append(complete)
        self._inner.append(self.inside)

    def lose(self, piece: Chunk | Gap, out: list[Piece]) -> None:
        """Nothing more can be read from here on."""
        if self.lost:
            return
        self.lost = True
        out.append(Gap(piece.connection, piece.sender, self.inside, -1, piece.packet, piece.time))

    def acknowledged_inside(self, ack: int) -> int:
        """How many octets inside an acknowledgement of octets outside covers."""
        if ack < 0:
            return -1
        if ack > self.outside:
            # After a loss, or of octets that have not passed yet: what they held is not known.
            return BEYOND
        place = bisect_right(self._outer, ack)
        return self._inner[place - 1] if place else self._start
