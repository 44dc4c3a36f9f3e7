"""How runs become part of the tables of a directory."""

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from amqpscope.spark.delta import files_of
from amqpscope.spark.directory import Directory
from amqpscope.spark.manifest import Done, ManifestError
from amqpscope.spark.parts import Writer, rows_without
from amqpscope.spark.plan import File
from amqpscope.spark.schema import TABLES
from amqpscope.spark.stored import PROVISIONAL
from amqpscope.spark.tables import Snapshot
from kit.spark.run_steps import BOTH, do, rows_of, write


def rings_in(snapshot):
    return {
        table: sorted({row["ring"] for row in snapshot.rows(table, ("ring",))}) for table in BOTH
    }


@pytest.fixture
def directory(tmp_path):
    found = Directory(str(tmp_path / "odd [1] ü 100% 12:30"))
    found.open()
    yield found
    found.close()


def test_a_query_goes_on_with_the_run_that_it_began_with(directory):
    do(directory, 1, "a")
    before, lazy = Snapshot(directory.path), Snapshot(directory.path)
    old = before.dataset("captures"), before.dataset("quarantine")
    do(directory, 2, "b")
    assert [each.count_rows() for each in old] == [2, 2]
    assert rings_in(lazy) == {"captures": ["a"], "quarantine": ["a"]}
    assert rings_in(Snapshot(directory.path)) == {"captures": ["a", "b"], "quarantine": ["a", "b"]}
    do(directory, 3, "c")
    assert rings_in(Snapshot(directory.path, 2))["captures"] == ["a", "b"]
    for run in (0, 4):
        with pytest.raises(ManifestError, match=f"nothing is known of run {run}"):
            Snapshot(directory.path, run)


def test_any_reader_of_delta_sees_all_tables_and_the_run(directory):
    do(directory, 1, "a", batch=4)
    for table in TABLES:
        found = DeltaTable(f"{directory.path}/{table}")
        assert found.transaction_version("amqpscope") == 1
        assert found.metadata().partition_columns == ["day"]
    files = pa.table(DeltaTable(f"{directory.path}/quarantine").get_add_actions(flatten=True))
    assert files["num_records"].to_pylist() == [1, 1]
    assert {str(day) for day in files["partition.day"].to_pylist()} == {"1970-01-01", "1970-01-02"}
    state = Directory(directory.path).read()
    known = state.rings.of(["a"])
    assert (state.run, state.batch, known["a"].files) == (1, 4, [File("/a/1", 10, 0)])


def test_rows_of_a_ring_that_is_done_again_are_replaced(directory):
    do(directory, 1, "a")
    do(directory, 2, "b")
    old = directory.version("quarantine", directory.read())
    paths = {row["path"] for row in pa.table(old.get_add_actions(flatten=True)).to_pylist()}
    changes = write(directory, 3, "a", 1)
    for path in paths:
        file = changes["quarantine"].added[0]._replace(path=path, day=path[4:14])
        kept = rows_without(directory.target(3), "quarantine", file, frozenset("a"))
        assert (kept is None) == ("run-000002" in path)
        if kept is not None:
            assert len(kept) == 0
            changes["quarantine"].removed.append(file)
    done = Done([File("/a/1", 10, 0), File("/a/2", 10, 0)], 3, first_runs=[1, 3])
    directory.commit(3, changes, {"a": done}, again=["a"])
    found = Snapshot(directory.path)
    assert sorted(row["ring"] for row in found.rows("quarantine", ("ring",))) == ["a", "b", "b"]
    assert found.state.rings.of(["a"]) == {"a": done}
    assert found.state.rings.counts() == {"a": 2, "b": 1}


STEPS = ("begin", "written", *BOTH, "_inputs", "over")

DYING = """if True:
    import os, signal, sys
    from kit.spark.run_steps import do, write
    from amqpscope.spark import delta
    from amqpscope.spark.directory import Directory

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def begin(out, run, step):
        directory, commit = Directory(out), delta.Table.commit
        def commit_or_die(table, *args):
            if table.place.endswith("/" + step):
                die()
            return commit(table, *args)
        delta.Table.commit = commit_or_die
        assert directory.open().run == run - 1
        if step == "begin":
            directory.begin(run)
        elif step == "written":
            write(directory, run, "b")
        else:
            do(directory, run, "b")
        die()

    for line in sys.stdin:  # what this process has imported need not be imported for each step
        out, run, step = line.split()
        child = os.fork()
        if not child:
            begin(out, int(run), step)
        print(os.waitpid(child, 0)[1], flush=True)
"""


