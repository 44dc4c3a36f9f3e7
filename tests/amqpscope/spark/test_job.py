"""The batch job in a real Spark session."""

import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from amqpscope.spark import run_pipeline
from amqpscope.spark.directory import Directory
from amqpscope.spark.outcome import Outcome
from amqpscope.spark.report import make_report
from amqpscope.spark.work import Work
from kit.cutting import cut
from kit.spark.expected import counted, findings_of, linted, statistics_of, tables_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

TINY = 8000
"""Octets of a slice, so that captures of a few kilobytes have several."""


def differences(tables, ring, capture):
    """In what the tables of a ring differ from what one process says of the capture."""
    rows = tables.get(ring, {})
    findings, checked = linted(capture)
    found = findings_of(rows.get("findings", []))
    numbers = statistics_of(*(rows.get(name, []) for name in ("connections", "sessions", "links")))
    packets = sum(row["packets"] for row in rows.get("captures", []))
    wrong = []
    if found != findings:
        wrong.append(f"{capture.name}: findings")
    if numbers != counted(capture):
        wrong.append(f"{capture.name}: statistics")
    if packets != checked.packets:
        wrong.append(f"{capture.name}: {packets} packets, not {checked.packets}")
    return wrong


@pytest.fixture(scope="module")
def captures(root):
    found = sorted(path for path in (root / "captures").iterdir() if ".pcap" in path.suffix)
    assert len(found) > 50
    return found


@pytest.fixture(scope="module")
def rings(captures, tmp_path_factory):
    """Every capture we have, each rotated into a directory of its own."""
    folder = tmp_path_factory.mktemp("rings")
    for number, path in enumerate(captures):
        cut(path, folder / path.stem / path.suffix[1:], random.Random(number), 1 + number % 7)
    return folder


def ring_of(rings, path):
    return str(rings / path.stem / path.suffix[1:])


