"""One direction's octets of 0-9 cut into frames (chunks in, `Frame`s out).

The same as `stream.framer` does for 1.0, but for what a frame looks like: it ends with an octet of
its own, so that a size which cannot be is found out at once, and frames are found again behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.stream import framer
from amqpscope.stream.framer import SHOWN, Frame
from amqpscope.stream.types import Chunk
from dissectors.v0_9.framing import decode_unit, head_of, measure
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.resync import find_frame, score
from dissectors.wire import MORE

if TYPE_CHECKING:
    from mypy_extensions import i64

USUAL_HEAD: Final = 7
SMALLEST: Final = 4
"""Octets of the smallest unit that there is."""


class DialectGuess:
    """The dialect of a connection: both directions are read by what is known of it by then."""

    def __init__(self, dialect: Dialect, sure: bool) -> None:
        self.dialect = dialect
        self.sure = sure
        """A header, or the server, has named it; else it is guessed from the first frames."""


class Framer(framer.Framer):
    """Cuts the octets of one peer of 0-9 into frames."""

    def __init__(self, sender: int, spoken: DialectGuess, *, lost: bool = False) -> None:
        super().__init__(sender, lost=lost)
        self.least = 1
        self.spoken = spoken
        self.head = 0 if len(spoken.dialect.heads) > 1 else USUAL_HEAD
        """The size of a frame's header; 0 until the first frame has shown it."""

    def measure(self, data: bytes, at: i64, end: i64) -> i64:
        """The size of the unit that begins here; finds out how long frame headers are."""
        if self.head:
            return measure(data, at, end, self.head)
        if end - at >= SMALLEST and data[at : at + 4] == b"AMQP":
            return SHOWN
        head = head_of(data, at, end, self.spoken.dialect)
        if head == MORE:
            return MORE
        self.head = head
        return measure(data, at, end, self.head)

    def make_frame(
        self, raw: bytes, offset: int, missing: int, packet: int, time: int, ack: int
    ) -> Frame:
        """A frame, decoded by the dialect that is used; a whole one may show which it is."""
        if not self.spoken.sure and not missing:
            self.guess(raw)
        unit = decode_unit(raw, self.spoken.dialect, None, missing, self.head or USUAL_HEAD)
        frame = Frame(self.sender, offset, raw, missing, packet, time, ack, unit)
        frame.beheaded = unit.cut
        return frame

    def guess(self, raw: bytes) -> None:
        """Choose another dialect by a frame that the one which was guessed does not read."""
        unit = decode_unit(raw, self.spoken.dialect, None, 0, self.head or USUAL_HEAD)
        known = unit.label != "method" or unit.method is not None
        if known and not unit.faults:
            return
        found = score(raw, self.head or USUAL_HEAD)
        if found is not None:
            self.spoken.dialect = found

    def complete(self, data: bytes, chunk: Chunk, frames: list[Frame]) -> i64:
        """Add to the frame that is held: its last octet shows whether its size was right."""
        size: i64 = len(data)
        self.parts.append(data)
        self.held += size
        if self.need != MORE and self.held < self.need:
            # Large frames come in many pieces: join them once.
            self.packet = max(self.packet, chunk.packet)
            return size
        joined, ack = b"".join(self.parts), self.ack
        self.drop()
        self.cut(joined, 0, ack, chunk, frames)
        return size

    def find(self, data: bytes, fresh: bool) -> i64:
        """Where the first credible frame begins, or -1."""
        at = find_frame(data, fresh and not self.gap, self.head or USUAL_HEAD)
        if at >= 0 and not self.head:
            self.head = USUAL_HEAD
        return at

    def next_frame(self, data: bytes) -> i64:
        """Where frames begin again behind octets that are none, or -1."""
        head = self.head or USUAL_HEAD
        if len(data) > SHOWN and find_frame(data[SHOWN:], True, head) == 0:
            return SHOWN
        at = find_frame(data[1:], False, head)
        return at if at < 0 else at + 1

    def pass_over(
        self, data: bytes, offset: i64, ack: int, chunk: Chunk, frames: list[Frame]
    ) -> i64:
        """Give octets that cannot begin a frame as one unit; the next may begin inside them."""
        at = super().pass_over(data, offset, ack, chunk, frames)
        if at < 0:
            self.look_on(data[1:])
        return at
