"""`amqpscope replay` as users run it: one side against the other, over real sockets."""

import subprocess
import sys

import pytest

from kit import ROOT

CAPTURES = ROOT / "captures"
REPLAY = [sys.executable, "-m", "amqpscope", "replay"]


def replay(*arguments, seconds=30):
    command = [*REPLAY, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


class Listening:
    """A replay that plays the server."""

    def __init__(self, *arguments):
        command = [*REPLAY, *map(str, arguments), "--listen", "guest:guest@127.0.0.1:0"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self.process.stderr.readline().split()[-1]

    def finish(self):
        out, told = self.process.communicate(timeout=30)
        return self.process.returncode, out + told


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("v10_proton-labbroker_outcomes.pcap", "ws"),  # and by SCRAM, as the server offers it
        ("v091_pika_multichan-rabbitmq.pcap", "amqp"),
    ],
)
def test_a_recorded_client_meets_its_recorded_server(name, scheme, tmp_path, lint_errors):
    server = Listening(CAPTURES / name, "--write", tmp_path / "run.pcapng")
    client = replay(CAPTURES / name, "--to", f"{scheme}://guest:guest@{server.address}", "--diff")
    code, text = server.finish()
    assert (client.returncode, client.stdout.count("as recorded")) == (0, 1), client.stderr
    assert "\nB: " in client.stdout  # the beginning of the diff
    assert (code, text.count("as recorded")) == (0, 1)
    assert lint_errors(tmp_path / "run.pcapng") == []


@pytest.fixture
def lint_errors():
    from amqpscope.runs.api import lint

    def check(path):
        return [each for each in lint(path).findings if each.severity == "error"]

    return check


def test_a_client_that_does_something_else_is_reported_with_both_frames():
    server = Listening(CAPTURES / "v10_proton-labbroker_simple.pcap")
    client = replay(
        CAPTURES / "v10_proton-labbroker_presettled.pcap", "--to", server.address, "--timeout", "1"
    )
    code, text = server.finish()
    assert client.returncode == 1
    assert code == 1
    assert "address expected" in text
    assert "\n  expected  attach" in text
    assert "\n  seen      attach" in text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["dmg_midstart-v10_proton-rabbitmq_manylinks.pcap"],
            "its beginning is not in the capture",
        ),
        (["v10_proton-labbroker_simple.pcap#7"], "there is no connection 7"),
        (["README.md"], "README.md"),
        (["v10_proton-labbroker_simple.pcap"], "connection refused"),
    ],
)
def test_what_cannot_be_played_is_one_line(arguments, reason):
    result = replay(CAPTURES / arguments[0], "--to", "127.0.0.1:1")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert reason in result.stderr.lower().replace("readme", "README")


@pytest.mark.parametrize("arguments", [[], ["--to", "a", "--listen", ":1"]])
def test_it_is_played_to_somebody_or_for_somebody(arguments):
    result = replay(CAPTURES / "demo.pcapng", *arguments)
    assert result.returncode == 2
    assert "expected one of --to and --listen" in result.stderr


def test_an_option_for_tls_without_tls_is_refused():
    result = replay(CAPTURES / "demo.pcapng", "--to", "amqp://localhost", "--cafile", "ca.pem")
    assert result.returncode == 2
    assert "--cafile is for amqps:// and wss://" in result.stderr
