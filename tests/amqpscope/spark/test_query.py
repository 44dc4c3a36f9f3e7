"""`pipeline sql` over tables that were written here, as a run writes them."""

import csv
import json
import shlex

import pytest

from amqpscope.spark.delta import Change
from amqpscope.spark.directory import Directory
from amqpscope.spark.manifest import Done
from amqpscope.spark.numbering import table_of, with_day
from amqpscope.spark.parts import Writer
from amqpscope.spark.plan import File
from amqpscope.spark.query import QueryError, lines_of, query
from amqpscope.spark.tables import Snapshot

SECOND = 1_000_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables of two runs, each of which read one file."""
    out = Directory(str(tmp_path_factory.mktemp("out")))
    out.open()
    for run in (1, 2):
        writer = Writer(out.begin(run))
        row = ("ring", f"file {run}", run * SECOND, run, 'not a capture: "ü"', run == 1)
        writer.add("quarantine", with_day(table_of("quarantine", [row])))
        changes = {"quarantine": Change([each.file for each in writer.close()])}
        out.commit(run, changes, {f"ring{run}": Done([File(f"file {run}", 1, 0)], run)})
    out.close()
    return out.path


QUESTION = (
    "SELECT path, time, octets, whole, MAP {'a': octets} AS m, sum(octets) OVER () AS total,"
    " NULL AS nothing, 'x'::BLOB AS raw, reason FROM quarantine ORDER BY path"
)


def test_rows_are_printed_for_people_and_programs(amqpscope, tables):
    shown = amqpscope("pipeline", "sql", QUESTION, tables, "--format", "json")
    rows = json.loads(shown.stdout)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert rows[0] == {
        "path": "file 1", "time": "1970-01-01T00:00:01Z", "octets": 1, "whole": True,
        "m": {"a": 1}, "total": 3, "nothing": None, "raw": "78", "reason": 'not a capture: "ü"',
    }  # fmt: skip
    snapshot = Snapshot(tables)
    table = list(csv.DictReader(lines_of(query(snapshot, QUESTION), "csv")))
    assert (table[1]["path"], table[1]["whole"], table[1]["nothing"]) == ("file 2", "false", "")
    rows = query(snapshot, "SELECT path, octets FROM quarantine ORDER BY 1")
    assert list(lines_of(rows, "text")) == [
        "path    octets", "------  ------", "file 1       1", "file 2       2",
    ]  # fmt: skip


def test_tables_are_asked_for_as_of_a_run_and_from_a_file(amqpscope, tables, tmp_path):
    text = "SELECT count(*) AS n FROM quarantine, (SELECT count(*) FROM frames)"
    out = tmp_path / "n.csv"
    asked = amqpscope(
        "pipeline", "sql", "-", tables, "--run", "1", "--format", "csv", "-o", out,
        input=text,
    )  # fmt: skip
    assert (asked.returncode, asked.stderr, out.read_text()) == (0, "", "n\n1\n")


def test_what_is_wrong_is_one_line(amqpscope, tables):
    asked = amqpscope("pipeline", "sql", "SELEC 1", tables)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr == 'amqpscope: Parser Error: syntax error at or near "SELEC"\n'
    with pytest.raises(QueryError, match=r'Referenced column "nothing_such" not found.*'):
        query(Snapshot(tables), "SELECT nothing_such FROM findings")


def test_the_questions_of_the_guide_are_understood(root, tables):
    lines = (root / "amqpscope" / "guide" / "pipeline.md").read_text().splitlines()
    asked = [line for line in lines if line.startswith("amqpscope pipeline sql ")]
    assert len(asked) >= 4
    snapshot = Snapshot(tables)
    for line in asked:
        assert query(snapshot, shlex.split(line)[3]).schema.names


def test_upkeep_leaves_the_rows_as_they_are(amqpscope, tables):
    before = query(Snapshot(tables), QUESTION)
    done = amqpscope("pipeline", "compact", tables)
    assert "quarantine: 2 files put together into 1\n" in done.stdout
    assert "quarantine: 0 files deleted\n" in amqpscope("pipeline", "vacuum", tables).stdout
    assert query(Snapshot(tables), QUESTION) == before
    nowhere = amqpscope("pipeline", "compact", "nowhere")
    assert nowhere.returncode == 2
    assert "no tables of `amqpscope pipeline run` here" in nowhere.stderr
