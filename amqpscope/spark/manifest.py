"""What a directory of tables holds, and how a run becomes visible: all of it or nothing.

A run writes below `_staging/<run>`, where readers do not look. Then one rename makes
`_manifest/<run>.json`, which says which captures are done and which files to remove; from then on
the run counts. Moving its files into the tables comes after that, and whoever opens the directory
next finishes it if the run died meanwhile. A staging directory without its manifest is the
rest of a run that died earlier, and is removed.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyarrow import fs

from amqpscope.spark.files import absolute, local_path, locate, reason_of
from amqpscope.spark.plan import File, Ring
from amqpscope.spark.schema import TABLES, VERSION
from amqpscope.spark.terms import Terms

if TYPE_CHECKING:
    from amqpscope.spark.parts import Written

MANIFESTS: Final = "_manifest"
STAGING: Final = "_staging"
PARTS: Final = "_parts"
COPIES: Final = "_copies"
"""Captures that workers could not open where they are."""
LOCK: Final = "_lock"
NUMBERS: Final = "_numbers"
"""What a stream must know of its earlier batches."""


class ManifestError(Exception):
    """The directory cannot be used, and why."""


@dataclass
class Done:
    """A ring that was processed."""

    files: list[File]
    run: int
    arguments: list[str] = field(default_factory=list)
    """What `read` must be told to read them as the run did: key logs, and ports that are AMQP's."""
    terms: Terms = field(default_factory=Terms)
    fresh: list[str] = field(default_factory=list)
    """Paths of files that this run was the first to read."""


