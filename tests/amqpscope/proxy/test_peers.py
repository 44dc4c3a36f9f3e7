"""Real clients and real servers through the proxy: the same results as without it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

import amqpscope as package
from amqpscope.proxy.ca import load_or_make_ca
from kit.proxy.relaying import PATIENCE
from kit.proxy.tls_peers import NOW, Certified

SCRIPTS = Path(__file__).parent / "scripts"
MESSAGES = 60


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


def test_proton_through_the_proxy_gets_what_it_gets_directly(broker):
    exchange = (sys.executable, SCRIPTS / "exchange.py")
    direct = run(*exchange, f"127.0.0.1:{broker}", "direct", MESSAGES)
    with package.proxied(f"amqp://127.0.0.1:{broker}", fail_on="error") as proxy:
        relayed = run(*exchange, proxy.address, "relayed", MESSAGES)
        assert proxy.frames > 4 * MESSAGES
    assert relayed == direct
    # As in the README: what real clients do is worth a remark, and fails nothing.
    assert proxy.findings


def test_rhea_through_the_proxy_gets_what_it_gets_directly(rhea, broker):
    exchange = ("node", SCRIPTS / "exchange.js", "127.0.0.1")
    direct = run(*exchange, broker, "js-direct", MESSAGES, RHEA=str(rhea))
    with package.proxied(f"amqp://127.0.0.1:{broker}", fail_on="error") as proxy:
        relayed = run(*exchange, proxy.port, "js-relayed", MESSAGES, RHEA=str(rhea))
    assert relayed == direct
    assert proxy.frames > 2 * MESSAGES


def test_rabbitmq_serves_both_families_of_clients_through_the_proxy(rabbitmq):
    publish = (sys.executable, SCRIPTS / "publish.py", "localhost")
    exchange = (sys.executable, SCRIPTS / "exchange.py")
    plain = rabbitmq.port
    with package.proxied(f"amqp://127.0.0.1:{plain}") as proxy:
        assert run(*publish, proxy.port, "a", MESSAGES) == run(*publish, plain, "b", MESSAGES)
        if find_spec("proton") is not None:
            relayed = run(*exchange, proxy.address, "/queue/relayed", MESSAGES)
            assert relayed == run(*exchange, f"127.0.0.1:{plain}", "/queue/direct", MESSAGES)
    assert "amqp-0-9-1" in proxy.checked.protocols
    assert proxy.checked.gaps == 0


def test_rabbitmq_over_tls_serves_both_families_through_the_proxy(
    rabbitmq, proxy, config, amqpscope, tmp_path
):
    recording = tmp_path / "tls.pcapng"
    upstream = f"amqps://localhost:{rabbitmq.tls}"
    own = load_or_make_ca(config, NOW).path
    command = proxy(upstream, "--cafile", rabbitmq.ca, "--write", recording, "--no-tui")
    publish = (sys.executable, SCRIPTS / "publish.py", "localhost")
    direct = run(*publish, rabbitmq.tls, "c", MESSAGES, rabbitmq.ca)
    assert run(*publish, command.address[1], "d", MESSAGES, own) == direct
    if find_spec("proton") is not None:
        exchange = (sys.executable, SCRIPTS / "tls_exchange.py")
        direct = run(*exchange, f"localhost:{rabbitmq.tls}", rabbitmq.ca, "/queue/e", MESSAGES)
        address = f"localhost:{command.address[1]}"
        assert run(*exchange, address, own, "/queue/f", MESSAGES) == direct
    assert command.end() == 0
    names = Counter(
        json.loads(line)["name"]
        for line in amqpscope("read", "--format", "jsonl", recording).stdout.splitlines()
    )
    assert names["basic.publish"] == names["basic.deliver"] == MESSAGES
    assert "malformed" not in names
    if find_spec("proton") is not None:
        assert names["transfer"] >= 2 * MESSAGES
