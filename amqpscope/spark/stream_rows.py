"""What a task does with the rows of a ring in a batch: number and write them.

Blocks of a ring come sorted by table: first the keys of its frames and connections and what was
seen of its files, then rows that are final, then those of connections that go on. The latter
are provisional: they lie in files of their own, which each batch of their ring replaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from amqpscope.spark.gather import ACCEPTED, LIVE, ORDER
from amqpscope.spark.numbering import decode_rows, with_day
from amqpscope.spark.parts import Writer, Written, rows_in
from amqpscope.spark.plan import File
from amqpscope.spark.state_codec import NOTES
from amqpscope.spark.stored import PROVISIONAL, Stored, Target
from amqpscope.spark.stream_numbering import Running, folder_of, name_of
from amqpscope.spark.unpickling import loads
from amqpscope.spark.worker import FileNumbers, Scan

SCAN: Final = "_scan"

Block = tuple[str, str, bytes]
"""Ring, table and octets."""
Live = Mapping[str, list[tuple[str, Stored]]]
"""Files of provisional rows, by the name of their ring: table and file."""


class Seen(NamedTuple):
    """A file of a batch."""

    file: File
    base: int
    """Packets of the ring before it."""
    scan: Scan


@dataclass
class RingDone:
    """What a task has done for a ring."""

    ring: str
    files: list[Seen] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    provisional: list[Written] = field(default_factory=list)
    replaced: list[tuple[str, Stored]] = field(default_factory=list)
    """Table and file."""
    notes: list[str] = field(default_factory=list)
    """What the user should know of its connections."""


def written_rings(blocks: Iterable[Block], target: Target, live: Live) -> Iterator[RingDone]:
    """Number and write the rows of rings, which come one after the other."""
    for ring, own in groupby(blocks, key=itemgetter(0)):
        rows = ((table, data) for _, table, data in own)
        yield RingRows(ring, target, live.get(name_of(ring), [])).write(rows)


class RingRows:
    """The rows of one ring in a batch."""

    def __init__(self, ring: str, target: Target, live: list[tuple[str, Stored]]) -> None:
        self.target = target
        self.live = live
        self.running = Running(folder_of(target.path, ring), target.run - 1)
        self.done = RingDone(ring)
        self.touched: set[int] = set()
        """Connections that have new rows."""

    def write(self, blocks: Iterator[tuple[str, bytes]]) -> RingDone:
        """Write all rows; what was done."""
        keys: dict[str, list[bytes]] = {ORDER: [], ACCEPTED: []}
        final = Writer(self.target)
        fresh: dict[str, list[pa.Table]] = {}
        begun = False
        for table, data in blocks:
            if table == SCAN:
                self.done.files.append(Seen(*loads(data, File, Scan, FileNumbers)))
            elif table == NOTES:
                self.done.notes += json.loads(data)
            elif table in keys:
                keys[table].append(data)
            elif not table.startswith("_"):
                begun = begun or self._begin(keys)
                name = table.removeprefix(LIVE)
                rows = with_day(self.running.number_rows(name, decode_rows(data)))
                if name == "connections":
                    self.touched.update(rows["connection"].to_pylist())
                if name == table:
                    final.add(name, rows)
                else:
                    fresh.setdefault(name, []).append(rows)
        if not begun:
            self._begin(keys)
        self.done.written = final.close()
        self._replace(fresh)
        return self.done

    def _begin(self, keys: Mapping[str, list[bytes]]) -> bool:
        """Number what is new: all keys and files are known now."""
        files = self.done.files
        files.sort(key=lambda each: each.scan.slice)
        last = max((each.base + each.scan.packets for each in files), default=0)
        newest = max((file.last for each in files for file in each.scan.files), default=0)
        places = [(each.file.path, each.base) for each in files]
        self.running.next(self.target.run, keys[ORDER], keys[ACCEPTED], last, places, newest)
        return True

    def _replace(self, fresh: Mapping[str, list[pa.Table]]) -> None:
        """Write provisional rows anew: those of connections that were not touched stay."""
        writer = Writer(self.target, f"{PROVISIONAL}{name_of(self.done.ring)}-")
        wanted = pa.array(sorted(self.touched), pa.int64())
        for table, file in self.live:
            rows = rows_in(self.target, table, file)
            old = pc.is_in(rows["connection"], wanted)
            if pc.any(old).as_py():
                self.done.replaced.append((table, file))
                rows = rows.filter(pc.invert(old))
                if len(rows):
                    writer.add(table, rows)
        for table, parts in fresh.items():
            writer.add(table, pa.concat_tables(parts))
        self.done.provisional = writer.close()


def blocks_of(batches: Iterable[Any]) -> Iterator[Block]:
    """Blocks as Spark hands them to a task."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("ring", "table", "data"))
        yield from zip(*columns, strict=True)
