"""The batch job: from captures to tables.

list     Spark lists the inputs; files become rings, and those of a ring that has not changed
         since its last run are left out
cut      files of more than 32 MB are walked for places between records
scan     rings of several slices: which connections does each slice have, how many packets?
replay   one pass that writes blocks to staging, of three sources:
         rings that are one slice, in one process each, like `lint`;
         connections that lie whole within a slice, right there;
         all others from their segments, shuffled by ring and connection and sorted by packet
number   order keys become frame numbers, slice by slice (see `replay` and `numbering`)
write    each table, partitioned by day; then the manifest makes them visible at once
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from amqpscope.spark import stages
from amqpscope.spark.gather import ACCEPTED, ORDER, REFERRED, Row
from amqpscope.spark.manifest import Directory, Done, State
from amqpscope.spark.numbering import Numbers, ranked, with_day
from amqpscope.spark.outcome import Outcome, file_rows, overlapping
from amqpscope.spark.plan import SLICE, File, Ring, Share, packed, slice_up
from amqpscope.spark.records import Cut, cuts
from amqpscope.spark.schema import NUMBERED, TABLES, arrow_schema, ddl
from amqpscope.spark.shares import FileNumbers, RingPlan, Scan, scan
from amqpscope.spark.tables import read_table
from amqpscope.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_A_FILE: Final = 1_000_000
"""Rows of a table that one task writes."""
SHUFFLED: Final = 64 << 20
"""Octets of captures for one partition of the shuffle."""

Told = Callable[[str, int], None]
"""Told what begins, and how many tasks it has."""


class Job:
    """One run over some rings."""

    def __init__(
        self, spark: SparkSession, directory: Directory, state: State, work: Work,
        size: int = SLICE, told: Told = lambda what, tasks: None,
    ) -> None:  # fmt: skip
        self.spark = spark
        self.directory = directory
        self.state = state
        self.work = work
        self.size = size
        self.told = told
        self.run_number = state.run + 1
        self.rings: list[Ring] = []
        self.scans: dict[str, list[Scan]] = {}
        self.outcome = Outcome(self.run_number)

    def run(self, rings: list[Ring]) -> Outcome:
        """Process rings that are new or changed; nothing is visible before all of it is."""
        self.rings = self.state.todo(rings)
        known = sum(len(ring.files) for ring in rings)
        self.outcome.files = sum(len(ring.files) for ring in self.rings)
        self.outcome.skipped = known - self.outcome.files
        self.outcome.octets = sum(file.size for ring in self.rings for file in ring.files)
        if not self.rings:
            return self.outcome
        try:
            self._process()
        except BaseException:
            self.directory.discard(self.run_number)
            raise
        return self.outcome

    def _process(self) -> None:
        self._slice()
        whole = [ring for ring in self.rings if len(ring.slices) == 1]
        larger = [ring for ring in self.rings if len(ring.slices) > 1]
        plans = self._plans(larger)
        staged = self._replay(whole, plans)
        numbers = self._numbers(staged, plans)
        removed = self._write(staged, numbers)
        rings = dict(self.state.rings)
        for ring in self.rings:
            rings[ring.name] = Done(ring.files, self.run_number)
        summary = {
            "files": self.outcome.files, "frames": self.outcome.frames,
            "findings": dict(self.outcome.findings),
        }  # fmt: skip
        self.directory.commit(State(self.run_number, rings, removed, summary))

    # Cutting and scanning.

    def _slice(self) -> None:
        size = self.size
        large = [f.path for ring in self.rings for f in ring.files if f.size > size * 5 // 4]
        self.told("cutting", len(large))

        def walk(path: str) -> tuple[str, list[Cut]]:
            try:
                return path, cuts(path, size)
            except OSError:
                return path, []  # whoever reads it says why

        places = dict(stages.each(self.spark, large, walk))
        for ring in self.rings:
            slice_up(ring, places, size)

    def _scan(self, shares: list[Share]) -> dict[tuple[str, int], Scan]:
        self.told("scanning", len(shares))
        found = stages.each(self.spark, shares, scan)
        return {(each.ring, each.slice): each for each in found}

    def _plans(self, rings: list[Ring]) -> dict[str, RingPlan]:
        """Scan rings of several slices, and find the connections that span these."""
        todo = [Share(r.name, at, pieces) for r in rings for at, pieces in enumerate(r.slices)]
        while todo:
            done = self._scan(todo)
            todo = []
            for ring in rings:
                before = self.scans.get(ring.name, [])
                scans = [done.get((ring.name, at)) or before[at] for at in range(len(ring.slices))]
                self.scans[ring.name] = scans
                todo += _join_pending(ring, scans)
        return {ring.name: self._plan(ring) for ring in rings}

    def _plan(self, ring: Ring) -> RingPlan:
        scans = self.scans[ring.name]
        bases, base, end = [], 0, (0, 0)
        speakers: dict[bytes, int] = {}
        for found in scans:
            bases.append(base)
            for name, packet in found.speakers.items():
                speakers.setdefault(name, base + packet)
            if found.last_packet:
                end = (base + found.last_packet, found.last_time)
            base += found.packets
        names = np.frombuffer(b"".join(found.names for found in scans), dtype=np.uint64)
        distinct, counts = np.unique(names, return_counts=True)
        elsewhere = frozenset(name.tobytes() for name in distinct[counts > 1])
        secrets = [text for found in scans for text in found.secrets]
        index = self.rings.index(ring)
        return RingPlan(index, ring.name, bases, elsewhere, end, speakers, secrets)

    # Replaying.

    def _replay(self, whole: list[Ring], plans: dict[str, RingPlan]) -> DataFrame:
        """Write all blocks to staging; what is there."""
        spark, work = self.spark, self.work
        indexes = {ring.name: at for at, ring in enumerate(self.rings)}
        units = packed((Share(ring.name, 0, ring.slices[0]) for ring in whole), self.size)
        inner, outer = self._shares(plans)
        sources = []
        if units:
            run = stages.whole_rings(units, indexes, work)
            sources.append(stages.spread(spark, len(units)).mapInArrow(run, stages.BLOCKS))
        if inner:
            run = stages.slices(inner, plans, work)
            sources.append(stages.spread(spark, len(inner)).mapInArrow(run, stages.BLOCKS))
        if outer:
            sources.append(self._spanning(outer, plans))
        self.told("replaying", len(units) + len(inner) + 2 * len(outer))
        blocks = sources[0]
        for source in sources[1:]:
            blocks = blocks.union(source)
        path = self.directory.staging(self.run_number, "_blocks")
        blocks.write.partitionBy("table").parquet(path)
        return spark.read.schema(stages.BLOCKS).parquet(path)

    def _shares(self, plans: dict[str, RingPlan]) -> tuple[list[Share], list[Share]]:
        """Slices that have connections of their own, and those that have parts of others."""
        inner, outer = [], []
        for ring in self.rings:
            plan = plans.get(ring.name)
            if plan is None:
                continue
            for at, pieces in enumerate(ring.slices):
                share = Share(ring.name, at, pieces, plan.bases[at])
                names = _names(self.scans[ring.name][at].names)
                if not names <= plan.elsewhere:
                    inner.append(share)
                if not names.isdisjoint(plan.elsewhere):
                    outer.append(share)
        return inner, outer

    def _spanning(self, shares: list[Share], plans: dict[str, RingPlan]) -> DataFrame:
        by_index = {plan.index: plan for plan in plans.values()}
        size = sum(share.size for share in shares)
        partitions = max(1, min(size // SHUFFLED + 1, 2000))
        partitions = max(partitions, min(len(shares), self._parallelism()))
        segments = stages.spread(self.spark, len(shares)).mapInArrow(
            stages.segments(shares, plans), stages.SEGMENTS
        )
        return (
            segments.repartition(partitions, "ring", "connection")
            .sortWithinPartitions("ring", "connection", "packet")
            .mapInArrow(stages.connections(by_index, self.work), stages.BLOCKS)
        )

    def _parallelism(self) -> int:
        """How many tasks run side by side, as far as it can be told."""
        try:
            return self.spark.sparkContext.defaultParallelism
        except Exception:  # a Connect session has no context
            return 8

    # Numbering.

    def _numbers(self, staged: DataFrame, plans: dict[str, RingPlan]) -> dict[int, Numbers]:
        """What the final numbers of each ring follow from."""
        for row in staged.where("table = '_scan'").select("data").collect():
            found: Scan = pickle.loads(row.data)
            if found.ring in plans:
                self.scans[found.ring][0].notes += found.notes
            else:
                self.scans[found.ring] = [found]
            self.outcome.notes += found.notes
        numbers = {}
        for at, ring in enumerate(self.rings):
            files, _ = self._files(ring)
            numbers[at] = Numbers(ring.name not in plans, files)
        if plans:
            self._number_frames(staged, plans, numbers)
        return numbers

    def _number_frames(
        self, staged: DataFrame, plans: dict[str, RingPlan], numbers: dict[int, Numbers]
    ) -> None:
        self.told("numbering", 0)
        counts = staged.where(f"table = '{ORDER}'").groupBy("ring", "slice").sum("rows").collect()
        frames = {(row[0], row[1]): row[2] for row in counts}
        for plan in plans.values():
            before = [0]
            for place in range(len(plan.bases) + 1):
                before.append(before[-1] + frames.get((plan.index, place), 0))
            numbers[plan.index].frames_before = before
        accepted = defaultdict(list)
        for row in staged.where(f"table = '{ACCEPTED}'").select("ring", "data").collect():
            accepted[row.ring].append(row.data)
        for index, blobs in accepted.items():
            numbers[index].accepted = ranked(blobs)
        wanted = staged.where(f"table in ('{ORDER}', '{REFERRED}')")
        run = stages.ranks(
            {plan.index: numbers[plan.index].frames_before for plan in plans.values()}
        )
        found = defaultdict(list)
        for row in in_slices(wanted).mapInArrow(run, stages.RANKS).collect():
            found[row.ring].append((row.keys, row.numbers))
        for index, pairs in found.items():
            keys = np.frombuffer(b"".join(keys for keys, _ in pairs), dtype=np.int64)
            ranks = np.frombuffer(b"".join(each for _, each in pairs), dtype=np.int64)
            order = np.argsort(keys, kind="stable")
            numbers[index].referred = keys[order]
            numbers[index].referred_numbers = ranks[order]

    def _files(self, ring: Ring) -> tuple[list[tuple[str, int]], list[FileNumbers]]:
        """The packets before each file of a ring, and what was seen of the files."""
        seen = [FileNumbers(at) for at in range(len(ring.files))]
        for part in (part for found in self.scans[ring.name] for part in found.files):
            file = seen[part.ordinal]
            file.packets += part.packets
            file.first = file.first or part.first
            file.last = part.last or file.last
            file.problem = file.problem or part.problem
            file.unreadable = file.unreadable or part.unreadable
        before, files = 0, []
        for file in seen:
            file.unreadable = file.unreadable and not file.packets
            files.append((ring.files[file.ordinal].path, before))
            before += file.packets
        return files, seen

    # Writing.

    def _write(self, staged: DataFrame, numbers: dict[int, Numbers]) -> list[str]:
        """Write all tables to staging; the files that they replace."""
        rows = {
            row[0]: row[1] for row in staged.groupBy("table").sum("rows").collect()
        }  # fmt: skip
        names = [name for name in TABLES if rows.get(name)]
        self.told("writing", len(names))
        with ThreadPoolExecutor(4) as pool:
            jobs = [
                pool.submit(self._write_table, staged, name, rows[name], numbers) for name in names
            ]
            for job in jobs:
                job.result()
        self._count(names)
        captures, quarantine = self._file_rows()
        self._write_rows("captures", captures)
        self._write_rows("quarantine", quarantine)
        return self._replaced()

    def _write_table(
        self, staged: DataFrame, table: str, rows: int, numbers: dict[int, Numbers]
    ) -> None:
        larger = any(not each.whole for each in numbers.values())
        few = rows // ROWS_A_FILE + 1
        if table in NUMBERED and larger:
            blocks = in_slices(staged.where(f"table in ('{ORDER}', '{table}')"))
        else:
            blocks = staged.where(f"table = '{table}'").coalesce(few)
        final = blocks.mapInArrow(stages.final_rows(table, numbers), ddl(table)).coalesce(few)
        self._append(final, table)

    def _write_rows(self, table: str, rows: list[Row]) -> None:
        if not rows:
            return
        schema = arrow_schema(table)
        arrays = [
            pa.array(column, type=kind)
            for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True)
        ]
        data = with_day(pa.Table.from_arrays(arrays, schema=schema))
        self._append(self.spark.createDataFrame(data, ddl(table)).coalesce(1), table)

    def _append(self, frame: DataFrame, table: str) -> None:
        path = self.directory.staging(self.run_number, table)
        frame.write.mode("append").partitionBy("day").parquet(path)

    def _count(self, names: list[str]) -> None:
        """Totals for the summary."""
        for ring in self.rings:
            self.outcome.packets += sum(each.packets for each in self.scans[ring.name])
        if "connections" in names:
            rows = self._staged("connections")
            (total,) = rows.selectExpr("count(*)", "sum(client_frames + server_frames)").collect()
            self.outcome.connections, self.outcome.frames = total
        if "findings" in names:
            counts = self._staged("findings").groupBy("severity").count().collect()
            self.outcome.findings.update({row[0]: row[1] for row in counts})

    def _staged(self, table: str) -> DataFrame:
        path = self.directory.staging(self.run_number, table)
        return self.spark.read.schema(ddl(table)).parquet(path)

    def _file_rows(self) -> tuple[list[Row], list[Row]]:
        files: list[tuple[str, File, int, FileNumbers, str]] = []
        for ring in self.rings:
            before, seen = self._files(ring)
            notes = "; ".join(note for each in self.scans[ring.name] for note in each.notes)
            if overlapping(seen):
                self.outcome.notes.append(
                    f"{ring.name}: its captures overlap in time; if they are not one capture that"
                    " was rotated, use --ring file"
                )
            for file, (_, packets), known in zip(ring.files, before, seen, strict=True):
                files.append((ring.name, file, packets, known, notes))
        return file_rows(files, self.outcome)

    def _replaced(self) -> list[str]:
        """Take the old rows of changed rings away: keep what else their files have."""
        changed = [ring.name for ring in self.rings if ring.name in self.state.rings]
        removed: list[str] = []
        if not changed:
            return removed
        from pyspark.sql import functions as f

        for table in TABLES:
            rows = read_table(self.spark, self.directory, table)
            if not self.directory.days(table):
                continue
            old = rows.where(f.col("ring").isin(changed))
            paths = [row[0] for row in old.select("_metadata.file_path").distinct().collect()]
            if paths:
                kept = rows.where(f.col("_metadata.file_path").isin(paths))
                kept = kept.where(~f.col("ring").isin(changed))
                self._append(kept.select(*rows.columns).coalesce(1), table)
                removed += [self.directory.relative(path) for path in paths]
        return removed


def in_slices(blocks: DataFrame) -> DataFrame:
    """Blocks by ring and slice, the order first."""
    return blocks.repartition("ring", "slice").sortWithinPartitions("ring", "slice", "table")


def _names(octets: bytes) -> set[bytes]:
    return {octets[at : at + 8] for at in range(0, len(octets), 8)}


def _join_pending(ring: Ring, scans: list[Scan]) -> list[Share]:
    """Let slices between which a datagram was cut be one; what must be scanned again."""
    again: list[Share] = []
    at = 0
    while at < len(ring.slices) - 1:
        if scans[at].pending:
            ring.slices[at] += ring.slices.pop(at + 1)
            del scans[at + 1]
            again = [share for share in again if share.slice != at]
            again.append(Share(ring.name, at, ring.slices[at]))
        at += 1
    return again
