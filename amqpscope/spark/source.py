"""Captures as a Spark data source, one row a frame, for people's own notebooks.

    spark.dataSource.register(AmqpDataSource)
    spark.read.format("amqp").load("captures/").where("time >= '2026-11-01'").show()

A directory counts as a rotated capture, so that connections go on from file to file and
numbers run through; `option("ring", "file")` lets each file stand alone. Each ring is read by one
task, in order. Filters on `capture` leave out rings, and filters on `time` frames, before Spark
sees them. Spark asks a Python source for all columns; `option("columns", "time,name")`
saves making the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from amqpscope.capture.ring import is_capture
from amqpscope.spark.files import absolute, local_path, reason_of
from amqpscope.spark.list_arrow import walk
from amqpscope.spark.plan import File, Piece, Ring, Share, rings_of
from amqpscope.spark.records import Part
from amqpscope.spark.schema import TABLES
from amqpscope.spark.work import Work

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "amqp"
END: Final = (1 << 63) - 1


class RingPartition(InputPartition):
    """One ring."""

    def __init__(self, ring: Ring) -> None:
        super().__init__(ring.name)
        self.ring = ring


class AmqpDataSource(DataSource):
    """`spark.read.format("amqp")`."""

    @classmethod
    def name(cls) -> str:
        """What Spark calls it."""
        return NAME

    def schema(self) -> str:
        """Those of the table `frames`, the ring as `capture`."""
        columns = {column.name: column.type for column in TABLES["frames"]}
        wanted = [word.strip() for word in self.options.get("columns", "").split(",") if word]
        names = wanted or ["capture", *columns]
        columns["capture"] = "string"
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no column, expected {', '.join(columns)}")
        return ", ".join(f"`{name}` {columns[name]}" for name in names if name != "ring")

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader."""
        return FramesReader(self.options, schema.fieldNames())


class FramesReader(DataSourceReader):
    """Reads rings as frames."""

    def __init__(self, options: Mapping[str, str], names: list[str]) -> None:
        if "path" not in options:
            raise ValueError("no path: spark.read.format('amqp').load(PATH)")
        self.path = options["path"]
        self.each = options.get("ring", "directory") == "file"
        self.names = names
        self.captures: set[str] | None = None
        self.since, self.until = 0, END
        """Nanoseconds, both included."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Take the filters on capture and time."""
        for each in filters:
            if not self.take(each):
                yield each

    def take(self, each: Filter) -> bool:
        """Whether a filter is done here."""
        column = getattr(each, "attribute", None)
        value: Any = getattr(each, "value", None)
        if column in (("capture",), ("time",)) and isinstance(each, IsNotNull):
            return True  # they never are
        if column == ("capture",) and isinstance(each, EqualTo | In):
            wanted = {str(v) for v in value} if isinstance(each, In) else {str(value)}
            self.captures = wanted if self.captures is None else self.captures & wanted
            return True
        if column == ("time",) and isinstance(value, datetime):
            return self.take_time(each, round(value.timestamp() * 1e6) * 1000)
        return False

    def take_time(self, each: Filter, when: int) -> bool:
        """Narrow the time; columns are in microseconds, so each stands for a thousand."""
        if isinstance(each, GreaterThanOrEqual):
            self.since = max(self.since, when)
        elif isinstance(each, GreaterThan):
            self.since = max(self.since, when + 1000)
        elif isinstance(each, LessThanOrEqual):
            self.until = min(self.until, when + 999)
        elif isinstance(each, LessThan):
            self.until = min(self.until, when - 1)
        else:
            return False
        return True

    def partitions(self) -> Sequence[InputPartition]:
        """One for each ring that is wanted."""
        rings = rings_of(found(self.path), each=self.each)
        return [
            RingPartition(ring)
            for ring in rings
            if self.captures is None or ring.name in self.captures
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The frames of a ring."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from amqpscope.spark.gather import Block
        from amqpscope.spark.numbering import decoded, encoded
        from amqpscope.spark.worker import replay_whole

        if not isinstance(partition, RingPartition):  # Spark reads once even if there is nothing
            return
        ring = partition.ring
        pieces = [Piece(at, Part(file.path), file.size) for at, file in enumerate(ring.files)]
        work = Work(frames=True)
        share = Share(ring.name, 0, pieces)
        for block in replay_whole(share, work, work.choice.rules()):
            if not isinstance(block, Block) or not isinstance(block.rows, list):
                continue
            if block.table != "frames":
                continue
            rows = decoded(encoded("frames", block.rows))
            times = rows["time_ns"]
            inside = pc.and_(pc.greater_equal(times, self.since), pc.less_equal(times, self.until))
            rows = rows.filter(inside)
            rows = rows.append_column("capture", pa.array([ring.name] * len(rows), pa.string()))
            yield from rows.select(self.names).to_batches()


def found(path: str) -> list[File]:
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
