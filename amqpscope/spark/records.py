"""Parts of capture files as TCP segments, and where files can be cut.

A `Part` is a range of one file that begins and ends between two records. Its packets are numbered
from wherever the caller's `Packets` stands, so the parts of a ring, one after the other or in
different processes, number as the unrotated capture would. A part that does not begin its file
is read as if `head` stood before it: the file header, or the pcapng blocks that say how to
read the packets.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.capture.formats import (
    MAX_RECORD,
    PCAP_MAGICS,
    SECTION_MAGIC,
    Damage,
    Format,
    Pcap,
    Pcapng,
)
from amqpscope.capture.packets import Packets
from amqpscope.capture.reader import EXPECTED
from amqpscope.capture.source import GZIP, XZ, ZSTD, CaptureError, Source
from amqpscope.spark.files import local_path, open_octets, reason_of
from amqpscope.stream.types import Segment

if TYPE_CHECKING:
    from pyarrow import NativeFile

BLOCK: Final = 1 << 20
COMPRESSED: Final = (GZIP, ZSTD, XZ)
DESCRIPTIONS: Final = (0x0A0D0D0A, 1)
MAX_HEADS: Final = 4 << 20
"""Octets of descriptions that each slice of a section can begin with; one that has more is not
cut any further."""
"""pcapng blocks without which later packets cannot be read: section and interface."""
SECRETS: Final = 10


class Part(NamedTuple):
    """A range of one file."""

    path: str
    start: int = 0
    stop: int = -1
    """-1: the end of the file."""
    head: bytes = b""
    problem: str = ""
    """Why there is no use in reading it, where that is known already."""


class Reading:
    """One part being read; batches of segments, and afterwards what was wrong."""

    def __init__(self, part: Part, packets: Packets, secrets: list[bytes]) -> None:
        self.part = part
        self.packets = packets
        self.secrets = secrets
        self.problem: str | None = None
        self.unreadable = False
        self._rest = b""
        self._offset = part.start

    def __iter__(self) -> Iterator[list[Segment]]:
        before = self.packets.count
        try:
            yield from self._segments()
        except CaptureError as error:
            self.problem, self.unreadable = error.message, self.packets.count == before
        except OSError as error:
            self.problem = reason_of(error)
            self.unreadable = self.packets.count == before

    def _segments(self) -> Iterator[list[Segment]]:
        form: Format | None = None
        for block in self._blocks():
            data = self._rest + block
            if form is None:
                if len(data) < 4:
                    self._rest = data
                    continue
                form = self._recognise(self.part.head or data)
            batch: list[Segment] = []
            try:
                taken = form.take(data, batch) if len(data) >= form.need else 0
            except Damage as damage:
                self.problem = f"damaged at byte {self._offset + damage.at}: {damage.message}"
                yield batch
                return
            self._rest = data[taken:]
            self._offset += taken
            yield batch
        self._finish(form)

    def _finish(self, form: Format | None) -> None:
        """Nothing more comes: was that the end of a record?"""
        if form is None:
            if self.problem is not None:
                raise CaptureError(self.part.path, self.problem)
            if not self._rest:
                raise CaptureError(self.part.path, f"empty file, {EXPECTED}")
            self._recognise(self._rest)
        elif self._rest and self.problem is None:
            self.problem = (
                f"cut short: the record at byte {self._offset} needs {form.need} octets, "
                f"{len(self._rest)} remain"
            )

    def _recognise(self, head: bytes) -> Format:
        form: Format
        if head[:4] in PCAP_MAGICS:
            form = Pcap(self.packets, self.secrets)
        elif head[:4] == SECTION_MAGIC:
            form = Pcapng(self.packets, self.secrets)
        else:
            found = f"begins with {head[:4].hex(' ')}"
            raise CaptureError(self.part.path, f"not a capture: {found}, {EXPECTED}")
        if self.part.head:
            form.take(self.part.head, [])
        return form

    def _blocks(self) -> Iterator[bytes]:
        part = self.part
        if part.problem:
            raise CaptureError(part.path, part.problem)
        with open_octets(part.path) as file:
            if part.start == 0 and file.read(6).startswith(COMPRESSED):
                yield from self._unpack(file)
                return
            file.seek(part.start)
            left = part.stop - part.start if part.stop >= 0 else -1
            while left:
                block = file.read(BLOCK if left < 0 else min(BLOCK, left))
                if not block:
                    return
                if left > 0:
                    left -= len(block)
                yield block

    def _unpack(self, file: NativeFile) -> Iterator[bytes]:
        """The octets of a compressed file, which is read from a copy where it is not local."""
        path = local_path(self.part.path)
        if path is not None:
            yield from self._source(path)
            return
        with tempfile.NamedTemporaryFile(prefix="amqpscope-") as copy:
            file.seek(0)
            while block := file.read(BLOCK):
                copy.write(block)
            copy.flush()
            yield from self._source(copy.name)

    def _source(self, path: str) -> Iterator[bytes]:
        source = Source(path)
        try:
            while (block := source.read()) is not None:
                yield block
        finally:
            source.close()
        self.problem = source.problem


class Cut(NamedTuple):
    """A place between two records."""

    offset: int
    head: bytes
    """What to read before a part that begins here."""


def cuts(path: str, size: int) -> list[Cut]:
    """Places to cut a file at, about `size` octets apart; none for what must be read whole."""
    with open_octets(path) as file:
        head = file.read(24)
        if head[:4] in PCAP_MAGICS and len(head) == 24:
            return _cuts_of_pcap(_Window(file), head, size)
        if head[:4] == SECTION_MAGIC:
            return _cuts_of_pcapng(_Window(file), size)
    return []


class _Window:
    """A file looked at from front to back, of which a few octets here and there are wanted."""

    def __init__(self, file: NativeFile) -> None:
        self.file = file
        self.end = file.size()
        self.base = 0
        self.data = b""

    def at(self, offset: int, size: int) -> int:
        """Make octets from `offset` on available; where they are in `data`, -1 past the end."""
        place = offset - self.base
        if place < 0 or place + size > len(self.data):
            if offset + size > self.end:
                return -1
            self.file.seek(offset)
            self.data = self.file.read(max(size, 4 * BLOCK))
            self.base = offset
            place = 0
            if len(self.data) < size:
                return -1
        return place


def _cuts_of_pcap(window: _Window, head: bytes, size: int) -> list[Cut]:
    order, _, header = PCAP_MAGICS[head[:4]]
    length = struct.Struct(order + "I")
    found: list[Cut] = []
    offset, due = 24, size
    while (place := window.at(offset, header)) >= 0:
        captured = length.unpack_from(window.data, place + 8)[0]
        if captured > MAX_RECORD:
            break
        if offset >= due:
            found.append(Cut(offset, head))
            due = offset + size
        offset += header + captured
    return found


def _cuts_of_pcapng(window: _Window, size: int) -> list[Cut]:
    words = struct.Struct("<II")
    found: list[Cut] = []
    heads: list[bytes] = []
    held = 0
    offset, due = 0, size
    while (place := window.at(offset, 12)) >= 0:
        data = window.data
        if data[place : place + 4] == SECTION_MAGIC:
            words = struct.Struct("<II" if data[place + 8] == 0x4D else ">II")
            heads, held = [], 0
        kind, length = words.unpack_from(data, place)
        if length < 12 or length % 4 or length > MAX_RECORD:
            break
        if offset >= due and kind not in DESCRIPTIONS and held <= MAX_HEADS:
            found.append(Cut(offset, b"".join(heads)))
            due = offset + size
        if kind in DESCRIPTIONS or kind == SECRETS:
            place = window.at(offset, length)
            if place < 0:
                break
            held += length
            if held <= MAX_HEADS:
                heads.append(window.data[place : place + length])
        offset += length
    return found
