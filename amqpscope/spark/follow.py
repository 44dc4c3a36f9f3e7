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
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyarrow import fs

from amqpscope.spark import arrivals, stages
from amqpscope.spark.delta import Change
from amqpscope.spark.directory import Directory
from amqpscope.spark.files import absolute, local_path, locate, reason_of
from amqpscope.spark.gather import ACCEPTED, ORDER
from amqpscope.spark.list_spark import ListingError, require_known
from amqpscope.spark.manifest import Done, ManifestError
from amqpscope.spark.numbering import decoded, table_of, with_day
from amqpscope.spark.outcome import Outcome, file_rows
from amqpscope.spark.parts import Writer
from amqpscope.spark.plan import File
from amqpscope.spark.schema import TABLES
from amqpscope.spark.state_codec import Keeper, refusal, refused, rows_of, stamp
from amqpscope.spark.stream_numbering import Running
from amqpscope.spark.terms import terms_of
from amqpscope.spark.unpickling import loads
from amqpscope.spark.worker import FileNumbers, Scan

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

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
STATE: Final = "value binary"
OUTPUT: Final = "table string, ring string, rows bigint, data binary"
PARTITIONS: Final = "spark.sql.shuffle.partitions"
MANY: Final = "200"
"""What Spark takes when nobody says how many, and each costs a third of a second a batch."""
COMPACTED: Final = 100
"""Batches after which their small files are put together."""
CHECKPOINT: Final = "_checkpoint"
PROVIDER: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def processor(work: Work, idle: float, linger: float) -> Any:
    """What Spark runs for each connection; a class that is shipped to the workers as it is."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    shipped = pickle.dumps(work)

    class Connections(StatefulProcessor):
        """The connections of a stream."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.keeper = Keeper(pickle.loads(shipped))
            self.state = handle.getValueState("replay", STATE)

        def handleInputRows(
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
        ) -> Iterator[pd.DataFrame]:
            ring, name = key
            if not name:
                for row in (row for frame in rows for row in frame.itertuples()):
                    yield frame_of([("_scan", ring, 1, row.data)])
                return
            keeper = self.keeper
            known = self.state.get() if self.state.exists() else None
            replay = keeper.begin(ring) if known is None else keeper.thaw(known[0])
            found = rows_of(keeper.feed(replay, keeper.segments(rows)), ring)
            self.state.update((keeper.freeze(replay),))
            wait = idle if replay.gatherer.persons else linger
            self.wake(int(timerValues.getCurrentProcessingTimeInMs() + wait * 1000))
            yield frame_of(found)

        def handleExpiredTimer(
            self, key: Any, timerValues: Any, expiredTimerInfo: Any
        ) -> Iterator[pd.DataFrame]:
            known = self.state.get() if self.state.exists() else None
            if known is not None:
                replay = self.keeper.thaw(known[0])
                self.state.clear()
                yield frame_of(rows_of(replay.finish(), key[0]))

        def wake(self, when: int) -> None:
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            self.handle.registerTimer(when)

        def close(self) -> None:
            """Nothing to let go of."""

    return Connections()


def frame_of(rows: list[tuple[str, str, int, bytes]]) -> pd.DataFrame:
    """Blocks as Spark takes them here."""
    import pandas as pd

    return pd.DataFrame(rows, columns=["table", "ring", "rows", "data"])


