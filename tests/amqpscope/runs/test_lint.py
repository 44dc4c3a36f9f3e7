"""Captures checked, one by one and side by side."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from amqpscope.check.selection import Selection
from amqpscope.report.lint import count_severities, document, tallies
from amqpscope.runs import lint as linting
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.lint_many import DIED, captures_in, check_all

FLOW = Selection(select=("FLW-016",))


def test_a_violation_is_found_with_the_frames_that_show_it(bad):
    checked = check(str(bad), CheckSettings(FLOW))
    [finding] = checked.findings
    assert (finding.rule, finding.peer, finding.frame) == ("FLW-016", "client", 11)
    assert finding.frame in checked.excerpts
    assert {frame for frame, _ in finding.related} <= set(checked.excerpts)
    assert checked.excerpts[11].name == "transfer"


def test_a_legal_capture_has_no_findings(good):
    checked = check(str(good), CheckSettings(FLOW))
    assert (checked.findings, checked.error, checked.unreadable) == ([], None, False)
    assert (checked.connections, checked.frames, checked.protocols) == (1, 13, ["amqp-1.0"])
    assert checked.packets == 16


def test_excerpts_are_left_out_where_nobody_wants_them(bad):
    assert check(str(bad), CheckSettings(FLOW, excerpts=False)).excerpts == {}


def test_of_very_many_findings_only_some_are_kept_and_all_are_counted(many):
    reasons = Selection(select=("OUT-010",))
    whole = check(str(many), CheckSettings(reasons))
    some = check(str(many), CheckSettings(reasons, limit=4))
    assert len(whole.findings) == 10
    assert [f.frame for f in some.findings] == [f.frame for f in whole.findings[:4]]
    assert [(kind.rule, count) for kind, count in some.more.items()] == [("OUT-010", 6)]
    assert count_severities([some]) == count_severities([whole])
    assert tallies([some]) == tallies([whole])
    assert set(some.excerpts) < set(whole.excerpts)


def test_as_many_findings_as_may_be_kept_are_all_kept(many):
    exact = check(str(many), CheckSettings(Selection(select=("OUT-010",)), limit=10))
    assert (len(exact.findings), exact.more) == (10, {})
    assert "omitted" not in document([exact])


def test_what_cannot_be_read_is_said(tmp_path):
    checked = check(str(tmp_path / "none.pcap"), CheckSettings(FLOW))
    assert (checked.error, checked.unreadable) == ("no such file or directory", True)


def test_what_is_there_of_a_cut_capture_is_checked(bad):
    bad.write_bytes(bad.read_bytes()[:-10] + b"")
    whole = check(str(bad), CheckSettings(FLOW))
    assert whole.findings == []  # the last packet is the guilty one
    assert "cut short" in whole.error
    assert not whole.unreadable
    assert whole.frames == 10


def test_a_compressed_capture_is_checked_like_the_plain_one(bad):
    packed = bad.with_suffix(".pcapng.gz")
    packed.write_bytes(gzip.compress(bad.read_bytes()))
    assert [f.frame for f in check(str(packed), CheckSettings(FLOW)).findings] == [11]
    assert captures_in(str(bad.parent)) == [str(bad), str(packed)]


def test_directories_are_searched_for_captures_by_name(tmp_path):
    for name in ("b.pcap", "a/c.PCAPNG", "a/d.cap.zst", "a/notes.txt", "e.pcap.bak"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [os.path.relpath(path, tmp_path) for path in captures_in(str(tmp_path))]
    assert found == ["a/c.PCAPNG", "a/d.cap.zst", "b.pcap"]


def test_a_directory_is_to_lint_what_it_is_to_the_pipeline(tmp_path):
    names = ("x.pcap12", "x.pcapng.xz", ".hidden/y.pcap", "_staging/z.pcap", "_w.pcap")
    for name in names:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far.cap").touch()
    (tmp_path / "in" / "linked").symlink_to(elsewhere)
    (tmp_path / "in" / "up").symlink_to(tmp_path)
    (tmp_path / "in" / "nowhere.pcap").symlink_to("gone")
    found = [os.path.relpath(path, tmp_path / "in") for path in captures_in(str(tmp_path / "in"))]
    assert found == ["linked/far.cap", "x.pcap12", "x.pcapng.xz"]


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_result_does_not_depend_on_the_number_of_processes(bad, good, tmp_path, jobs):
    paths = [str(good), str(bad), str(tmp_path / "none.pcap"), str(good), str(bad)]
    done = []
    results = check_all(paths, CheckSettings(FLOW), jobs, lambda: done.append(1))
    assert [each.path for each in results] == paths
    assert [len(each.findings) for each in results] == [0, 1, 0, 0, 1]
    assert len(done) == len(paths)
    expected = [check(path, CheckSettings(FLOW)) for path in paths]
    assert json.dumps(document(results)) == json.dumps(document(expected))
    assert [each.excerpts for each in results] == [each.excerpts for each in expected]


def test_a_process_that_dies_costs_its_own_capture_only(bad, tmp_path):
    """A worker is killed as by the kernel when memory is short."""
    script = tmp_path / "run.py"
    script.write_text(
        "import os, signal\n"
        "from amqpscope.runs import lint_many as linting\n"
        "from amqpscope.check.selection import Selection\n"
        "real = linting.check\n"
        "def deadly(path, work, watch=None):\n"
        "    if path.name.endswith('deadly.pcap'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(path, work, watch)\n"
        "linting.check = deadly\n"
        "if __name__ == '__main__':\n"
        f"    paths = [{str(bad)!r}, 'deadly.pcap', {str(bad)!r}]\n"
        "    work = linting.CheckSettings(Selection(select=('FLW-016',)))\n"
        "    for each in linting.check_all(paths, work, 2, lambda: None):\n"
        "        print(len(each.findings), each.error)\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines() == ["1 None", f"0 {DIED}", "1 None"], done.stderr


def test_an_interrupt_ends_all_processes_without_a_traceback(bad, tmp_path):
    fifo = tmp_path / "slow.pcap"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "amqpscope", "lint", "-j", "2", str(fifo), str(bad)]
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with fifo.open("wb"):  # returns when the worker has opened it
        time.sleep(0.2)
        os.killpg(run.pid, signal.SIGINT)
        _, told = run.communicate(timeout=20)
    assert (run.returncode, told) == (130, "amqpscope: interrupted\n")


def test_a_bug_of_ours_is_one_line_and_costs_one_capture(bad, monkeypatch):
    def broken(step):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(linting, "excerpt", broken)
    checked = check(str(bad), CheckSettings(FLOW))
    assert checked.unreadable
    assert checked.error.startswith("this is a bug of amqpscope, after frame 11: ZeroDivisionError")
    assert "\n" not in checked.error