@pytest.fixture(scope="module")
def tables(spark, rings, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "tables"
    outcome = run_pipeline(spark, [str(rings)], str(out), size=TINY, ring="directory")
    assert outcome.frames > 4000
    return out


def test_rotated_captures_give_what_lint_and_stats_give_of_the_originals(tables, rings, captures):
    found = tables_of(tables)
    wrong = [each for path in captures for each in differences(found, ring_of(rings, path), path)]
    assert wrong == []


def test_rings_read_by_lint_and_stats_give_what_their_tables_say(tables, rings, captures):
    """Frames, packets and connections have the same numbers under `--ring` as in the tables."""
    found, wrong = tables_of(tables), []
    for path in captures:
        ring = Path(ring_of(rings, path))
        wrong += differences(found, str(ring), ring)
    assert wrong == []


@pytest.fixture(scope="module")
def alone(spark, captures, tmp_path_factory):
    """The tables of captures that are no rings."""
    out, folder = tmp_path_factory.mktemp("alone") / "out", tmp_path_factory.mktemp("captures")
    for path in captures:
        shutil.copy(path, folder)
    run_pipeline(spark, [str(folder)], str(out), ring="file")
    return {Path(ring).name: rows for ring, rows in tables_of(out).items()}


def test_captures_that_are_no_rings_give_the_same(alone, captures):
    wrong = [each for path in captures for each in differences(alone, path.name, path)]
    assert wrong == []


def test_messages_of_rotated_captures_are_those_of_the_originals(tables, alone, rings, captures):
    found, count, wrong = tables_of(tables), 0, []
    for path in captures:
        rotated, whole = found[ring_of(rings, path)], alone[path.name]
        for table in ("messages", "hops"):
            pair = [without_ring(rows.get(table, [])) for rows in (rotated, whole)]
            count += len(pair[0])
            if pair[0] != pair[1]:
                wrong.append(f"{path.name}: {table}")
    assert count > 1000
    assert wrong == []


def without_ring(rows):
    return sorted(repr({**row, "ring": ""}) for row in rows)


def test_each_finding_names_a_packet_in_a_file(tables):
    rows = [row for ring in tables_of(tables).values() for row in ring.get("findings", [])]
    captures = {row["path"]: row for ring in tables_of(tables).values() for row in ring["captures"]}
    for row in rows:
        before = captures[row["file"]]["first_packet"] - 1
        assert row["packet"] == before + row["file_packet"]
        assert row["file_packet"] <= captures[row["file"]]["packets"]


def test_running_again_doubles_nothing(spark, tables, rings):
    before = tables_of(tables)
    outcome = run_pipeline(spark, [str(rings)], str(tables), size=TINY, ring="directory")
    assert (outcome.files, outcome.frames) == (0, 0)
    assert tables_of(tables) == before


def test_a_ring_that_grew_is_done_anew_and_others_stay(spark, captures, tmp_path):
    long = next(path for path in captures if path.name.startswith("mixed"))
    rings, out = tmp_path / "rings", tmp_path / "out"
    cut(long, rings / "all", random.Random(5), 5)
    cut(captures[0], rings / "other", random.Random(6), 2)
    files = sorted((rings / "all").iterdir())
    late = tmp_path / "late"
    late.mkdir()
    for file in files[-2:]:
        shutil.move(file, late)
    run_pipeline(spark, [str(rings)], str(out), size=TINY, ring="directory")
    for file in late.iterdir():
        shutil.move(file, rings / "all")
    assert run_pipeline(spark, [str(rings)], str(out), size=TINY, ring="directory").files == len(
        files
    )
    found = tables_of(out)
    wrong = differences(found, str(rings / "all"), long)
    assert wrong + differences(found, str(rings / "other"), captures[0]) == []
    added = {str(rings / "all" / file.name) for file in files[-2:]}
    new = [row for row in found[str(rings / "all")]["findings"] if row["file"] in added]
    assert sum(make_report(str(out), 5)["new_findings"].values()) == len(new)


def test_captures_are_read_again_when_what_is_asked_of_them_changes(spark, captures, tmp_path):
    out = tmp_path / "out"
    run = partial(run_pipeline, spark, [str(captures[0])], str(out), ring="directory")
    assert run().files == 1
    again = run(work=Work(frames=True))
    assert (again.files, again.notes) == (1, ["1 capture read again: frames are wanted too"])
    assert tables_of(out)[str(captures[0].parent)]["frames"]
    assert run().files == 0


def test_what_cannot_be_read_is_quarantined_and_the_rest_is_done(spark, captures, tmp_path):
    rings, out = tmp_path / "rings", tmp_path / "out"
    rings.mkdir()
    shutil.copy(captures[0], rings / f"good{captures[0].suffix}")
    (rings / "empty.pcap").touch()
    (rings / "text.pcap").write_text("not a capture at all")
    (rings / "cut.pcap.gz").write_bytes(b"\x1f\x8b\x08\x00 and then nonsense")
    outcome = run_pipeline(spark, [str(rings)], str(out), ring="file")
    assert {path.rpartition("/")[2] for path, _ in outcome.quarantined} == {
        "empty.pcap", "text.pcap", "cut.pcap.gz",
    }  # fmt: skip
    found = tables_of(out)
    assert found[str(rings / "text.pcap")]["quarantine"][0]["reason"].startswith("not a capture")
    assert differences(found, str(rings / f"good{captures[0].suffix}"), captures[0]) == []


def test_a_run_that_died_leaves_nothing_and_the_next_one_tidies_up(spark, captures, tmp_path):
    out = tmp_path / "out"
    (out / "_staging" / "1").mkdir(parents=True)
    left = out / "findings" / "day=2026-01-01" / "run-000001-0.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half a file")
    run_pipeline(spark, [str(captures[0])], str(out), ring="directory")
    assert list((out / "_staging").iterdir()) == []
    assert not left.exists()
    assert differences(tables_of(out), str(captures[0].parent), captures[0]) == []


def test_which_files_are_done_is_known(spark, captures, tmp_path):
    out = tmp_path / "out"
    run_pipeline(spark, [str(captures[0])], str(out), ring="directory")
    rings = Directory(str(out)).read().rings
    (ring,) = rings.of(rings.counts()).values()
    assert ring.files[0].path == str(captures[0])


def test_of_many_connections_that_cannot_be_decrypted_some_are_named():
    outcome, lines = Outcome(1), [f"connection {number} is TLS" for number in range(15)]
    outcome.note_undecrypted("/captures/a.pcap", lines)
    outcome.note_undecrypted("/captures/b.pcap", lines)
    assert len(outcome.notes) == 20
    assert outcome.notes[0] == "/captures/a.pcap: connection 0 is TLS"
    assert outcome.notes[-1] == "/captures/b.pcap: connection 4 is TLS"
    whole = Outcome(2)
    whole.add(outcome)
    assert whole.undecrypted == 10
