"""Known findings pass, new ones do not, fixed ones are mentioned."""

import json
from collections import Counter

import pytest

from amqpscope.check.baseline import (
    Baseline,
    BaselineError,
    fingerprint,
    key_of,
    read_baseline,
    write_baseline,
)
from amqpscope.check.selection import Selection


@pytest.fixture
def known(checked, tmp_path):
    """A baseline that knows the finding of `bad`."""
    path = tmp_path / "known.json"
    assert write_baseline(str(path), [checked]) == 1
    return path


def test_what_is_known_passes(known, checked):
    baseline = read_baseline(str(known))
    assert baseline.filter([checked]) == 1
    assert checked.findings == []
    assert baseline.find_fixed([checked], Selection()) == {}


def test_captures_are_named_as_seen_from_the_baseline(known):
    [row] = json.loads(known.read_text())["findings"]
    assert row == {
        "finding": {"capture": "bad.pcapng", "rule": "FLW-016", "peer": "client", "link": "s",
                    "path": "transfer.handle"},
        "count": 1,
    }  # fmt: skip


def test_one_more_of_the_same_kind_is_new(known, checked):
    checked.findings *= 2
    assert read_baseline(str(known)).filter([checked]) == 1
    assert len(checked.findings) == 1


@pytest.mark.parametrize("fields", [{"peer": "server"}, {"link": "t"}, {"rule": "FLW-001"}])
def test_another_peer_link_or_rule_is_new(known, checked, change, fields):
    change(**fields)
    assert read_baseline(str(known)).filter([checked]) == 0


def test_a_finding_stays_known_when_frames_are_counted_otherwise(known, checked, change):
    change(frame=99, packet=99, time=99, message="other numbers")
    assert read_baseline(str(known)).filter([checked]) == 1


def test_what_is_fixed_is_mentioned(known, checked):
    [finding] = checked.findings
    checked.findings = []
    baseline = read_baseline(str(known))
    assert baseline.filter([checked]) == 0
    assert baseline.find_fixed([checked], Selection()) == {key_of(finding, "bad.pcapng"): 1}


@pytest.mark.parametrize(
    "choice",
    [
        Selection(select=("MSG",)),
        Selection(ignore=("FLW",)),
        Selection(per_capture={"bad.*": ("FLW-016",)}),
    ],
)
def test_what_was_not_looked_for_is_not_fixed(known, checked, choice):
    checked.findings = []
    baseline = read_baseline(str(known))
    baseline.filter([checked])
    assert baseline.find_fixed([checked], choice) == {}


def test_a_capture_that_was_not_read_to_its_end_has_nothing_fixed(known, checked):
    checked.findings, checked.error = [], "cut short"
    baseline = read_baseline(str(known))
    baseline.filter([checked])
    assert baseline.find_fixed([checked], Selection()) == {}


def test_other_captures_of_the_baseline_are_not_fixed(known, checked, tmp_path):
    checked.path, checked.findings = str(tmp_path / "another.pcap"), []
    baseline = read_baseline(str(known))
    baseline.filter([checked])
    assert baseline.find_fixed([checked], Selection()) == {}


def test_captures_may_move_with_or_without_their_baseline(known, checked, tmp_path):
    moved = tmp_path / "elsewhere" / "deep"
    moved.mkdir(parents=True)
    findings = list(checked.findings)
    checked.path = str(moved / "bad.pcapng")
    assert read_baseline(str(known)).filter([checked]) == 1

    known.rename(moved / "known.json")
    checked.findings = findings
    assert read_baseline(str(moved / "known.json")).filter([checked]) == 1


def test_it_does_not_matter_how_a_path_is_written(known, checked, monkeypatch, tmp_path):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    checked.path = "../sub/../bad.pcapng"
    assert read_baseline("../known.json").filter([checked]) == 1


def test_of_two_moved_captures_with_one_name_the_one_with_the_same_folder_is_meant(checked):
    [finding] = checked.findings
    keys = [key_of(finding, f"{folder}/bad.pcapng") for folder in ("a", "b")]
    baseline = Baseline("/old/known.json", Counter(keys))
    names = baseline.names(["/new/b/bad.pcapng", "/new/a/bad.pcapng", "/new/c/bad.pcapng"])
    assert [name.removeprefix("../") for name in names.values()] == [
        "b/bad.pcapng",
        "a/bad.pcapng",
        "new/c/bad.pcapng",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1, "findings": [{}]}', "null"])
def test_another_file_is_no_baseline(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match=r"other\.json: not a baseline: lint --write-baseline"):
        read_baseline(str(path))


def test_a_baseline_of_another_version_is_named(tmp_path):
    path = tmp_path / "new.json"
    path.write_text('{"version": 2, "findings": []}')
    with pytest.raises(BaselineError, match=r"new\.json: baseline of version 2, expected 1"):
        read_baseline(str(path))


def test_files_that_cannot_be_read_or_written_are_named(tmp_path, checked):
    with pytest.raises(BaselineError, match=r"none\.json: no such file or directory"):
        read_baseline(str(tmp_path / "none.json"))
    with pytest.raises(BaselineError, match=r"known\.json: no such file or directory"):
        write_baseline(str(tmp_path / "none" / "known.json"), [checked])


def test_a_fingerprint_is_that_of_the_fault_and_not_of_its_place(checked, change):
    first = fingerprint(checked.findings[0], "a.pcap")
    finding = change(frame=99, time=99, message="other")
    assert fingerprint(finding, "a.pcap") == first
    assert fingerprint(finding, "b.pcap") != first
    assert fingerprint(finding, "a.pcap", 2) != first
