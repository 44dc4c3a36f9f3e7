"""Tables that grow with a directory of rotating captures: `pipeline run --follow`.

A streaming query reads complete files, hands the segments of each connection to its own state, and
gets back blocks of rows. The state of a connection is its replay, pickled (see `state_codec`); a
timer closes connections that have been silent for long, and forgets those that are over. Each batch
is committed like a run of its own, with the number of the batch, so one that Spark repeats after a
crash is not written twice.
"""

from __future__ import annotations

import json
import pickle
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pyarrow import fs

from amqpscope.spark import arrivals, stages
from amqpscope.spark.delta import Change, files_of, stored_of
from amqpscope.spark.directory import Directory
from amqpscope.spark.files import absolute, local_path, locate, reason_of
from amqpscope.spark.list_spark import ListingError, require_known
from amqpscope.spark.manifest import Done, ManifestError
from amqpscope.spark.numbering import table_of, with_day
from amqpscope.spark.outcome import Outcome, file_rows
from amqpscope.spark.parts import Writer
from amqpscope.spark.rebuild import Rebuild
from amqpscope.spark.state_codec import (
    Keeper,
    frozen_reason,
    provisional_rows,
    rows_of,
    stamp,
)
from amqpscope.spark.stored import PROVISIONAL, Stored
from amqpscope.spark.stream_numbering import Clock, folder_of, name_of, progress_of
from amqpscope.spark.stream_rows import SCAN, RingDone, Seen, blocks_of, written_rings
from amqpscope.spark.terms import terms_of
from amqpscope.wording import plural

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from amqpscope.spark.stored import Target
    from amqpscope.spark.work import Work

IDLE: Final = 3600.0
"""Seconds without a packet after which a connection is given up."""
LINGER: Final = 60.0
"""Seconds for which one that is over is remembered, for late retransmissions."""
PATIENCE: Final = 10.0
"""Seconds after which the newest file counts as complete."""
EVERY: Final = 2.0
"""Seconds between two looks for new files."""
LOOK: Final = 0.3
"""Seconds between two looks whether the stream is still alive."""
STATE: Final = "value binary, seen bigint"
"""A replay, and the time of its last packet."""
CHECKED: Final = 300.0
"""Seconds after which it is looked again whether a connection is silent; --idle may be another."""
SOONEST: Final = 1.0
OUTPUT: Final = "table string, ring string, rows bigint, data binary"
PARTITIONS: Final = "spark.sql.shuffle.partitions"
MANY: Final = "200"
"""What Spark takes when nobody says how many, and each costs a third of a second a batch."""
COMPACTED: Final = 100
"""Batches after which their small files are put together."""
LIVE_TABLES: Final = ("connections", "sessions", "links")
"""Tables with rows of connections that go on."""
CHECKPOINT: Final = "_checkpoint"
PROVIDER: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Silence:
    """How long connections have been silent, by the time in their captures.

    A stream that was stopped for long, or reads what was captured long ago, has other clocks. Only
    when no file of a ring has come for that long, while somebody looked, its capture is over.
    """

    def __init__(self, out: str, idle: float, started: float) -> None:
        self.out = out
        self.idle = idle
        self.started = started
        """When the stream began to look, in seconds since 1970."""
        self.clocks: dict[str, Clock] = {}

    def left(self, ring: str, seen: int, now: float) -> float:
        """Seconds until a connection is given up, whose last packet was seen at this time."""
        clock = self.clocks.get(ring)
        if clock is None:
            clock = self.clocks[ring] = progress_of(folder_of(self.out, ring)).clock
        since = now - max(clock.heard / 1e9, self.started)
        return self.idle - max((clock.newest - seen) / 1e9, since)


def processor(work: Work, out: str, idle: float, linger: float, started: float) -> Any:
    """What Spark runs for each connection; a class that is shipped to the workers as it is."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    shipped = pickle.dumps(work)

    class Connections(StatefulProcessor):
        """The connections of a stream."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.keeper = Keeper(pickle.loads(shipped))
            self.silence = Silence(out, idle, started)
            self.state = handle.getValueState("replay", STATE)

        def handleInputRows(
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
        ) -> Iterator[pd.DataFrame]:
            ring, name = key
            if not name:
                for row in (row for frame in rows for row in frame.itertuples()):
                    yield frame_of([(SCAN, ring, 1, row.data)])
                return
            keeper = self.keeper
            known = self.state.get() if self.state.exists() else None
            replay = keeper.begin(ring) if known is None else keeper.thaw(known[0])
            frames = list(rows)
            again = any((frame["packet"] == arrivals.AGAIN).any() for frame in frames)
            segments = keeper.segments(frames)
            found = rows_of(keeper.feed(replay, segments), ring) + keeper.notes(replay, ring)
            seen = max(segment.time for segment in segments)
            self.state.update((keeper.freeze(replay), seen))
            live = bool(replay.gatherer.persons)
            self.wake(timerValues, idle if live else linger)
            # What comes of segments that were read before is in the tables.
            yield frame_of([] if again else found + provisional_rows(replay, ring))

        def handleExpiredTimer(
            self, key: Any, timerValues: Any, expiredTimerInfo: Any
        ) -> Iterator[pd.DataFrame]:
            known = self.state.get() if self.state.exists() else None
            if known is None:
                return
            replay, ring = self.keeper.thaw(known[0]), key[0]
            now = timerValues.getCurrentProcessingTimeInMs() / 1000
            left = self.silence.left(ring, known[1], now) if replay.gatherer.persons else 0
            if left > 0:
                self.wake(timerValues, left)
                return
            self.state.clear()
            yield frame_of(rows_of(replay.finish(), ring))

        def wake(self, timerValues: Any, seconds: float) -> None:
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            wait = max(min(seconds, CHECKED), SOONEST) * 1000
            self.handle.registerTimer(int(timerValues.getCurrentProcessingTimeInMs() + wait))

        def close(self) -> None:
            """Nothing to let go of."""

    return Connections()


