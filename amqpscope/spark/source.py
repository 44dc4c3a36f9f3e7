"""Captures as a Spark data source, one row a frame, for people's own notebooks.

    spark.dataSource.register(AmqpDataSource)
    spark.read.format("amqp").option("since", "2026-11-01").load("captures/").show()

Each file is read by itself; with `option("ring", "directory")` those of a directory count as a
rotated capture, so that connections go on from file to file and numbers run through. A partition is
a share of the connections of a ring, and a ring has the more of them the larger it is: each task
reads it all, which takes an eighth of the time, and counts the frames of the other connections. So
numbers are those of one process, and nothing is shuffled. What is to be left out is said by options
(`source_options`) and not by pushed filters: Spark 4.3 applies a filter that a Python source has
accepted to later queries of the same DataFrame too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from amqpscope.analysis import Share as Connections
from amqpscope.capture.packets import Packets
from amqpscope.capture.ring import is_capture
from amqpscope.spark.files import absolute, local_path, reason_of
from amqpscope.spark.list_arrow import walk
from amqpscope.spark.plan import File, Piece, Ring, Share, rings_of
from amqpscope.spark.records import Part, Reading
from amqpscope.spark.schema import TABLES
from amqpscope.spark.source_options import SourceOptions, parse_options
from amqpscope.spark.worker import Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "amqp"
DISORDER: Final = 60_000_000_000
"""Nanoseconds by which packets of one file may be out of order."""


SHARE: Final = 8 << 20
"""Octets of a ring for each share of its connections."""
SHARES: Final = 8
"""Shares of a ring: more would mostly read what is not theirs."""


class RingPartition(InputPartition):
    """A share of the connections of a ring."""

    def __init__(self, ring: Ring, place: int, count: int) -> None:
        super().__init__((ring.name, place))
        self.ring = ring
        self.place = place
        self.count = count

    def connections(self) -> Connections | None:
        """Those of the share; None: all."""
        return None if self.count == 1 else Connections(frozenset((self.place,)), self.count)


class AmqpDataSource(DataSource):
    """`spark.read.format("amqp")`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return NAME

    def schema(self) -> str:
        """The columns of the table `frames`, its ring as `capture`."""
        columns = {column.name: column.type for column in TABLES["frames"] if column.name != "ring"}
        columns = {"capture": "string", **columns}
        names = parse_options(self.options).columns or list(columns)
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no column, expected {', '.join(columns)}")
        return ", ".join(f"`{name}` {columns[name]}" for name in names)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader."""
        return FramesReader(parse_options(self.options), schema.fieldNames())


class FramesReader(DataSourceReader):
    """Reads rings as frames."""

    def __init__(self, options: SourceOptions, names: list[str]) -> None:
        if not options.path:
            raise ValueError("no path: spark.read.format('amqp').load(PATH)")
        self.options = options
        self.names = names

    def partitions(self) -> Sequence[InputPartition]:
        """The shares of all rings that are wanted."""
        options = self.options
        found: list[InputPartition] = []
        for ring in rings_of(list_captures(options.path), each=options.each):
            if options.wants(ring.name):
                octets = sum(file.size for file in ring.files)
                count = min(max(octets // SHARE, 1), SHARES)
                found += [RingPartition(ring, place, count) for place in range(count)]
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The frames of a ring."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from amqpscope.spark.gather import Block
        from amqpscope.spark.numbering import decode_rows, encode_rows
        from amqpscope.spark.worker import replay_whole

        if not isinstance(partition, RingPartition):  # Spark reads once even if there is nothing
            return
        ring, options = partition.ring, self.options
        work = options.work()
        share = Share(ring.name, 0, pieces_until(ring, options.until))
        if options.since and last_time(share) < options.since - DISORDER:
            return
        part = partition.connections()
        for block in replay_whole(share, work, work.choice.rules(), part=part):
            if not isinstance(block, Block) or not isinstance(block.rows, list):
                continue
            if block.table != "frames":
                continue
            rows = decode_rows(encode_rows("frames", block.rows))
            times = rows["time_ns"]
            inside = pc.and_(pc.greater_equal(times, options.since), pc.less(times, options.until))
            rows = rows.filter(inside)
            rows = rows.append_column("capture", pa.array([ring.name] * len(rows), pa.string()))
            yield from rows.select(self.names).to_batches()


def pieces_until(ring: Ring, until: int) -> list[Piece]:
    """The files of a ring up to the last that begins before a time.

    Files before it are read whatever their time, since connections and numbers go on from them.
    """
    pieces = [Piece(at, Part(file.path), file.size) for at, file in enumerate(ring.files)]
    while pieces and first_time(pieces[-1]) >= until + DISORDER:
        pieces.pop()
    return pieces


def first_time(piece: Piece) -> int:
    """The time of the first TCP segment of a file; 0 where it has none."""
    for batch in Reading(piece.part, Packets(), []):
        if batch:
            return batch[0].time
    return 0


def last_time(share: Share) -> int:
    """The time of the last TCP segment of a ring, which takes an eighth of what its frames take."""
    stream, last = Stream(share), 0
    for batch in stream:
        last = max(last, batch[-1].time)
    return last


def list_captures(path: str) -> list[File]:
    """The captures at a path: in a directory and below, matched by a glob, or the file itself."""
    whole = absolute(path)
    whole = local_path(whole) or whole
    try:
        files = walk(whole)
    except OSError as error:
        raise ValueError(f"{path}: {reason_of(error)}") from error
    if len(files) == 1 and files[0].path == whole:
        return files
    return [file for file in files if is_capture(file.path)]
