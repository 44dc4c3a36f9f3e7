"""One table as Delta Lake keeps it, by delta-rs: no jar is needed to write or read it.

Workers write Parquet files below the table, which no reader of Delta looks at; a commit of the
driver then adds and removes files as one version. Whoever has opened a version goes on with its
files, which stay until `vacuum`. Each commit carries its run as Delta's transaction id.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from pyarrow import fs

from amqpscope.spark.files import local_path, locate
from amqpscope.spark.stored import PROVISIONAL, Stored, stats_of

APPLICATION: Final = "amqpscope"
"""The application whose transactions are runs."""
SETTINGS: Final = {
    "delta.checkpointInterval": "20",
    "delta.logRetentionDuration": "interval 7 days",
}
"""The log is read from its last checkpoint on, and older parts of it go after a week."""


class SchemaError(Exception):
    """A table whose columns are not those that rows have now."""


@dataclass
class Change:
    """What a run does to a table."""

    added: list[Stored] = field(default_factory=list)
    removed: list[Stored] = field(default_factory=list)


class Table:
    """A Delta table, whether it exists or not."""

    def __init__(self, place: str, schema: pa.Schema) -> None:
        self.place = local_path(place) or place
        self.schema = schema
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
            AddAction(each.path, each.size, each.partition, now, True, each.stats)
            for each in change.added
        ]
        actions += [
            RemoveAction(each.path, True, now, each.size, each.partition) for each in change.removed
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
        """Put small files together; how many there were, and how many there are now."""
        table = self.open()
        if table is None:
            return 0, 0
        # Rows that a stream replaces must not get into files with others.
        live = [stored_of(file) for file in files_of(table) if f"-{PROVISIONAL}" in file["path"]]
        aside = [each._replace(stats=self._stats(each)) for each in live]
        if aside:
            self.commit(run, Change(removed=aside))
            table.update_incremental()
        done = table.optimize.compact(commit_properties=properties(run))
        if aside:
            self.commit(run, Change(added=aside))
        return done["numFilesRemoved"], done["numFilesAdded"]

    def _stats(self, file: Stored) -> str:
        """What Delta wants to know of a file of this table."""
        system, root = locate(self.place)
        return stats_of([pq.read_metadata(f"{root}/{file.path}", filesystem=system)])

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


def stored_of(file: Mapping[str, Any]) -> Stored:
    """A file of a version."""
    day = file.get("partition.day")
    return Stored(file["path"], file["size_bytes"], None if day is None else str(day))


def files_of(table: DeltaTable) -> list[dict[str, Any]]:
    """The files of a version: path, size, and what is known of their columns."""
    rows: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return rows
