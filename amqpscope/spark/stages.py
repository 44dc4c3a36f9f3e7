"""The stages of the job, as functions over Arrow batches that Spark runs in its workers.

Between the stages pass blocks: some rows of one table, encoded, with the ring and the slice that
they belong to. The functions are made by closures, which Spark ships to the workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

from amqpscope.linting import calm_collector
from amqpscope.spark.gather import ORDER, Block
from amqpscope.spark.plan import Share
from amqpscope.spark.replay import canonical
from amqpscope.spark.shares import (
    RingPlan,
    Scan,
    chosen,
    replay_connection,
    replay_slice,
    replay_whole,
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
BLOCKS: Final = "table string, ring int, slice int, rows bigint, data binary"
SEGMENTS: Final = (
    "ring int, connection binary, packet bigint, time bigint, key binary, seq bigint, ack bigint, "
    "flags int, window int, payload binary, missing bigint"
)
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


def whole_rings(units: list[list[Share]], indexes: dict[str, int], work: Work) -> Stage:
    """Replay rings that are one slice each."""

    def run(batches: Batches) -> Batches:
        calm_collector()
        rules = work.choice.rules()
        for number in numbers_in(batches):
            for share in units[number]:
                for found in replay_whole(share, work, rules):
                    yield block_batch(indexes[share.ring], found)

    return run


def slices(shares: list[Share], plans: dict[str, RingPlan], work: Work) -> Stage:
    """Replay what lies whole within a slice of a larger ring."""

    def run(batches: Batches) -> Batches:
        calm_collector()
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
        calm_collector()
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


def final_rows(table: str, rings: dict[int, Numbers]) -> Stage:
    """Rows of a table with their final numbers; where these need it, the order comes first."""

    def run(batches: Batches) -> Batches:
        from amqpscope.spark.numbering import numbered

        for (ring, place), order, blocks in by_slice(batches):
            for _, data in blocks:
                yield from numbered(table, data, rings[ring], place, order).to_batches()

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
        yield from zip(
            batch.column("ring").to_pylist(), batch.column("slice").to_pylist(),
            batch.column("table").to_pylist(), batch.column("data").to_pylist(), strict=True,
        )  # fmt: skip


def numbers_in(batches: Batches) -> Iterator[int]:
    """The numbers that `spread` gave."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def block_batch(ring: int, found: Block | Scan) -> pa.RecordBatch:
    """A block as Spark takes it."""
    import pyarrow as pa

    from amqpscope.spark.numbering import encoded

    if isinstance(found, Scan):
        row: tuple[Any, ...] = (SCAN, ring, found.slice, 1, pickle.dumps(found))
    elif isinstance(found.rows, list):
        data = encoded(found.table, found.rows)
        row = (found.table, ring, found.slice, len(found.rows), data)
    else:
        row = (found.table, ring, found.slice, len(found.rows), found.rows.tobytes())
    types = (pa.string(), pa.int32(), pa.int32(), pa.int64(), pa.binary())
    arrays = [pa.array([value], type=kind) for value, kind in zip(row, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=["table", "ring", "slice", "rows", "data"])


def segment_batch(ring: int, found: list[Segment]) -> pa.RecordBatch:
    """Segments as Spark takes them."""
    import pyarrow as pa

    columns = (
        ("ring", [ring] * len(found), pa.int32()),
        ("connection", [canonical(s.key) for s in found], pa.binary()),
        ("packet", [s.packet for s in found], pa.int64()),
        ("time", [s.time for s in found], pa.int64()),
        ("key", [s.key for s in found], pa.binary()),
        ("seq", [s.seq for s in found], pa.int64()),
        ("ack", [s.ack for s in found], pa.int64()),
        ("flags", [s.flags for s in found], pa.int32()),
        ("window", [s.window for s in found], pa.int32()),
        ("payload", [s.payload for s in found], pa.binary()),
        ("missing", [s.missing for s in found], pa.int64()),
    )
    arrays = [pa.array(values, type=kind) for _, values, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _, _ in columns])


def segments_in(batches: Batches) -> Iterator[tuple[tuple[int, bytes], list[Segment]]]:
    """Runs of segments of one connection, with its ring and name."""
    for batch in batches:
        rings, names = batch.column("ring").to_pylist(), batch.column("connection").to_pylist()
        parts = ("packet", "time", "key", "seq", "ack", "flags", "window", "payload", "missing")
        rows = zip(*(batch.column(part).to_pylist() for part in parts), strict=True)
        for key, run in groupby(
            zip(zip(rings, names, strict=True), rows, strict=True), key=lambda each: each[0]
        ):
            yield key, [Segment(*row) for _, row in run]
