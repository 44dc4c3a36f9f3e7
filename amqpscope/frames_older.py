"""One direction's octets of the older family cut into frames (chunks in, `Frame`s out).

The same as `frames` does for 1.0, but for what a frame looks like: it ends with an octet of its
own, so that a size which cannot be is found out at once, and frames are found again behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.frames import Frame, Framer
from amqpscope.stream import Chunk
from dissectors.v0_9.framing import OlderUnit, decode_unit, head_of, measure
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.resync import find_frame, score
from dissectors.v1_0.framing import DAMAGED, MORE

if TYPE_CHECKING:
    from mypy_extensions import i64

USUAL_HEAD: Final = 7
SMALLEST: Final = 4
"""Octets of the smallest unit that there is."""
SHOWN: Final = 8
"""Octets of what is no frame that are given as a unit."""


class OlderFrame(Frame):
    """One unit of the older family as it passed."""

    def __init__(
        self,
        sender: int,
        offset: int,
        raw: bytes,
        missing: int,
        packet: int,
        time: int,
        ack: int,
        unit: OlderUnit,
    ) -> None:
        super().__init__(sender, offset, raw, missing, packet, time, ack, unit)
        self.beheaded = unit.cut
        self.older = unit
        """The same, by its own type."""


class Spoken:
    """The dialect of a connection: both directions are read by what is known of it by then."""

    def __init__(self, dialect: Dialect, sure: bool) -> None:
        self.dialect = dialect
        self.sure = sure
        """A header, or the server, has told it; else it is guessed from the first frames."""


class OlderFramer(Framer):
    """Cuts one direction."""

    def __init__(self, sender: int, spoken: Spoken, *, lost: bool = False) -> None:
        super().__init__(sender, lost=lost)
        self.least = 1
        self.spoken = spoken
        self.head = 0 if len(spoken.dialect.heads) > 1 else USUAL_HEAD
        """The size of a frame's header; 0 until the first frame has told it."""

    def feed(self, chunk: Chunk) -> list[Frame]:
        """Take the next octets and give the frames that are now complete."""
        frames: list[Frame] = []
        data = chunk.data
        if self.skip:
            skipped = min(self.skip, len(data))
            self.skip -= skipped
            data = data[skipped:]
        if self.lost:
            self.search(data, chunk, frames)
        elif self.held:
            self.join(data, chunk, frames)
        elif data:
            self.cut_from(data, 0, chunk.ack, chunk, frames)
        return frames

    def cut_from(self, data: bytes, at: i64, ack: int, chunk: Chunk, frames: list[Frame]) -> None:
        """Give every whole frame from `at` on, and hold what is left; `ack` is the first one's."""
        end: i64 = len(data)
        base = chunk.offset + len(chunk.data) - end
        while at < end:
            size = self.measure(data, at, end)
            if size == DAMAGED:
                more = self.pass_over(data[at:], base + at, ack, chunk, frames)
                if more < 0:
                    return
                ack = chunk.ack
                at += more
                continue
            if size == MORE or at + size > end:
                self.hold(data[at:], size, base + at, ack, chunk.packet)
                return
            frames.append(self.frame(data[at : at + size], base + at, chunk.packet, chunk, ack))
            ack = chunk.ack
            at += size

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

    def made(
        self, raw: bytes, offset: int, missing: int, packet: int, time: int, ack: int
    ) -> Frame:
        """A frame, decoded by the dialect that is spoken; a whole one may tell it first."""
        if not self.spoken.sure and not missing:
            self.guess(raw)
        unit = decode_unit(raw, self.spoken.dialect, None, missing, self.head or USUAL_HEAD)
        return OlderFrame(self.sender, offset, raw, missing, packet, time, ack, unit)

    def guess(self, raw: bytes) -> None:
        """Tell the dialect by a frame that the one which was guessed does not read."""
        unit = decode_unit(raw, self.spoken.dialect, None, 0, self.head or USUAL_HEAD)
        known = unit.label != "method" or unit.method is not None
        if known and not unit.faults:
            return
        found = score(raw, self.head or USUAL_HEAD)
        if found is not None:
            self.spoken.dialect = found

    def join(self, data: bytes, chunk: Chunk, frames: list[Frame]) -> None:
        """Add to the frame that is held."""
        if self.need != MORE and self.held + len(data) < self.need:
            # Large frames come in many pieces: join them once.
            self.parts.append(data)
            self.held += len(data)
            self.packet = max(self.packet, chunk.packet)
            return
        self.parts.append(data)
        joined = b"".join(self.parts)
        ack = self.ack
        self.drop()
        self.cut_from(joined, 0, ack, chunk, frames)

    def pass_over(
        self, data: bytes, offset: i64, ack: int, chunk: Chunk, frames: list[Frame]
    ) -> i64:
        """Give octets that cannot begin a frame as one malformed unit.

        Says how far behind them frames begin again; -1 where that is not seen yet.
        """
        at = self.next_frame(data)
        shown = min(SHOWN, at) if at > 0 else SHOWN
        frames.append(self.frame(data[:shown], offset, chunk.packet, chunk, ack))
        self.gap = True
        if at < 0:
            self.lost = True
            self.look_on(data[1:])
        return at

    def next_frame(self, data: bytes) -> i64:
        """Where frames begin again behind octets that are none, or -1."""
        head = self.head or USUAL_HEAD
        if len(data) > SHOWN and find_frame(data[SHOWN:], True, head) == 0:
            return SHOWN
        at = find_frame(data[1:], False, head)
        return at if at < 0 else at + 1

    def search(self, data: bytes, chunk: Chunk, frames: list[Frame]) -> None:
        """Look for the start of a frame in what is held and the new octets."""
        fresh = not self.parts and not self.gap
        if self.parts:
            data = b"".join(self.parts) + data
            self.drop()
        at = find_frame(data, fresh, self.head or USUAL_HEAD)
        if at < 0:
            self.look_on(data)
            return
        self.lost = False
        if not self.head:
            self.head = USUAL_HEAD
        self.cut_from(data, at, chunk.ack, chunk, frames)
