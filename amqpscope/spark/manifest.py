"""Which captures are done: the one thing about a directory of tables that its tables do not say.

It is a table itself, `_inputs`, with a row for each file: its ring and place there, size and time,
the run that read it first and the one that read it last, and the terms on which it was read. A run
adds rows, and takes back those of rings that it did again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

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
ROWS: Final = 100_000
"""Rows that are in memory at a time."""
TOGETHER: Final = 100_000
"""Rings that are looked up at a time."""
NUMBERED: Final = r"#\d+$"
"""What the name of a ring has behind it that goes on without its first files."""
AFTER: Final = "$"
"""What sorts right behind the "#" of that."""
TERMS: Final = tuple(each.name for each in fields(Terms))


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


class Known(NamedTuple):
    """A row of `_inputs`, as far as a run looks at it; the last columns are its terms."""

    ring: str
    ordinal: int
    path: str
    size: int
    changed: int
    first_run: int
    run: int
    arguments: list[str]
    stamp: str | None
    version: str
    rules: str
    ports: str
    keys: str
    frames: bool
    locked: bool


class Rings:
    """All rings that are done, where they are stored: of ten million only a few are in memory."""

    def __init__(self, rows: ds.Dataset) -> None:
        self.rows = rows

    def of(self, names: Collection[str]) -> dict[str, Done]:
        """Those of these names, and what they go on as when files of them are gone: `name#2`."""
        wanted = pa.array(list(names), pa.string())
        if not len(wanted):
            return {}
        # No name with such a number sorts behind the name with what follows "#".
        beyond = pc.max(pc.binary_join_element_wise(wanted, AFTER, ""))
        ring, found = pc.field("ring"), defaultdict[str, list[Known]](list)
        where = (ring >= pc.min(wanted)) & (ring < beyond)
        for batch in self.batches(*Known._fields, where=where):
            rows = batch.filter(are_named(batch["ring"], wanted))
            for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                found[row[0]].append(Known(*row))
        return {name: done_of(found[name]) for name in sorted(found)}

    def counts(self) -> dict[str, int]:
        """How many files of each ring are done."""
        found = Counter[str]()
        for batch in self.batches("ring"):
            for each in pc.value_counts(batch["ring"]).to_pylist():
                found[each["values"]] += each["counts"]
        return dict(found)

    def with_contents(self, contents: Collection[str]) -> Iterator[tuple[str, str, str]]:
        """Digest, ring and path of the files that have one of these digests."""
        wanted = pa.array(list(contents), pa.string())
        for batch in self.batches("content", "ring", "path"):
            rows = batch.filter(pc.is_in(batch["content"], wanted))
            yield from zip(*(column.to_pylist() for column in rows.columns), strict=True)

    def batches(
        self, *columns: str, where: ds.Expression | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Some or all columns, few rows at a time."""
        yield from self.rows.to_batches(
            columns=list(columns) or SCHEMA.names, filter=where, batch_size=ROWS,
            batch_readahead=2, fragment_readahead=1,
        )  # fmt: skip


def are_named(rings: pa.Array, wanted: pa.Array) -> pa.Array:
    """Which of some rings have a wanted name, maybe with a number behind it."""
    known = pc.is_in(rings, wanted)
    if pc.any(pc.match_substring(rings, "#")).as_py():
        plain = pc.replace_substring_regex(rings, NUMBERED, "")
        known = pc.or_(known, pc.is_in(plain, wanted))
    return known


def done_of(rows: list[Known]) -> Done:
    """A ring as its rows have it."""
    rows.sort(key=attrgetter("ordinal"))
    last = rows[-1]
    return Done(
        [File(row.path, row.size, row.changed) for row in rows],
        last.run,
        last.arguments,
        terms_in(last[-len(TERMS) :]),
        [row.first_run for row in rows],
        last.stamp,
    )


@lru_cache(64)
def terms_in(columns: tuple[Any, ...]) -> Terms:
    """The terms that a row has: there are few, and many rows."""
    return Terms(*columns)


@dataclass
class State:
    """What is done, as of the newest run."""

    run: int = 0
    rings: Rings = field(default_factory=lambda: Rings(ds.dataset(SCHEMA.empty_table())))
    batch: int | None = None
    """The last batch of a stream that is in the tables; None: there was no stream."""
    versions: dict[str, int] = field(default_factory=dict)
    """The version of each table that this run, or the last one before it, has made."""

    @property
    def begun(self) -> int:
        """The first commit of the newest run: files that were read first since then are new."""
        for batch in self.rings.batches("begun", where=pc.field("run") == self.run):
            if len(batch):
                begun: int = batch["begun"][0].as_py()
                return begun
        return self.run

    def newest(self) -> set[tuple[str, str]]:
        """Ring and path of each file that the newest run was the first to read."""
        fresh = pc.field("first_run") >= self.begun
        rows = self.rings.batches("ring", "path", where=fresh)
        return {
            pair for batch in rows for pair in zip(*(c.to_pylist() for c in batch), strict=True)
        }

    def after(self, run: int, versions: dict[str, int]) -> State:
        """The state after a part of a run; the rings of the other parts are other ones."""
        return replace(self, run=run, versions={**self.versions, **versions})

    def todo(self, rings: Iterable[Ring], terms: Terms) -> Iterator[Ring]:
        """The rings that are new, have changed, or were read on other terms.

        A ring that grew is processed again, and its rows replaced. Where files that were done are
        gone that cannot be, so what came after them is a ring of its own: `name#2`.
        """
        rest = iter(rings)
        while some := list(islice(rest, TOGETHER)):
            known = self.rings.of([ring.name for ring in some])
            for ring in some:
                found = self._todo(ring, known, terms)
                if found is not None:
                    yield found

    def _todo(self, ring: Ring, known: Mapping[str, Done], terms: Terms) -> Ring | None:
        names = [ring.name]
        while (following := f"{ring.name}#{len(names) + 1}") in known:
            names.append(following)
        if names[-1] not in known:
            return ring
        done = known[names[-1]]
        last = {file.path for file in done.files}
        earlier = {file.path for name in names[:-1] for file in known[name].files}
        files = [file for file in ring.files if file.path not in earlier]
        if last <= {file.path for file in files}:
            again = files != done.files or done.terms.differs(terms)
            return Ring(names[-1], files, done) if again else None
        fresh = [file for file in files if file.path not in last]
        return Ring(f"{ring.name}#{len(names) + 1}", fresh) if fresh else None


def first_runs(ring: Ring, run: int) -> list[int]:
    """For each file of a ring the run that was the first to read it, this one or another."""
    known: dict[str, int] = {}
    if ring.done is not None:
        paths = (file.path for file in ring.done.files)
        known = dict(zip(paths, ring.done.first_runs, strict=True))
    return [known.get(file.path, run) for file in ring.files]