def frame_of(rows: list[tuple[str, str, int, bytes]]) -> pd.DataFrame:
    """Blocks as Spark takes them here."""
    import pandas as pd

    return pd.DataFrame(rows, columns=["table", "ring", "rows", "data"])


def followed_directory(given: str) -> str:
    """A directory to follow; ListingError when it cannot be."""
    path = absolute(given)
    try:
        system, place = locate(path)
        kind = system.get_file_info(place).type
    except OSError as error:
        raise ListingError(
            f"{given}: cannot be followed, as workers cannot open it: {reason_of(error)}"
        ) from error
    if kind == fs.FileType.File:
        raise ListingError(f"{given}: is a file, expected a directory to follow")
    return local_path(path) or path


class Follow:
    """A stream into a directory of tables."""

    def __init__(
        self, spark: SparkSession, rings: list[str], out: str, work: Work,
        told: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:  # fmt: skip
        self.spark = spark
        self.rings = [followed_directory(ring) for ring in rings]
        self.directory = Directory(out)
        require_known(spark, self.directory.path)
        self.work = work
        self.told = told
        self.idle, self.linger, self.patience, self.every = IDLE, LINGER, PATIENCE, EVERY
        self.limit = arrivals.BATCH
        self.state = self.directory.open()
        self.stamp = stamp().decode()
        self.notes: list[str] = []
        """What the user should know before the first batch."""
        self.options: dict[str, str] = {}
        self.places = self.state.rings.counts()
        """How many files of each ring are done."""
        self.run = self.state.run
        self.done = -1 if self.state.batch is None else self.state.batch
        """The last batch that is in the tables."""
        self.first = 0
        """The number that batch 0 of the query has in the tables."""
        if self.state.run and self.state.batch is None:
            raise ManifestError(
                f"{out}: has tables of a run without --follow; give another directory"
            )
        self._choose_checkpoint()

    def _choose_checkpoint(self) -> None:
        """Go on with the states that this build has kept, or make them anew."""
        build = name_of(self.stamp)
        known = []
        for name in self.directory.names(CHECKPOINT):
            first, _, builder = name.partition("-")
            if first.isdecimal():
                known.append((int(first), builder))
        self.first, builder = max(known, default=(0, ""))
        begun = not self.first or self.done >= self.first
        if self.state.run and (builder != build or not begun):
            self.first = self.done + 1
            self._rebuild()
        self.checkpoint = f"{CHECKPOINT}/{self.first}-{build}"

    def _rebuild(self) -> None:
        """Prepare to go on without the states of connections."""
        found = Rebuild(self.directory, self.state, self.live())
        self.options = {"begin": found.begin(), "again": found.again()}
        words = f"the states of {plural(found.connections, 'connection')} are made anew"
        if found.lost:
            words += (
                f"; {plural(found.lost, 'connection')} cannot go on, as captures of its beginning"
                " are gone or too large"
            )
            self.run += 1
            self.directory.begin(self.run)
            changes = found.settle(self.run)
            self.directory.commit(self.run, changes, {}, batch=self.done, places=self.places)
        self.notes.append(f"another build of amqpscope has followed before: {words}")
        if self.directory.names(CHECKPOINT):
            self.directory.system.delete_dir(f"{self.directory.root}/{CHECKPOINT}")

    def start(self) -> StreamingQuery:
        """Begin, or go on where the stream stopped."""
        spark = self.spark
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDER)
        spark.conf.set(
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", True
        )
        if spark.conf.get(PARTITIONS) == MANY:
            spark.conf.set(PARTITIONS, stages.parallelism(spark))
        spark.dataSource.register(arrivals.Arrivals)
        rows = (
            spark.readStream.format(arrivals.NAME)
            .option("rings", json.dumps(self.rings))
            .option("patience", str(self.patience))
            .option("limit", str(self.limit))
            .option("out", self.directory.path)
            .options(**self.options)
            .load()
        )
        blocks = rows.groupBy("ring", "connection").transformWithStateInPandas(
            processor(self.work, self.directory.path, self.idle, self.linger, time.time()),
            outputStructType=OUTPUT, outputMode="append", timeMode="processingTime",
        )  # fmt: skip
        return (
            blocks.writeStream.foreachBatch(self.batch)
            .option("checkpointLocation", f"{self.directory.path}/{self.checkpoint}")
            .trigger(processingTime=f"{self.every} seconds")
            .start()
        )

    def batch(self, blocks: DataFrame, number: int) -> None:
        """Let tasks write what a batch gave, and commit it; nothing if that was done already."""
        number += self.first
        if number <= self.done:
            # Also what is not written again has to be evaluated: Spark wants each state to be kept.
            blocks.write.format("noop").mode("append").save()
            return
        target = self.directory.begin(self.run + 1)
        tasks = min(stages.parallelism(self.spark), len(self.rings))
        rows = blocks.repartition(tasks, "ring").sortWithinPartitions("ring", "table")
        done = stages.task_messages(rows.mapInArrow(written(target, self.live()), stages.DONE))
        if done:
            self.told(self.commit(done, number))
        else:
            self.directory.abandon(target.run)

    def live(self) -> dict[str, list[tuple[str, Stored]]]:
        """The files with rows of connections that go on, by the name of their ring."""
        found: dict[str, list[tuple[str, Stored]]] = defaultdict(list)
        for table in LIVE_TABLES:
            opened = self.directory.table(table).open()
            for file in [] if opened is None else files_of(opened):
                _, mark, name = file["path"].partition(f"-{PROVISIONAL}")
                if mark:
                    found[name.partition("-")[0]].append((table, stored_of(file)))
        return dict(found)

    def commit(self, rings: list[RingDone], number: int) -> Outcome:
        """Commit what tasks have written; what came of it."""
        self.run += 1
        outcome = Outcome(self.run)
        done: dict[str, Done] = {}
        changes: dict[str, Change] = defaultdict(Change)
        for ring in rings:
            for seen in ring.files:
                self.note(done, outcome, seen)
            for each in (*ring.written, *ring.provisional):
                changes[each.table].added.append(each.file)
            for table, file in ring.replaced:
                changes[table].removed.append(file)
            count(outcome, ring)
            outcome.note_undecrypted(ring.ring, ring.notes)
        files = [(each.scan.ring, each.file, each.base, each.scan.files[0], "")
                 for ring in rings for each in ring.files]  # fmt: skip
        captures, quarantine = file_rows(files, outcome)
        writer = Writer(self.directory.target(self.run))
        for table, plain in (("captures", captures), ("quarantine", quarantine)):
            if plain:
                writer.add(table, with_day(table_of(table, plain)))
        for each in writer.close():
            changes[each.table].added.append(each.file)
        self.directory.commit(self.run, changes, done, batch=number, places=self.places)
        for name, new in done.items():
            self.places[name] = self.places.get(name, 0) + len(new.files)
        self.done = number
        if not self.run % COMPACTED:
            self.directory.compact(self.run)
        return outcome

    def note(self, done: dict[str, Done], outcome: Outcome, seen: Seen) -> None:
        """A file is done."""
        ring = seen.scan.ring
        if ring not in done:
            arguments = list(self.work.arguments)
            done[ring] = Done([], self.run, arguments, terms_of(self.work), stamp=self.stamp)
        done[ring].files.append(seen.file)
        outcome.files += 1
        outcome.octets += seen.file.size
        outcome.packets += seen.scan.packets


