"""A Spark session for the tests that need one, and what the tables should hold."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory):
    """The file that has what Spark says."""
    return tmp_path_factory.mktemp("spark") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log):
    """A session on two cores, started by the first test that asks."""
    from amqpscope.spark import Where, start

    settings = {"spark.sql.shuffle.partitions": "2"}
    session = start(Where("local[2]", log=str(spark_log), settings=settings))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """Serve a directory by rclone: `served("s3", folder, ...)` gives host and port."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    rclone = shutil.which("rclone", path=path)
    if rclone is None:
        pytest.skip("rclone is not installed")
    running = []

    def serve(kind, folder, *options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = tmp_path_factory.mktemp("rclone") / "log"
        command = [rclone, "serve", kind, str(folder), "--addr", f"127.0.0.1:{port}",
                   "--config", "/dev/null", "--log-file", str(log), *options]  # fmt: skip
        running.append(subprocess.Popen(command))
        end = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return f"127.0.0.1:{port}"
            assert running[-1].poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)

    yield serve
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def bucket(served, tmp_path_factory):
    """The directory behind the bucket `s3://lab`, and the environment that leads there."""
    folder = tmp_path_factory.mktemp("s3")
    (folder / "lab").mkdir()
    address = served("s3", folder, "--auth-key", "lab-access,lab-secret", "--vfs-cache-mode=off",
                     "--dir-cache-time=0s")  # fmt: skip
    return folder / "lab", {
        "AWS_ACCESS_KEY_ID": "lab-access", "AWS_SECRET_ACCESS_KEY": "lab-secret",
        "AWS_ENDPOINT_URL": f"http://{address}",
    }  # fmt: skip
