"""One direction's octets cut into frames (chunks in, `Frame`s out), whatever the protocol.

A frame says its size at its start, so cutting is arithmetic while nothing is missing. Where octets
are missing inside a frame, the arithmetic still holds: the frame is given with what is there of
it, and the next begins where it should. Where a frame's start is missing, or a size cannot be,
the framer is lost and looks for the next place where frames begin.

A family's framer says how large a frame is, what its octets say, and where frames begin again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.stream.types import CLIENT, SERVER, Chunk
from dissectors.native import mypyc_attr
from dissectors.wire import DAMAGED, MAGIC, MORE, Unit

if TYPE_CHECKING:
    from mypy_extensions import i64

SEARCH_LIMIT: Final = 256 * 1024
"""Octets kept while looking for a frame; what is older was looked at and is let go."""
SHOWN: Final = 8
"""Octets of what is no frame that are given as a unit."""


@mypyc_attr(free_list_len=1, acyclic=True)
class Frame:
    """One AMQP unit as it passed: a protocol header or a frame, with its place in the capture."""

    def __init__(
        self,
        sender: int,
        offset: int,
        raw: bytes,
        missing: int,
        packet: int,
        time: int,
        ack: int,
        unit: Unit,
    ) -> None:
        self.number = 0
        """From 1 over the whole capture, in the order in which units became complete."""
        self.sender = sender
        self.offset = offset
        """Where it begins in its direction's stream."""
        self.raw = raw
        self.missing = missing
        """Octets at its end that the capture does not have."""
        self.packet = packet
        """The packet that completed it."""
        self.time = time
        self.ack = ack
        """Octets of the other direction that the sender's TCP had when this frame began; or -1."""
        self.lost_before = False
        """Frames may have been lost between the one before (of this direction) and this one."""
        self.unsent = False
        """Its sender ended the direction inside it: what is missing was never sent."""
        self.cut = False
        """Its direction ended inside it."""
        self.unit = unit
        self.beheaded = missing > 0 and unit.payload >= len(raw)
        """Octets of what the frame itself says, and not only of its payload, are missing."""

    @property
    def absence(self) -> str:
        """Why octets of it are missing, in words."""
        return "never sent" if self.unsent else "not captured"


