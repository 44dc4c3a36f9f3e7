"""The benchmarks run; what they measure is for `python tests benchmarks`."""

import json
import subprocess
import sys

from kit import TESTS
from kit.benchmarks.__main__ import losses, show_against
from kit.proxy.brokers import rabbitmq  # noqa: F401 - a fixture


def test_quick_run_prints_its_table(tmp_path):
    saved = tmp_path / "ratios.json"
    done = subprocess.run(
        [sys.executable, TESTS, "benchmarks", "--quick", "--frames", "2000", "--save", saved],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = done.stdout
    assert all(ratio > 0 for ratio in json.loads(saved.read_text()).values())
    assert table.startswith("amqpscope ")
    assert "decode one transfer" in table
    assert "2,000 frames" in table
    assert "x the memory for 4 x the frames" in table


def test_a_ratio_that_is_a_tenth_worse_fails(capsys):
    before = {"lint: speed": 10.0, "lint: memory": 8.0, "gone": 1.0}
    assert show_against(before, {"lint: speed": 9.1, "lint: memory": 9.0}) == 0
    assert show_against(before, {"lint: speed": 8.9, "lint: memory": 9.0}) == 1
    assert "worse: lint: speed: 10.00 before, 8.90 now (-11%)" in capsys.readouterr().out
    assert list(losses(before, before)) == []


def test_following_prints_a_line_for_each_number_of_messages():
    command = [sys.executable, TESTS, "benchmarks.following", "400"]
    table = subprocess.check_output(command, text=True, timeout=100)
    lines = [line.split()[:2] for line in table.splitlines()]
    assert lines[1:] == [["100", "messages,"], ["200", "messages,"], ["400", "messages,"]]


def test_what_faults_cost_is_printed_as_ratios():
    command = [sys.executable, TESTS, "benchmarks.faults", "--quick"]
    table = subprocess.check_output(command, text=True, timeout=100, stderr=subprocess.DEVNULL)
    assert table.count("1.00x") >= 2
    assert "a fault that watches and never acts" in table


def test_what_faults_cost_pika_is_printed_beside_that(rabbitmq):  # noqa: F811
    port = str(rabbitmq.port)
    command = [sys.executable, TESTS, "benchmarks.faults", "--quick", "--rabbitmq", port]
    table = subprocess.check_output(command, text=True, timeout=100, stderr=subprocess.DEVNULL)
    assert table.count("1.00x") >= 3
    assert "messages of pika" in table


def test_keeping_prints_a_line_for_each_protocol():
    command = [sys.executable, TESTS, "benchmarks.keeping", "2000"]
    table = subprocess.check_output(command, text=True, timeout=100)
    lines = [line.split()[:2] for line in table.splitlines()]
    assert lines[1:] == [["1.0", "replay"], ["0-9-1", "replay"]]


def test_planning_finds_nothing_to_do_the_second_time():
    command = [sys.executable, TESTS, "benchmarks.planning", "--files", "2500"]
    table = subprocess.check_output(command, text=True, timeout=100)
    first, second = table.split("second run")
    assert "2,500 files planned and committed, 2,500 tasks" in first
    assert "0 files planned and committed" in second
    assert "0 files planned and committed, 0 tasks" in second.splitlines()[-1]
