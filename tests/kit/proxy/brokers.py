"""Brokers for tests, run as users run them: one on python-qpid-proton, and RabbitMQ."""

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
