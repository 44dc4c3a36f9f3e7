"""Files as they were listed, by ring; columns of Arrow, as objects of ten million take too much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from amqpscope.capture.ring import natural
from amqpscope.spark.plan import File, Ring
from amqpscope.wording import plural

SCHEMA: Final = pa.schema([("path", pa.string()), ("size", pa.int64()), ("changed", pa.int64())])
CHUNK: Final = 100_000
"""Files that are objects at a time."""
LAST: Final = "/[^/]*$"
"""What the path of a file has after its directory."""


class Listing:
    """The captures of all inputs."""

    def __init__(self, files: pa.Table, *, each: bool, named: Iterable[Ring] = ()) -> None:
        paths = files["path"]
        rings = paths if each else pc.replace_substring_regex(paths, LAST, "", max_replacements=1)
        self.rows = files.append_column("ring", rings).sort_by("ring")
        self.each = each
        self.named = list(named)
        """Rings that a manifest names."""

    @property
    def files(self) -> int:
        """How many files there are."""
        return len(self.rows) + sum(len(ring.files) for ring in self.named)

    def notes(self) -> Iterator[str]:
        """How the captures of directories were taken, where there are several."""
        if self.each:
            if len(self.rows) > 1:
                yield (
                    f"{len(self.rows):,} captures, each by itself; --ring directory takes those of"
                    " a directory for one that was rotated"
                )
            return
        rings = len(pc.unique(self.rows["ring"]))
        if rings < len(self.rows):
            yield (
                f"{len(self.rows):,} captures as {plural(rings, 'ring')}: those of a directory"
                " are taken for one that was rotated; --ring file takes each by itself"
            )

    def __iter__(self) -> Iterator[Ring]:
        """All rings, each with its files in order."""
        for name, rows in groupby(self._rows(), key=itemgetter(0)):
            files = [File(path, size, changed) for _, path, size, changed in rows]
            files.sort(key=lambda file: natural(file.path))
            yield Ring(name, files)
        yield from self.named

    def _rows(self) -> Iterator[tuple[str, str, int, int]]:
        names = ("ring", *SCHEMA.names)
        for batch in self.rows.to_batches(max_chunksize=CHUNK):
            yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def columns_of(files: Iterable[File]) -> pa.Table:
    """Files as columns."""
    rest = iter(files)
    chunks = []
    while chunk := list(islice(rest, CHUNK)):
        columns = zip(*chunk, strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        chunks.append(pa.record_batch(arrays, SCHEMA))
    return pa.Table.from_batches(chunks, SCHEMA)


def each_once(files: pa.Table) -> pa.Table:
    """Files without those that were named more than once."""
    found = files.group_by("path").aggregate([("size", "max"), ("changed", "max")])
    return found.select(["path", "size_max", "changed_max"]).rename_columns(SCHEMA.names)
