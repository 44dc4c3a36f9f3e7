"""The same tables whatever Spark runs on, also when a machine is lost on the way."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.cutting import cut
from kit.spark.expected import counted, findings_of, linted, statistics_of, tables_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For each JVM of a cluster: they live for seconds, so they had better start soon."""
NAMES = ("mixed_091-and-10_rabbitmq.pcap", "v10_proton-labbroker_manysessions.pcap", "demo.pcapng")


@pytest.fixture(scope="module")
def rings(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rings")
    for number, name in enumerate(NAMES):
        cut(root / "captures" / name, folder / name, random.Random(number), 5)
    return folder


def command(rings, out, master, *more):
    return [
        sys.executable, "-m", "amqpscope", "pipeline", "run", str(rings), "--out", str(out),
        "--ring", "directory", "--master", master, "--slice", "0.008", "--fail-on", "never",
        "--log", str(out.parent / "spark.log"),
        "--conf", f"spark.executor.extraJavaOptions={QUICK}", *more,
    ]  # fmt: skip


def wrong(root, rings, out):
    """What in the tables differs from what one process says."""
    tables = tables_of(out)
    found = []
    for name in NAMES:
        rows, capture = tables[str(rings / name)], root / "captures" / name
        if findings_of(rows.get("findings", [])) != linted(capture)[0]:
            found.append(f"{name}: findings")
        parts = (rows[table] for table in ("connections", "sessions", "links"))
        if statistics_of(*parts) != counted(capture):
            found.append(f"{name}: statistics")
    return found


@pytest.mark.parametrize("master", ["local[1]", "local-cluster[2,1,1024]"])
def test_tables_do_not_depend_on_the_master(master, root, rings, tmp_path):
    out = tmp_path / "out"
    done = subprocess.run(
        command(rings, out, master), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr + (tmp_path / "spark.log").read_text()[-3000:]
    assert "findings" in done.stdout
    assert wrong(root, rings, out) == []


class Cluster:
    """A master and two workers."""

    def __init__(self, folder):
        import pyspark

        home = Path(pyspark.__file__).parent
        self.script = str(home / "bin" / "spark-class")
        self.environment = {
            **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK,
        }  # fmt: skip
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{self.port}"
        self.processes = [self.start("master", "--port", str(self.port))]
        self.wait_for_master()
        self.workers = [
            self.start(
                "worker", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"w{n}"),
                self.url,
            )
            for n in range(2)
        ]  # fmt: skip
        self.processes += self.workers

    def start(self, kind, *arguments):
        name = f"org.apache.spark.deploy.{kind}.{kind.title()}"
        with (self.folder / f"{kind}.log").open("a") as log:
            return subprocess.Popen(
                [self.script, name, "--host", "127.0.0.1", "--webui-port", "0", *arguments],
                stdout=log, stderr=log, env=self.environment, start_new_session=True,
            )  # fmt: skip

    def wait_for_master(self):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.2)
        raise TimeoutError((self.folder / "master.log").read_text())

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def cluster(tmp_path):
    from amqpscope.spark.session import java_home

    os.environ.setdefault("JAVA_HOME", java_home())
    found = Cluster(tmp_path)
    yield found
    found.stop()


def test_a_worker_killed_in_the_middle_changes_nothing(cluster, root, rings, tmp_path):
    out = tmp_path / "out"
    settings = ("--conf", "spark.executor.memory=512m", "--conf", "spark.executor.cores=1",
                "--conf", f"spark.driver.extraJavaOptions={QUICK}")  # fmt: skip
    job = subprocess.Popen(
        command(rings, out, cluster.url, *settings),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    blocks = out / "_staging" / "1" / "_blocks"
    end = time.monotonic() + 300
    while not list(blocks.rglob("part-*")):  # tasks are writing
        assert job.poll() is None, job.stdout.read()
        assert time.monotonic() < end
        time.sleep(0.05)
    os.killpg(cluster.workers[0].pid, signal.SIGKILL)
    told = job.communicate(timeout=250)[0]
    assert job.returncode == 0, told + (tmp_path / "spark.log").read_text()[-3000:]
    assert wrong(root, rings, out) == []
