"""The files between the process that reads a capture and the one that shows it.

The reader appends; the others look how far it is. Nobody waits for anybody. There are five files,
all without a name, so that nothing is left behind however the program ends:

* `pieces`: the octets of every connection that speaks AMQP, piece by piece, as they were read.
  With them any state can be built again by the same `Analyzer`.
* `places`: for each piece its connection, the frames before it, and where it lies in `pieces`.
* `index`: one record of fixed size per frame: where its octets are, and where it belongs.
* `facts`: what records speak of by number (connections, links), refusals, findings: as JSON lines.
* `status`: how far the reader is; one JSON object, written over and over.

What a record refers to is always written before the record.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
from typing import Any, Final, NamedTuple

FILES: Final = ("pieces", "places", "index", "facts", "status")
CHUNK, GAP, END, WINDOW = range(4)
"""Kinds of pieces."""
REASONS: Final = ("fin", "rst", "reused", "idle", "capture")
STATUS_SIZE: Final = 8192

PIECE: Final = struct.Struct("<BBHIIIqQqq")
PLACE: Final = struct.Struct("<IIQ")
RECORD: Final = struct.Struct("<qQQQIIIIIIIIHBBBxxx")

LOST_BEFORE: Final = 1
CUT: Final = 2
MESSAGE: Final = 4
OLDER: Final = 8
"""A frame of the older protocols: `octets` and `previous` tell where its line is and how long."""
UNSENT: Final = 16


class Piece(NamedTuple):
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


class Record(NamedTuple):
    """One frame in `index`."""

    time: int
    """Nanoseconds since the Unix epoch."""
    data: int
    """Where its octets lie in `pieces`."""
    offset: int
    """Where it begins in its direction's stream."""
    octets: int
    """Octets of its delivery up to this transfer."""
    size: int
    missing: int
    connection: int
    packet: int
    link: int
    """The number of its link's fact; 0: none."""
    delivery: int
    """The first transfer of its delivery, or of the first that a disposition covers; 0: none."""
    previous: int
    """The transfer of the same delivery before this one; 0: none."""
    transfers: int
    """Transfers of the delivery up to this one, or deliveries that a disposition covers."""
    channel: int
    sender: int
    code: int
    """The performative's descriptor; 0 where there is none."""
    flags: int


class Spool:
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

    def record(self, number: int) -> Record:
        """The record of a frame, from 1."""
        return Record._make(
            RECORD.unpack(os.pread(self.index, RECORD.size, (number - 1) * RECORD.size))
        )

    def records(self, first: int, last: int) -> list[Record]:
        """The records of the frames from `first` to `last`."""
        size = max(last - first + 1, 0) * RECORD.size
        data = os.pread(self.index, size, (first - 1) * RECORD.size)
        whole = len(data) - len(data) % RECORD.size
        return [Record._make(found) for found in RECORD.iter_unpack(data[:whole])]

    def octets(self, record: Record) -> bytes:
        """The octets of a frame."""
        return os.pread(self.pieces, record.size, record.data)

    def write_status(self, status: dict[str, Any]) -> None:
        """Say how far the reader is."""
        data = json.dumps(status).encode()[: STATUS_SIZE - 1] + b"\n"
        os.pwrite(self.status, data, 0)

    def read_status(self) -> dict[str, Any] | None:
        """What the reader last said; None before it has spoken."""
        line, _, _ = os.pread(self.status, STATUS_SIZE, 0).partition(b"\n")
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError:
            return None
        return found


class Line(NamedTuple):
    """One line of a file, and where it stands."""

    value: Any
    place: int
    size: int


class Lines:
    """The lines of a file that another process appends to."""

    def __init__(self, file: int) -> None:
        self.file = file
        self.position = 0
        """The beginning of the next line."""

    def read(self, most: int = 1 << 16) -> list[Line]:
        """What has been added since the last time, at most so many octets of it."""
        data = os.pread(self.file, most, self.position)
        end = data.rfind(b"\n")
        if end < 0:
            # A single line may be longer than that.
            return self.read(most * 4) if len(data) == most else []
        found, at = [], self.position
        for line in data[:end].split(b"\n"):
            found.append(Line(json.loads(line), at, len(line)))
            at += len(line) + 1
        self.position = at
        return found