def followed(given: str) -> str:
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
        self.rings = [followed(ring) for ring in rings]
        self.directory = Directory(out)
        require_known(spark, self.directory.path)
        self.work = work
        self.told = told
        self.idle, self.linger, self.patience, self.every = IDLE, LINGER, PATIENCE, EVERY
        self.limit = arrivals.BATCH
        self.state = self.directory.open()
        self.stamp = stamp().decode()
        self._require_same(out)
        self.running = Running(self.directory, self.state.run)
        self.places = {ring: self.state.rings.count(ring) for ring in self.state.rings}
        """How many files of each ring are done."""
        self.run = self.state.run
        self.done = -1 if self.state.batch is None else self.state.batch
        """The last batch that is in the tables."""

    def _require_same(self, out: str) -> None:
        """ManifestError when the tables are not those of a stream that can go on here."""
        if not self.state.run:
            return
        if self.state.batch is None:
            raise ManifestError(
                f"{out}: has tables of a run without --follow; give another directory"
            )
        stamps = {self.state.rings[ring].stamp or "" for ring in self.state.rings}
        for written in stamps - {self.stamp}:
            raise ManifestError(f"{out}: {refusal(written)}")
        if not self.directory.names(CHECKPOINT):
            raise ManifestError(
                f"{out}: {CHECKPOINT} is gone, and with it the state of all connections; follow"
                " into another directory"
            )

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
            .load()
        )
        blocks = rows.groupBy("ring", "connection").transformWithStateInPandas(
            processor(self.work, self.idle, self.linger),
            outputStructType=OUTPUT, outputMode="append", timeMode="processingTime",
        )  # fmt: skip
        return (
            blocks.writeStream.foreachBatch(self.batch)
            .option("checkpointLocation", f"{self.directory.path}/{CHECKPOINT}")
            .trigger(processingTime=f"{self.every} seconds")
            .start()
        )

    def batch(self, blocks: DataFrame, number: int) -> None:
        """Commit what a batch gave; nothing if that was done before a crash."""
        # Also what is not written again has to be evaluated: Spark wants each state to be kept.
        rows = blocks.collect()
        if not rows or number <= self.done:
            return
        outcome = self.write(rows, number)
        self.told(outcome)

    def write(self, rows: list[Any], number: int) -> Outcome:
        """Number the rows of a batch, write and commit them."""
        self.run += 1
        outcome = Outcome(self.run)
        told = [row.data for row in rows if row.table == "_scan"]
        files = [loads(data, File, Scan, FileNumbers) for data in told]
        files.sort(key=lambda each: (each[2].ring, each[1]))
        done: dict[str, Done] = {}
        paths: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for file, base, scan in files:
            self.note(done, outcome, file, scan)
            paths[scan.ring].append((file.path, base))
        blobs: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        for row in rows:
            blobs[row.table, row.ring].append(row.data)
        target = self.directory.begin(self.run)
        self.running.next(
            self.run,
            {ring: data for (table, ring), data in blobs.items() if table == ORDER},
            {ring: data for (table, ring), data in blobs.items() if table == ACCEPTED},
            {scan.ring: base + scan.packets for _, base, scan in files},
            paths,
        )
        tables: dict[str, list[pa.Table]] = defaultdict(list)
        for (table, ring), data in blobs.items():
            for block in data if table in TABLES else ():
                found = self.running.numbered(table, decoded(block), ring)
                tables[table].append(with_day(found))
        captures, quarantine = file_rows(
            [(scan.ring, file, base, scan.files[0], "") for file, base, scan in files], outcome
        )
        for table, plain in (("captures", captures), ("quarantine", quarantine)):
            if plain:
                tables[table].append(with_day(table_of(table, plain)))
        writer, changes = Writer(target), defaultdict[str, Change](Change)
        for table, parts in tables.items():
            writer.add(table, pa.concat_tables(parts))
        for each in writer.close():
            changes[each.table].added.append(each.file)
        count(outcome, tables)
        self.directory.commit(self.run, changes, done, batch=number, places=self.places)
        for ring, new in done.items():
            self.places[ring] = self.places.get(ring, 0) + len(new.files)
        self.done = number
        if not self.run % COMPACTED:
            self.directory.compact(self.run)
        return outcome

    def note(self, done: dict[str, Done], outcome: Outcome, file: File, scan: Scan) -> None:
        """A file is done."""
        if scan.ring not in done:
            arguments = list(self.work.arguments)
            done[scan.ring] = Done([], self.run, arguments, terms_of(self.work), stamp=self.stamp)
        done[scan.ring].files.append(file)
        outcome.files += 1
        outcome.octets += file.size
        outcome.packets += scan.packets


def count(outcome: Outcome, tables: dict[str, list[pa.Table]]) -> None:
    """Totals for the summary."""
    for rows in tables.get("connections", []):
        outcome.connections += rows.num_rows
        for each in ("client_frames", "server_frames"):
            outcome.frames += sum(rows[each].to_pylist())
    for rows in tables.get("findings", []):
        outcome.findings.update(rows["severity"].to_pylist())


def follow(
    spark: SparkSession, inputs: tuple[str, ...], out: str, work: Work,
    told: Callable[[Outcome], None], idle: float = IDLE, patience: float = PATIENCE,
) -> None:  # fmt: skip
    """Follow directories until interrupted."""
    stream = Follow(spark, list(inputs), out, work, told)
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
        known = refused(str(failed))
        raise ManifestError(f"{out}: {known}") if known else failed
