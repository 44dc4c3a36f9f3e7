"""Captures read as TCP segments: `open_capture`.

    with open_capture("a.pcapng") as capture:
        for segments in capture:
            ...
    if capture.problem: ...

The file is read in blocks and never held as a whole. A file that is cut or damaged in the middle
gives everything before that place, and then says in `problem` what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Final

from amqpscope.capture.formats import PCAP_MAGICS, SECTION_MAGIC, Damage, Format, Pcap, Pcapng
from amqpscope.capture.packets import Packets
from amqpscope.capture.source import CaptureError, Source
from amqpscope.stream import Segment

__all__ = ["Capture", "CaptureError", "open_capture"]

EXPECTED: Final = (
    "expected pcap (a1 b2 c3 d4, or a1 b2 3c 4d for nanoseconds, in either byte order) or "
    "pcapng (0a 0d 0d 0a), plain or compressed with gzip or zstd"
)


def open_capture(path: str, *, follow: bool = False) -> Capture:
    """Open a capture file, or standard input for `-`; CaptureError when it is none."""
    capture = Capture(Source(path, follow=follow))
    if not follow:
        try:
            capture.recognise()
        except CaptureError:
            capture.close()
            raise
    return capture


class Capture:
    """A capture being read: batches of segments, and what is known about the whole."""

    def __init__(self, source: Source) -> None:
        self.path = source.path
        self.secrets: list[bytes] = []
        """TLS key logs found inside the capture so far."""
        self.problem: str | None = None
        """Why reading ended before the end of the file."""
        self._packets = Packets()
        self._source = source
        self._format: Format | None = None
        self._blocks: list[bytes] = []
        self._available = 0
        self._offset = 0
        self._done = False

    @property
    def packets(self) -> int:
        """Packets read so far, of whatever kind."""
        return self._packets.count

    @property
    def skipped(self) -> dict[str, int]:
        """Packets that held no TCP segment, counted by the reason."""
        return self._packets.skipped

    @property
    def size(self) -> int:
        """Octets of the file, 0 when unknown."""
        return self._source.size

    @property
    def position(self) -> int:
        """Octets of the file read so far; of a rotated recording those of all its files."""
        return self._source.position

    @property
    def lost_files(self) -> int:
        """Files of a rotated recording that were removed before they were read."""
        return self._source.lost_files

    def finish(self) -> None:
        """Whoever writes this growing capture has stopped: end where it ends."""
        self._source.ending = True

    def __iter__(self) -> Iterator[list[Segment]]:
        while (batch := self.read()) is not None:
            yield batch

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading and close the file."""
        self._done = True
        self._source.close()

    def recognise(self) -> None:
        """Read until the format is known."""
        while self._format is None and not self._done:
            self._fill()

    def read(self) -> list[Segment] | None:
        """The next segments, in capture order; None at the end.

        When a growing file is followed, an empty batch after a short wait means "nothing new yet",
        and an interrupt (KeyboardInterrupt) during that wait ends the capture.
        """
        while not self._done:
            batch: list[Segment] = []
            if self._format is not None and self._available >= self._format.need:
                self._take(self._format, batch)
                if batch:
                    return batch
            elif not self._fill():
                return batch
        return None

    def _fill(self) -> bool:
        """Read a block; False when following and there is none yet."""
        block = self._source.read()
        if block is None:
            self._finish()
            return True
        if not block:
            return False
        self._blocks.append(block)
        self._available += len(block)
        if self._format is None and self._available >= 4:
            data = b"".join(self._blocks)
            self._blocks = [data]
            self._format = self._recognised(data)
        return True

    def _recognised(self, head: bytes) -> Format:
        if head[:4] in PCAP_MAGICS:
            return Pcap(self._packets, self.secrets)
        if head[:4] == SECTION_MAGIC:
            return Pcapng(self._packets, self.secrets)
        found = f"begins with {head[:4].hex(' ')}"
        if head[:16].isascii() and head[:16].decode("ascii").isprintable():
            found += f" ({head[:16].decode('ascii')!r})"
        raise CaptureError(self.path, f"not a capture: {found}, {EXPECTED}")

    def _take(self, form: Format, batch: list[Segment]) -> None:
        data = b"".join(self._blocks)
        try:
            taken = form.take(data, batch)
        except Damage as damage:
            self.problem = f"damaged at byte {self._offset + damage.at}: {damage.message}"
            self._done = True
            return
        rest = data[taken:]
        self._blocks = [rest]
        self._available = len(rest)
        self._offset += taken

    def _finish(self) -> None:
        """Nothing more comes: was that the end of a record?"""
        self._done = True
        source = self._source
        if source.problem is not None:
            self.problem = source.problem
        if self._format is None:
            if source.stopped:
                return
            if self.problem is not None:
                raise CaptureError(self.path, self.problem)
            if not self._available:
                raise CaptureError(self.path, f"empty file, {EXPECTED}")
            self._recognised(b"".join(self._blocks))
        elif self._available and self.problem is None and not source.stopped:
            self.problem = (
                f"cut short: the record at byte {self._offset} needs {self._format.need} octets, "
                f"{self._available} remain"
            )
