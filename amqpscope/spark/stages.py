"""The stages of the job, as functions over Arrow batches that Spark runs in its workers.

Between the stages pass blocks: some rows of one table, encoded, with the ring and the slice that
they belong to; or files that a task has written, by their names. The functions are made by
closures, which Spark ships to the workers; what a task works on, it reads itself (`work_items`).
"""

from __future__ import annotations

import gc
import pickle
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from amqpscope.spark.gather import ORDER, Block
from amqpscope.spark.plan import Share
from amqpscope.spark.records import Cut, Part, cuts
from amqpscope.spark.replay import canonical
from amqpscope.spark.work import Work
from amqpscope.spark.worker import (
    Scan,
    chosen_segments,
    follow_messages,
    pickle_segments,
    replay_connection,
    replay_slice,
    replay_whole,
    unpickle_segments,
)
from amqpscope.stream.types import Segment

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from amqpscope.spark.numbering import Keys
    from amqpscope.spark.parts import Staged, Together, Written
    from amqpscope.spark.stored import Target
    from amqpscope.spark.work_items import Items, RingNumbers

Item = TypeVar("Item")
Result = TypeVar("Result")
Batches = Iterator["pa.RecordBatch"]
Stage = Callable[[Batches], Batches]

SCAN: Final = "_scan"
"""Blocks that hold a Scan."""
LARGE: Final = ("deliveries", "frames", "messages", "hops")
"""Tables with so many rows that each task may write its own file."""
BLOCKS: Final = "table string, ring int, slice int, rows bigint, data binary"
SEGMENTS: Final = "ring int, connection binary, packet bigint, data binary"
"""Runs of segments of one connection, and the packet of the first."""
COLLECTED: Final = 500_000
"""New objects after which Python looks for cycles."""
WHOLE: Final = -1
"""The ring of blocks whose rows are final."""
DONE: Final = "done binary"
RANKS: Final = "ring int, keys binary, numbers binary"


def each(spark: SparkSession, items: Items, do: Callable[[Item], Result]) -> list[Result]:
    """Do something with each item, one task for each; the results in any order."""

    def run(batches: Batches) -> Batches:
        for number in numbers_in(batches):
            yield done_batch(do(items.get(number)))

    return results(spark, items.count, run)


def results(spark: SparkSession, count: int, run: Stage) -> list[Any]:
    """Run so many tasks, and collect what they have to tell."""
    if not count:
        return []
    return task_messages(spread(spark, count).mapInArrow(run, DONE))


def task_messages(done: DataFrame) -> list[Any]:
    """What tasks have told with `done_batch`."""
    return [pickle.loads(row.done) for row in done.collect()]


def spread(spark: SparkSession, count: int) -> DataFrame:
    """The numbers below `count`, each in a task of its own."""
    return spark.range(0, count, 1, count)


def parallelism(spark: SparkSession) -> int:
    """How many tasks run side by side, as far as it can be told."""
    try:
        return spark.sparkContext.defaultParallelism
    except Exception:  # a Connect session has no context
        return 8


def places(spark: SparkSession, parts: Items, size: int) -> dict[str, list[Cut]]:
    """Where files can be cut, by the names that they go by; items are these names and parts."""

    def walk(item: tuple[str, Part]) -> tuple[str, list[Cut]]:
        path, part = item
        try:
            return path, [] if part.problem else cuts(part.path, size)
        except OSError:
            return path, []  # whoever reads it says why

    return dict(each(spark, parts, walk))


class Told(NamedTuple):
    """What a task with whole rings has done."""

    scans: list[Scan]
    written: list[Written]
    staged: list[Staged]


