"""A directory of rotating captures as a stream of segments.

An offset says for each ring how far it is read: the last file, and how many files and packets
there are up to it. A file is taken when it is complete: when a later one is there, or when it has
not changed for a while.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyarrow import fs
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from amqpscope.capture.ring import is_capture, natural
from amqpscope.spark.files import locate
from amqpscope.spark.plan import File, Piece, Share
from amqpscope.spark.records import Part
from amqpscope.spark.stages import segment_batch
from amqpscope.spark.worker import Scan, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "amqpscope-arrivals"
SCHEMA: Final = "ring string, connection binary, packet bigint, data binary"
BATCH: Final = 64 << 20
"""Octets of captures in one batch, if they are in several files."""
FILE: Final = b""
"""The connection of the row that tells of a file; `data` has a Scan."""


class Arrival(InputPartition):
    """One file to read."""

    def __init__(self, ring: str, ordinal: int, file: File, base: int) -> None:
        super().__init__((ring, ordinal))
        self.ring = ring
        self.ordinal = ordinal
        self.file = file
        self.base = base

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
        seen = json.loads(start["rings"])
        left = self.limit
        for ring in self.rings:
            last, files, packets = seen.get(ring, ("", 0, 0))
            for file in complete(ring, last, self.patience):
                if left < self.limit and file.size > left:
                    break
                left -= file.size
                packets += packets_in(file)
                last, files = file.path, files + 1
            if files:
                seen[ring] = (last, files, packets)
        return {"rings": json.dumps(seen)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """A task for each file."""
        before, after = json.loads(start["rings"]), json.loads(end["rings"])
        found: list[InputPartition] = []
        for ring, (last, _, _) in after.items():
            since, ordinal, base = before.get(ring, ("", 0, 0))
            for file in listed(ring):
                if natural(since) < natural(file.path) <= natural(last):
                    found.append(Arrival(ring, ordinal, file, base))
                    base += packets_in(file)
                    ordinal += 1
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The segments of a file, and what is to be known of the file."""
        assert isinstance(partition, Arrival)
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


def complete(ring: str, last: str, patience: float) -> Iterator[File]:
    """The files after `last` that nobody writes to any more."""
    files = listed(ring)
    now = time.time() * 1e6
    for place, file in enumerate(files):
        if last and natural(file.path) <= natural(last):
            continue
        if place == len(files) - 1 and now - file.changed < patience * 1e6:
            return
        yield file


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