def written(target: Target, live: dict[str, list[tuple[str, Stored]]]) -> stages.Stage:
    """Write the rows of rings, which come sorted, and describe what was written."""

    def run(batches: stages.Batches) -> stages.Batches:
        for done in written_rings(blocks_of(batches), target, live):
            yield stages.done_batch(done)

    return run


def count(outcome: Outcome, ring: RingDone) -> None:
    """Totals for the summary."""
    for each in ring.written:
        outcome.frames += each.frames
        outcome.findings.update(each.severities)
        if each.table == "connections":
            outcome.connections += each.rows


def follow(
    spark: SparkSession, inputs: tuple[str, ...], out: str, work: Work,
    told: Callable[[Outcome], None], idle: float = IDLE, patience: float = PATIENCE,
    note: Callable[[str], None] = lambda words: None,
) -> None:  # fmt: skip
    """Follow directories until interrupted."""
    stream = Follow(spark, list(inputs), out, work, told)
    for words in stream.notes:
        note(words)
    stream.idle, stream.patience = idle, patience
    stopped = threading.Event()
    # An exception inside a call to the JVM would break the connection to it.
    before = signal.signal(signal.SIGINT, lambda number, frame: stopped.set())
    try:
        query = stream.start()
        while not stopped.wait(LOOK) and query.isActive:
            pass
        query.stop()
    finally:
        signal.signal(signal.SIGINT, before)
    stream.directory.close()
    failed = query.exception()
    if failed is not None:
        known = frozen_reason(str(failed))
        raise ManifestError(f"{out}: {known}") if known else failed
