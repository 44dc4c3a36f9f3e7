"""Numbers of frames and connections while a ring still grows.

Frames of a batch follow those of all batches before, so a batch ranks its own order keys and adds
how many there were. Rows may speak of frames of earlier batches (a delivery that is settled at
last), so each batch's keys are kept beside the tables, eight octets a frame before compression, and
looked up when that happens. All that is kept of a ring lies in a folder of its own, and the
task that writes its rows keeps it:

    000012.npz         the keys of run 12, and its files
    index-000012.npz   how far the ring was after each of its runs up to this one
"""

from __future__ import annotations

import io
import json
import time
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import fs

from amqpscope.spark.files import locate
from amqpscope.spark.numbering import Keys, Numbers, frame_keys, no_keys, renumber_rows, with_file
from amqpscope.spark.replay import AFTER, SHIFT
from amqpscope.spark.schema import REFERRING

NUMBERS: Final = "_numbers"
INDEX: Final = "index-"
KINDS: Final = ("frames", "connections")
FRAMES, CONNECTIONS = range(2)
RUN, PACKETS, FILES, COUNTS = range(4)
"""Columns of an index; from the last on, frames and connections."""
WIDTH: Final = COUNTS + len(KINDS)
REMEMBERED: Final = 256
"""Runs of which a process has the keys in memory."""

Place = tuple[str, int]
"""A file, and the packets of the ring before it."""


class Clock(NamedTuple):
    """The time of a ring."""

    newest: int = 0
    """Nanoseconds since 1970: the newest packet."""
    heard: int = 0
    """The same: when the last file was read, by the clock on the wall."""


class Kept(NamedTuple):
    """What is kept of a run."""

    keys: tuple[Keys, Keys]
    files: list[Place]


class Progress(NamedTuple):
    """How far a ring is."""

    batches: np.ndarray[Any, np.dtype[np.int64]]
    clock: Clock

    def packets_before(self, files: int) -> int:
        """The packets of so many files, after which a batch began."""
        if not files:
            return 0
        places = np.flatnonzero(self.batches[:, FILES] == files)
        return int(self.batches[places[0], PACKETS]) if len(places) else 0


NOTHING: Final = Progress(np.empty((0, WIDTH), dtype=np.int64), Clock())


def name_of(ring: str) -> str:
    """A name for a ring that can be that of a file."""
    return sha256(ring.encode()).hexdigest()[:16]


def folder_of(out: str, ring: str) -> str:
    """Where the numbers of a ring are kept, in a directory of tables."""
    return f"{out}/{NUMBERS}/{name_of(ring)}"


def indexes(folder: str) -> list[int]:
    """The runs that an index is kept of, the newest first."""
    system, root = locate(folder)
    chosen = fs.FileSelector(root, allow_not_found=True)
    names = [info.base_name for info in system.get_file_info(chosen)]
    runs = (name.removeprefix(INDEX).removesuffix(".npz") for name in names if INDEX in name)
    return sorted((int(run) for run in runs if run.isdecimal()), reverse=True)


def progress_of(folder: str, run: int | None = None) -> Progress:
    """How far a ring was after a run, the newest by default."""
    for known in indexes(folder):
        # What is there of later runs was written by one that died.
        if run is None or known <= run:
            with np.load(io.BytesIO(_octets(f"{folder}/{INDEX}{known:06}.npz"))) as found:
                return Progress(found["index"], Clock(*found["clock"].tolist()))
    return NOTHING


def _octets(path: str) -> bytes:
    system, root = locate(path)
    with system.open_input_stream(root) as file:
        found: bytes = file.read()
    return found


def _store(path: str, **arrays: Any) -> None:
    """Write arrays to a file that is there whole, or not at all."""
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    system, root = locate(path)
    system.create_dir(root.rpartition("/")[0], recursive=True)
    with system.open_output_stream(f"{root}.new") as file:
        file.write(sink.getvalue())
    system.move(f"{root}.new", root)


