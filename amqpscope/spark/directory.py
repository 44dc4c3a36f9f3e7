"""A directory of tables, and how a run becomes part of all of them or of none.

A run commits its files to each table that it changes, as one version of that table (see `delta`),
and then its captures to `_inputs` (see `manifest`): from that commit on the run counts. Readers
of a directory take each table as of the newest run that counts. When a run dies between these
commits, whoever opens the directory next to write rolls back the tables that are ahead, and removes
the files that the run has left; the run is then repeated.
"""

from __future__ import annotations

import fcntl
import os
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow import fs

from amqpscope.spark.delta import (
    APPLICATION,
    Change,
    SchemaError,
    Table,
    dataset,
    files_of,
    stored_of,
)
from amqpscope.spark.files import absolute, local_path, locate, reason_of
from amqpscope.spark.manifest import INPUTS, SCHEMA, Done, ManifestError, Rings, State
from amqpscope.spark.parts import layout
from amqpscope.spark.schema import TABLES, table_schema
from amqpscope.spark.stored import STAGING, Stored, Target, prefix, stats_of

COPIES: Final = "_copies"
"""Captures that workers could not open where they are."""
LOCK: Final = "_lock"
OLD: Final = "_manifest"
"""What a directory has that was written before its tables were Delta's."""
BATCH: Final = "batch"
"""The application whose transactions are batches of a stream."""
MANY: Final = 50
"""Files of `_inputs` that are put together."""