@dataclass
class State:
    """What the newest manifest says."""

    run: int = 0
    rings: dict[str, Done] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    """Files of tables that this run replaced."""
    summary: dict[str, Any] = field(default_factory=dict)

    def fresh_files(self, ring: Ring) -> list[str]:
        """Paths of a ring's files that were not read before."""
        done = self.rings.get(ring.name)
        known = set() if done is None else {file.path for file in done.files}
        return [file.path for file in ring.files if file.path not in known]

    def newest(self) -> set[tuple[str, str]]:
        """Ring and path of each file that the newest run was the first to read."""
        done = [(name, each) for name, each in self.rings.items() if each.run == self.run]
        return {(name, path) for name, each in done for path in each.fresh}

    def todo(self, rings: list[Ring], terms: Terms) -> list[Ring]:
        """The rings that are new, have changed, or were read on other terms.

        A ring that grew is processed again, and its rows replaced. Where files that were done are
        gone that cannot be, so what came after them is a ring of its own: `name#2`.
        """
        return [found for ring in rings if (found := self._todo(ring, terms)) is not None]

    def _todo(self, ring: Ring, terms: Terms) -> Ring | None:
        names = [ring.name]
        while f"{ring.name}#{len(names) + 1}" in self.rings:
            names.append(f"{ring.name}#{len(names) + 1}")
        if names[-1] not in self.rings:
            return ring
        done = self.rings[names[-1]]
        last = done.files
        earlier = {file.path for name in names[:-1] for file in self.rings[name].files}
        files = [file for file in ring.files if file.path not in earlier]
        if {file.path for file in last} <= {file.path for file in files}:
            again = files != last or done.terms.differs(terms)
            return Ring(names[-1], files) if again else None
        fresh = [file for file in files if file.path not in {each.path for each in last}]
        return Ring(f"{ring.name}#{len(names) + 1}", fresh) if fresh else None


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

    def read(self) -> State:
        """The state, for those who only look."""
        runs = self._runs()
        if not runs:
            raise ManifestError(f"{self.path}: no tables of `amqpscope pipeline run` here")
        return self._read(runs[-1])

    def open(self) -> State:
        """Be the only one who writes here, and finish or remove what a dead run left; the state."""
        try:
            kind = self.system.get_file_info(self.root).type
        except OSError as error:
            raise ManifestError(f"{self.path}: cannot be opened: {reason_of(error)}") from error
        if kind == fs.FileType.File:
            raise ManifestError(f"{self.path}: is a file, expected a directory of tables")
        self._lock()
        runs = self._runs()
        state = self._read(runs[-1]) if runs else State()
        for name in self.names(STAGING):
            if name == str(state.run):
                self._publish(state)
            else:
                self.system.delete_dir(f"{self.root}/{STAGING}/{name}")
        return state

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

    def staging(self, run: int, name: str) -> str:
        """Where a run writes, as Spark spells it."""
        return f"{self.path}/{STAGING}/{run}/{name}"

    def stage(self, run: int, folder: str, name: str, data: bytes) -> None:
        """Write a small file for a run."""
        place = f"{self.root}/{STAGING}/{run}/{folder}"
        self.system.create_dir(place, recursive=True)
        with self.system.open_output_stream(f"{place}/{name}") as file:
            file.write(data)

    def commit(self, state: State) -> None:
        """Make a run count, and its rows visible."""
        document = {"version": VERSION, **asdict(state)}
        folder = f"{self.root}/{MANIFESTS}"
        self.system.create_dir(folder, recursive=True)
        final = f"{folder}/{state.run:06}.json"
        if self.system.get_file_info(final).type != fs.FileType.NotFound:
            raise ManifestError(f"{self.path}: another run has written here meanwhile")
        fresh = f"{folder}/.{state.run:06}.json"
        with self.system.open_output_stream(fresh) as file:
            file.write(json.dumps(document).encode())
        self.system.move(fresh, final)
        self._publish(state)

    def _publish(self, state: State) -> None:
        """Move a run's files into the tables; what was moved already is not there any more."""
        base = f"{self.root}/{STAGING}/{state.run}"
        for name in state.removed:
            if self.system.get_file_info(f"{self.root}/{name}").type == fs.FileType.File:
                self.system.delete_file(f"{self.root}/{name}")
        chosen = fs.FileSelector(f"{base}/{NUMBERS}", allow_not_found=True)
        for info in self.system.get_file_info(chosen):
            self.system.create_dir(f"{self.root}/{NUMBERS}", recursive=True)
            self.system.move(info.path, f"{self.root}/{NUMBERS}/{info.base_name}")
        for table in TABLES:
            source = f"{base}/{table}"
            chosen = fs.FileSelector(source, recursive=True, allow_not_found=True)
            for info in self.system.get_file_info(chosen):
                if info.type == fs.FileType.File and info.base_name.endswith(".parquet"):
                    day = info.path.removeprefix(source + "/").partition("/")[0]
                    folder = f"{self.root}/{table}/{day}"
                    self.system.create_dir(folder, recursive=True)
                    self.system.move(info.path, f"{folder}/run-{state.run:06}-{info.base_name}")
        self.system.delete_dir(base)

    def parts(self, run: int) -> str:
        """Where the workers of a run write."""
        return self.staging(run, PARTS)

    def adopt(self, run: int, written: Iterable[Written]) -> None:
        """Let files that workers wrote be part of a run; others there go when the run is over."""
        base = f"{self.root}/{STAGING}/{run}"
        for each in written:
            folder = f"{base}/{each.table}/day={each.day}"
            self.system.create_dir(folder, recursive=True)
            name = each.name.rpartition("/")[2]
            self.system.move(f"{base}/{PARTS}/{each.name}", f"{folder}/{name}")

    def discard(self, run: int) -> None:
        """Remove what a run has written so far."""
        if str(run) in self.names(STAGING):
            self.system.delete_dir(f"{self.root}/{STAGING}/{run}")

    def days(self, table: str) -> list[str]:
        """The directories of a table."""
        return [f"{self.path}/{table}/{name}" for name in self.names(table)]

    def relative(self, path: str) -> str:
        """A file of a table, as the manifest names it."""
        return "/".join(path.split("/")[-3:])

    def _runs(self) -> list[int]:
        names = self.names(MANIFESTS)
        return sorted(int(name[:-5]) for name in names if name[:-5].isdigit())

    def _read(self, run: int) -> State:
        path = f"{self.root}/{MANIFESTS}/{run:06}.json"
        with self.system.open_input_stream(path) as file:
            document = json.loads(file.read())
        if document.pop("version", None) != VERSION:
            raise ManifestError(f"{self.path}: written by another version of amqpscope")
        rings = {
            name: Done(
                [File(*file) for file in done.pop("files")],
                terms=Terms(**done.pop("terms", {})),
                **done,
            )
            for name, done in document.pop("rings").items()
        }
        return State(rings=rings, **document)

    def names(self, folder: str) -> list[str]:
        """What is in a folder."""
        chosen = fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True)
        return sorted(
            info.base_name
            for info in self.system.get_file_info(chosen)
            if not info.base_name.startswith(".")
        )
