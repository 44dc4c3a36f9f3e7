"""Tables as workers write them: Parquet files, straight from Arrow.

To hand each row to the JVM and have it written there takes longer than finding it. Files lie below
their table from the start. A task that is repeated writes them again, under other names; only
files that a task reported when it ended well are committed to the table.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from amqpscope.spark.files import locate, open_octets
from amqpscope.spark.schema import TABLES, arrow_schema
from amqpscope.spark.stored import Stored, Target, prefix, stats_of

if TYPE_CHECKING:
    from collections.abc import Iterator

STAGED: Final = "_staged"
ROWS: Final = 100_000
"""Rows of a row group."""
OPEN: Final = 64
"""Files that are open at a time: damaged captures have days without number."""
TOGETHER: Final = 16 << 20
"""Octets of blocks that are staged in one file."""
BLOCK: Final = ("ring", "table", "data")
"""The columns of what is staged: rows of one table as octets."""
COUNTED: Final = ("int", "bigint", "timestamp")


class Written(NamedTuple):
    """A file that is complete."""

    table: str
    file: Stored
    rows: int
    frames: int
    """Those of its connections, where it has such."""
    severities: dict[str, int]
    """Those of its findings."""


class PartFile:
    """A file of one table and day that is being written."""

    def __init__(
        self, target: Target, table: str, day: str, schema: pa.Schema, mark: str = ""
    ) -> None:
        system, root = locate(target.path)
        self.table, self.day = table, day
        self.name = f"day={day}/{prefix(target.run)}{mark}{uuid4().hex}.parquet"
        path = f"{root}/{table}/{self.name}"
        system.create_dir(path.rpartition("/")[0], recursive=True)
        self.sink = system.open_output_stream(path)
        self.known: list[pq.FileMetaData] = []
        self.writer = pq.ParquetWriter(
            self.sink, schema, metadata_collector=self.known, **layout(table)
        )
        self.waiting: list[pa.Table] = []
        self.held = self.rows = self.frames = 0
        self.severities: Counter[str] = Counter()

    def add(self, rows: pa.Table) -> None:
        """Take rows, without the day."""
        self.rows += len(rows)
        self.held += len(rows)
        self.waiting.append(rows)
        if self.table == "connections":
            for name in ("client_frames", "server_frames"):
                self.frames += pc.sum(rows[name]).as_py()
        elif self.table == "findings":
            self.severities.update(rows["severity"].to_pylist())
        if self.held >= ROWS:
            self.flush()

    def flush(self) -> None:
        """Write a row group."""
        if self.waiting:
            self.writer.write_table(pa.concat_tables(self.waiting), row_group_size=self.held)
        self.waiting, self.held = [], 0

    def close(self) -> Written:
        """Finish the file."""
        self.flush()
        self.writer.close()
        size = self.sink.tell()
        self.sink.close()
        file = Stored(self.name, size, self.day, stats_of(self.known))
        return Written(self.table, file, self.rows, self.frames, dict(self.severities))


class Writer:
    """The files that one task writes."""

    def __init__(self, target: Target, mark: str = "") -> None:
        self.target = target
        self.mark = mark
        self.files: dict[tuple[str, str], PartFile] = {}
        self.written: list[Written] = []

    def add(self, table: str, rows: pa.Table) -> None:
        """Take rows of a table, with their day."""
        for day, own in by_day(rows):
            file = self.files.get((table, day))
            if file is None:
                if len(self.files) >= OPEN:
                    self.close()
                file = PartFile(self.target, table, day, own.schema, self.mark)
                self.files[table, day] = file
            file.add(own)

    def close(self) -> list[Written]:
        """Finish all files; those of this task so far."""
        self.written += [file.close() for file in self.files.values()]
        self.files = {}
        return self.written


class StagedError(Exception):
    """A staged file that somebody else has written or changed."""


class Staged(NamedTuple):
    """A file of blocks of many rings and tables, of which the tables are still to be written."""

    name: str
    """Below the staging area of the run."""
    rows: int


class Together:
    """Stages what one task finds for small tables: a file of each would take longer than its work.

    So a later task writes those of many.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.blocks: list[tuple[int, str, bytes]] = []
        self.rows = self.octets = 0
        self.staged: list[Staged] = []

    def add(self, ring: int, table: str, rows: int, data: bytes) -> None:
        """Take one more block."""
        self.blocks.append((ring, table, data))
        self.rows += rows
        self.octets += len(data)
        if self.octets >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write a file."""
        system, root = locate(self.place)
        name = f"{STAGED}/{uuid4().hex}"
        system.create_dir(f"{root}/{STAGED}", recursive=True)
        with system.open_output_stream(f"{root}/{name}") as file:
            rings, tables, data = zip(*self.blocks, strict=True)
            columns = (list(rings), list(tables), pa.array(data, pa.large_binary()))
            staged = pa.table(dict(zip(BLOCK, columns, strict=True)))
            with pa.ipc.new_stream(file, staged.schema) as writer:
                writer.write_table(staged)
        self.staged.append(Staged(name, self.rows))
        self.blocks, self.rows, self.octets = [], 0, 0

    def close(self) -> list[Staged]:
        """Finish; the files of this task."""
        if self.blocks:
            self.flush()
        return self.staged


def staged_blocks(place: str, staged: Staged) -> list[tuple[int, str, bytes]]:
    """Ring, table and octets of the blocks in a file."""
    with open_octets(f"{place}/{staged.name}") as file:
        try:
            found = pa.ipc.open_stream(file).read_all()
            found.validate(full=True)
            columns = [found[name].to_pylist() for name in BLOCK]
        except (pa.ArrowInvalid, KeyError) as error:
            reason = (str(error).splitlines() or ["nothing in it"])[0]
            raise StagedError(
                f"{place}/{staged.name} is not what was staged there: {reason}"
            ) from error
    return list(zip(*columns, strict=True))


def rows_without(
    target: Target, table: str, file: Stored, rings: frozenset[str]
) -> pa.Table | None:
    """The rows of a file that are not of these rings, with their day; None: it has no others."""
    wanted = pa.array(sorted(rings), pa.string())
    found = rows_in(target, table, file)
    own = pc.is_in(found["ring"], wanted)
    return found.filter(pc.invert(own)) if pc.any(own).as_py() else None


def rows_in(target: Target, table: str, file: Stored) -> pa.Table:
    """The rows of a file of a table, with their day."""
    system, root = locate(target.path)
    path = f"{root}/{table}/{file.path}"
    found = pq.read_table(path, schema=arrow_schema(table), filesystem=system, partitioning=None)
    day = pa.scalar(date.fromisoformat(file.day or ""), pa.date32())
    return found.append_column("day", pa.repeat(day, len(found)))


def staged_reason(text: str) -> str | None:
    """The words of a StagedError in what Spark tells of a failure."""
    found = re.search(rf"\b{StagedError.__name__}: (.+)", text)
    return found and found[1].strip()


def by_day(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Rows of each day, without it."""
    days = pc.unique(rows["day"]).to_pylist()
    for day in days:
        own = rows if len(days) == 1 else rows.filter(pc.equal(rows["day"], day))
        yield str(day), own.drop_columns(["day"])


def layout(table: str) -> dict[str, Any]:
    """How a table is stored: numbers mostly go up, and texts come again."""
    counted = [c.name for c in TABLES[table] if c.type in COUNTED]
    return {
        "compression": "zstd",
        "use_dictionary": [c.name for c in TABLES[table] if c.type == "string"],
        "column_encoding": dict.fromkeys(counted, "DELTA_BINARY_PACKED"),
    }