class Directory:
    """A directory of tables."""

    def __init__(self, path: str) -> None:
        # Workers and servers have working directories of their own.
        self.path = absolute(path)
        try:
            self.system, self.root = locate(self.path)
        except OSError as error:
            raise ManifestError(f"{path}: cannot be opened: {reason_of(error)}") from error
        self.root = self.root.rstrip("/")
        self.locked: int | None = None
        self.inputs = Table(f"{self.path}/{INPUTS}", SCHEMA)

    def table(self, name: str) -> Table:
        """One of the tables."""
        return Table(f"{self.path}/{name}", table_schema(name), layout(name))

    def target(self, run: int) -> Target:
        """Where the workers of a run write."""
        return Target(self.path, run)

    def staging(self, run: int, name: str) -> str:
        """Where a run writes what nobody else reads, as Spark spells it."""
        return f"{self.target(run).staging}/{name}"

    # Reading.

    def read(self, run: int | None = None) -> State:
        """What is done as of a run, the newest by default, for those who only look."""
        found = self._inputs_of(run)
        if found is None:
            if self.names(OLD):
                raise ManifestError(f"{self.path}: written by an earlier version of amqpscope")
            raise ManifestError(f"{self.path}: no tables of `amqpscope pipeline run` here")
        return self._state(found)

    def rings(self) -> Rings:
        """All rings that are done by now."""
        found = self._inputs_of(None)
        return (State() if found is None else self._state(found)).rings

    def version(self, table: str, state: State) -> DeltaTable | None:
        """A table as of a state; None when there was none."""
        found = self.table(table).open()
        if found is not None and run_of(found) > state.run:
            if table not in state.versions:
                return None
            found.load_as_version(state.versions[table])
        return found

    def unlisted_rings(self, state: State) -> set[str]:
        """Rings that are directories which could not be listed: they have rows, and no inputs."""
        found = self.version("quarantine", state)
        if found is None:
            return set()
        rows = dataset(found, f"{self.path}/quarantine", table_schema("quarantine"))
        chosen = pc.ends_with(pc.field("path"), "/")
        return set(rows.to_table(columns=["ring"], filter=chosen)["ring"].to_pylist())

    def _inputs_of(self, run: int | None) -> DeltaTable | None:
        """`_inputs` as of a run, by halving its versions."""
        try:
            found = self.inputs.open()
            if found is None or run is None:
                return found
            # Versions only count up; the last of those that belong to the run is wanted.
            low, high = min(each["version"] for each in found.history()), found.version() + 1
            while high - low > 1:
                middle = (low + high) // 2
                found.load_as_version(middle)
                low, high = (middle, high) if run_of(found) <= run else (low, middle)
            found.load_as_version(low)
        except (DeltaError, OSError) as error:
            raise ManifestError(f"{self.path}: cannot be read: {first_line(error)}") from error
        if not run or run_of(found) != run:
            raise ManifestError(f"{self.path}: nothing is known of run {run}")
        return found

    def _state(self, found: DeltaTable) -> State:
        rows = dataset(found, self.inputs.place, SCHEMA)
        known = {name: found.transaction_version(name) for name in TABLES}
        versions = {name: version for name, version in known.items() if version is not None}
        return State(run_of(found), Rings(rows), found.transaction_version(BATCH), versions)

    # Writing.

    def open(self) -> State:
        """Be the only one who writes here, and undo what a dead run has left; the state."""
        try:
            kind = self.system.get_file_info(self.root).type
        except OSError as error:
            raise ManifestError(f"{self.path}: cannot be opened: {reason_of(error)}") from error
        if kind == fs.FileType.File:
            raise ManifestError(f"{self.path}: is a file, expected a directory of tables")
        self._lock()
        if self.names(OLD):
            raise ManifestError(
                f"{self.path}: written by an earlier version of amqpscope; give another directory"
            )
        found = self._inputs_of(None)
        state = State() if found is None else self._state(found)
        for name in self.names(STAGING):
            if name.isdigit() and int(name) > state.run:
                self.undo(state, int(name))
            self.system.delete_dir(f"{self.root}/{STAGING}/{name}")
        return state

    def undo(self, state: State, dead: int) -> None:
        """Let all tables be as of a state, and remove the files of a run that came later."""
        for table in TABLES:
            self.table(table).roll_back(state.run, state.versions.get(table, 0))
            chosen = fs.FileSelector(f"{self.root}/{table}", recursive=True, allow_not_found=True)
            for info in self.system.get_file_info(chosen):
                if info.base_name.startswith(prefix(dead)):
                    self.system.delete_file(info.path)

    def _lock(self) -> None:
        """Keep others away as long as this process lives; on local file systems only."""
        local = local_path(self.path)
        if local is None or self.locked is not None:
            return
        try:
            os.makedirs(local, exist_ok=True)
            self.locked = os.open(f"{local}/{LOCK}", os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise ManifestError(f"{self.path}: another run is writing here") from error
        except OSError as error:
            raise ManifestError(f"{self.path}: cannot be written: {reason_of(error)}") from error

    def close(self) -> None:
        """Let others write."""
        if self.locked is not None:
            os.close(self.locked)
            self.locked = None

    def begin(self, run: int) -> Target:
        """Leave a mark that a run has begun, by which its rests are found."""
        self.system.create_dir(f"{self.root}/{STAGING}/{run}", recursive=True)
        return self.target(run)

    def abandon(self, run: int) -> None:
        """Forget a run that has written nothing."""
        self.system.delete_dir(f"{self.root}/{STAGING}/{run}")

    def discard(self, state: State, run: int) -> None:
        """Remove what a run that failed has written."""
        if str(run) in self.names(STAGING):
            self.undo(state, run)
            self.system.delete_dir(f"{self.root}/{STAGING}/{run}")

    def commit(
        self, run: int, changes: Mapping[str, Change], done: Mapping[str, Done],
        again: Collection[str] = (), batch: int | None = None,
        places: Mapping[str, int] | None = None,
    ) -> dict[str, int]:  # fmt: skip
        """Make a run count: its files in all tables, and its captures; versions of the tables.

        Captures of the rings `again` are those in `done` from now on; of others, `done` has the
        captures that come after `places` known ones.
        """
        found = self.inputs.open()
        if found is not None and run_of(found) != run - 1:
            raise ManifestError(f"{self.path}: another run has written here meanwhile")
        try:
            versions = {}
            for name in TABLES:
                change = changes.get(name, Change())
                if change.added or change.removed or found is None:
                    versions[name] = self.table(name).commit(run, change)
            before = places or {}
            rows = [row for ring in done for row in done[ring].rows(ring, before.get(ring, 0))]
            own = self._replaced_inputs(found, again, run)
            own.added.append(self._store_inputs(pa.Table.from_pylist(rows, SCHEMA), run))
            others = versions if batch is None else {**versions, BATCH: batch}
            self.inputs.commit(run, own, others)
        except (DeltaError, SchemaError) as error:
            raise ManifestError(f"{self.path}: cannot be written: {first_line(error)}") from error
        self.system.delete_dir(f"{self.root}/{STAGING}/{run}")
        if found is not None and len(found.file_uris()) > MANY:
            self.inputs.compact(run)
        return versions

    def _replaced_inputs(
        self, found: DeltaTable | None, again: Collection[str], run: int
    ) -> Change:
        """Take rows of some rings out of `_inputs`."""
        change = Change()
        if found is None or not again:
            return change
        wanted = pa.array(sorted(again), pa.string())
        for file in with_rings(files_of(found), again):
            path = f"{self.root}/{INPUTS}/{file.path}"
            rows = pq.read_table(path, schema=SCHEMA, filesystem=self.system)
            own = pc.is_in(rows["ring"], wanted)
            if pc.any(own).as_py():
                change.removed.append(file)
                kept = rows.filter(pc.invert(own))
                if len(kept):
                    change.added.append(self._store_inputs(kept, run))
        return change

    def _store_inputs(self, rows: pa.Table, run: int) -> Stored:
        self.system.create_dir(f"{self.root}/{INPUTS}", recursive=True)
        name = f"{prefix(run)}{uuid4().hex}.parquet"
        known: list[pq.FileMetaData] = []
        path = f"{self.root}/{INPUTS}/{name}"
        with self.system.open_output_stream(path) as sink:
            pq.write_table(rows, sink, compression="zstd", metadata_collector=known)
        return Stored(name, self.system.get_file_info(path).size, None, stats_of(known))

    # Upkeep.

    def compact(self, run: int) -> dict[str, tuple[int, int]]:
        """Put small files together, as of the last run; how many there were and are, by table."""
        found = {name: self.table(name).compact(run) for name in TABLES}
        opened = {name: self.table(name).open() for name in TABLES}
        versions = {name: table.version() for name, table in opened.items() if table is not None}
        self.inputs.commit(run, Change(), versions)
        self.inputs.compact(run)
        return found

    def vacuum(self, hours: int) -> dict[str, int]:
        """Delete files that no version of so many hours needs; how many, by table."""
        found = {name: self.table(name).vacuum(hours) for name in TABLES}
        self.inputs.vacuum(hours)
        return found

    def names(self, folder: str) -> list[str]:
        """What is in a folder."""
        chosen = fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True)
        return sorted(
            info.base_name
            for info in self.system.get_file_info(chosen)
            if not info.base_name.startswith(".")
        )


def run_of(table: DeltaTable) -> int:
    """The run whose commit a version is."""
    return table.transaction_version(APPLICATION) or 0


def first_line(error: Exception) -> str:
    """What is wrong, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def with_rings(files: list[dict[str, Any]], rings: Collection[str]) -> Iterator[Stored]:
    """Files that may have rows of some rings, by the least and the greatest ring of each."""
    names = sorted(rings)
    for file in files:
        low, high = file.get("min.ring"), file.get("max.ring")
        at = bisect_left(names, low) if low is not None else 0
        if at < len(names) and (high is None or names[at] <= high):
            yield stored_of(file)
