"""One run over a capture: batches in order, findings and ends in their place, nothing kept."""

import gc
import tracemalloc

import pytest

from amqpscope.analysis import FaultySteps
from amqpscope.check.selection import Selection
from amqpscope.runs.input import Input, read_keylogs, repeatable, split_connection
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.run import Run
from kit.benchmarks.traffic import SHORT, write_short

LATE = "v10_proton-labbroker_manysessions.pcap"


def test_a_finding_comes_after_the_frame_that_it_is_about(root):
    late = 0
    with Run(str(root / "captures" / LATE), Selection()) as run:
        for batch in run:
            assert all(f.frame <= run.frames for f in batch.findings)
            late += len(batch.findings)
    assert late == 49


def test_the_analysis_keeps_no_finding_that_it_handed_over(root):
    with Run(str(root / "captures" / LATE), Selection()) as run:
        for _ in run:
            assert run.analyzer.late_findings() == []


def test_batches_hold_what_lint_reports(root):
    path = str(root / "captures" / LATE)
    with Run(path, Selection()) as run:
        found = [f for b in run for f in (*b.findings, *(f for s in b.steps for f in s.findings))]
    expected = check(path, CheckSettings()).findings
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_a_sink_takes_the_steps_in_place_of_the_batches(bad):
    faulty = FaultySteps()
    with Run(str(bad), Selection(select=("FLW-016",)), sink=faulty) as run:
        assert all(not batch.steps for batch in run)
    assert [step.frame.number for step in faulty.drain()] == [11]
    assert faulty.drain() == []


def test_the_ends_of_both_directions_come_out(root):
    with Run(str(root / "captures" / "demo.pcapng")) as run:
        ends = [batch.end for batch in run if batch.end is not None]
    assert [(end.conversation.number, end.reason) for end in ends] == [(1, "rst"), (1, "rst")]


def test_a_run_may_end_with_a_frame(root):
    with Run(str(root / "captures" / "demo.pcapng"), until=7) as run:
        steps = [step.frame.number for batch in run for step in batch.steps]
    assert steps == list(range(1, 8))


def test_the_selection_changes_severities_and_drops_findings(bad):
    strict = Selection(severity={"FLW-016": "info"})
    with Run(str(bad), strict) as run:
        found = [f for batch in run for step in batch.steps for f in step.findings]
    assert {f.severity for f in found if f.rule == "FLW-016"} == {"info"}
    without = Selection(per_capture={"bad.*": ("FLW-016",)})
    with Run(str(bad), without) as run:
        assert "FLW-016" not in [str(f) for b in run for s in b.steps for f in s.findings]


def test_what_is_read_from_elsewhere_keeps_its_name(bad, tmp_path):
    moved = bad.rename(tmp_path / "kept-elsewhere")
    assert check(Input("named", place=str(moved)), CheckSettings()).path == "named"
    missing = check(Input("named", place="nosuch"), CheckSettings())
    assert missing.lines() == ["named: no such file or directory"]


def test_a_file_is_repeatable_where_it_lies(bad):
    with repeatable(Input(str(bad))) as source:
        assert source.place is None
        assert source.repeatable


def test_key_logs_that_cannot_be_read_are_reported_and_the_others_read(tmp_path):
    path, told = tmp_path / "keys", []
    path.write_bytes(b"CLIENT_RANDOM a b\n")
    assert read_keylogs(["nosuch", path], told.append) == (b"CLIENT_RANDOM a b\n",)
    assert told == ["nosuch: key log cannot be read: no such file or directory"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.pcap", ("a.pcap", 0)),
        ("a.pcap#2", ("a.pcap", 2)),
        ("a#b.pcap", ("a#b.pcap", 0)),
        ("a.pcap#0", ("a.pcap#0", 0)),
        ("#2", ("#2", 0)),
    ],
)
def test_a_connection_is_chosen_behind_a_hash(name, found):
    assert split_connection(name) == found


def test_a_file_whose_name_ends_like_a_choice_is_that_file(tmp_path):
    (tmp_path / "a.pcap#2").write_bytes(b"")
    assert split_connection(f"{tmp_path}/a.pcap#2") == (f"{tmp_path}/a.pcap#2", 0)


def test_a_connection_leaves_little_behind_when_it_has_ended(tmp_path):
    short = len(SHORT)
    path = tmp_path / "short.pcapng"
    write_short(path, 300 * short)
    measured = {}
    tracemalloc.start()
    try:
        with Run(str(path), Selection()) as run:
            for _ in run:
                if run.frames in (100 * short, 250 * short) and run.frames not in measured:
                    gc.collect()
                    measured[run.frames] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    first, last = measured.values()
    assert (last - first) / 150 < 2000  # of compiled objects half of it
