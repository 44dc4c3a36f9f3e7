"""What Spark does for a stream of captures, in one process and without Spark.

It hands the segments of each connection to its state, and repeats a batch that was not committed,
with the same rows and number.
"""

import json

from amqpscope.spark.arrivals import AGAIN, FILE, ArrivalsReader
from amqpscope.spark.state_codec import Keeper, provisional_rows, rows_of
from amqpscope.spark.stream_rows import SCAN
from amqpscope.spark.work import Work
from amqpscope.spark.worker import unpickle_segments


class Stream:
    """The batches of a directory, with the states of its connections."""

    def __init__(self, live, out, **more):
        options = {"rings": json.dumps([str(live)]), "patience": "0", "limit": str(1 << 30),
                   "out": str(out), **more}  # fmt: skip
        self.reader = ArrivalsReader(options)
        self.offset = self.reader.initialOffset()
        self.keeper, self.states = Keeper(Work()), {}

    def batch(self):
        """The rows of all files that have come since the last batch."""
        start, self.offset = self.offset, self.reader.latestOffset(self.offset, None)
        segments, rows, again = {}, [], False
        for arrival in self.reader.partitions(start, self.offset):
            for batch in self.reader.read(arrival):
                for row in batch.to_pylist():
                    if row["connection"] == FILE:
                        rows.append((SCAN, row["ring"], 1, row["data"]))
                    else:
                        again = again or row["packet"] == AGAIN
                        key = row["ring"], row["connection"]
                        segments.setdefault(key, []).extend(unpickle_segments(row["data"]))
        for key, own in segments.items():
            known = self.states.get(key)
            replay = self.keeper.thaw(known) if known else self.keeper.begin(key[0])
            own.sort(key=lambda segment: segment.packet)
            rows += rows_of(self.keeper.feed(replay, own), key[0])
            rows += self.keeper.notes(replay, key[0])
            self.states[key] = self.keeper.freeze(replay)
            rows += provisional_rows(replay, key[0])
        return [] if again else sorted((ring, table, data) for table, ring, _, data in rows)
