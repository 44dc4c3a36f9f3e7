"""The batch job: from captures to tables.

list     Spark lists the inputs; files become rings, and those of a ring that has not changed
         since its last run are left out
copy     files that Spark can read but workers cannot, to where they can (see `copies`)
cut      files of more than 32 MB are walked for places between records
scan     rings of several slices: which connections does each slice have, how many packets?
replay   rings that are one slice: in one process each, like `lint`, which writes the rows of large
         tables there and then, and stages those of small ones;
         of other rings, connections that lie whole within a slice: right there;
         all others: from their segments, shuffled by ring and connection and sorted by packet
follow   messages of rings of several slices from one connection to another, a process a ring
number   order keys become frame numbers, slice by slice (see `replay` and `numbering`)
write    what is staged, by table and day; then commit all files to their tables
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Final

import numpy as np

from amqpscope.spark import stages
from amqpscope.spark.contents import Contents, Recogniser, compare, contents_of, look_at
from amqpscope.spark.copies import LIMIT, Copies
from amqpscope.spark.delta import Change, files_of
from amqpscope.spark.directory import COPIES, Directory, with_rings
from amqpscope.spark.files import reason_of
from amqpscope.spark.gather import ACCEPTED, ORDER, REFERRED, Row
from amqpscope.spark.manifest import Done, ManifestError, State, first_runs
from amqpscope.spark.numbering import table_of, with_day
from amqpscope.spark.outcome import Outcome, file_rows, overlapping
from amqpscope.spark.parts import Staged, Writer, Written, staged_reason
from amqpscope.spark.plan import SLICE, File, Ring, Share, is_folder, pack_shares, slice_up
from amqpscope.spark.records import Part
from amqpscope.spark.schema import TABLES
from amqpscope.spark.stored import Stored, Target
from amqpscope.spark.terms import terms_of
from amqpscope.spark.unpickling import loads
from amqpscope.spark.work import Work
from amqpscope.spark.work_items import Items, RingNumbers, store_items
from amqpscope.spark.worker import FileNumbers, RingPlan, Scan, join_pending, names_in, scan
from amqpscope.wording import plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_A_FILE: Final = 1_000_000
"""Rows of a table that one task writes."""
TASKS: Final = 4
"""Tasks for each core, where there is not enough for full ones: they do not end together."""
SMALLEST: Final = 2 << 20
"""Octets that are worth a task."""
SHUFFLED: Final = 64 << 20
"""Octets of captures for one partition of the shuffle."""

Shares = list[tuple[int, Share]]
"""Slices of larger rings, with the index of each ring."""
Told = Callable[[str, int], None]
"""Told what begins, and how many tasks it has."""


class Job:
    """One run over some rings."""

    def __init__(
        self, spark: SparkSession, directory: Directory, state: State, work: Work,
        size: int = SLICE, told: Told = lambda what, tasks: None, limit: int = LIMIT,
    ) -> None:  # fmt: skip
        self.spark = spark
        self.directory = directory
        self.state = state
        self.work = work
        self.size = size
        self.told = told
        self.run_number = self.begun = state.run + 1
        self.copies = Copies(spark, directory.staging(self.run_number, COPIES), limit)
        self.rings: list[Ring] = []
        self.scans: dict[str, list[Scan]] = {}
        self.written: list[Written] = []
        """What tasks have written to the tables so far."""
        self.staged: list[Staged] = []
        """What they have found for small tables, and what messages of larger rings have shown."""
        self.versions: dict[str, int] = {}
        """Those that the run has made."""
        self.outcome = Outcome(self.run_number)
        self.terms = terms_of(work)
        self.contents: Contents = {}
        """Digests of files, by which copies of them are recognised later."""

    def run(self, rings: list[Ring]) -> Outcome:
        """Process rings; nothing is visible before all of it is."""
        self.rings = rings
        self.outcome.files = sum(len(ring.files) for ring in rings)
        self.outcome.octets = sum(file.size for ring in rings for file in ring.files)
        self.outcome.notes += self._reasons()
        try:
            self.directory.begin(self.run_number)
            self._process()
        except BaseException as error:
            self.directory.discard(self.state, self.run_number)
            broken = staged_reason(str(error))
            if broken:
                raise ManifestError(broken) from error
            raise
        return self.outcome

    def without_copies(self, rings: list[Ring], recogniser: Recogniser) -> list[Ring]:
        """Rings without captures that tables have already by another name."""
        files = [file for ring in rings for file in ring.files]
        self.told("looking for copies", 0)
        staging = self._target().staging
        self.contents = look_at(self.spark, staging, files)
        compared = partial(compare, self.spark, staging)
        left = list(recogniser.without_copies(rings, self.contents, compared))
        return [ring for ring in left if not self._is_done(ring)]

    def _is_done(self, ring: Ring) -> bool:
        """Whether a ring without its copies is as it was."""
        done = ring.done
        return done is not None and done.files == ring.files and not done.terms.differs(self.terms)

    def _reasons(self) -> Iterator[str]:
        """Why captures that have not changed are processed again."""
        reasons = Counter[str]()
        for ring in self.rings:
            done = ring.done
            if done is not None and done.files == ring.files:
                reasons[done.terms.differs(self.terms)] += len(ring.files)
        for reason, files in reasons.items():
            yield f"{plural(files, 'capture')} read again: {reason}"

    def _process(self) -> None:
        self._copy()
        self._slice()
        whole = [ring for ring in self.rings if len(ring.slices) == 1]
        larger = [ring for ring in self.rings if len(ring.slices) > 1]
        plans = self._plans(larger)
        self._replay_whole(whole)
        blocks = self._replay(larger, plans) if larger else None
        self._follow_messages(larger)
        numbers = self._numbers(larger, blocks)
        changes = self._write(blocks, numbers)
        done = {}
        for ring in self.rings:
            locked = any(scan.notes for scan in self.scans[ring.name])
            files = [file for file in ring.files if not is_folder(file)]
            done[ring.name] = Done(
                files, self.run_number, list(self.work.arguments),
                replace(self.terms, locked=locked), first_runs(ring, self.run_number),
                begun=self.begun, contents=contents_of(files, self.contents),
            )  # fmt: skip
        self.told("committing", 0)
        self.versions = self.directory.commit(self.run_number, changes, done, again=self._again())

    # Copying, cutting and scanning.

    def _copy(self) -> None:
        self.told("copying", 0)
        files = [file for ring in self.rings for file in ring.files]
        for file in files:
            if is_folder(file):
                self.copies.parts[file.path] = Part(file.path, problem=refusal_of(file.path))
        self.copies.bring(files)
        self.outcome.notes += self.copies.notes

    def _slice(self) -> None:
        size, copies = self.size, self.copies.parts
        files = [file for ring in self.rings for file in ring.files if file.size > size * 5 // 4]
        large = {file.path: copies.get(file.path) or Part(file.path) for file in files}
        self.told("cutting", len(large))
        places = stages.places(self.spark, self._store(large.items()), size)
        for ring in self.rings:
            slice_up(ring, places, size, copies)

    def _store(self, items: Iterable[object]) -> Items:
        return store_items(self._target().staging, items)

    def _scan(self, shares: list[Share]) -> dict[tuple[str, int], Scan]:
        self.told("scanning", len(shares))
        found = stages.each(self.spark, self._store(shares), scan)
        return {(each.ring, each.slice): each for each in found}

    def _plans(self, rings: list[Ring]) -> list[RingPlan]:
        """Scan rings of several slices, and find the connections that span these."""
        todo = [Share(r.name, at, pieces) for r in rings for at, pieces in enumerate(r.slices)]
        while todo:
            done = self._scan(todo)
            todo = []
            for ring in rings:
                before = self.scans.get(ring.name, [])
                scans = [done.get((ring.name, at)) or before[at] for at in range(len(ring.slices))]
                self.scans[ring.name] = scans
                todo += join_pending(ring, scans)
        return [self._plan(at, ring) for at, ring in enumerate(rings)]

    def _plan(self, index: int, ring: Ring) -> RingPlan:
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
        return RingPlan(index, ring.name, bases, elsewhere, end, speakers, secrets)

    # Replaying.

    def _replay_whole(self, rings: list[Ring]) -> None:
        """Let rings of one slice be replayed, each in one process."""
        units = self._store(self._units(rings))
        self.told("replaying", units.count)
        run = stages.whole_rings(units, self.work, self._target())
        for told in stages.results(self.spark, units.count, run):
            self._take(told.scans)
            self.written += told.written
            self.staged += told.staged

    def _follow_messages(self, rings: list[Ring]) -> None:
        """Let messages of larger rings be followed, each ring in one process."""
        if not self.work.messages:
            return
        shares = self._store(
            Share(ring.name, 0, list(chain.from_iterable(ring.slices))) for ring in rings
        )
        self.told("following messages", shares.count)
        run = stages.followed_rings(shares, self.work, self._target())
        self.staged += chain.from_iterable(stages.results(self.spark, shares.count, run))

    def _target(self) -> Target:
        return self.directory.target(self.run_number)

    def _replay(self, rings: list[Ring], plans: list[RingPlan]) -> DataFrame:
        """Replay rings of several slices, and write all blocks to staging; what is there."""
        inner, outer = self._shares(rings, plans)
        self.told("replaying", len(inner) + 2 * len(outer))
        stored, sources = self._store(plans), []
        if inner:
            run = stages.slices(self._store(inner), stored, self.work)
            sources.append(stages.spread(self.spark, len(inner)).mapInArrow(run, stages.BLOCKS))
        if outer:
            sources.append(self._spanning(outer, stored))
        blocks = sources[0].union(sources[1]) if len(sources) > 1 else sources[0]
        path = self.directory.staging(self.run_number, "_blocks")
        blocks.write.partitionBy("table").parquet(path)
        return self.spark.read.schema(stages.BLOCKS).parquet(path)

    def _units(self, rings: list[Ring]) -> list[list[Share]]:
        """Rings of one slice put together, so that each core gets some."""
        shares = [Share(ring.name, 0, ring.slices[0]) for ring in rings]
        fair = sum(share.size for share in shares) // (TASKS * stages.parallelism(self.spark))
        return pack_shares(shares, min(self.size, max(fair, SMALLEST)))

    def _shares(self, rings: list[Ring], plans: list[RingPlan]) -> tuple[Shares, Shares]:
        """Slices that have connections of their own, and those that have parts of others."""
        inner: Shares = []
        outer: Shares = []
        for ring, plan in zip(rings, plans, strict=True):
            for at, pieces in enumerate(ring.slices):
                share = Share(ring.name, at, pieces, plan.bases[at])
                names = names_in(self.scans[ring.name][at].names)
                if not names <= plan.elsewhere:
                    inner.append((plan.index, share))
                if not names.isdisjoint(plan.elsewhere):
                    outer.append((plan.index, share))
        return inner, outer

    def _spanning(self, shares: Shares, plans: Items) -> DataFrame:
        size = sum(share.size for _, share in shares)
        partitions = max(1, min(size // SHUFFLED + 1, 2000))
        partitions = max(partitions, min(len(shares), stages.parallelism(self.spark)))
        segments = stages.spread(self.spark, len(shares)).mapInArrow(
            stages.segments(self._store(shares), plans), stages.SEGMENTS
        )
        return (
            segments.repartition(partitions, "ring", "connection")
            .sortWithinPartitions("ring", "connection", "packet")
            .mapInArrow(stages.connections(plans, self.work), stages.BLOCKS)
        )

    def _tasks(self) -> int:
        """How many tasks to number slices with."""
        return min(stages.parallelism(self.spark), sum(len(ring.slices) for ring in self.rings))

    # Numbering.

    def _take(self, scans: list[Scan]) -> None:
        """Keep what tasks have seen of rings."""
        for found in scans:
            known = self.scans.get(found.ring)
            if known is None:
                self.scans[found.ring] = [found]
            else:
                known[0].notes += found.notes
            self.outcome.note_undecrypted(found.ring, found.notes)

    def _numbers(self, rings: list[Ring], blocks: DataFrame | None) -> RingNumbers:
        """What the final numbers of larger rings follow from."""
        frames: dict[tuple[int, int], int] = {}
        if blocks is not None:
            scans = blocks.where(f"table = '{stages.SCAN}'").select("data").collect()
            self._take([loads(row.data, Scan, FileNumbers) for row in scans])
            self.told("numbering", 0)
            counts = blocks.where(f"table = '{ORDER}'").groupBy("ring", "slice").sum("rows")
            frames = {(row[0], row[1]): row[2] for row in counts.collect()}
        known = []
        for index, ring in enumerate(rings):
            places = range(len(ring.slices) + 1)
            before = [0, *accumulate(frames.get((index, place), 0) for place in places)]
            known.append((self._files(ring)[0], before))
        numbers = RingNumbers(self._store(known), f"{self._target().staging}/_keys")
        if blocks is not None:
            self._number_frames(blocks, numbers)
        return numbers

    def _number_frames(self, blocks: DataFrame, numbers: RingNumbers) -> None:
        """Number the frames that rows refer to, and write these by ring, in tasks."""
        wanted = blocks.where(f"table in ('{ORDER}', '{REFERRED}')")
        referred = in_slices(wanted, self._tasks()).mapInArrow(stages.ranks(numbers), stages.RANKS)
        accepted = blocks.where(f"table = '{ACCEPTED}'").selectExpr(
            "ring", "data as keys", "cast(null as binary) as numbers"
        )
        keys = referred.union(accepted).repartition(self._tasks(), "ring")
        run = stages.keys_of_rings(numbers.keys)
        keys.sortWithinPartitions("ring").mapInArrow(run, stages.DONE).collect()

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

    def _write(self, blocks: DataFrame | None, numbers: RingNumbers) -> dict[str, Change]:
        """Write the files of all tables; these, and those that they replace."""
        self.told("writing", 0)
        written = self.written + self._finished_staged(numbers)
        if blocks is not None:
            written += self._write_final(blocks, numbers)
        captures, quarantine = self._file_rows()
        writer = Writer(self._target())
        for table, plain in (("captures", captures), ("quarantine", quarantine)):
            if plain:
                writer.add(table, with_day(table_of(table, plain)))
        written += writer.close()
        self._count(written)
        changes: dict[str, Change] = defaultdict(Change)
        kept, replaced = self._replace_rows()
        for each in written + kept:
            changes[each.table].added.append(each.file)
        for table, file in replaced:
            changes[table].removed.append(file)
        return changes

    def _finished_staged(self, numbers: RingNumbers) -> list[Written]:
        """Write what tasks have staged, with enough rows in each file."""
        few = sum(each.rows for each in self.staged) // ROWS_A_FILE + 1
        groups = self._store(group for at in range(few) if (group := self.staged[at::few]))
        run = stages.staged_rows(groups, numbers, self._target())
        return list(chain.from_iterable(stages.results(self.spark, groups.count, run)))

    def _write_final(self, blocks: DataFrame, numbers: RingNumbers) -> list[Written]:
        """Write the rows of rings of several slices, with their final numbers."""
        counts = blocks.groupBy("table").sum("rows").collect()
        few = sum(row[1] for row in counts if row[0] in TABLES) // ROWS_A_FILE + 1
        wanted = ", ".join(f"'{table}'" for table in (ORDER, *TABLES))
        ordered = in_slices(blocks.where(f"table in ({wanted})"), max(few, self._tasks()))
        run = stages.final_rows(numbers, self._target())
        return list(chain.from_iterable(stages.task_messages(ordered.mapInArrow(run, stages.DONE))))

    def _count(self, written: list[Written]) -> None:
        """Totals for the summary."""
        for ring in self.rings:
            self.outcome.packets += sum(each.packets for each in self.scans[ring.name])
        for each in written:
            self.outcome.frames += each.frames
            self.outcome.findings.update(each.severities)
            if each.table == "connections":
                self.outcome.connections += each.rows

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

    def _again(self) -> frozenset[str]:
        """Rings of which tables have rows already."""
        folders = self.directory.unlisted_rings(self.state)
        known = (ring for ring in self.rings if ring.done is not None or ring.name in folders)
        return frozenset(ring.name for ring in known)

    def _replace_rows(self) -> tuple[list[Written], list[tuple[str, Stored]]]:
        """Take the old rows of rings away: files with what else there was, and the old files."""
        again = self._again()
        files: list[tuple[str, Stored]] = []
        for table in TABLES if again else ():
            found = self.directory.version(table, self.state)
            if found is not None:
                files += [(table, file) for file in with_rings(files_of(found), again)]
        run = stages.kept_rows(self._store(files), again, self._target())
        results = stages.results(self.spark, len(files), run)
        written = chain.from_iterable(written for _, written in results)
        replaced = chain.from_iterable(replaced for replaced, _ in results)
        return list(written), list(replaced)


def refusal_of(folder: str) -> str:
    """Why a directory cannot be listed."""
    try:
        os.listdir(folder)
    except OSError as error:
        return f"cannot be listed: {reason_of(error)}"
    return "could not be listed"


def in_slices(blocks: DataFrame, tasks: int) -> DataFrame:
    """Blocks by ring and slice, the order first."""
    return blocks.repartition(tasks, "ring", "slice").sortWithinPartitions("ring", "slice", "table")
