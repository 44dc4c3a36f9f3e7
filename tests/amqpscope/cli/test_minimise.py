"""`amqpscope minimise`: the smallest capture that still shows a finding."""

import shutil
import subprocess

import pytest

SIMPLE = "captures/v10_proton-labbroker_simple.pcap"


def test_the_finding_stays_in_a_small_capture_that_others_can_read(amqpscope, root, tmp_path):
    small = tmp_path / "small.pcapng"
    done = amqpscope("minimise", root / SIMPLE, "--keep", "FLW-012", "-o", small)
    assert (done.returncode, done.stderr) == (0, "")
    assert "of 33 in" in done.stdout
    found = amqpscope("lint", "--select", "FLW-012", "--fail-on", "warning", small)
    assert found.returncode == 1
    assert "(client)" in found.stdout
    if shutil.which("tshark"):
        command = ["tshark", "-r", small, "-T", "fields", "-e", "tcp.analysis.flags"]
        flags = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert flags.strip() == ""


def test_a_frame_can_be_kept_by_a_filter(amqpscope, root, tmp_path):
    small = tmp_path / "small.pcapng"
    keep = "disposition && settled"
    done = amqpscope("minimise", root / SIMPLE, "--keep", keep, "-o", small)
    assert done.returncode == 0, done.stderr
    shown = amqpscope("read", "-Y", keep, small).stdout
    assert len(shown.splitlines()) >= 1
    assert "disposition" in shown


@pytest.mark.parametrize(
    ("keep", "code", "words"),
    [
        ("TXN-001", 1, "nothing in it is TXN-001"),
        ("no such thing ((", 2, "neither a rule nor a filter"),
    ],
)
def test_without_something_to_keep_nothing_is_written(amqpscope, root, tmp_path, keep, code, words):
    small = tmp_path / "small.pcapng"
    done = amqpscope("minimise", root / SIMPLE, "--keep", keep, "-o", small)
    assert (done.returncode, small.exists()) == (code, False)
    assert words in done.stderr
