"""Real clients and a real broker over TLS and WebSocket, through the command itself."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from amqpscope.proxy.ca import load_or_make_ca
from kit.proxy.relaying import PATIENCE
from kit.proxy.tls_peers import NOW, Certified

SCRIPTS = Path(__file__).parent / "scripts"
MESSAGES = 30

needs_proton = pytest.mark.skipif(
    find_spec("proton") is None, reason="python-qpid-proton is not installed"
)


@pytest.fixture(scope="module")
def modules():
    """Where npm has put rhea and ws."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "amqpscope-tests")
    place = folder / "node_modules"
    if not all((place / name).is_dir() for name in ("rhea", "ws")):
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--prefix",
            folder,
            "rhea@3",
            "ws@8",
        ]
        if subprocess.run(command, capture_output=True, timeout=100, check=False).returncode:
            pytest.skip("npm cannot install rhea and ws")
    return place


class Broker:
    """A broker on rhea, with its ports by scheme."""

    def __init__(self, folder, modules):
        self.certified = Certified(folder, "localhost", "127.0.0.1")
        self.modules = modules
        self.process = subprocess.Popen(
            ["node", SCRIPTS / "tls_broker.js", self.certified.path],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "NODE_PATH": str(modules)},
        )  # fmt: skip
        self.ports = json.loads(self.process.stdout.readline())
        self.digests = {}

    def direct(self, scheme):
        """What a client gets without a proxy; the same with TLS and without."""
        client = "amqp" if scheme.startswith("amqp") else "ws"
        if client not in self.digests:
            url = self.url(f"{client}s")
            self.digests[client] = exchange(self, url, self.certified.ca, f"direct-{client}")
        return self.digests[client]

    def url(self, scheme):
        return f"{scheme}://localhost:{self.ports[scheme]}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory, modules):
    made = Broker(tmp_path_factory.mktemp("broker"), modules)
    yield made
    made.process.kill()
    made.process.wait()


def run(*command, **environment):
    """The output of a client that ends well."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def exchange(broker, url, ca, queue):
    """Send and take back messages, by the client that fits the URL; a digest of them."""
    scheme, _, address = url.partition("://")
    if scheme == "amqps":
        return run(sys.executable, SCRIPTS / "tls_exchange.py", address, ca, queue, MESSAGES)
    web = ("node", SCRIPTS / "web_exchange.js", url, queue, MESSAGES)
    return run(*web, NODE_PATH=str(broker.modules), NODE_EXTRA_CA_CERTS=str(ca))


@pytest.fixture
def through(proxy, broker, config, amqpscope, tmp_path):
    """Run a client through the proxy; its digest, and the frames in the recording by name."""

    def go(near, far, host, *options):
        ca = load_or_make_ca(config, NOW).path
        recording = tmp_path / "run.pcapng"
        given = ("--cafile", broker.certified.ca, "--write", recording, "--no-tui", *options)
        command = proxy(broker.url(far), *given)
        url = f"{near}://{host}:{command.address[1]}"
        digest = exchange(broker, url, ca, f"{near}-{far}-{host}")
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
    broker, through, near, far, host
):
    digest, frames = through(near, far, host)
    assert digest == broker.direct(near)
    seen = names(frames)
    assert seen.count("transfer") >= 2 * MESSAGES
    assert seen.count("close") == 2
    assert "malformed" not in seen


@needs_proton
def test_a_client_that_does_not_trust_the_ca_is_told_of(broker, proxy, config, tmp_path):
    command = proxy(broker.url("amqp"), "--no-tui")
    client = [sys.executable, SCRIPTS / "tls_exchange.py", f"localhost:{command.address[1]}"]
    stranger = Certified(tmp_path, "stranger").ca
    done = subprocess.run(
        [*client, stranger, "q", "1"], capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 1
    assert "amqpscope ca export FILE" in command.wait_for("does not trust the certificate")
    assert command.end() == 0


def test_an_upstream_that_is_not_trusted_is_told_of(broker, proxy):
    command = proxy(broker.url("amqps"), "--no-tui")
    with command.connect() as peer:
        peer.sendall(b"AMQP\x00\x01\x00\x00")
        assert peer.recv(100) == b""
    line = command.wait_for("not trusted here")
    assert "--cafile FILE" in line
    assert command.end() == 0
