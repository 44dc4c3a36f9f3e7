"""Real clients and a real broker over TLS and WebSocket, through the command itself."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from amqpscope.proxy.ca import load_or_make_ca
from kit.proxy.brokers import MESSAGES, SCRIPTS
from kit.proxy.relaying import PATIENCE
from kit.proxy.tls_peers import NOW, Certified

needs_proton = pytest.mark.skipif(
    find_spec("proton") is None, reason="python-qpid-proton is not installed"
)


@pytest.fixture
def through(proxy, carried, config, amqpscope, tmp_path):
    """Run a client through the proxy; its digest, and the frames in the recording by name."""

    def go(near, far, host, *options):
        ca = load_or_make_ca(config, NOW).path
        recording = tmp_path / "run.pcapng"
        given = ("--cafile", carried.certified.ca, "--write", recording, "--no-tui", *options)
        command = proxy(carried.url(far), *given)
        url = f"{near}://{host}:{command.address[1]}"
        digest = carried.exchange(url, ca, f"{near}-{far}-{host}")
        assert command.end() == 0
        said = [line for line in command.said if "listening" not in line]
        assert len(said) == 1, said  # where the recording is
        read = amqpscope("read", "--format", "jsonl", recording)
        assert read.stderr == ""
        return digest, [json.loads(line) for line in read.stdout.splitlines()]

    return go


def names(frames):
    return [frame["name"] for frame in frames]


@pytest.mark.parametrize(
    ("near", "far", "host"),
    [
        pytest.param("amqps", "amqps", "localhost", marks=needs_proton),
        pytest.param("amqps", "amqp", "127.0.0.1", marks=needs_proton),
        ("ws", "ws", "127.0.0.1"),
        ("wss", "wss", "localhost"),
    ],
)
def test_a_client_gets_what_it_gets_directly_and_the_recording_decodes(
    carried, through, near, far, host
):
    digest, frames = through(near, far, host)
    assert digest == carried.direct(near)
    seen = names(frames)
    assert seen.count("transfer") >= 2 * MESSAGES
    assert seen.count("close") == 2
    assert "malformed" not in seen


@needs_proton
def test_a_client_that_does_not_trust_the_ca_is_told_of(carried, proxy, config, tmp_path):
    command = proxy(carried.url("amqp"), "--no-tui")
    client = [sys.executable, SCRIPTS / "tls_exchange.py", f"localhost:{command.address[1]}"]
    stranger = Certified(tmp_path, "stranger").ca
    done = subprocess.run(
        [*client, stranger, "q", "1"], capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 1
    assert "amqpscope ca export FILE" in command.wait_for("does not trust the certificate")
    assert command.end() == 0


def test_an_upstream_that_is_not_trusted_is_told_of(carried, proxy):
    command = proxy(carried.url("amqps"), "--no-tui")
    with command.connect() as peer:
        peer.sendall(b"AMQP\x00\x01\x00\x00")
        assert peer.recv(100) == b""
    line = command.wait_for("not trusted here")
    assert "--cafile FILE" in line
    assert command.end() == 0
