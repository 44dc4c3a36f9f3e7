"""A directory of rotating captures as a stream of segments.

An offset says for each ring how many files were read, which of these are still in the directory,
and which files the batch up to it consists of, with their sizes, so that a batch that Spark
repeats has the same files, whatever has come or gone since. The driver looks at names only: files
are opened once, by the task that reads those of a ring in this batch, one after the other. How many
packets came before them it knows from what the batch before has left (`stream_numbering`).

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
from amqpscope.spark.replay import canonical
from amqpscope.spark.stages import segment_batch
from amqpscope.spark.stream_numbering import folder_of, progress_of
from amqpscope.spark.worker import FileNumbers, Scan, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "amqpscope-arrivals"
SCHEMA: Final = "ring string, connection binary, packet bigint, data binary"
BATCH: Final = 64 << 20
"""Octets of captures in one batch, if they are in several files."""
AGAIN: Final = -1
"""The packet of rows whose segments were read before."""
FILE: Final = b""
"""The connection of the row that tells of a file; `data` has a Scan."""


LATE: Final = "not read: files that come after it in the ring had been read before it was there"


class Taken(NamedTuple):
    """A file of a batch, as an offset holds it."""

    path: str
    size: int
    changed: int
    late: bool


class Progress(NamedTuple):
    """How far a ring is read, as an offset holds it."""

    files: int = 0
    known: tuple[str, ...] = ()
    """Files that were read and are still there, and the last of those that were read."""
    batch: tuple[Taken, ...] = ()
    """What was taken last."""


class Arrival(InputPartition):
    """The files of a ring in a batch."""

    def __init__(self, ring: str, ordinal: int, taken: tuple[Taken, ...]) -> None:
        super().__init__((ring, ordinal))
        self.ring = ring
        self.ordinal = ordinal
        """Of the first file."""
        self.taken = taken

    def share(self, base: int) -> Share:
        """Those files that are to be read, as a share of the ring."""
        pieces = [
            Piece(ordinal, Part(taken.path), taken.size)
            for ordinal, taken in enumerate(self.taken, self.ordinal)
            if not taken.late
        ]
        return Share(self.ring, 0, pieces, base)


class Again(InputPartition):
    """Files of a ring that were read before, for connections whose states are made anew."""

    def __init__(
        self, ring: str, files: list[tuple[int, str, int]], base: int, names: list[str]
    ) -> None:
        super().__init__((ring, AGAIN))
        self.names = frozenset(bytes.fromhex(name) for name in names)
        pieces = [Piece(ordinal, Part(path), size) for ordinal, path, size in files]
        self.share = Share(ring, 0, pieces, base)

    def read(self) -> Iterator[pa.RecordBatch]:
        """The segments of these connections, marked."""
        import pyarrow as pa

        for batch in Stream(self.share):
            own = [segment for segment in batch if canonical(segment.key) in self.names]
            if own:
                rows = row_batch(self.share.ring, segment_batch(0, own))
                marks = pa.array([AGAIN] * rows.num_rows, pa.int64())
                yield rows.set_column(2, "packet", marks)


class Arrivals(DataSource):
    """The data source.

    Options: `rings`, a JSON list of directories; `out`, the directory of tables; `patience` in
    seconds; `limit`, the octets of a batch; where a stream goes on without its states (`rebuild`),
    `begin`, how far its rings were read, and `again`, what is to be read again.
    """

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
        self.out = options["out"]
        self.begin = options.get("begin") or "{}"
        self.again: dict[str, dict[str, Any]] = json.loads(options.get("again") or "{}")

    def initialOffset(self) -> dict[str, Any]:
        """What is read when the stream begins: nothing, unless another one went before."""
        return {"rings": self.begin}

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:
        """What is complete by now, up to a batch."""
        if self.again and "again" not in start:
            return {**start, "again": "read"}
        before = read_offset(start)
        after, left = {}, self.limit
        for ring in self.rings:
            known = before.get(ring, Progress())
            batch = list(take(ring, known.known, self.patience, left, first=left == self.limit))
            left -= sum(each.size for each in batch)
            after[ring] = advance(ring, known, batch) if batch else known
        if all(after[ring] == before.get(ring, Progress()) for ring in self.rings):
            return start
        return {**start, "rings": json.dumps(after)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """A task for each ring that has new files."""
        if "again" in end and "again" not in start:
            return [
                Again(ring, each["files"], each["base"], each["names"])
                for ring, each in self.again.items()
            ]
        before, after = read_offset(start), read_offset(end)
        found: list[InputPartition] = []
        for ring, reached in after.items():
            known = before.get(ring, Progress())
            if reached.files > known.files:
                found.append(Arrival(ring, known.files, reached.batch))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The segments of files, and what is to be known of each file."""
        if isinstance(partition, Again):
            yield from partition.read()
            return
        assert isinstance(partition, Arrival)
        ring = partition.ring
        base = progress_of(folder_of(self.out, ring)).packets_before(partition.ordinal)
        stream = Stream(partition.share(base))
        for batch in stream:
            yield row_batch(ring, segment_batch(0, batch))
        seen = {file.ordinal: file for file in stream.files}
        for ordinal, taken in enumerate(partition.taken, partition.ordinal):
            late = FileNumbers(ordinal, problem=LATE, unreadable=True)
            found = late if taken.late else seen[ordinal]
            scan = Scan(ring, ordinal, found.packets, files=[found])
            yield file_batch(ring, File(taken.path, taken.size, taken.changed), base, scan)
            base += found.packets