def test_killed_at_any_step_a_run_is_in_all_tables_or_in_none(tmp_path):
    """A process dies by kill -9 right before each commit in turn."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-c", DYING], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as dying:  # fmt: skip
        for known in (0, 1):
            out = tmp_path / str(known)
            if known:
                first = Directory(str(out))
                first.open()
                do(first, 1, "a")
                first.close()
            for step in STEPS:
                print(out, known + 1, step, file=dying.stdin, flush=True)
                assert int(dying.stdout.readline()) == signal.SIGKILL
                wanted = ["a"] * known + ["b"] * (step == "over")
                if wanted:
                    assert rings_in(Snapshot(str(out))) == dict.fromkeys(BOTH, wanted)
            after = Directory(str(out))
            assert after.open().run == known + 1
            for table in BOTH:
                files = DeltaTable(out / table).file_uris()
                assert len(files) == len(list((out / table).rglob("run-*.parquet")))
            after.close()
        dying.stdin.close()


def test_a_run_that_died_between_two_tables_is_undone_for_every_reader(directory):
    do(directory, 1, "a")
    changes = write(directory, 2, "b")
    directory.table("captures").commit(2, changes["captures"])
    directory.close()
    assert rings_in(Snapshot(directory.path)) == {"captures": ["a"], "quarantine": ["a"]}
    again = Directory(directory.path)
    assert again.open().run == 1
    for table in BOTH:
        found = DeltaTable(f"{directory.path}/{table}").to_pyarrow_table()
        assert set(found["ring"].to_pylist()) == {"a"}
    do(again, 2, "b")
    assert rings_in(Snapshot(directory.path))["captures"] == ["a", "b"]
    again.close()


def test_small_files_are_put_together_and_old_ones_deleted(directory):
    for run in (1, 2, 3):
        do(directory, run, f"ring{run}")
    before = rings_in(Snapshot(directory.path))
    version = DeltaTable(f"{directory.path}/quarantine").version()
    assert directory.compact(3)["quarantine"] == (6, 2)
    assert directory.compact(3)["quarantine"] == (0, 0)
    table = DeltaTable(f"{directory.path}/quarantine")
    assert table.version() == version + 1  # so nobody sees half of it
    assert table.history(1)[0]["version"] == version + 1
    assert directory.vacuum(0)["quarantine"] >= 6
    assert rings_in(Snapshot(directory.path)) == before
    folder = os.path.join(directory.path, "quarantine")
    assert len([name for _, _, names in os.walk(folder) for name in names if "run-" in name]) == 2
    assert directory.read().run == 3


def test_rows_that_a_stream_replaces_stay_in_files_of_their_own(directory):
    writer = Writer(directory.begin(1), f"{PROVISIONAL}of-a-")
    writer.add("captures", rows_of("captures", "a", 1))
    (live,) = writer.close()
    changes = write(directory, 1, "b", 1)
    changes["captures"].added.append(live.file)
    directory.commit(1, changes, {"b": Done([File("/b/1", 10, 0)], 1)})
    for run in (2, 3):
        do(
            directory,
            run,
            f"ring{run}",
        )
    assert directory.compact(3)["captures"] == (3, 1)
    paths = [each["path"] for each in files_of(directory.table("captures").open())]
    assert live.file.path in paths
    assert len(paths) == 2
    assert rings_in(Snapshot(directory.path))["captures"] == ["a", "b", "ring2", "ring3"]


def test_inputs_that_are_put_together_are_in_the_order_of_their_rings(directory):
    for run, ring in enumerate("dacb", 1):
        do(directory, run, ring)
    assert directory.inputs.compact(4) == (4, 1)
    batches = directory.rings().batches("ring")
    assert [ring for batch in batches for ring in batch["ring"].to_pylist()] == [*"abcd"]


def test_the_table_of_inputs_stays_small_however_many_runs_there_are(directory, monkeypatch):
    monkeypatch.setattr("amqpscope.spark.directory.MANY", 3)
    for run in range(1, 8):
        do(directory, run, f"ring{run}")
    assert len(DeltaTable(directory.inputs.place).file_uris()) <= 5
    assert len(directory.rings().counts()) == 7


def test_columns_that_are_new_are_empty_in_rows_that_were_there(tmp_path):
    out = Directory(str(tmp_path))
    out.open()
    narrow = rows_of("quarantine", "a", 2).drop_columns(["whole"])
    write_deltalake(tmp_path / "quarantine", narrow, partition_by=["day"])
    do(out, 1, "b")
    rows = list(Snapshot(out.path).rows("quarantine", ("ring", "whole")))
    assert {(row["ring"], row["whole"]) for row in rows} == {("a", None), ("b", True)}
    out.close()


def test_two_runs_do_not_write_at_once_and_a_dead_one_is_no_hindrance(tmp_path):
    code = (
        "import sys, time; from amqpscope.spark.directory import Directory\n"
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


def test_what_is_no_directory_of_tables_is_refused_in_one_line(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(ManifestError, match="is a file"):
        Directory(str(path)).open()
    with pytest.raises(ManifestError, match="no tables of `amqpscope pipeline run` here"):
        Directory(str(tmp_path)).read()
    (tmp_path / "_manifest").mkdir()
    (tmp_path / "_manifest" / "000001.json").touch()
    with pytest.raises(ManifestError, match="written by an earlier version"):
        Directory(str(tmp_path)).open()
    with pytest.raises(ManifestError, match="cannot be opened: Arrow has no file system for ftp"):
        Directory("ftp://127.0.0.1/tables")
