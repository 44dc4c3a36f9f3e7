"""A directory of rotating captures followed, with a crash in between."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from amqpscope.spark.directory import Directory
from amqpscope.spark.manifest import ManifestError
from kit.cutting import cut
from kit.spark.expected import counted, findings_of, linted, statistics_of, tables_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


class Stream:
    """`pipeline run --follow` in a process of its own, which can be killed with its JVM."""

    def __init__(self, live, out):
        self.live, self.out, self.process = live, out, None

    def start(self):
        command = [
            sys.executable, "-m", "amqpscope", "pipeline", "run", str(self.live),
            "--out", str(self.out), "--follow", "--master", "local[2]", "--patience", "0",
            "--idle", "600", "--log", str(self.out.parent / "spark.log"),
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip

    def files(self):
        """How many files are in the tables."""
        try:
            return sum(Directory(str(self.out)).rings().counts().values())
        except ManifestError:
            return 0

    def wait(self, ready):
        end = time.monotonic() + 240
        while not ready():
            assert self.process.poll() is None, self.process.stdout.read()
            assert time.monotonic() < end, (self.out.parent / "spark.log").read_text()[-4000:]
            time.sleep(0.2)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60)[0]


@pytest.fixture
def stream(tmp_path):
    live = tmp_path / "live"
    live.mkdir()
    found = Stream(live, tmp_path / "out")
    yield found
    if found.process is not None and found.process.poll() is None:
        found.kill()


def test_a_followed_ring_gives_what_lint_gives_also_after_kill_9(stream, root, tmp_path):
    capture = root / "captures" / "v10_proton-labbroker_manylinks.pcap"
    files = cut(capture, tmp_path / "all", random.Random(3), 6)
    parts = sorted((tmp_path / "all").iterdir())
    assert files == len(parts) > 4

    def arrive(part):
        shutil.copy(part, tmp_path / part.name)
        (tmp_path / part.name).rename(stream.live / part.name)

    arrive(parts[0])
    stream.start()
    arrive(parts[1])
    stream.wait(lambda: stream.files() >= 2)
    shutil.copy(parts[-1], stream.live / "late.pcap")
    arrive(parts[2])
    time.sleep(random.Random(os.getpid()).random())  # somewhere inside the batch
    stream.kill()
    for part in parts[3:]:
        arrive(part)
    stream.start()
    stream.wait(lambda: stream.files() == files + 1)
    stream.wait((stream.out / "connections").is_dir)
    told = stream.interrupt()
    assert "Traceback" not in told
    rows = tables_of(stream.out)[str(stream.live)]
    findings, checked = linted(capture)
    assert findings_of(rows.get("findings", [])) == findings
    names = ("connections", "sessions", "links")
    assert statistics_of(*(rows[name] for name in names)) == counted(capture)
    assert sum(row["packets"] for row in rows["captures"]) == checked.packets
