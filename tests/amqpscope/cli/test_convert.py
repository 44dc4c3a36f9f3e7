"""`amqpscope convert`: any input as pcapng or JSON lines."""

import subprocess

import pytest

LOG = "tests/amqpscope/capture/logs/proton_outcomes.log"


def names(amqpscope, path):
    shown = amqpscope("read", path, "--format", "csv").stdout.splitlines()
    return [line.split(",")[4:10] for line in shown]


@pytest.mark.tshark
def test_a_log_becomes_a_capture_that_wireshark_reads(amqpscope, root, tmp_path):
    out = tmp_path / "out.pcapng"
    done = amqpscope("convert", root / LOG, "-o", out)
    assert done.returncode == 0
    assert "packets written" in done.stderr
    assert names(amqpscope, out) == names(amqpscope, root / LOG)
    command = ["tshark", "-r", str(out), "-Y", "amqp", "-T", "fields", "-e", "frame.number"]
    assert len(subprocess.run(command, capture_output=True, check=True).stdout.split()) > 100


def test_json_lines_are_those_of_read(amqpscope, root, tmp_path):
    out = tmp_path / "out.jsonl"
    capture = root / "captures" / "demo.pcapng"
    assert amqpscope("convert", capture, "-o", out).returncode == 0
    assert out.read_text() == amqpscope("read", capture, "--format", "jsonl").stdout


def test_what_cannot_be_read_or_written_is_one_line(amqpscope, root, tmp_path):
    done = amqpscope("convert", root / "README.md", "-o", tmp_path / "x.pcapng")
    assert done.returncode == 2
    assert "not a capture" in done.stderr
    assert not (tmp_path / "x.pcapng").exists()
    done = amqpscope("convert", root / LOG, "-o", tmp_path / "no" / "x.pcapng")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
