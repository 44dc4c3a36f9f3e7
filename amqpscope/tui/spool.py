"""The files between the process that reads a capture and the one that shows it.

The reader appends; the others look how far it is. Nobody waits for anybody. There are five files,
all without a name, so that nothing is left behind however the program ends:

* `pieces`: the octets of every AMQP connection, piece by piece, as they were read. With them any
  state can be built again by the same `Analyzer`. The lines of frames without a clue lie between.
* `places`: for each piece its connection, the frames before it, and where it lies in `pieces`.
* `index`: one record of fixed size per frame: where its octets are, and a clue to what it means.
* `facts`: what records refer to by number (connections, the families' own notes), refusals and
  findings, as JSON lines.
* `status`: how far the reader is; one JSON object, written over and over.

What a record refers to is always written before the record.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
from typing import Any, Final, NamedTuple

from amqpscope.protocols.sketch import FrameRecord, Records

FILES: Final = ("pieces", "places", "index", "facts", "status")
CHUNK, GAP, END, WINDOW = range(4)
"""Kinds of pieces."""
REASONS: Final = ("fin", "rst", "reused", "idle", "capture")
STATUS_SIZE: Final = 8192

PIECE: Final = struct.Struct("<BBHIIIqQqq")
PLACE: Final = struct.Struct("<IIQ")
RECORD: Final = struct.Struct("<qQQQIIIIIIIIHBBxxxx")
"""A `FrameRecord`."""


class PieceHead(NamedTuple):
    """The head of one piece in `pieces`; the octets of a chunk follow it."""

    kind: int
    sender: int
    detail: int
    """Of an end, its reason; of a window, whether it is zero; of a gap, whether it was snapped."""
    connection: int
    before: int
    """Frames of the capture that were complete before it."""
    packet: int
    time: int
    offset: int
    ack: int
    size: int
    """Octets of a chunk, or of a gap."""


class Spool(Records):
    """The files, open in this process."""

    def __init__(self, files: list[int]) -> None:
        self.files = files
        self.pieces, self.places, self.index, self.facts, self.status = files

    @classmethod
    def create(cls) -> Spool:
        """New files in the directory for temporary ones; they go away with their last user."""
        files = []
        for name in FILES:
            file, path = tempfile.mkstemp(prefix=f"amqpscope-{name}-")
            os.unlink(path)
            files.append(file)
        return cls(files)

    def close(self) -> None:
        """Let go of the files."""
        for file in self.files:
            os.close(file)
        self.files = []

    @property
    def count(self) -> int:
        """Frames that are complete in the index."""
        return os.fstat(self.index).st_size // RECORD.size

    def record(self, number: int) -> FrameRecord:
        """The record of a frame, from 1."""
        return FrameRecord._make(
            RECORD.unpack(os.pread(self.index, RECORD.size, (number - 1) * RECORD.size))
        )

    def records(self, first: int, last: int) -> list[FrameRecord]:
        """The records of the frames from `first` to `last`."""
        size = max(last - first + 1, 0) * RECORD.size
        data = os.pread(self.index, size, (first - 1) * RECORD.size)
        whole = len(data) - len(data) % RECORD.size
        return [FrameRecord._make(found) for found in RECORD.iter_unpack(data[:whole])]

    def octets(self, record: FrameRecord) -> bytes:
        """The octets of a frame."""
        return os.pread(self.pieces, record.size, record.data)

    def line(self, record: FrameRecord) -> list[str]:
        """The line of a frame that has no clue: its name, colour, place and summary."""
        found: list[str] = json.loads(os.pread(self.pieces, record.previous, record.octets))
        return found

    def write_status(self, status: dict[str, Any]) -> None:
        """Say how far the reader is."""
        data = json.dumps(status).encode()[: STATUS_SIZE - 1] + b"\n"
        os.pwrite(self.status, data, 0)

    def read_status(self) -> dict[str, Any] | None:
        """What the reader last said; None before its first report."""
        line, _, _ = os.pread(self.status, STATUS_SIZE, 0).partition(b"\n")
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError:
            return None
        return found


class SpooledLine(NamedTuple):
    """One line of a file, and where it is."""

    value: Any
    place: int
    size: int


class SpooledLines:
    """The lines of a file that another process appends to."""

    def __init__(self, file: int) -> None:
        self.file = file
        self.position = 0
        """The beginning of the next line."""

    def read(self, most: int = 1 << 16) -> list[SpooledLine]:
        """What has been added since the last time, at most so many octets of it."""
        data = os.pread(self.file, most, self.position)
        end = data.rfind(b"\n")
        if end < 0:
            # A single line may be longer than that.
            return self.read(most * 4) if len(data) == most else []
        found, at = [], self.position
        for line in data[:end].split(b"\n"):
            found.append(SpooledLine(json.loads(line), at, len(line)))
            at += len(line) + 1
        self.position = at
        return found
