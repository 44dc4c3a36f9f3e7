"""A stream killed by kill -9 at each step of its batches.

Spark is not there for it; what it does in between is done here. It hands the segments of each
connection to its state, and repeats a batch that was not committed, with the same rows and number.
"""

import os
import pickle
import random
import signal
import subprocess
import sys

import pytest
from deltalake import DeltaTable

from amqpscope.spark.directory import Directory
from amqpscope.spark.state_codec import stamp
from amqpscope.spark.stream_numbering import name_of
from amqpscope.spark.tables import Snapshot
from kit.cutting import cut
from kit.spark.expected import counted, findings_of, linted, statistics_of, tables_of
from kit.spark.stream import Stream

NAME = "v10_proton-labbroker_manylinks.pcap"
BATCHES = 3

DYING = """if True:
    import os, pickle, signal, sys
    from amqpscope.spark import delta, directory, follow, parts, stream_numbering, stream_rows
    from amqpscope.spark.work import Work

    def count_down(owner, name, left):
        before = getattr(owner, name)
        def do(*args, **options):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return before(*args, **options)
        setattr(owner, name, do)

    def write(live, out, path, number, left):
        for owner, name in (
            (directory.Directory, "begin"), (directory.Directory, "_store_inputs"),
            (stream_numbering, "_store"), (parts.PartFile, "close"),
            (delta.Table, "commit"),
        ):
            count_down(owner, name, left)
        stream = follow.Follow(None, [live], out, Work())
        if number > stream.done:
            with open(path, "rb") as file:
                blocks = pickle.load(file)
            target = stream.directory.begin(stream.run + 1)
            done = stream_rows.written_rings(blocks, target, stream.live())
            stream.commit(list(done), number)
        if left[0] == 1:  # between this commit and the one of Spark
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0 if left[0] > 1 else 1)

    for line in sys.stdin:
        live, out, path, number, step = line.split()
        child = os.fork()
        if not child:
            write(live, out, path, int(number), [int(step)])
        print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.timeout(300)
def test_killed_at_any_step_of_any_batch_the_tables_are_those_of_one_run(root, tmp_path):
    capture, live, out = root / "captures" / NAME, tmp_path / "live", tmp_path / "out"
    cut(capture, tmp_path / "all", random.Random(3), BATCHES)
    parts = sorted((tmp_path / "all").iterdir())
    live.mkdir()
    (out / "_checkpoint" / f"0-{name_of(stamp().decode())}").mkdir(parents=True)
    stream, kills, live_rows = Stream(live, out), 0, []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-c", DYING], env=environment, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as dying:  # fmt: skip
        for number, part in enumerate(parts):
            part.rename(live / part.name)
            rows = tmp_path / f"{number}.pickle"
            rows.write_bytes(pickle.dumps(stream.batch()))
            step = 0
            while True:
                step += 1
                print(live, out, rows, number, step, file=dying.stdin, flush=True)
                status = int(dying.stdout.readline())
                if status != signal.SIGKILL:
                    assert status == 0
                    break
                kills += 1
                if number and not kills % 4:
                    files = len(Snapshot(str(out)).dataset("captures").to_table())
                    assert files in (number, number + 1)
            connections = DeltaTable(out / "connections").to_pyarrow_table().to_pylist()
            numbers = [row["connection"] for row in connections]
            assert len(numbers) == len(set(numbers))
            live_rows.append(sum(row["provisional"] for row in connections))
        dying.stdin.close()
    assert live_rows[0] > 0 == live_rows[-1]
    assert kills >= 20
    state = Directory(str(out)).read()
    assert (state.run, state.batch, sum(state.rings.counts().values())) == (
        len(parts),
        len(parts) - 1,
        len(parts),
    )
    rows = tables_of(out)[str(live)]
    findings, checked = linted(capture)
    assert findings_of(rows.get("findings", [])) == findings
    assert statistics_of(*(rows[name] for name in ("connections", "sessions", "links"))) == counted(
        capture
    )
    assert sum(row["packets"] for row in rows["captures"]) == checked.packets
