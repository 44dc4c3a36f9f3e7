"""The fixtures `amqp_lint`, `amqp_same_as` and `amqp_replay`, in tests that pytest runs for us."""

import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def run(tmp_path):
    """Run a test that uses the fixture."""

    def run(body, **files):
        # The fixture is there by itself where the package is installed; sources need the import.
        (tmp_path / "conftest.py").write_text("from amqpscope.pytest_plugin import amqp_lint\n")
        (tmp_path / "test_it.py").write_text(f"def test_it(amqp_lint, tmp_path):\n    {body}\n")
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        for name, text in files.items():
            (tmp_path / f"{name}.toml").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    return run


def test_a_legal_capture_passes(run, good):
    done = run(f"assert amqp_lint({str(good)!r}, select=['FLW']) == []")
    assert done.returncode == 0, done.stdout


def test_a_violation_fails_the_test_with_the_finding(run, bad):
    done = run(f"amqp_lint({str(bad)!r})")
    assert done.returncode == 1
    assert "error[FLW-016] transfer-without-credit (client)" in done.stdout
    assert "11 |" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    "how", ["ignore=['FLW-016']", "fail_on='never'", "ignore=['transfer-without-credit']"]
)
def test_the_arguments_are_those_of_the_command(run, bad, how):
    assert run(f"amqp_lint({str(bad)!r}, {how})").returncode == 0


def test_findings_that_do_not_fail_are_returned(run, bad):
    body = f"found = amqp_lint({str(bad)!r}, select=['FLW-016'], fail_on='never')"
    assert run(f"{body}; assert [f.frame for f in found] == [11]").returncode == 0


def test_the_projects_configuration_counts(run, bad):
    done = run(f"amqp_lint({str(bad)!r})", amqpscope='ignore = ["FLW-016"]')
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("amqp_lint(tmp_path / 'none.pcap')", "none.pcap: no such file or directory"),
        ("amqp_lint('x', select=['NOPE'])", "'NOPE' is no rule or group"),
        ("amqp_lint('x', fail_on='fatal')", "fail_on='fatal': expected one of error, warning"),
    ],
)
def test_what_cannot_be_done_fails_the_test(run, body, told):
    done = run(body)
    assert done.returncode == 1
    assert told in done.stdout


def test_a_capture_without_amqp_fails_the_test(run, tmp_path, recorded):
    path = recorded("", name="empty.pcapng")
    assert "empty.pcapng: no AMQP in 3 packets" in run(f"amqp_lint({str(path)!r})").stdout


@pytest.fixture
def compare(tmp_path):
    """Run a test that compares a recording with a golden one, after `golden` was stored."""

    def compare(golden, recording, *options):
        tmp_path.joinpath("conftest.py").write_text(
            "from amqpscope.pytest_plugin import amqp_same_as\n"
        )
        call = f"amqp_same_as('golden.pcapng', {str(recording)!r})"
        tmp_path.joinpath("test_it.py").write_text(f"def test_it(amqp_same_as):\n    {call}\n")
        tmp_path.joinpath("pytest.ini").write_text("[pytest]\n")
        if golden is not None:
            shutil.copyfile(golden, tmp_path / "golden.pcapng")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [*options, "test_it.py"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    return compare


def test_a_recording_that_does_as_the_golden_one_passes(compare, good):
    assert compare(good, good).returncode == 0


def test_one_that_does_not_fails_with_what_is_different(compare, good, bad):
    done = compare(good, bad)
    assert done.returncode == 1
    assert "They part at frame" in done.stdout


def test_without_a_golden_one_the_test_fails_until_one_is_stored(compare, good, tmp_path):
    assert "--update-golden stores one" in compare(None, good).stdout
    assert compare(None, good, "--update-golden").returncode == 0
    assert (tmp_path / "golden.pcapng").read_bytes() == good.read_bytes()
    assert compare(None, good).returncode == 0


REPLAYING = """
import pika
import pytest

@pytest.mark.parametrize("durable", {durable})
def test_it(amqp_replay, durable):
    broker = amqp_replay("golden.pcapng", upstream={upstream!r})
    where = pika.ConnectionParameters(broker.host, broker.port, heartbeat=0)
    with pika.BlockingConnection(where) as connection:
        channel = connection.channel()
        channel.queue_declare("q", durable=durable)
        channel.basic_publish("", "q", b"x")
"""


@pytest.fixture
def replaying(tmp_path):
    """Run a test that uses the fixture `amqp_replay`."""

    def run(upstream, *options, durable=(False,)):
        names = "amqp_replay, pytest_addoption"
        (tmp_path / "conftest.py").write_text(f"from amqpscope.pytest_plugin import {names}\n")
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "test_it.py").write_text(REPLAYING.format(upstream=upstream, durable=durable))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
        return subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip

    return run


@pytest.mark.once
def test_a_golden_capture_is_recorded_once_and_then_takes_the_brokers_place(
    replaying, rabbitmq, tmp_path
):
    first = replaying(f"amqp://127.0.0.1:{rabbitmq.port}")
    assert first.returncode == 0, first.stdout
    golden = (tmp_path / "golden.pcapng").read_bytes()
    again = replaying(None, durable=(False, True))
    assert "2 passed, 1 error" in again.stdout
    assert "durable expected false, seen true" in again.stdout
    assert (tmp_path / "golden.pcapng").read_bytes() == golden
    refused = replaying(None, "--record")
    assert "expected upstream= to record it from" in refused.stdout
