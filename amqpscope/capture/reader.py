"""Captures read as TCP segments: `open_capture`.

    with open_capture("a.pcapng") as capture:
        for segments in capture:
            ...
    if capture.problem: ...

The file is read in blocks and never held as a whole. A file that is cut or damaged in the middle
gives everything before that place, and then says in `problem` what is wrong and where.

A capture that was rotated reads as the one that it was, from file to file: whether its files are
known (a `Ring`, whose formats may differ) or come while it is followed (see `Source.successor`). A
file that cannot be read is reported in `troubles`, and reading continues with the next one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from amqpscope.capture.formats import PCAP_MAGICS, SECTION_MAGIC, Damage, Format, Pcap, Pcapng
from amqpscope.capture.packets import Packets
from amqpscope.capture.ring import Readable, Ring, Trouble
from amqpscope.capture.source import CaptureError, Source, later_than, number_of
from amqpscope.stream.types import Segment

__all__ = ["Capture", "CaptureError", "open_capture"]

EXPECTED: Final = (
    "expected pcap (a1 b2 c3 d4, or a1 b2 3c 4d for nanoseconds, in either byte order) or "
    "pcapng (0a 0d 0d 0a), plain or compressed with gzip, zstd or xz"
)
LOGS: Final = (
    "; frame logs of libraries (qpid-proton, rhea, Azure's SDKs, go-amqp, amqpnetlite) and octets"
    " in hexadecimal are read too"
)


def open_capture(given: Readable, *, follow: bool = False, fd: int = -1) -> Capture:
    """Open a capture file, standard input for `-`, or a ring; CaptureError when it is none.

    `fd` is that of a file to follow that is open already: then it may even be gone by its name.
    """
    capture = Capture(given, follow=follow, fd=fd)
    if not follow:
        try:
            capture.recognise()
        except CaptureError:
            capture.close()
            raise
    return capture


class Capture:
    """A capture being read: batches of segments, and what is known about the whole."""

    def __init__(self, given: Readable, *, follow: bool = False, fd: int = -1) -> None:
        self.path = str(given)
        self.size = 0
        """Octets of the file or of all files, 0 when unknown."""
        self.lost_files = 0
        """Files of a rotated recording that were removed before they were read."""
        self.secrets: list[bytes] = []
        """TLS key logs found inside the capture so far."""
        self.troubles: list[Trouble] = []
        """Which files could not be read, or not to their end."""
        self._packets = Packets()
        self._ring = isinstance(given, Ring)
        self._rest: list[str] = []
        """The files of a ring that are still to be read, the next one last."""
        self._source: Source | None = None
        self._octets_before = 0
        self._packets_before = 0
        """What was read of the files before this one."""
        self._format: Format | None = None
        self._blocks: list[bytes] = []
        self._available = 0
        self._offset = 0
        self._done = False
        if isinstance(given, Ring):
            self.size = sum(os.path.getsize(path) for path in given.files if os.path.isfile(path))
            self._rest = list(reversed(given.files))
            self._next_file()
        else:
            self._source = self._open_followed(given, fd) if follow else Source(given)
            self.size = self._source.size

    @property
    def packets(self) -> int:
        """Packets read so far, of whatever kind."""
        return self._packets.count

    @property
    def skipped(self) -> dict[str, int]:
        """Packets that held no TCP segment, counted by the reason."""
        return self._packets.skipped

    @property
    def notes(self) -> list[str]:
        """What the user should know about packets that were left out, a line each."""
        return self._packets.notes

    @property
    def comments(self) -> list[tuple[int, str]]:
        """What people have noted about packets, by their numbers."""
        return self._packets.comments

    @property
    def position(self) -> int:
        """Octets of the file read so far; of a rotated capture those of all its files."""
        return self._octets_before + (0 if self._source is None else self._source.position)

    @property
    def number(self) -> int:
        """Of a rotated recording, the number of the file that is read now; else 0."""
        return 0 if self._source is None else number_of(self._source.path)

    @property
    def problem(self) -> str | None:
        """Why reading ended before the end of the file; in a ring, of which files."""
        if not self.troubles:
            return None
        if not self._ring:
            return self.troubles[-1].message
        return "; ".join(f"{os.path.basename(path)}: {why}" for path, why, _ in self.troubles)

    @property
    def problems(self) -> list[str]:
        """Why files could not be read, or not to their end: a line each, with its path."""
        if not self._ring:
            return [f"{self.path}: {why}" for _, why, _ in self.troubles[-1:]]
        return [f"{path}: {why}" for path, why, _ in self.troubles]

    @property
    def unreadable(self) -> bool:
        """Nothing could be read of the file, or of a file of the ring."""
        return any(trouble.unreadable for trouble in self.troubles)

    def finish(self) -> None:
        """The writer of this growing capture has stopped: end where it ends."""
        if self._source is not None:
            self._source.ending = True

    def __iter__(self) -> Iterator[list[Segment]]:
        while (batch := self.read()) is not None:
            yield batch

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading and close the file."""
        self._done = True
        if self._source is not None:
            self._source.close()

    def recognise(self) -> None:
        """Read until the format is known."""
        while self._format is None and not self._done:
            self._advance([])

    def read(self) -> list[Segment] | None:
        """The next segments, in capture order; None at the end.

        When a growing file is followed, an empty batch after a short wait means "nothing new yet",
        and an interrupt (KeyboardInterrupt) during that wait ends the capture.
        """
        while not self._done:
            batch: list[Segment] = []
            if not self._advance(batch) or batch:
                return batch
        return None

    def _advance(self, batch: list[Segment]) -> bool:
        """Take what was read, or read a block; False when following and there is none yet."""
        source, form = self._source, self._format
        if source is None:
            return True
        try:
            if form is not None and self._available >= form.need:
                self._take(form, batch)
                return True
            return self._fill(source)
        except CaptureError as error:
            if not self._ring and not source.successor:
                self._done = True
                raise
            self._trouble(error.message)
            self._next_file()
            return True

    def _fill(self, source: Source) -> bool:
        """Read a block; False when following and there is none yet."""
        block = source.read()
        if block is None:
            self._finish(source)
            return True
        if not block:
            return False
        self._blocks.append(block)
        self._available += len(block)
        if self._format is None and self._available >= 4:
            data = b"".join(self._blocks)
            self._blocks = [data]
            self._format = self._recognise(data)
        return True

    def _recognise(self, head: bytes) -> Format:
        if head[:4] in PCAP_MAGICS:
            return Pcap(self._packets, self.secrets)
        if head[:4] == SECTION_MAGIC:
            return Pcapng(self._packets, self.secrets)
        found = f"begins with {head[:4].hex(' ')}"
        if head[:16].isascii() and head[:16].decode("ascii").isprintable():
            found += f" ({head[:16].decode('ascii')!r})"
        raise CaptureError(self.path, f"not a capture: {found}, {EXPECTED}{LOGS}")

    def _take(self, form: Format, batch: list[Segment]) -> None:
        data = b"".join(self._blocks)
        try:
            taken = form.take(data, batch)
        except Damage as damage:
            self._trouble(f"damaged at byte {self._offset + damage.at}: {damage.message}")
            self._next_file()
            return
        rest = data[taken:]
        self._blocks = [rest]
        self._available = len(rest)
        self._offset += taken

    def _finish(self, source: Source) -> None:
        """Nothing more comes of a file: was that the end of a record?"""
        if self._format is None:
            if not source.stopped:
                self._none(source)
        elif source.problem is not None:
            self._trouble(source.problem)
        elif self._available and not source.stopped:
            self._trouble(
                f"cut short: the record at byte {self._offset} needs {self._format.need} octets, "
                f"{self._available} remain"
            )
        self._next_file()

    def _none(self, source: Source) -> None:
        """A file ends before its format is known."""
        if source.problem is not None:
            raise CaptureError(self.path, source.problem)
        if not self._available:
            raise CaptureError(self.path, f"empty file, {EXPECTED}")
        self._recognise(b"".join(self._blocks))

    def _trouble(self, message: str) -> None:
        """Something is wrong with the file that is read now."""
        path = self.path if self._source is None else self._source.path
        unreadable = self._packets.count == self._packets_before
        self.troubles.append(Trouble(path, message, unreadable))

    def _next_file(self) -> None:
        """Go on with the next file of a ring or series as if this one had not ended; or end."""
        before = self._source
        self._octets_before = self.position
        self._packets_before = self._packets.count
        self._source = self._open_next(before)
        if before is not None:
            before.close()
        # A file has a format of its own.
        self._format, self._blocks, self._available, self._offset = None, [], 0, 0
        self._done = self._source is None

    def _open_next(self, before: Source | None) -> Source | None:
        """The next file that can be opened."""
        if before is not None and before.successor:
            self.lost_files += number_of(before.successor) - number_of(before.path) - 1
            source = self._open_followed(before.successor, -1)
            source.ending = before.ending
            return source
        while self._rest:
            path = self._rest.pop()
            try:
                return Source(path)
            except CaptureError as error:
                self.troubles.append(Trouble(path, error.message, True))
        return None

    def _open_followed(self, path: str, fd: int) -> Source:
        """A file to follow; if it is gone, the oldest one after it in its series."""
        while True:
            try:
                return Source(path, follow=True, fd=fd)
            except CaptureError:
                later = "" if os.path.exists(path) else later_than(path)
                if not later:
                    raise
                self.lost_files += number_of(later) - number_of(path)
                path = later
