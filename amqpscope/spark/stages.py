"""The stages of the job, as functions over Arrow batches that Spark runs in its workers.

Between the stages pass blocks: some rows of one table, encoded, with the ring and the slice that
they belong to. The functions are made by closures, which Spark ships to the workers.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

from amqpscope.spark.gather import ORDER, Block
from amqpscope.spark.plan import Share
from amqpscope.spark.replay import canonical
from amqpscope.spark.shares import (
    RingPlan,
    Scan,
    chosen,
    pickled,
    replay_connection,
    replay_slice,
    replay_whole,
    unpickled,
)
from amqpscope.spark.work import Work
from amqpscope.stream import Segment

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from amqpscope.spark.numbering import Keys, Numbers

Item = TypeVar("Item")
Result = TypeVar("Result")
Batches = Iterator["pa.RecordBatch"]
Stage = Callable[[Batches], Batches]

SCAN: Final = "_scan"
"""Blocks that hold a Scan."""
TOLD: Final = "_told"
"""A block with the Scans of a task, and the files that it has written."""
SMALL: Final = "_small"
"""A block of blocks: a file of each table for each task would take longer than its work."""
NOWHERE: Final = -1
"""The ring of blocks that are of many."""
TOGETHER: Final = 16 << 20
"""Octets of blocks that are put together."""
LARGE: Final = ("deliveries", "frames")
"""Tables with so many rows that each task may write its own file."""
BLOCKS: Final = "table string, ring int, slice int, rows bigint, data binary"
SEGMENTS: Final = "ring int, connection binary, packet bigint, data binary"
"""Runs of segments of one connection, and the packet of the first."""
COLLECTED: Final = 500_000
"""New objects after which Python looks for cycles."""
RANKS: Final = "ring int, keys binary, numbers binary"


def each(spark: SparkSession, items: list[Item], do: Callable[[Item], Result]) -> list[Result]:
    """Do something with each item, one task for each; the results in any order."""
    if not items:
        return []

    def run(batches: Batches) -> Batches:
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                done = pickle.dumps(do(items[number]))
                yield pa.RecordBatch.from_pydict({"done": pa.array([done], pa.binary())})

    rows = spread(spark, len(items)).mapInArrow(run, "done binary").collect()
    return [pickle.loads(row.done) for row in rows]


def spread(spark: SparkSession, count: int) -> DataFrame:
    """The numbers below `count`, each in a task of its own."""
    return spark.range(0, count, 1, count)


def whole_rings(units: list[list[Share]], indexes: dict[str, int], work: Work, parts: str) -> Stage:
    """Replay rings that are one slice each; rows of large tables are written at once."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.numbering import table_of, with_day
        from amqpscope.spark.parts import Writer

        calm()
        rules, writer, small = work.choice.rules(), Writer(parts), Together()
        scans: list[Scan] = []
        for share in (share for number in numbers_in(batches) for share in units[number]):
            for found in replay_whole(share, work, rules):
                if isinstance(found, Scan):
                    scans.append(found)
                elif isinstance(found.rows, list) and found.table in LARGE:
                    writer.add(found.table, with_day(table_of(found.table, found.rows)))
                else:
                    yield from small.add(indexes[share.ring], found)
        yield from small.rest()
        yield batch_of((TOLD, NOWHERE, 0, 0, pickle.dumps((scans, writer.close()))))

    return run