def whole_rings(units: Items, work: Work, target: Target) -> Stage:
    """Replay rings that are one slice each, some in each task; all rows are written at once."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.numbering import table_of, with_day
        from amqpscope.spark.parts import Together, Writer

        calm()
        rules, writer, small = work.choice.rules(), Writer(target), Together(target.staging)
        scans: list[Scan] = []
        for share in (share for number in numbers_in(batches) for share in units.get(number)):
            waiting: list[Block] = []
            for found in replay_whole(share, work, rules):
                if isinstance(found, Scan):
                    scans.append(found)
                    add_blocks(small, waiting, share, found)
                elif found.table in LARGE and not isinstance(found.rows, array):
                    writer.add(found.table, with_day(table_of(found.table, found.rows)))
                else:
                    waiting.append(found)
        yield done_batch(Told(scans, writer.close(), small.close()))

    return run


def add_blocks(small: Together, blocks: list[Block], share: Share, seen: Scan) -> None:
    """Stage the rows of a whole ring, of which it is known now which file has which packets."""
    from amqpscope.spark.numbering import Numbers, octets_in_files

    before, files = 0, []
    for piece, file in zip(share.pieces, seen.files, strict=True):
        files.append((piece.name or piece.part.path, before))
        before += file.packets
    numbers = Numbers(whole=True, files=files)
    for block in blocks:
        small.add(WHOLE, block.table, len(block.rows), octets_in_files(block, numbers))


def followed_rings(shares: Items, work: Work, target: Target) -> Stage:
    """Follow the messages of larger rings from connection to connection, each ring in one task."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.numbering import octets_of
        from amqpscope.spark.parts import Together

        calm()
        rules, small = work.choice.rules(), Together(target.staging)
        for number in numbers_in(batches):
            for found in follow_messages(shares.get(number), work, rules):
                small.add(number, found.table, len(found.rows), octets_of(found))
        yield done_batch(small.close())

    return run


def slices(shares: Items, plans: Items, work: Work) -> Stage:
    """Replay what lies whole within a slice of a larger ring."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.work_items import plan_of

        calm()
        rules = work.choice.rules()
        for index, share in (shares.get(number) for number in numbers_in(batches)):
            for found in replay_slice(share, plan_of(plans, index), work, rules):
                yield block_batch(index, found)

    return run


def segments(shares: Items, plans: Items) -> Stage:
    """Give the segments of connections that lie in more than one slice."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.work_items import plan_of

        for index, share in (shares.get(number) for number in numbers_in(batches)):
            for found in chosen_segments(share, plan_of(plans, index), spanning=True):
                yield segment_batch(index, found)

    return run


def connections(plans: Items, work: Work) -> Stage:
    """Replay connections from their segments, which come sorted."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.work_items import plan_of

        calm()
        rules = work.choice.rules()
        for (index, _), own in groupby(segments_in(batches), key=lambda each: each[0]):
            stream = (segments for _, segments in own)
            for found in replay_connection(stream, plan_of(plans, index), work, rules):
                yield block_batch(index, found)

    return run


def ranks(rings: RingNumbers) -> Stage:
    """Number the frames that findings refer to; blocks come by ring and slice, the order first."""

    def run(batches: Batches) -> Batches:
        import numpy as np
        import pyarrow as pa

        for (ring, place), order, blocks in by_slice(batches):
            for _, data in blocks:
                keys = np.unique(np.frombuffer(data, dtype=np.int64))
                found = np.searchsorted(order, keys) + rings.frames_before(ring, place) + 1
                yield pa.RecordBatch.from_pydict(
                    {
                        "ring": pa.array([ring], pa.int32()),
                        "keys": pa.array([keys.tobytes()], pa.binary()),
                        "numbers": pa.array([found.astype(np.int64).tobytes()], pa.binary()),
                    }
                )

    return run


def keys_of_rings(folder: str) -> Stage:
    """Write the keys of connections and of numbered frames, which come by ring, a file a ring."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.work_items import store_keys

        columns = ("ring", "keys", "numbers")
        rows = (row for batch in batches for row in zip(*map(batch.column, columns), strict=True))
        for ring, own in groupby(rows, key=lambda row: row[0]):
            store_keys(folder, ring.as_py(), ((keys.as_py(), n.as_py()) for _, keys, n in own))
        yield done_batch(None)

    return run


def final_rows(rings: RingNumbers, target: Target) -> Stage:
    """Write rows with their final numbers; where these need it, the order comes first."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.numbering import number_rows
        from amqpscope.spark.parts import Writer

        writer = Writer(target)
        for (ring, place), order, blocks in by_slice(batches):
            for table, data in blocks:
                writer.add(table, number_rows(table, data, rings.of(ring), place, order))
        yield done_batch(writer.close())

    return run


def staged_rows(groups: Items, rings: RingNumbers, target: Target) -> Stage:
    """Write what tasks have staged: rows of whole rings, which are final, and of messages."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.numbering import decode_rows, with_day, with_file
        from amqpscope.spark.parts import Writer, staged_blocks

        writer = Writer(target)
        for staged in (staged for number in numbers_in(batches) for staged in groups.get(number)):
            for ring, table, data in staged_blocks(target.staging, staged):
                rows = decode_rows(data)
                if ring != WHOLE:
                    rows = with_file(table, rows, rings.of(ring))
                writer.add(table, with_day(rows))
        yield done_batch(writer.close())

    return run


