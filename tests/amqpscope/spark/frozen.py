"""Replays a capture, frozen and thawed again after each packet; prints what that gives as JSON.

A process of its own, because a stream's state is kept by the sources, never by compiled modules.
"""

import json
import sys

from amqpscope.spark.pure import use_sources


def replayed(capture):
    """How many frames there are, and each finding's rule and frame."""
    from amqpscope.capture.pcap import open_capture
    from amqpscope.spark.gather import ORDER
    from amqpscope.spark.keeping import Keeper
    from amqpscope.spark.replay import canonical
    from amqpscope.spark.work import Work

    keeper, frozen, blocks, last = Keeper(Work()), {}, [], None
    with open_capture(capture) as segments:
        for last in (segment for batch in segments for segment in batch):
            name = canonical(last.key)
            replay = keeper.thaw(frozen[name]) if name in frozen else keeper.begin("ring")
            blocks += keeper.feed(replay, [last])
            frozen[name] = keeper.freeze(replay)
    for data in frozen.values():
        blocks += keeper.thaw(data).finish(last.packet, last.time)
    keys = sorted(key for block in blocks if block.table == ORDER for key in block.rows)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    rows = [row for block in blocks if block.table == "findings" for row in block.rows]
    return {
        "frames": len(keys),
        "findings": sorted((row[6], numbers[row[2]]) for row in rows),
    }


if __name__ == "__main__":
    use_sources()
    print(json.dumps(replayed(sys.argv[1])))
