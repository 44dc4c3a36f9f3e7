"""What a directory of tables knows of its runs."""

import subprocess
import sys

import pytest

from amqpscope.spark.manifest import Directory, Done, ManifestError, State
from amqpscope.spark.plan import File, Ring
from amqpscope.spark.terms import Terms


def files(*names):
    return [File(f"/ring/{name}", 10, 0) for name in names]


def state(**rings):
    return State(1, {name.replace("__", "#"): Done(found, 1) for name, found in rings.items()})


def todo(known, *names):
    return [
        (ring.name, [file.path.rpartition("/")[2] for file in ring.files])
        for ring in known.todo([Ring("ring", files(*names))], Terms())
    ]


def test_what_is_done_is_left_out():
    assert todo(state(ring=files("1", "2")), "1", "2") == []


def test_a_ring_that_grew_is_done_anew():
    assert todo(state(ring=files("1", "2")), "1", "2", "3") == [("ring", ["1", "2", "3"])]


def test_a_file_that_changed_makes_its_ring_anew():
    known = state(ring=[File("/ring/1", 5, 0)])
    assert todo(known, "1") == [("ring", ["1"])]


def test_after_files_are_gone_a_ring_goes_on_under_another_name():
    known = state(ring=files("1", "2"))
    assert todo(known, "2") == []
    assert todo(known, "2", "3") == [("ring#2", ["3"])]
    known = state(ring=files("1", "2"), ring__2=files("3"))
    assert todo(known, "2", "3") == []
    assert todo(known, "3", "4") == [("ring#2", ["3", "4"])]
    assert todo(known, "4") == [("ring#3", ["4"])]


def test_what_was_committed_is_read_back(tmp_path):
    directory = Directory(str(tmp_path))
    directory.open()
    directory.stage(1, "findings/day=2026-11-16", "part-0.parquet", b"rows")
    directory.commit(State(1, {"ring": Done(files("1"), 1)}, [], {"frames": 7}))
    assert (tmp_path / "findings/day=2026-11-16/run-000001-part-0.parquet").read_bytes() == b"rows"
    again = Directory(str(tmp_path)).read()
    assert again == State(1, {"ring": Done(files("1"), 1)}, [], {"frames": 7})


def test_nothing_is_visible_before_the_commit(tmp_path):
    directory = Directory(str(tmp_path))
    directory.open()
    directory.stage(1, "findings/day=2026-11-16", "part-0.parquet", b"rows")
    assert not (tmp_path / "findings").exists()
    directory.close()
    Directory(str(tmp_path)).open()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_two_runs_do_not_write_at_once_and_a_dead_one_is_no_hindrance(tmp_path):
    code = (
        "import sys, time; from amqpscope.spark.manifest import Directory\n"
        "d = Directory(sys.argv[1]); d.open(); print('open', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "open\n"
    with pytest.raises(ManifestError, match="another run is writing here"):
        Directory(str(tmp_path)).open()
    other.kill()
    other.wait()
    Directory(str(tmp_path)).open()


def test_a_file_is_no_directory(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(ManifestError, match="is a file"):
        Directory(str(path)).open()


def test_a_file_system_that_nobody_knows_is_told():
    with pytest.raises(ManifestError, match="cannot be opened: Arrow has no file system for ftp"):
        Directory("ftp://127.0.0.1/tables")
