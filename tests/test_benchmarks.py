"""The benchmarks run; what they measure is for `python tests benchmarks`."""

import subprocess
import sys

from kit import TESTS


def test_quick_run_prints_its_table():
    done = subprocess.run(
        [sys.executable, TESTS, "benchmarks", "--quick", "--frames", "2000"],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = done.stdout
    assert table.startswith("amqpscope ")
    assert "decode one transfer" in table
    assert "2,000 frames" in table
    assert "x the memory for 4 x the frames" in table


def test_keeping_prints_a_line_for_each_protocol():
    command = [sys.executable, TESTS, "benchmarks.keeping", "2000"]
    table = subprocess.check_output(command, text=True, timeout=100)
    lines = [line.split()[:2] for line in table.splitlines()]
    assert lines[1:] == [["1.0", "replay"], ["0-9-1", "replay"]]
