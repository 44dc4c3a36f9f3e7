"""Numbers of frames and connections while a ring still grows.

Frames of a batch follow those of all batches before, so a batch ranks its own order keys and adds
how many there were. Rows may speak of frames of earlier batches (a delivery that is settled at
last), so each batch's keys are kept beside the tables, eight octets a frame before compression, and
looked up when that happens.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from amqpscope.spark.numbering import Keys, Numbers, ranked, renumbered, with_file
from amqpscope.spark.replay import AFTER, SHIFT
from amqpscope.spark.schema import REFERRING

if TYPE_CHECKING:
    import pyarrow as pa

    from amqpscope.spark.directory import Directory

NUMBERS: Final = "_numbers"
FRAMES: Final = 0
CONNECTIONS: Final = 1
KEPT: Final = 64
"""Arrays of keys that are held in memory."""

Blobs = dict[str, list[bytes]]
Files = dict[str, list[tuple[str, int]]]
"""Path and packets before it, by ring."""


@dataclass
class Batch:
    """How far a ring was when a batch was over."""

    run: int
    packets: int
    counts: tuple[int, int]
    """Frames and connections up to and with this batch."""


class Running:
    """The numbers of all rings of a stream."""

    def __init__(self, directory: Directory, run: int) -> None:
        self.directory = directory
        self.batches: dict[str, list[Batch]] = {}
        self.files: Files = {}
        self.arrays: dict[tuple[int, str], tuple[Keys, Keys]] = {}
        """Keys of frames and of connections by run and ring, of late."""
        for name in directory.names(NUMBERS):
            # What is there of later runs was written by one that died.
            if name.endswith(".json") and int(name.removesuffix(".json")) <= run:
                self._load(json.loads(self._octets(name)))

    def _octets(self, name: str) -> bytes:
        with self.directory.system.open_input_stream(
            f"{self.directory.root}/{NUMBERS}/{name}"
        ) as file:
            found: bytes = file.read()
        return found

    def _load(self, document: dict[str, dict[str, list[list[int]]]]) -> None:
        for ring, (run, packets, frames, connections) in document["batches"].items():
            batch = Batch(run, packets, (frames, connections))  # type: ignore[arg-type]
            self.batches.setdefault(ring, []).append(batch)
        self._add(document["files"])  # type: ignore[arg-type]

    def _add(self, files: Files) -> None:
        for ring, pairs in files.items():
            self.files.setdefault(ring, []).extend((path, before) for path, before in pairs)

    def next(
        self, run: int, order: Blobs, accepted: Blobs, packets: dict[str, int], files: Files
    ) -> None:
        """Take the keys of a batch, and store them for later ones."""
        self._add(files)
        arrays: dict[str, Keys] = {}
        batches: dict[str, tuple[int, ...]] = {}
        for ring in sorted({*order, *accepted, *packets}):
            before = self._before(ring, len(self.batches.get(ring, ())))
            keys = ranked(order.get(ring, [])), ranked(accepted.get(ring, []))
            counts = before.counts[0] + len(keys[0]), before.counts[1] + len(keys[1])
            batch = Batch(run, max(packets.get(ring, 0), before.packets), counts)
            self.batches.setdefault(ring, []).append(batch)
            self.arrays[run, ring] = keys
            for which in (FRAMES, CONNECTIONS):
                arrays[f"{len(batches)}-{which}"] = keys[which]
            batches[ring] = (run, batch.packets, *counts)
        while len(self.arrays) > KEPT:
            del self.arrays[next(iter(self.arrays))]
        sink = io.BytesIO()
        np.savez_compressed(sink, **arrays)  # type: ignore[arg-type]
        document = json.dumps({"batches": batches, "files": files}).encode()
        self._store(f"{run:06}.npz", sink.getvalue())
        self._store(f"{run:06}.json", document)

    def _store(self, name: str, data: bytes) -> None:
        directory = self.directory
        directory.system.create_dir(f"{directory.root}/{NUMBERS}", recursive=True)
        with directory.system.open_output_stream(f"{directory.root}/{NUMBERS}/{name}") as file:
            file.write(data)

    def _before(self, ring: str, place: int) -> Batch:
        return self.batches[ring][place - 1] if place else Batch(0, 0, (0, 0))

    def _keys(self, ring: str, place: int, which: int) -> Keys:
        run = self.batches[ring][place].run
        found = self.arrays.get((run, ring))
        if found is None:
            rings = list(json.loads(self._octets(f"{run:06}.json"))["batches"])
            with np.load(io.BytesIO(self._octets(f"{run:06}.npz"))) as arrays:
                at = rings.index(ring)
                found = arrays[f"{at}-{FRAMES}"], arrays[f"{at}-{CONNECTIONS}"]
            self.arrays[run, ring] = found
        return found[which]

    def look_up(self, ring: str, keys: Keys, which: int) -> Keys:
        """The numbers that order keys stand for."""
        batches = self.batches[ring]
        packets = keys >> SHIFT
        places = np.searchsorted(np.array([batch.packets for batch in batches]), packets)
        places[packets >= AFTER] = len(batches) - 1
        numbers = np.zeros(len(keys), dtype=np.int64)
        for place in np.unique(places).tolist():
            own = places == place
            ranks = np.searchsorted(self._keys(ring, place, which), keys[own])
            numbers[own] = ranks + self._before(ring, place).counts[which] + 1
        return numbers

    def numbered(self, table: str, rows: pa.Table, ring: str) -> pa.Table:
        """Rows of a ring with their final numbers."""
        numbers = Numbers(whole=False, files=self.files.get(ring, []))
        connections = self.look_up(ring, rows["connection"].to_numpy(), CONNECTIONS)
        frames = None
        if "frame" in rows.schema.names:
            frames = self.look_up(ring, rows["frame"].to_numpy(), FRAMES)
        keys = {key for name in REFERRING.get(table, ()) for key in rows[name].to_pylist()}
        if table == "findings":
            related = rows["related"].to_pylist()
            keys |= {other["frame"] for each in related for other in each}
        if keys:
            numbers.referred = np.array(sorted(keys - {None}), dtype=np.int64)
            numbers.referred_numbers = self.look_up(ring, numbers.referred, FRAMES)
        return with_file(table, renumbered(table, rows, connections, frames, numbers), numbers)
