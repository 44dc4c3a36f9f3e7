"""Which captures are done: the one thing about a directory of tables that its tables do not say.

It is a table itself, `_inputs`, with a row for each file: its ring and place there, size and time,
the run that read it first and the one that read it last, and the terms on which it was read. A run
adds rows, and takes back those of rings that it did again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqpscope.spark.plan import File, Ring
from amqpscope.spark.terms import Terms

INPUTS: Final = "_inputs"
SCHEMA: Final = pa.schema(
    [
        ("ring", pa.string()),
        ("ordinal", pa.int32()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("changed", pa.int64()),
        ("first_run", pa.int64()),  # that has read this file
        ("run", pa.int64()),  # that made the rows which are in the tables
        ("begun", pa.int64()),  # the first commit of that run, where it has several
        ("arguments", pa.list_(pa.string())),  # with which `read` reads it as this run did
        ("version", pa.string()),
        ("rules", pa.string()),
        ("ports", pa.string()),
        ("keys", pa.string()),
        ("frames", pa.bool_()),
        ("locked", pa.bool_()),
        ("stamp", pa.string()),  # of the build that follows the ring
        ("content", pa.string()),  # a digest, by which a copy is recognised
    ]
)
AHEAD: Final = 256
"""Rows that are read at a time."""
NEAR: Final = 4
"""Names after the last one asked for that are looked at before all others."""
TERMS: Final = ("version", "rules", "ports", "keys", "frames", "locked")


class ManifestError(Exception):
    """The directory cannot be used, and why."""


@dataclass
class Done:
    """A ring that was processed, or the files that a run has added to it."""

    files: list[File]
    run: int
    arguments: list[str] = field(default_factory=list)
    """What `read` must be told to read them as the run did: key logs, and ports that are AMQP's."""
    terms: Terms = field(default_factory=Terms)
    first_runs: list[int] = field(default_factory=list)
    """For each file the run that was the first to read it."""
    stamp: str | None = None
    begun: int = 0
    contents: list[str | None] = field(default_factory=list)
    """For each file a digest of what is in it."""

    def rows(self, ring: str, place: int = 0) -> Iterator[dict[str, Any]]:
        """Rows of the table, the first of them for this place in the ring."""
        terms = asdict(self.terms)
        for at, file in enumerate(self.files):
            yield {
                "ring": ring, "ordinal": place + at, **file._asdict(), "run": self.run,
                "begun": self.begun or self.run,
                "first_run": self.first_runs[at] if self.first_runs else self.run,
                "arguments": self.arguments, "stamp": self.stamp, **terms,
                "content": self.contents[at] if self.contents else None,
            }  # fmt: skip


class Rings(Mapping[str, Done]):
    """All rings that are done, as columns: of ten million, only those asked for become objects."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows.sort_by([("ring", "ascending"), ("ordinal", "ascending")])
        counts = pc.value_counts(self.rows["ring"])
        self.names = counts.field("values")
        self.ends = np.cumsum(counts.field("counts").to_numpy(zero_copy_only=False))
        self.last = 0
        """Where the last one was that somebody asked for: a run asks in order."""
        self.read: tuple[int, list[dict[str, Any]]] = (0, [])
        """The rows around it, and where they begin."""

    def __getitem__(self, ring: str) -> Done:
        place = self._place(ring)
        if place < 0:
            raise KeyError(ring)
        rows = self._rows(*self._span(place))
        last = rows[-1]
        return Done(
            [File(row["path"], row["size"], row["changed"]) for row in rows],
            last["run"],
            last["arguments"],
            Terms(**{name: last[name] for name in TERMS}),
            [row["first_run"] for row in rows],
            last["stamp"],
        )

    def __iter__(self) -> Iterator[str]:
        return (name.as_py() for name in self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, ring: object) -> bool:
        return isinstance(ring, str) and self._place(ring) >= 0

    def count(self, ring: str) -> int:
        """How many files of a ring are done."""
        place = self._place(ring)
        if place < 0:
            return 0
        begin, end = self._span(place)
        return end - begin

    def _span(self, place: int) -> tuple[int, int]:
        """The rows of a ring."""
        return int(self.ends[place - 1]) if place else 0, int(self.ends[place])

    def _rows(self, begin: int, end: int) -> list[dict[str, Any]]:
        first, rows = self.read
        if begin < first or end > first + len(rows):
            first, rows = begin, self.rows.slice(begin, max(end - begin, AHEAD)).to_pylist()
            self.read = first, rows
        return rows[begin - first : end - first]

    def _place(self, ring: str) -> int:
        """Where a ring is among the names, which are sorted; -1: it is not."""
        low, high = self.last, min(self.last + NEAR, len(self.names))
        near = low < high and self._name(low) <= ring <= self._name(high - 1)
        span = (low, high) if near else (0, len(self.names))
        place = bisect_left(range(len(self.names)), ring, *span, key=self._name)
        if place == len(self.names) or self._name(place) != ring:
            return -1
        self.last = place
        return place

    def _name(self, place: int) -> str:
        name: str = self.names[place].as_py()
        return name


@dataclass
class State:
    """What is done, as of the newest run."""

    run: int = 0
    rings: Rings = field(default_factory=lambda: Rings(SCHEMA.empty_table()))
    batch: int | None = None
    """The last batch of a stream that is in the tables; None: there was no stream."""
    versions: dict[str, int] = field(default_factory=dict)
    """The version of each table that this run, or the last one before it, has made."""

    def first_runs(self, ring: Ring, run: int) -> list[int]:
        """For each file of a ring the run that was the first to read it, this one or another."""
        done = self.rings.get(ring.name)
        known = {} if done is None else dict(
            zip((file.path for file in done.files), done.first_runs, strict=True)
        )  # fmt: skip
        return [known.get(file.path, run) for file in ring.files]

    def newest(self) -> set[tuple[str, str]]:
        """Ring and path of each file that the newest run was the first to read."""
        rows = self.rings.rows
        last = rows.filter(pc.equal(rows["run"], self.run))["begun"]
        begun = last[0].as_py() if len(last) else self.run
        rows = rows.filter(pc.greater_equal(rows["first_run"], begun))
        return set(zip(rows["ring"].to_pylist(), rows["path"].to_pylist(), strict=True))

    def after(self, run: int, versions: dict[str, int]) -> State:
        """The state after a part of a run; the rings of the other parts are other ones."""
        return replace(self, run=run, versions={**self.versions, **versions})

    def todo(self, rings: Iterable[Ring], terms: Terms) -> Iterator[Ring]:
        """The rings that are new, have changed, or were read on other terms.

        A ring that grew is processed again, and its rows replaced. Where files that were done are
        gone that cannot be, so what came after them is a ring of its own: `name#2`.
        """
        return (found for ring in rings if (found := self._todo(ring, terms)) is not None)

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
