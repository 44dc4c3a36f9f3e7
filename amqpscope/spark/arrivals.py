"""A directory of rotating captures as a stream of segments.

An offset says for each ring how far it is read (files and packets so far), which of the files that
are still in the directory were read, and which files the batch up to it consists of, so that a
batch that Spark repeats has the same files, whatever has come or gone since.

A file is taken when it is complete: when a later one is there, or when it has not changed for a
while. One whose name comes before a file that was read is too late for its place: it is not read,
and reported.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyarrow import fs
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from amqpscope.capture.ring import is_capture, natural
from amqpscope.spark.files import locate
from amqpscope.spark.plan import File, Piece, Share
from amqpscope.spark.records import Part
from amqpscope.spark.stages import segment_batch
from amqpscope.spark.worker import FileNumbers, Scan, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "amqpscope-arrivals"
SCHEMA: Final = "ring string, connection binary, packet bigint, data binary"
BATCH: Final = 64 << 20
"""Octets of captures in one batch, if they are in several files."""
FILE: Final = b""
"""The connection of the row that tells of a file; `data` has a Scan."""


LATE: Final = "not read: files that come after it in the ring had been read before it was there"


class Taken(NamedTuple):
    """A file of a batch, as an offset holds it."""

    path: str
    size: int
    changed: int
    packets: int
    late: bool


class Progress(NamedTuple):
    """How far a ring is read, as an offset holds it."""

    files: int = 0
    packets: int = 0
    known: tuple[str, ...] = ()
    """Files that were read and are still there, and the last of those that were read."""
    batch: tuple[Taken, ...] = ()
    """What was taken last."""


class Arrival(InputPartition):
    """One file to read."""

    def __init__(self, ring: str, ordinal: int, taken: Taken, base: int) -> None:
        super().__init__((ring, ordinal))
        self.ring = ring
        self.ordinal = ordinal
        self.file = File(taken.path, taken.size, taken.changed)
        self.base = base
        self.late = taken.late

    def share(self) -> Share:
        """The file as a share of its ring."""
        piece = Piece(self.ordinal, Part(self.file.path), self.file.size)
        return Share(self.ring, 0, [piece], self.base)


class Arrivals(DataSource):
    """The data source; options: `rings`, a JSON list of directories, and `patience` in seconds."""

    @classmethod
    def name(cls) -> str:
        """What Spark calls it."""
        return NAME

    def schema(self) -> str:
        """One row a segment."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader."""
        return ArrivalsReader(self.options)


class ArrivalsReader(DataSourceStreamReader):
    """Looks for files that are complete."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.rings: list[str] = json.loads(options["rings"])
        self.patience = float(options["patience"])
        self.limit = int(options["limit"])

    def initialOffset(self) -> dict[str, Any]:
        """Nothing is read yet."""
        return {"rings": "{}"}

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:
        """What is complete by now, up to a batch."""
        before = progress_of(start)
        after, left = {}, self.limit
        for ring in self.rings:
            known = before.get(ring, Progress())
            batch = list(take(ring, known.known, self.patience, left, first=left == self.limit))
            left -= sum(each.size for each in batch)
            after[ring] = advance(ring, known, batch) if batch else known
        if all(after[ring] == before.get(ring, Progress()) for ring in self.rings):
            return start
        return {"rings": json.dumps(after)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """A task for each file."""
        before, after = progress_of(start), progress_of(end)
        found: list[InputPartition] = []
        for ring, reached in after.items():
            known = before.get(ring, Progress())
            if reached.files == known.files:
                continue
            ordinal, base = known.files, known.packets
            for taken in reached.batch:
                found.append(Arrival(ring, ordinal, taken, base))
                ordinal, base = ordinal + 1, base + taken.packets
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The segments of a file, and what is to be known of the file."""
        assert isinstance(partition, Arrival)
        if partition.late:
            scan = Scan(partition.ring, partition.ordinal)
            scan.files = [FileNumbers(partition.ordinal, problem=LATE, unreadable=True)]
            yield file_batch(partition, scan)
            return
        stream = Stream(partition.share())
        for batch in stream:
            yield row_batch(partition.ring, segment_batch(0, batch))
        scan = Scan(partition.ring, partition.ordinal, stream.packets.count - partition.base)
        if stream.last is not None:
            scan.last_packet, scan.last_time = stream.last.packet, stream.last.time
        scan.files = stream.files
        yield file_batch(partition, scan)


def listed(ring: str) -> list[File]:
    """The captures of a directory, in order."""
    system, folder = locate(ring)
    found = [
        File(f"{ring}/{info.base_name}", info.size, (info.mtime_ns or 0) // 1000)
        for info in system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        if info.type == fs.FileType.File and is_capture(info.base_name)
    ]
    return sorted(found, key=lambda file: natural(file.path))


def progress_of(offset: dict[str, Any]) -> dict[str, Progress]:
    """What an offset says of each ring."""
    found = {}
    for ring, (files, packets, known, batch) in json.loads(offset["rings"]).items():
        found[ring] = Progress(files, packets, tuple(known), tuple(Taken(*each) for each in batch))
    return found


def take(
    ring: str, known: Sequence[str], patience: float, limit: int, *, first: bool
) -> Iterator[Taken]:
    """The files of a ring that nobody writes to any more, up to so many octets.

    The first of a batch is taken whatever its size.
    """
    files, read = listed(ring), frozenset(known)
    newest = max((natural(path) for path in read), default=None)
    now = time.time() * 1e6
    for place, file in enumerate(files):
        if file.path in read:
            continue
        if place == len(files) - 1 and now - file.changed < patience * 1e6:
            return
        if file.size > limit and not first:
            return
        late = newest is not None and natural(file.path) < newest
        yield Taken(file.path, file.size, file.changed, 0 if late else packets_in(file), late)
        limit, first = limit - file.size, False


def advance(ring: str, known: Progress, batch: list[Taken]) -> Progress:
    """How far a ring is read after a batch."""
    read = {*known.known, *(each.path for each in batch)}
    last = max(read, key=natural)
    there = tuple(f.path for f in listed(ring) if f.path in read and f.path != last)
    files, packets = known.files + len(batch), known.packets + sum(each.packets for each in batch)
    return Progress(files, packets, (*there, last), tuple(batch))


def packets_in(file: File) -> int:
    """How many packets a capture has that can be read."""
    stream = Stream(Share("", 0, [Piece(0, Part(file.path), file.size)]))
    for _ in stream:
        pass
    return stream.packets.count


def row_batch(ring: str, segments: pa.RecordBatch) -> pa.RecordBatch:
    """Segments with the name of their ring."""
    import pyarrow as pa

    names = pa.array([ring] * segments.num_rows, pa.string())
    arrays = [names, *segments.columns[1:]]
    return pa.RecordBatch.from_arrays(arrays, names=segments.schema.names)


def file_batch(arrival: Arrival, scan: Scan) -> pa.RecordBatch:
    """A row that tells of a file."""
    import pyarrow as pa

    told = pickle.dumps((arrival.file, arrival.base, scan))
    columns: list[tuple[str, Any, pa.DataType]] = [
        ("ring", arrival.ring, pa.string()),
        ("connection", FILE, pa.binary()),
        ("packet", arrival.base, pa.int64()),
        ("data", told, pa.binary()),
    ]
    arrays = [pa.array([value], type=kind) for _, value, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _, _ in columns])