def list_captures(ring: str) -> list[File]:
    """The captures of a directory, in order."""
    system, folder = locate(ring)
    found = [
        File(f"{ring}/{info.base_name}", info.size, (info.mtime_ns or 0) // 1000)
        for info in system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        if info.type == fs.FileType.File and is_capture(info.base_name)
    ]
    return sorted(found, key=lambda file: natural(file.path))


def read_offset(offset: dict[str, Any]) -> dict[str, Progress]:
    """What an offset says of each ring."""
    found = {}
    for ring, (files, known, batch) in json.loads(offset["rings"]).items():
        found[ring] = Progress(files, tuple(known), tuple(Taken(*each) for each in batch))
    return found


def take(
    ring: str, known: Sequence[str], patience: float, limit: int, *, first: bool
) -> Iterator[Taken]:
    """The files of a ring that nobody writes to any more, up to so many octets.

    The first of a batch is taken whatever its size.
    """
    files, read = list_captures(ring), frozenset(known)
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
        yield Taken(file.path, file.size, file.changed, late)
        limit, first = limit - file.size, False


def advance(ring: str, known: Progress, batch: list[Taken]) -> Progress:
    """How far a ring is read after a batch."""
    read = {*known.known, *(each.path for each in batch)}
    last = max(read, key=natural)
    there = tuple(f.path for f in list_captures(ring) if f.path in read and f.path != last)
    return Progress(known.files + len(batch), (*there, last), tuple(batch))


def row_batch(ring: str, segments: pa.RecordBatch) -> pa.RecordBatch:
    """Segments with the name of their ring."""
    import pyarrow as pa

    names = pa.array([ring] * segments.num_rows, pa.string())
    arrays = [names, *segments.columns[1:]]
    return pa.RecordBatch.from_arrays(arrays, names=segments.schema.names)


def file_batch(ring: str, file: File, base: int, scan: Scan) -> pa.RecordBatch:
    """A row that describes a file."""
    import pyarrow as pa

    told = pickle.dumps((file, base, scan))
    columns: list[tuple[str, Any, pa.DataType]] = [
        ("ring", ring, pa.string()),
        ("connection", FILE, pa.binary()),
        ("packet", base, pa.int64()),
        ("data", told, pa.binary()),
    ]
    arrays = [pa.array([value], type=kind) for _, value, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _, _ in columns])
