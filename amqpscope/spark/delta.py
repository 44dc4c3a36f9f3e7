"""One table as Delta Lake keeps it, by delta-rs: no jar is needed to write or read it.

Workers write Parquet files below the table, which no reader of Delta looks at; a commit of the
driver then adds and removes files as one version. Whoever has opened a version goes on with its
files, which stay until `vacuum`. Each commit carries its run as Delta's transaction id.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from pyarrow import fs

from amqpscope.spark.files import local_path, locate
from amqpscope.spark.stored import PROVISIONAL, Stored, prefix, stats_of

APPLICATION: Final = "amqpscope"
"""The application whose transactions are runs."""
SETTINGS: Final = {
    "delta.checkpointInterval": "20",
    "delta.logRetentionDuration": "interval 7 days",
}
"""The log is read from its last checkpoint on, and older parts of it go after a week."""

TARGET: Final = 100 << 20
"""Octets of a file that is large enough."""
ROWS: Final = 100_000
"""Rows of a row group."""
PLAIN: Final[Mapping[str, Any]] = MappingProxyType({"compression": "zstd"})


class SchemaError(Exception):
    """A table whose columns are not those that rows have now."""


@dataclass
class Change:
    """What a run does to a table."""

    added: list[Stored] = field(default_factory=list)
    removed: list[Stored] = field(default_factory=list)
    moved: bool = False
    """The rows are the same as before, in other files."""


class Table:
    """A Delta table, whether it exists or not."""

    def __init__(self, place: str, schema: pa.Schema, layout: Mapping[str, Any] = PLAIN) -> None:
        self.place = local_path(place) or place
        self.schema = schema
        self.layout = layout
        """How its files are stored."""
        self.partitions = ["day"] if "day" in schema.names else []

    def open(self, version: int | None = None) -> DeltaTable | None:
        """One version of it, the newest by default; None when there is none."""
        try:
            return DeltaTable(self.place, version=version)
        except TableNotFoundError:
            return None

    def commit(self, run: int, change: Change, others: Mapping[str, int] | None = None) -> int:
        """Add and remove files as one version; its number."""
        table = self.writable()
        now = int(time.time() * 1000)
        actions: list[AddAction | RemoveAction] = [
            AddAction(each.path, each.size, each.partition, now, not change.moved, each.stats)
            for each in change.added
        ]
        actions += [
            RemoveAction(each.path, not change.moved, now, each.size, each.partition)
            for each in change.removed
        ]
        table.create_write_transaction(
            actions, "append", self.schema, self.partitions,
            commit_properties=properties(run, others),
        )  # fmt: skip
        table.update_incremental()
        return table.version()

    def writable(self) -> DeltaTable:
        """The table, made where there is none, with the columns that rows have now."""
        table = self.open()
        if table is None:
            if local_path(self.place) is not None:
                os.makedirs(self.place, exist_ok=True)
            return DeltaTable.create(
                self.place, self.schema, partition_by=self.partitions, configuration=SETTINGS
            )
        known = {each.name: each for each in table.schema().fields}
        fresh = []
        for each in Schema.from_arrow(self.schema).fields:
            if each.name not in known:
                fresh.append(each)
            elif known[each.name].type != each.type:
                raise SchemaError(f"{self.place}: the column {each.name} had another type")
        if fresh:
            table.alter.add_columns(fresh)
        return table

    def roll_back(self, run: int, version: int) -> None:
        """Be as of a version again, the last one of a run."""
        table = self.open()
        if table is not None and (table.transaction_version(APPLICATION) or 0) > run:
            table.restore(version, commit_properties=properties(run))

    def compact(self, run: int) -> tuple[int, int]:
        """Put small files together, in one commit; how many these were, and how many they are now.

        Delta's own way may not leave out rows that a stream replaces, which must stay in files of
        their own, and keeps no order, by which rings are found.
        """
        table = self.open()
        change = Change(moved=True)
        for group in [] if table is None else small_files(table):
            change.removed += group
            change.added.append(self._merge(group, run))
        if change.removed:
            self.commit(run, change)
        return len(change.removed), len(change.added)

    def _merge(self, files: list[Stored], run: int) -> Stored:
        """One file with the rows of several."""
        system, root = locate(self.place)
        columns = [each for each in self.schema if each.name not in self.partitions]
        paths = [f"{root}/{each.path}" for each in files]
        found = ds.dataset(paths, pa.schema(columns), "parquet", system, partitioning=None)
        name = f"{files[0].path.rpartition('/')[0]}/{prefix(run)}{uuid4().hex}.parquet".lstrip("/")
        known: list[pq.FileMetaData] = []
        with (
            system.open_output_stream(f"{root}/{name}") as sink,
            pq.ParquetWriter(sink, found.schema, metadata_collector=known, **self.layout) as writer,
        ):
            waiting: list[pa.RecordBatch] = []
            for batch in found.to_batches(batch_readahead=2, fragment_readahead=2):
                waiting.append(batch)
                if sum(map(len, waiting)) >= ROWS:
                    writer.write_table(pa.Table.from_batches(waiting))
                    waiting = []
            writer.write_table(pa.Table.from_batches(waiting, found.schema))
        size = system.get_file_info(f"{root}/{name}").size
        return Stored(name, size, files[0].day, stats_of(known))

    def vacuum(self, hours: int) -> int:
        """Delete files that no version of so many hours needs; how many."""
        table = self.open()
        if table is None:
            return 0
        return len(table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True))


def properties(run: int, others: Mapping[str, int] | None = None) -> CommitProperties:
    """The transaction ids of a commit: the run, and others by name."""
    wanted = {APPLICATION: run, **(others or {})}
    return CommitProperties(
        app_transactions=[Transaction(name, number) for name, number in wanted.items()]
    )


def dataset(table: DeltaTable, place: str, schema: pa.Schema) -> ds.Dataset:
    """The rows of a version, for Arrow, with all the columns that there are now."""
    system, root = locate(place)
    return table.to_pyarrow_dataset(filesystem=fs.SubTreeFileSystem(root, system), schema=schema)


def small_files(table: DeltaTable) -> Iterator[list[Stored]]:
    """Files that are put together: of one day each, in the order of their rings."""
    files = [each for each in files_of(table)
             if each["size_bytes"] < TARGET and f"-{PROVISIONAL}" not in each["path"]]  # fmt: skip
    files.sort(key=lambda each: (str(each.get("partition.day")), each.get("min.ring") or ""))
    for _, own in groupby(files, key=lambda each: each.get("partition.day")):
        group: list[Stored] = []
        for file in map(stored_of, own):
            group.append(file)
            if sum(each.size for each in group) >= TARGET:
                yield group
                group = []
        if len(group) > 1:
            yield group


def stored_of(file: Mapping[str, Any]) -> Stored:
    """A file of a version."""
    day = file.get("partition.day")
    return Stored(file["path"], file["size_bytes"], None if day is None else str(day))


def files_of(table: DeltaTable) -> list[dict[str, Any]]:
    """The files of a version: path, size, and what is known of their columns."""
    rows: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return rows