UNREAD: Final = Unit("unread", 0, 0, 0)
"""What frames say that are only counted."""
COUNTED: Final = [
    Frame(CLIENT, 0, b"", 0, 0, 0, -1, UNREAD),
    Frame(SERVER, 0, b"", 0, 0, 0, -1, UNREAD),
]
"""Stand for all frames of a peer that are only counted."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Framer:
    """Cuts the octets of one peer into frames."""

    def __init__(self, sender: int, *, lost: bool = False) -> None:
        self.sender = sender
        self.least: i64 = SHOWN
        """Octets of a frame that have to be there to say anything of it."""
        self.lost = lost
        """The next frame's start is not known."""
        self.gap = False
        """Octets were missed since the last frame, and frames with them."""
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
        self.counting = False
        """Frames are only counted, all but protocol headers."""

    # what a family says

    def measure(self, data: bytes, at: i64, end: i64) -> i64:
        """The size of the unit that begins at `at`; MORE if that takes more octets, or DAMAGED."""
        raise NotImplementedError

    def make_frame(
        self, raw: bytes, offset: int, missing: int, packet: int, time: int, ack: int
    ) -> Frame:
        """A frame, decoded; `missing` octets at its end are not in the capture."""
        raise NotImplementedError

    def find(self, data: bytes, fresh: bool) -> i64:
        """Where the first credible frame begins, or -1; `fresh` octets begin a segment."""
        return -1

    def next_frame(self, data: bytes) -> i64:
        """Where frames begin again behind octets that are none, or -1."""
        found = self.find(data[SHOWN:], True)
        return found if found < 0 else SHOWN + found

    # what all families share

    def make(
        self, raw: bytes, offset: int, missing: int, packet: int, time: int, ack: int
    ) -> Frame:
        """A frame, decoded unless it is only counted."""
        if self.counting and raw[:4] != MAGIC:
            return COUNTED[self.sender]
        return self.make_frame(raw, offset, missing, packet, time, ack)

    def feed(self, chunk: Chunk) -> list[Frame]:
        """Take the next octets and give the frames that are now complete."""
        frames: list[Frame] = []
        data = chunk.data
        at: i64 = 0
        if self.skip:
            at = min(self.skip, len(data))
            self.skip -= at
        if self.held or self.lost:
            if at:
                data = data[at:]
                at = 0
            if self.lost:
                self.search(data, chunk, frames)
                return frames
            at = self.complete(data, chunk, frames)
        self.cut(data, at, chunk.ack, chunk, frames)
        return frames

    def cut(self, data: bytes, at: i64, ack: int, chunk: Chunk, frames: list[Frame]) -> None:
        """Give every whole frame from `at` on, and hold what is left; `ack` is the first one's."""
        end: i64 = len(data)
        base = chunk.offset + len(chunk.data) - end
        while at < end:
            size = self.measure(data, at, end)
            if size == DAMAGED:
                # A loop, not a call: there may be thousands of such places in a chunk.
                more = self.pass_over(data[at:], base + at, ack, chunk, frames)
                if more < 0:
                    return
                at += more
            elif size == MORE or at + size > end:
                self.hold(data[at:], size, base + at, ack, chunk.packet)
                return
            elif self.counting and data[at] != MAGIC[0]:
                frames.append(COUNTED[self.sender])
                self.gap = False
                at += size
            else:
                frames.append(self.frame(data[at : at + size], base + at, chunk.packet, chunk, ack))
                at += size
            ack = chunk.ack

    def frame(self, raw: bytes, offset: int, packet: int, chunk: Chunk, ack: int) -> Frame:
        """A whole frame, which knows whether frames were lost before it."""
        frame = self.make(raw, offset, 0, packet, chunk.time, ack)
        if self.gap:
            frame.lost_before = True
            self.gap = False
        return frame

    def hold(self, data: bytes, size: i64, offset: i64, ack: int, packet: int) -> None:
        """Keep the start of a frame until the rest comes."""
        self.parts = [data]
        self.held = len(data)
        self.need = size
        self.offset = offset
        self.ack = ack
        self.packet = packet

    def complete(self, data: bytes, chunk: Chunk, frames: list[Frame]) -> i64:
        """Add to the frame that is held; returns where the rest of `data` begins."""
        taken: i64 = 0
        if self.need == MORE:
            taken = min(4 - self.held, len(data))
            self.parts.append(data[:taken])
            self.held += taken
            if self.held < 4:
                return taken
            start = b"".join(self.parts)
            self.need = self.measure(start, 0, len(start))
            if self.need == DAMAGED:
                ack = self.ack
                self.drop()
                self.cut(start + data[taken:], 0, ack, chunk, frames)
                return len(data)
        more = min(self.need - self.held, len(data) - taken)
        self.parts.append(data[taken : taken + more])
        self.held += more
        self.packet = max(self.packet, chunk.packet)
        if self.held == self.need:
            raw = b"".join(self.parts)
            frames.append(self.frame(raw, self.offset, self.packet, chunk, self.ack))
            self.drop()
        return taken + more

    def drop(self) -> None:
        """Let go of what is held."""
        self.parts = []
        self.held = 0
        self.need = MORE

    def pass_over(
        self, data: bytes, offset: i64, ack: int, chunk: Chunk, frames: list[Frame]
    ) -> i64:
        """Give octets that cannot begin a frame as one malformed unit.

        Returns how far behind them frames begin again; -1, and lost, where that is not seen yet.
        """
        at = self.next_frame(data)
        shown = min(SHOWN, at) if at > 0 else SHOWN
        frames.append(self.frame(data[:shown], offset, chunk.packet, chunk, ack))
        self.gap = True
        if at < 0:
            self.lost = True
            self.look_on(data[SHOWN:])
        return at

    def look_on(self, data: bytes) -> None:
        """Keep octets in which no frame begins, for it may do so with those that follow."""
        self.parts = [data[-SEARCH_LIMIT:]] if data else []
        self.held = min(len(data), SEARCH_LIMIT)

    def search(self, data: bytes, chunk: Chunk, frames: list[Frame]) -> None:
        """Look for the start of a frame in what is held and the new octets."""
        fresh = not self.parts
        if self.parts:
            data = b"".join(self.parts) + data
            self.drop()
        at = self.find(data, fresh)
        if at < 0:
            self.look_on(data)
            return
        self.lost = False
        self.cut(data, at, chunk.ack, chunk, frames)

    def lose(self, size: int, packet: int, time: int) -> Frame | None:
        """Octets are missing here; gives the frame that was begun, with what there is of it."""
        if self.skip and 0 <= size <= self.skip:
            self.skip -= size
            return None
        frame: Frame | None = None
        inside = False
        if self.held and not self.lost and self.need > MORE and self.held >= self.least:
            left = self.need - self.held
            frame = self.make(b"".join(self.parts), self.offset, left, packet, time, self.ack)
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

    def finish(self, packet: int, time: int, unsent: bool = False) -> Frame | None:
        """The direction ends, by its sender if `unsent`; gives the frame that was begun, if any."""
        if self.lost or not self.held:
            self.drop()
            return None
        raw = b"".join(self.parts)
        missing = max(self.need - self.held, 0) if self.need > MORE else 0
        self.drop()
        frame = self.make(raw, self.offset, missing, packet, time, self.ack)
        frame.lost_before = self.gap
        frame.cut = True
        frame.unsent = unsent
        return frame
