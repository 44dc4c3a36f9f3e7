"""Tables as workers write them: Parquet files, straight from Arrow.

To hand each row to the JVM and have it written there takes longer than finding it. A task that
is repeated writes anew, under other names, below `_parts`; only files that a task told of when it
ended well are adopted into the tables.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from amqpscope.spark.files import locate, open_octets
from amqpscope.spark.schema import TABLES

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
    day: str
    name: str
    """Below the directory of parts."""
    rows: int
    frames: int
    """Those of its connections, where it has such."""
    severities: dict[str, int]
    """Those of its findings."""


class PartFile:
    """A file of one table and day that is being written."""

    def __init__(self, place: str, table: str, day: str, schema: pa.Schema) -> None:
        system, root = locate(place)
        self.table, self.day = table, day
        self.name = f"{table}/{day}/{uuid4().hex}.parquet"
        path = f"{root}/{self.name}"
        system.create_dir(path.rpartition("/")[0], recursive=True)
        self.sink = system.open_output_stream(path)
        self.writer = pq.ParquetWriter(self.sink, schema, **layout(table))
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
        self.sink.close()
        counts = dict(self.severities)
        return Written(self.table, self.day, self.name, self.rows, self.frames, counts)


class Writer:
    """The files that one task writes."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.files: dict[tuple[str, str], PartFile] = {}
        self.written: list[Written] = []

    def add(self, table: str, rows: pa.Table) -> None:
        """Take rows of a table, with their day."""
        for day, own in by_day(rows):
            file = self.files.get((table, day))
            if file is None:
                if len(self.files) >= OPEN:
                    self.close()
                file = PartFile(self.place, table, day, own.schema)
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
    """Below the directory of parts."""
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


def changed(text: str) -> str | None:
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