class Together:
    """Blocks of many rings and tables, put together to one."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, int, str, bytes]] = []
        self.rows = self.octets = 0

    def add(self, ring: int, block: Block) -> Batches:
        """Take one more; what is enough for a block of its own."""
        table, place, rows, data = encoded_block(block)
        self.blocks.append((ring, place, table, data))
        self.rows += rows
        self.octets += len(data)
        if self.octets >= TOGETHER:
            yield from self.rest()

    def rest(self) -> Batches:
        """What is left."""
        if self.blocks:
            yield batch_of((SMALL, NOWHERE, 0, self.rows, pickle.dumps(self.blocks)))
        self.blocks, self.rows, self.octets = [], 0, 0


def slices(shares: list[Share], plans: dict[str, RingPlan], work: Work) -> Stage:
    """Replay what lies whole within a slice of a larger ring."""

    def run(batches: Batches) -> Batches:
        calm()
        rules = work.choice.rules()
        for number in numbers_in(batches):
            share = shares[number]
            ring = plans[share.ring]
            for found in replay_slice(share, ring, work, rules):
                yield block_batch(ring.index, found)

    return run


def segments(shares: list[Share], plans: dict[str, RingPlan]) -> Stage:
    """Give the segments of connections that lie in more than one slice."""

    def run(batches: Batches) -> Batches:
        for number in numbers_in(batches):
            share = shares[number]
            ring = plans[share.ring]
            for found in chosen(share, ring, spanning=True):
                yield segment_batch(ring.index, found)

    return run


def connections(plans: dict[int, RingPlan], work: Work) -> Stage:
    """Replay connections from their segments, which come sorted."""

    def run(batches: Batches) -> Batches:
        calm()
        rules = work.choice.rules()
        for (index, _), own in groupby(segments_in(batches), key=lambda each: each[0]):
            ring = plans[index]
            stream = (segments for _, segments in own)
            for found in replay_connection(stream, ring, work, rules):
                yield block_batch(index, found)

    return run


def ranks(plans: dict[int, list[int]]) -> Stage:
    """Number the frames that findings refer to; blocks come by ring and slice, the order first."""

    def run(batches: Batches) -> Batches:
        import numpy as np
        import pyarrow as pa

        for (ring, place), order, blocks in by_slice(batches):
            for _, data in blocks:
                keys = np.unique(np.frombuffer(data, dtype=np.int64))
                found = np.searchsorted(order, keys) + plans[ring][place] + 1
                yield pa.RecordBatch.from_pydict(
                    {
                        "ring": pa.array([ring], pa.int32()),
                        "keys": pa.array([keys.tobytes()], pa.binary()),
                        "numbers": pa.array([found.astype(np.int64).tobytes()], pa.binary()),
                    }
                )

    return run


def final_rows(rings: dict[int, Numbers], parts: str) -> Stage:
    """Write rows with their final numbers; where these need it, the order comes first."""

    def run(batches: Batches) -> Batches:
        import pyarrow as pa

        from amqpscope.spark.numbering import numbered
        from amqpscope.spark.parts import Writer

        writer = Writer(parts)
        for (ring, place), order, blocks in by_slice(batches):
            for table, data in blocks:
                writer.add(table, numbered(table, data, rings[ring], place, order))
        told = pickle.dumps(writer.close())
        yield pa.RecordBatch.from_pydict({"done": pa.array([told], pa.binary())})

    return run


def by_slice(
    batches: Batches,
) -> Iterator[tuple[tuple[int, int], Keys, Iterable[tuple[str, bytes]]]]:
    """Blocks by ring and slice; the order keys of each slice put together."""
    from amqpscope.spark.numbering import ranked

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
        yield place, ranked(orders), chain(first, blocks)


def blocks_in(batches: Batches) -> Iterator[tuple[int, int, str, bytes]]:
    """Ring, slice, table and octets of blocks."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("ring", "slice", "table", "data"))
        for ring, place, table, data in zip(*columns, strict=True):
            if table == SMALL:
                yield from pickle.loads(data)
            else:
                yield ring, place, table, data


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
    from amqpscope.spark.numbering import encoded

    rows = block.rows
    data = encoded(block.table, rows) if isinstance(rows, list) else rows.tobytes()
    return block.table, block.slice, len(rows), data


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
        ("data", [pickled(run) for run in runs.values()], pa.binary()),
    )
    arrays = [pa.array(values, type=kind) for _, values, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _, _ in columns])


def segments_in(batches: Batches) -> Iterator[tuple[tuple[int, bytes], list[Segment]]]:
    """Runs of segments of one connection, with its ring and name."""
    for batch in batches:
        columns = (batch.column(name) for name in ("ring", "connection", "data"))
        for ring, name, data in zip(*columns, strict=True):
            yield (ring.as_py(), name.as_py()), unpickled(data.as_py())