@lru_cache(REMEMBERED)
def _kept(path: str) -> Kept:
    with np.load(io.BytesIO(_octets(path))) as found:
        files = [(name, before) for name, before in json.loads(found["files"].tobytes())]
        return Kept((found[KINDS[FRAMES]], found[KINDS[CONNECTIONS]]), files)


class Running:
    """The numbers of one ring of a stream."""

    def __init__(self, folder: str, run: int) -> None:
        self.folder = folder
        self.index, self.clock = progress_of(folder, run)
        self.own = Kept((no_keys(), no_keys()), [])
        """Those of the newest run."""

    def next(
        self, run: int, order: list[bytes], accepted: list[bytes], packets: int, files: list[Place],
        newest: int,
    ) -> None:  # fmt: skip
        """Take the keys of a batch, and store them for later ones."""
        self.own = Kept((frame_keys(order), frame_keys(accepted)), files)
        before = self._before(len(self.index))
        row = [run, max(packets, before[PACKETS]), before[FILES] + len(files)]
        row += [before[COUNTS + at] + len(keys) for at, keys in enumerate(self.own.keys)]
        self.index = np.vstack([self.index, np.array([row], dtype=np.int64)])
        if files:
            self.clock = Clock(max(newest, self.clock.newest), time.time_ns())
        arrays = dict(zip(KINDS, self.own.keys, strict=True))
        names = np.frombuffer(json.dumps(files).encode(), dtype=np.uint8)
        _store(f"{self.folder}/{run:06}.npz", **arrays, files=names)
        clock = np.array(self.clock, dtype=np.int64)
        _store(f"{self.folder}/{INDEX}{run:06}.npz", index=self.index, clock=clock)
        self._forget(run)

    def _forget(self, run: int) -> None:
        """Keep the last index but this one, as the run may not come to its end."""
        system, root = locate(self.folder)
        for old in [known for known in indexes(self.folder) if known < run][1:]:
            system.delete_file(f"{root}/{INDEX}{old:06}.npz")

    def _before(self, place: int) -> list[int]:
        found: list[int] = self.index[place - 1].tolist() if place else [0] * WIDTH
        return found

    def _kept(self, place: int) -> Kept:
        if place == len(self.index) - 1:
            return self.own
        return _kept(f"{self.folder}/{self.index[place, RUN]:06}.npz")

    def _places(self, packets: Keys) -> Keys:
        """The batches that packets came in; what comes at the end is of the newest."""
        places = np.searchsorted(self.index[:, PACKETS], packets)
        return np.minimum(np.where(packets >= AFTER, len(self.index), places), len(self.index) - 1)

    def look_up(self, keys: Keys, which: int) -> Keys:
        """The numbers that order keys stand for."""
        places = self._places(keys >> SHIFT)
        numbers = np.zeros(len(keys), dtype=np.int64)
        for place in np.unique(places).tolist():
            own = places == place
            ranks = np.searchsorted(self._kept(place).keys[which], keys[own])
            numbers[own] = ranks + self._before(place)[COUNTS + which] + 1
        return numbers

    def number_rows(self, table: str, rows: pa.Table) -> pa.Table:
        """Rows with their final numbers."""
        numbers = Numbers(whole=False)
        connections = self.look_up(rows["connection"].to_numpy(), CONNECTIONS)
        frames = None
        if "frame" in rows.schema.names:
            frames = self.look_up(rows["frame"].to_numpy(), FRAMES)
        keys = {key for name in REFERRING.get(table, ()) for key in rows[name].to_pylist()}
        if table == "findings":
            related = rows["related"].to_pylist()
            keys |= {other["frame"] for each in related for other in each}
            places = np.unique(self._places(rows["packet"].to_numpy())).tolist()
            numbers.files = [file for place in places for file in self._kept(place).files]
        if keys:
            numbers.referred = np.array(sorted(keys - {None}), dtype=np.int64)
            numbers.referred_numbers = self.look_up(numbers.referred, FRAMES)
        return with_file(table, renumber_rows(table, rows, connections, frames, numbers), numbers)
