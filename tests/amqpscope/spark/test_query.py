"""`pipeline sql` over tables that were written here, as a run writes them."""

import csv
import io
import json

import pytest

from amqpscope.spark.delta import Change
from amqpscope.spark.directory import Directory
from amqpscope.spark.manifest import Done
from amqpscope.spark.numbering import table_of, with_day
from amqpscope.spark.parts import Writer
from amqpscope.spark.plan import File

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
    shown = amqpscope("pipeline", "sql", QUESTION, tables, "--format", "csv")
    table = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert (table[1]["path"], table[1]["whole"], table[1]["nothing"]) == ("file 2", "false", "")
    shown = amqpscope("pipeline", "sql", "SELECT path, octets FROM quarantine ORDER BY 1", tables)
    assert shown.stdout == "path    octets\n------  ------\nfile 1       1\nfile 2       2\n"


def test_tables_are_asked_for_as_of_a_run_and_from_a_file(amqpscope, tables, tmp_path):
    query = "SELECT count(*) AS n FROM quarantine, (SELECT count(*) FROM frames)"
    out = tmp_path / "n.csv"
    asked = amqpscope(
        "pipeline", "sql", "-", tables, "--run", "1", "--format", "csv", "-o", out,
        input=query,
    )  # fmt: skip
    assert (asked.returncode, asked.stderr, out.read_text()) == (0, "", "n\n1\n")


@pytest.mark.parametrize(
    ("query", "arguments", "told"),
    [
        ("SELEC 1", (), 'syntax error at or near "SELEC"'),
        ("SELECT nothing_such FROM findings", (), 'Referenced column "nothing_such" not found'),
        ("SELECT 1", ("--run", "7"), "nothing is known of run 7"),
    ],
)
def test_what_is_wrong_is_one_line(amqpscope, tables, query, arguments, told):
    asked = amqpscope("pipeline", "sql", query, tables, *arguments)
    assert (asked.returncode, asked.stdout) == (2, "")
    (line,) = asked.stderr.splitlines()
    assert line.startswith("amqpscope: ")
    assert told in line


def test_upkeep_leaves_the_rows_as_they_are(amqpscope, tables):
    counts = ("pipeline", "sql", "SELECT count(*) FROM quarantine", tables)
    before = amqpscope(*counts).stdout
    assert (
        "quarantine: 2 files put together into 1\n"
        in amqpscope("pipeline", "compact", tables).stdout
    )
    kept = amqpscope("pipeline", "vacuum", tables)
    assert "quarantine: 0 files deleted\n" in kept.stdout
    assert "quarantine: " in amqpscope("pipeline", "vacuum", tables, "--keep", "0").stdout
    assert amqpscope(*counts).stdout == before
    nowhere = amqpscope("pipeline", "compact", "nowhere")
    assert nowhere.returncode == 2
    assert "no tables of `amqpscope pipeline run` here" in nowhere.stderr
