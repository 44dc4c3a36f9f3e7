"""A file system that Spark reads and Arrow does not: viewfs, where libhdfs is not installed."""

import gzip
import os
import random
import shutil
import struct
import subprocess
import sys

import pytest

from amqpscope.spark import copies, run_pipeline
from amqpscope.spark.directory import Directory
from amqpscope.spark.files import open_octets
from amqpscope.spark.plan import File
from kit.cutting import cut
from kit.spark.expected import ordered, tables_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

TINY = 8000
"""Octets of a slice, so that captures of a few kilobytes have several."""
BEGIN = "viewfs://lab/captures"


@pytest.fixture
def archive(spark, root, tmp_path):
    """A directory of rings that Spark also knows as viewfs://lab/captures."""
    folder = tmp_path / "captures"
    mixed = root / "captures" / "mixed_091-and-10_rabbitmq.pcap"
    demo = (root / "captures" / "demo.pcapng").read_bytes()
    cut(mixed, folder / "rotated", random.Random(5), 5)
    (folder / "odd [1] ü").mkdir()
    names = ("100% a{b,c}.pcapng", "100%25.pcapng", "é#1.pcapng", "q?*.pcapng")
    for number, name in enumerate(names):
        different = struct.pack("<IIIII", 0x40000BAD, 20, 0, number, 20)  # a block nobody reads
        (folder / "odd [1] ü" / name).write_bytes(demo + different)
    (folder / "packed").mkdir()
    (folder / "packed" / "a.pcapng.gz").write_bytes(gzip.compress(demo))
    (folder / "packed" / "b.pcap").touch()
    (folder / "packed" / "c.pcap").write_text("not a capture")
    spark.conf.set("fs.viewfs.mounttable.lab.link./captures", folder.as_uri())
    # Hadoop keeps a file system with its mounts, and the next test has others.
    spark.conf.set("fs.viewfs.impl.disable.cache", "true")
    return folder


def renamed(value, old, new):
    """A row with another beginning in all paths."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {renamed(key, old, new): renamed(each, old, new) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(each, old, new) for each in value]
    return str(value)


def dated(row):
    """A row without the time of its file, which file systems know more or less exactly."""
    if row.get("error") is None and "reason" not in row:
        return row
    return {name: value for name, value in row.items() if name not in ("time", "day")}


def rows_in(out, old, new):
    return {
        (renamed(ring, old, new), table): ordered(renamed(list(map(dated, rows)), old, new))
        for ring, tables in tables_of(out).items()
        for table, rows in tables.items()
    }


def test_tables_are_those_of_the_same_files_read_locally(spark, archive, tmp_path):
    remote, local = tmp_path / "remote", tmp_path / "local"
    outcome = run_pipeline(spark, [BEGIN], str(remote), size=TINY, ring="directory")
    run_pipeline(spark, [str(archive)], str(local), size=TINY, ring="directory")
    assert rows_in(remote, BEGIN, "") == rows_in(local, str(archive), "")
    assert {path for path, _ in outcome.quarantined} == {
        f"{BEGIN}/packed/b.pcap", f"{BEGIN}/packed/c.pcap",
    }  # fmt: skip
    (note,) = (note for note in outcome.notes if "copied" in note)
    assert note.startswith("viewfs://lab: workers cannot open it (")
    assert list((remote / "_staging").iterdir()) == []
    rings = Directory(str(remote)).read().rings.counts()
    assert all(name.startswith(f"{BEGIN}/") for name in rings)
    assert (
        run_pipeline(spark, [f"{BEGIN}/", BEGIN], str(remote), size=TINY, ring="directory").files
        == 0
    )


def test_a_file_above_the_limit_is_quarantined_with_what_to_do(spark, archive, tmp_path):
    sizes = {path.name: path.stat().st_size for path in (archive / "rotated").iterdir()}
    limit = sorted(sizes.values())[-2]
    outcome = run_pipeline(
        spark, [f"{BEGIN}/rotated"], str(tmp_path / "out"), limit=limit, ring="directory"
    )
    ((path, reason),) = outcome.quarantined
    assert sizes[path.rpartition("/")[2]] > limit
    assert "too large to be read by Spark" in reason
    assert "install libhdfs, rotate into files of at most" in reason
    assert outcome.packets > 0


def test_what_spark_cannot_read_does_not_keep_the_others_from_being_copied(
    spark, archive, tmp_path
):
    paths = sorted((archive / "rotated").iterdir())
    files = [File(f"{BEGIN}/rotated/{path.name}", path.stat().st_size, 0) for path in paths]
    gone = File(f"{BEGIN}/rotated/gone.pcap", 100, 0)
    found = copies.Copies(spark, str(tmp_path / "copies"))
    found.bring([*files[:2], gone, *files[2:]])
    assert "Path does not exist" in found.parts.pop(gone.path).problem
    for file, path in zip(files, paths, strict=True):
        with open_octets(found.parts[file.path].path) as copy:
            assert copy.read() == path.read_bytes()


def test_a_file_that_has_grown_past_the_limit_is_not_read(spark, archive, tmp_path):
    path = archive / "rotated" / "large.pcap"
    path.write_bytes(bytes(3000))
    found = copies.Copies(spark, str(tmp_path / "copies"), limit=2000)
    found.bring([File(f"{BEGIN}/rotated/large.pcap", 1000, 0)])
    (part,) = found.parts.values()
    assert "exceeds the max length allowed: 2000" in part.problem


def test_copies_that_cannot_be_written_end_the_run(spark, archive, tmp_path):
    from pyspark.errors import PythonException

    (tmp_path / "file").touch()
    found = copies.Copies(spark, str(tmp_path / "file" / "copies"))
    path = archive / "packed" / "c.pcap"
    with pytest.raises(PythonException, match="Not a directory"):
        found.bring([File(f"{BEGIN}/packed/c.pcap", path.stat().st_size, 0)])


def test_a_file_that_does_not_fit_into_memory_is_told_of_without_a_traceback(archive, tmp_path):
    with (archive / "packed" / "large.pcap").open("wb") as file:
        file.truncate(400_000_000)
    done = subprocess.run(
        [sys.executable, "-m", "amqpscope", "pipeline", "run", BEGIN, "--out", "out",
         "--master", "local[2]", "--log", "spark.log", "--copy-limit", "500",
         "--conf", f"spark.hadoop.fs.viewfs.mounttable.lab.link./captures={archive.as_uri()}"],
        capture_output=True, text=True, check=False, timeout=200, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    assert done.returncode == 2
    # Of an OutOfMemoryError Spark dies, or the task alone.
    died, passed_over = "amqpscope: Spark died while it copied files", "large.pcap"
    assert any(line.startswith(died) or passed_over in line for line in done.stderr.splitlines()), (
        done.stderr
    )
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "out").rglob("*.pcap")) == []


def test_what_workers_can_open_is_not_copied(spark, archive, tmp_path):
    found = copies.Copies(spark, str(tmp_path / "copies"))
    found.bring([File(str(archive / "packed" / "c.pcap"), 13, 0)])
    assert found.parts == {}
    assert not (tmp_path / "copies").exists()


def test_an_archive_that_is_removed_meanwhile_is_told_file_by_file(spark, archive, tmp_path):
    files = [
        File(f"{BEGIN}/rotated/{path.name}", 10, 0) for path in (archive / "rotated").iterdir()
    ]
    shutil.rmtree(archive / "rotated")
    found = copies.Copies(spark, str(tmp_path / "copies"))
    found.bring(files)
    assert all(found.parts[file.path].problem for file in files)
