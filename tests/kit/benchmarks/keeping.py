"""How fast one connection of `pipeline run --follow` is replayed, and what keeping its state costs.

    python tests benchmarks.keeping                  the installed package
    PYTHONPATH=. python tests benchmarks.keeping     the sources

Spark is left out. Seconds are of processor time.
"""

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import amqpscope
from amqpscope.capture.reader import open_capture
from amqpscope.spark.state_codec import Keeper
from amqpscope.spark.work import Work
from kit.benchmarks.traffic import write_capture, write_v0_9

FRAMES = 60_000
BATCH = 20_000
"""Segments that come between two states."""


def measure(path):
    """Megabytes a second of the replay, milliseconds for a freeze and a thaw, sizes of states."""
    with open_capture(str(path)) as batches:
        segments = [segment for batch in batches for segment in batch]
    keeper, spent, states = Keeper(Work()), [0.0, 0.0, 0.0], []
    replay = keeper.begin("ring")
    for at in range(0, len(segments), BATCH):
        times = [time.process_time()]
        for _ in keeper.feed(replay, segments[at : at + BATCH]):
            pass
        times.append(time.process_time())
        states.append(keeper.freeze(replay))
        times.append(time.process_time())
        replay = keeper.thaw(states[-1])
        times.append(time.process_time())
        spent = [all_ + b - a for all_, (a, b) in zip(spent, pairwise(times), strict=True)]
    rate = path.stat().st_size / 1e6 / spent[0]
    return rate, *(1000 * each / len(states) for each in spent[1:]), [*map(len, states)]


def main():
    """Print a line for each kind of traffic."""
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES
    print(f"{amqpscope.build()}, {frames:,} frames of one connection")
    with tempfile.TemporaryDirectory() as folder:
        for name, write in (("1.0", write_capture), ("0-9-1", write_v0_9)):
            path = Path(folder, "steady.pcap")
            write(path, frames)
            rate, freeze, thaw, sizes = measure(path)
            print(
                f"{name:6} replay {rate:5.1f} MB/s, freeze {freeze:4.0f} ms, thaw {thaw:4.0f} ms,"
                f" states of {min(sizes):,} to {max(sizes):,} octets"
            )


if __name__ == "__main__":
    main()
