"""The command line with captures on real servers: S3, which a plain Spark does not know, and FTP,
which workers do not.
"""

import os
import subprocess
import sys

import pytest

from kit.spark.expected import counted, findings_of, linted, statistics_of, tables_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

NAME = "mixed_091-and-10_rabbitmq.pcap"
ODD = "odd [1]/100% a{b,c}.pcap"
ODDER = "odd [1] ü/100% 12:30.pcap"
"""Which FTP does not stand."""


def run(cwd, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "amqpscope", "pipeline", "run", *arguments, "--master", "local[2]",
         "--log", "spark.log", "--slice", "0.02", "--ring", "file", "--fail-on", "never"],
        capture_output=True, text=True, check=False, timeout=200, cwd=cwd,
        env={**os.environ, **environment,
             "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip


def put(root, folder, *names):
    """The same capture under several names, told apart by empty packets at its end."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        octets = (root / "captures" / NAME).read_bytes() + bytes(16 * number)
        (folder / name).write_bytes(octets)


def check(root, out, begin, *names):
    """All captures are there, under their own names, as one process sees them."""
    tables = tables_of(out)
    assert sorted(tables) == sorted(f"{begin}/{name}" for name in names)
    capture = root / "captures" / NAME
    for rows in tables.values():
        assert findings_of(rows["findings"]) == linted(capture)[0]
        parts = (rows[table] for table in ("connections", "sessions", "links"))
        assert statistics_of(*parts) == counted(capture)


def test_s3_is_read_with_nothing_but_the_environment(root, bucket, tmp_path):
    folder, environment = bucket
    put(root, folder / "captures", NAME, ODD, ODDER)
    done = run(tmp_path, "s3://lab/captures/", "s3://lab/c*/*.pcap", "--out", "out", **environment)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("amqpscope: 3 captures, each by itself")
    check(root, tmp_path / "out", "s3://lab/captures", NAME, ODD, ODDER)


def test_tables_are_not_written_where_spark_cannot(bucket, root, tmp_path):
    capture = root / "captures" / NAME
    done = run(tmp_path, str(capture), "--out", "s3://lab/tables", **bucket[1])
    assert done.returncode == 2
    assert done.stderr.startswith("amqpscope: s3://lab/tables: tables are written by Spark too")
    assert len(done.stderr.splitlines()) == 1


def test_ftp_is_read_by_spark(root, served, tmp_path):
    put(root, tmp_path / "served" / "captures", NAME, ODD)
    host, port = served("ftp", tmp_path / "served", "--user=lab", "--pass=lab").split(":")
    done = run(
        tmp_path, f"ftp://{host}:{port}/captures", "--out", "out",
        "--conf", f"spark.hadoop.fs.ftp.user.{host}=lab",
        "--conf", f"spark.hadoop.fs.ftp.password.{host}=lab",
        "--conf", "spark.hadoop.fs.ftp.data.connection.mode=PASSIVE_LOCAL_DATA_CONNECTION_MODE",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "so Spark copied 2 files" in done.stderr
    check(root, tmp_path / "out", f"ftp://{host}:{port}/captures", NAME, ODD)
