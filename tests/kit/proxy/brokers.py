"""Brokers for tests, run as users run them: one on python-qpid-proton, and RabbitMQ."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from kit import TESTS
from kit.proxy.relaying import PATIENCE
from kit.proxy.tls_peers import Certified

MESSAGES = 30
"""Of an exchange with the broker on rhea."""
SCRIPTS = TESTS / "amqpscope" / "proxy" / "scripts"


def run(*command, **environment):
    """The output of a client that ends well."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def free_ports(count):
    """Ports that nobody uses at the moment."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def broker():
    """A broker on python-qpid-proton; its port."""
    if find_spec("proton") is None:
        pytest.skip("python-qpid-proton is not installed")
    (port,) = free_ports(1)
    command = [sys.executable, SCRIPTS / "broker.py", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield port
    process.kill()
    process.wait()


class Rabbit(NamedTuple):
    """Where RabbitMQ listens, and whom to trust."""

    port: int
    tls: int
    ca: Path


@pytest.fixture(scope="module")
def rabbitmq():
    """A RabbitMQ node of our own that speaks 1.0 too, and TLS."""
    # Not the one in /usr/sbin, which runs as another user.
    program = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
    if not program.is_file():
        pytest.skip("rabbitmq-server is not installed")
    port, tls, distribution, mapper = free_ports(4)
    with tempfile.TemporaryDirectory(prefix="amqpscope-rabbit-") as folder:
        Path(folder, "plugins").write_text("[rabbitmq_amqp1_0].\n")
        certified = Certified(Path(folder), "localhost")
        Path(folder, "rabbitmq.conf").write_text(
            f"listeners.ssl.1 = 127.0.0.1:{tls}\n"
            f"ssl_options.cacertfile = {certified.ca}\n"
            f"ssl_options.certfile = {certified.path}\n"
            f"ssl_options.keyfile = {certified.path}\n"
        )
        environment = {
            **os.environ,
            "HOME": folder,
            "ERL_EPMD_PORT": str(mapper),
            "RABBITMQ_NODENAME": f"amqpscope-{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_MNESIA_BASE": folder,
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_PID_FILE": f"{folder}/pid",
        }
        with Path(folder, "out").open("w") as out:
            process = subprocess.Popen(
                [program], env=environment, cwd=folder, stdout=out, stderr=out
            )
        try:
            wait_for_rabbitmq(process, port, Path(folder, "out"))
            yield Rabbit(port, tls, certified.ca)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
            subprocess.run(["epmd", "-port", str(mapper), "-kill"],
                           capture_output=True, check=False)  # fmt: skip


def wait_for_rabbitmq(process, port, out):
    until = time.monotonic() + 60
    while "Starting broker... completed" not in out.read_text():
        if process.poll() is not None or time.monotonic() > until:
            pytest.fail(f"RabbitMQ did not start: {out.read_text()[-2000:]}")
        time.sleep(0.2)
    socket.create_connection(("127.0.0.1", port), PATIENCE).close()


@pytest.fixture(scope="module")
def rhea():
    """Where npm has put rhea."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "amqpscope-tests")
    place = folder / "node_modules" / "rhea"
    if not place.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), "rhea@3"]
        if subprocess.run(command, capture_output=True, timeout=100, check=False).returncode:
            pytest.skip("npm cannot install rhea")
    return place


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


class RheaBroker:
    """A broker on rhea over TCP, TLS and WebSocket, with its ports by scheme."""

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
            self.digests[client] = self.exchange(url, self.certified.ca, f"direct-{client}")
        return self.digests[client]

    def url(self, scheme):
        return f"{scheme}://localhost:{self.ports[scheme]}"

    def exchange(self, url, ca, queue):
        """Send and take back messages, by the client that fits the URL; a digest of them."""
        scheme, _, address = url.partition("://")
        if scheme == "amqps":
            command = (sys.executable, SCRIPTS / "tls_exchange.py", address, ca, queue, MESSAGES)
            return run(*command)
        web = ("node", SCRIPTS / "web_exchange.js", url, queue, MESSAGES)
        return run(*web, NODE_PATH=str(self.modules), NODE_EXTRA_CA_CERTS=str(ca))


@pytest.fixture(scope="module")
def carried(tmp_path_factory, modules):
    """The broker on rhea."""
    made = RheaBroker(tmp_path_factory.mktemp("broker"), modules)
    yield made
    made.process.kill()
    made.process.wait()