def kept_rows(files: Items, rings: frozenset[str], target: Target) -> Stage:
    """Write again what files have besides the rows of some rings; which files these replace."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.parts import Writer, rows_without

        writer = Writer(target)
        replaced = []
        for table, file in (files.get(number) for number in numbers_in(batches)):
            kept = rows_without(target, table, file, rings)
            if kept is not None:
                replaced.append((table, file))
                writer.add(table, kept)
        yield done_batch((replaced, writer.close()))

    return run


def done_batch(done: object) -> pa.RecordBatch:
    """What a task has to tell at its end."""
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"done": pa.array([pickle.dumps(done)], pa.binary())})


def by_slice(
    batches: Batches,
) -> Iterator[tuple[tuple[int, int], Keys, Iterable[tuple[str, bytes]]]]:
    """Blocks by ring and slice; the order keys of each slice put together."""
    from amqpscope.spark.numbering import frame_keys

    def key(block: tuple[int, int, str, bytes]) -> tuple[int, int]:
        return block[:2]

    for place, own in groupby(blocks_in(batches), key):
        orders: list[bytes] = []
        first: list[tuple[str, bytes]] = []
        blocks = ((table, data) for _, _, table, data in own)
        for table, data in blocks:
            if table != ORDER:
                first.append((table, data))
                break
            orders.append(data)
        yield place, frame_keys(orders), chain(first, blocks)


def blocks_in(batches: Batches) -> Iterator[tuple[int, int, str, bytes]]:
    """Ring, slice, table and octets of blocks."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("ring", "slice", "table", "data"))
        yield from zip(*columns, strict=True)


def calm() -> None:
    """Let Python look for cycles seldom, and not among what was imported: frames leave none."""
    gc.freeze()
    gc.set_threshold(COLLECTED)


def numbers_in(batches: Batches) -> Iterator[int]:
    """The numbers that `spread` gave."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def block_batch(ring: int, found: Block | Scan) -> pa.RecordBatch:
    """A block as Spark takes it."""
    if isinstance(found, Scan):
        return batch_of((SCAN, ring, found.slice, 1, pickle.dumps(found)))
    table, place, rows, data = encoded_block(found)
    return batch_of((table, ring, place, rows, data))


def encoded_block(block: Block) -> tuple[str, int, int, bytes]:
    """Table, slice, number of rows and octets of a block."""
    from amqpscope.spark.numbering import octets_of

    return block.table, block.slice, len(block.rows), octets_of(block)


def batch_of(row: tuple[Any, ...]) -> pa.RecordBatch:
    """One row of BLOCKS."""
    import pyarrow as pa

    types = (pa.string(), pa.int32(), pa.int32(), pa.int64(), pa.binary())
    arrays = [pa.array([value], type=kind) for value, kind in zip(row, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=["table", "ring", "slice", "rows", "data"])


def segment_batch(ring: int, found: list[Segment]) -> pa.RecordBatch:
    """Segments as Spark takes them: those of a connection are one row."""
    import pyarrow as pa

    names: dict[bytes, bytes] = {}
    runs: dict[bytes, list[Segment]] = {}
    for segment in found:
        name = names.get(segment.key)
        if name is None:
            name = names[segment.key] = canonical(segment.key)
            runs.setdefault(name, [])
        runs[name].append(segment)
    columns = (
        ("ring", [ring] * len(runs), pa.int32()),
        ("connection", list(runs), pa.binary()),
        ("packet", [run[0].packet for run in runs.values()], pa.int64()),
        ("data", [pickle_segments(run) for run in runs.values()], pa.binary()),
    )
    arrays = [pa.array(values, type=kind) for _, values, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _, _ in columns])


def segments_in(batches: Batches) -> Iterator[tuple[tuple[int, bytes], list[Segment]]]:
    """Runs of segments of one connection, with its ring and name."""
    for batch in batches:
        columns = (batch.column(name) for name in ("ring", "connection", "data"))
        for ring, name, data in zip(*columns, strict=True):
            yield (ring.as_py(), name.as_py()), unpickle_segments(data.as_py())
