"""One direction's octets of the older family cut into frames (chunks in, `Frame`s out).

The same as `frames` does for 1.0, but for what a frame looks like: it ends with an octet of its
own, so that a size which cannot be is found out at once, and frames are found again behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.frames import SEARCH_LIMIT, Frame
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
        self.number = 0
        self.sender = sender
        self.offset = offset
        self.raw = raw
        self.missing = missing
        self.packet = packet
        self.time = time
        self.ack = ack
        self.lost_before = False
        self.cut = False
        self.unit = unit
        self.beheaded = unit.cut
        self.older = unit
        """The same, by its own type."""


class Spoken:
    """The dialect of a connection: both directions are read by what is known of it by then."""

    def __init__(self, dialect: Dialect, sure: bool) -> None:
        self.dialect = dialect
        self.sure = sure
        """A header, or the server, has told it; else it is guessed from the first frames."""


class OlderFramer:
    """Cuts one direction."""

    def __init__(self, sender: int, spoken: Spoken, *, lost: bool = False) -> None:
        self.sender = sender
        self.spoken = spoken
        self.lost = lost
        """The next frame's start is not known."""
        self.gap = False
        """Octets were missed since the last frame, and frames with them."""
        self.head = 0 if len(spoken.dialect.heads) > 1 else USUAL_HEAD
        """The size of a frame's header; 0 until the first frame has told it."""
        self.parts: list[bytes] = []
        self.held: i64 = 0
        """Octets in `parts`: the start of a frame that is not complete."""
        self.need: i64 = MORE
        """The size of that frame, when it is known."""
        self.offset: i64 = 0
        self.ack = -1
        self.packet = 0
        self.skip: i64 = 0
        """Octets that still belong to a frame already given with a hole in it."""

    def feed(self, chunk: Chunk) -> list[OlderFrame]:
        """Take the next octets and give the frames that are now complete."""
        frames: list[OlderFrame] = []
        data = chunk.data
        if self.skip:
            skipped = min(self.skip, len(data))
            self.skip -= skipped
            data = data[skipped:]
        if self.lost:
            self.search(data, chunk, frames)
        elif self.held:
            self.complete(data, chunk, frames)
        elif data:
            self.cut(data, 0, chunk.ack, chunk, frames)
        return frames

    def cut(self, data: bytes, at: i64, ack: int, chunk: Chunk, frames: list[OlderFrame]) -> None:
        """Give every whole frame from `at` on, and hold what is left; `ack` is the first one's."""
        end: i64 = len(data)
        base = chunk.offset + len(chunk.data) - end
        while at < end:
            size = self.measure(data, at, end)
            if size == DAMAGED:
                more = self.damaged(data[at:], base + at, ack, chunk, frames)
                if more < 0:
                    return
                ack = chunk.ack
                at += more
                continue
            if size == MORE or at + size > end:
                self.hold(data[at:], size, base + at, ack, chunk.packet)
                return
            frames.append(self.frame(data[at : at + size], base + at, ack, chunk))
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

    def frame(self, raw: bytes, offset: i64, ack: int, chunk: Chunk) -> OlderFrame:
        """A whole frame, which knows whether frames were lost before it."""
        if not self.spoken.sure:
            self.guess(raw)
        frame = self.made(raw, offset, 0, chunk.packet, chunk.time, ack)
        if self.gap:
            frame.lost_before = True
            self.gap = False
        return frame

    def made(
        self, raw: bytes, offset: int, missing: int, packet: int, time: int, ack: int
    ) -> OlderFrame:
        """A frame, decoded."""
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

    def hold(self, data: bytes, size: i64, offset: i64, ack: int, packet: int) -> None:
        """Keep the start of a frame until the rest comes."""
        self.parts = [data]
        self.held = len(data)
        self.need = size
        self.offset = offset
        self.ack = ack
        self.packet = packet

    def complete(self, data: bytes, chunk: Chunk, frames: list[OlderFrame]) -> None:
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
        self.cut(joined, 0, ack, chunk, frames)

    def drop(self) -> None:
        """Let go of what is held."""
        self.parts = []
        self.held = 0
        self.need = MORE

    def damaged(
        self, data: bytes, offset: i64, ack: int, chunk: Chunk, frames: list[OlderFrame]
    ) -> i64:
        """Give octets that cannot begin a frame as one malformed unit.

        Says how far behind them frames begin again; -1 where that is not seen yet.
        """
        at = self.next_frame(data)
        shown = min(SHOWN, at) if at > 0 else SHOWN
        frames.append(self.frame(data[:shown], offset, ack, chunk))
        self.gap = True
        if at < 0:
            self.lost = True
            keep = data[1:][-SEARCH_LIMIT:]
            self.parts = [keep]
            self.held = len(keep)
        return at

    def next_frame(self, data: bytes) -> i64:
        """Where frames begin again behind octets that are none, or -1."""
        head = self.head or USUAL_HEAD
        if len(data) > SHOWN and find_frame(data[SHOWN:], True, head) == 0:
            return SHOWN
        at = find_frame(data[1:], False, head)
        return at if at < 0 else at + 1

    def search(self, data: bytes, chunk: Chunk, frames: list[OlderFrame]) -> None:
        """Look for the start of a frame in what is held and the new octets."""
        fresh = not self.parts and not self.gap
        if self.parts:
            data = b"".join(self.parts) + data
            self.drop()
        at = find_frame(data, fresh, self.head or USUAL_HEAD)
        if at < 0:
            keep = data[-SEARCH_LIMIT:]
            self.parts = [keep]
            self.held = len(keep)
            return
        self.lost = False
        if not self.head:
            self.head = USUAL_HEAD
        self.cut(data, at, chunk.ack, chunk, frames)

    def lose(self, size: int, packet: int, time: int) -> OlderFrame | None:
        """Octets are missing here; gives the frame that was begun, with what there is of it."""
        if self.skip and 0 <= size <= self.skip:
            self.skip -= size
            return None
        frame: OlderFrame | None = None
        inside = False
        if self.held and not self.lost and self.need > MORE:
            left = self.need - self.held
            frame = self.made(b"".join(self.parts), self.offset, left, packet, time, self.ack)
            frame.lost_before = self.gap
            self.gap = False
            inside = 0 <= size <= left
            self.skip = left - size if inside else 0
        self.drop()
        if not inside:
            self.skip = 0
            self.lost = True
            self.gap = True
        return frame

    def finish(self, packet: int, time: int) -> OlderFrame | None:
        """The direction ends; gives the frame that was begun, if any."""
        if self.lost or not self.held:
            self.drop()
            return None
        raw = b"".join(self.parts)
        missing = max(self.need - self.held, 0) if self.need > MORE else 0
        frame = self.made(raw, self.offset, missing, packet, time, self.ack)
        frame.lost_before = self.gap
        self.drop()
        frame.cut = True
        return frame
