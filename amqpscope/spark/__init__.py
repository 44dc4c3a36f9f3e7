"""The data pipeline on Spark: whole archives of captures into tables.

    from amqpscope.spark import Where, run_pipeline, start
    spark = start(Where(master="local[*]"))
    outcome = run_pipeline(spark, ["captures/"], "tables")

How it stays equal to `lint`. Spark does what it is good at, spreading work and surviving
machines; every frame is judged by the same `amqpscope.analysis` in the same order as in one
process. TCP connections do not influence each other, so each can be replayed anywhere, as long as
one process sees all of its segments in capture order; what does tie them together is
only numbering, and that is made up for afterwards:

* packets are counted by a quick scan, so every process knows the true numbers of its packets;
* frames and connections get order keys that sort like the true numbers, and are ranked in the end.

Modules, in the order in which data flows: `list_spark`, `list_arrow`, `listing` and `plan` (what
is to be read), `contents` (what was read by another name), `work_items` (as tasks get it), `copies`
(what workers cannot open), `records` (octets to segments), `worker` and `replay` (segments to
Steps), `gather`, `minutes` and `messages` (Steps to rows), `numbering`, `parts` (rows to Parquet),
`stages` (these in Spark), `job` (all of it), `stored`, `delta`, `manifest`, `directory` and
`tables` (where it ends up), `report`, `query` and `compare`; `arrivals`, `state_codec`,
`stream_numbering`, `stream_rows`, `rebuild` and `follow` do the same for a stream; `source` offers
frames to notebooks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amqpscope.spark.session import SparkError, Where, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from amqpscope.spark.outcome import Outcome
    from amqpscope.spark.work import Work

__all__ = ["SparkError", "Where", "run_pipeline", "start"]


def run_pipeline(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str,
    *,
    work: Work | None = None,
    ring: str = "file",
    size: int = 0,
    limit: int = 0,
    told: Callable[[str, int], None] = lambda what, tasks: None,
) -> Outcome:
    """Turn captures into tables; those that are done already are left out."""
    from amqpscope.spark.contents import Recogniser
    from amqpscope.spark.copies import LIMIT
    from amqpscope.spark.directory import Directory
    from amqpscope.spark.job import Job
    from amqpscope.spark.list_spark import list_rings, require_known
    from amqpscope.spark.outcome import Outcome
    from amqpscope.spark.plan import SLICE, waves
    from amqpscope.spark.terms import terms_of
    from amqpscope.spark.work import Work as DefaultWork

    directory = Directory(out)
    require_known(spark, directory.path)
    state, work = directory.open(), work or DefaultWork()
    try:
        told("listing", 0)
        listing = list_rings(spark, tuple(inputs), each=ring == "file")
        outcome, begun = Outcome(state.run), state.run + 1
        recogniser = Recogniser(directory.rings)
        for rings in waves(state.todo(listing, terms_of(work))):
            job = Job(spark, directory, state, work, size or SLICE, told, limit or LIMIT)
            job.begun = begun
            left = job.without_copies(rings, recogniser)
            if left:
                outcome.add(job.run(left))
                state = state.after(job.run_number, job.versions)
            else:
                directory.discard(state, job.run_number)
        outcome.notes += [*listing.notes(), *recogniser.notes()]
        outcome.skipped = listing.files - outcome.files
        return outcome
    finally:
        directory.close()
