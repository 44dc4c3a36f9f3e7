"""amqpscope in Python: captures as Steps and as findings, as a user writes it."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

import amqpscope

SCRIPT = """
import amqpscope

found: list[amqpscope.Finding] = amqpscope.lint("run.pcapng", select=["FLW"]).findings
for finding in found:
    print(f"{finding.frame:6} {finding.rule} {finding.message}")
for step in amqpscope.steps("run.pcapng", where="transfer", check=False):
    number: int = step.frame.number
    print(number, step.event.name, [str(each) for each in step.findings])
try:
    result: amqpscope.CaptureResult = amqpscope.lint("other.pcapng", decode_as={5680: "amqp-1.0"})
except amqpscope.NotChecked as error:
    print(error)
def run(url: str) -> None: ...
with amqpscope.proxied("amqp://localhost:5672", fail_on="error") as proxy:
    run(proxy.url)
"""


def test_steps_are_the_frames_of_a_capture(bad):
    steps = list(amqpscope.steps(bad))
    assert [step.frame.number for step in steps] == list(range(1, 12))
    assert steps[-1].event.name == "transfer"
    assert "FLW-016" in map(str, steps[-1].findings)


def test_steps_can_be_selected_and_left_unchecked(bad):
    steps = list(amqpscope.steps(str(bad), where="transfer", check=False))
    assert [(step.frame.number, step.findings) for step in steps] == [(10, []), (11, [])]


def test_a_filter_that_does_not_parse_is_known_at_once(bad):
    with pytest.raises(amqpscope.FilterError):
        amqpscope.steps(bad, where="transfer &&")


def test_steps_of_what_is_no_capture(tmp_path):
    with pytest.raises(amqpscope.CaptureError, match="nosuch: no such file or directory"):
        next(amqpscope.steps(tmp_path / "nosuch"))


def test_steps_of_a_cut_capture_end_with_an_error(bad):
    bad.write_bytes(bad.read_bytes()[:-10])
    steps = amqpscope.steps(bad)
    assert [next(steps).frame.number for _ in range(10)] == list(range(1, 11))
    with pytest.raises(amqpscope.CaptureError, match="cut short"):
        next(steps)


def test_lint_finds_what_the_command_finds(bad):
    result = amqpscope.lint(bad, select=["FLW-016"])
    assert [(f.rule, f.peer, f.frame) for f in result.findings] == [("FLW-016", "client", 11)]
    assert (result.frames, result.connections, result.error) == (11, 1, None)
    assert amqpscope.lint(bad, select=["flw"], ignore=["transfer-without-credit"]).findings == []


@pytest.mark.tshark
def test_lint_reads_tls_with_keys(root):
    keys = root / "captures" / "v10_tls-proton-rabbitmq.keys"
    path = root / "captures" / "v10_tls-proton-rabbitmq.pcap"
    assert amqpscope.lint(path, keylogs=[keys]).frames == 37
    with pytest.raises(amqpscope.NotChecked, match="nosuch: key log cannot be read"):
        amqpscope.lint(path, keylogs=["nosuch"])


def test_a_capture_without_amqp_does_not_pass_for_clean(recorded, tmp_path):
    path = recorded("client: octets 0x474554\n", port=80)
    with pytest.raises(amqpscope.NotChecked, match="no AMQP in 4 packets"):
        amqpscope.lint(path)
    assert amqpscope.lint(path, allow_empty=True).findings == []
    with pytest.raises(amqpscope.NotChecked, match="no such file"):
        amqpscope.lint(tmp_path / "nosuch", allow_empty=True)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nosuch"):
        amqpscope.nosuch  # noqa: B018


@pytest.mark.once
def test_mypy_accepts_a_script_of_a_user(tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    [installed] = (tmp_path / "venv").glob("lib/python*/site-packages")
    for name in ("amqpscope", "dissectors"):
        (installed / name).symlink_to(Path(amqpscope.__file__).parents[1] / name)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*mypy, "--python-executable", str(tmp_path / "venv" / "bin" / "python"), str(script)],
        cwd=tmp_path, env={}, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stderr
