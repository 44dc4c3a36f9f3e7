"""A broker that does one thing wrong is caught at it, by its own traffic with real clients."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

import amqpscope as package
from kit import TESTS
from kit.proxy.brokers import free_ports

pytestmark = pytest.mark.skipif(find_spec("proton") is None, reason="needs python-qpid-proton")

FAULTS = {
    # what goes wrong: the rules that say so
    "": set(),
    "alter": {"BRK-101"},
    "drop-annotations": {"BRK-104"},
    "priority": {"BRK-107"},
    "ttl": {"BRK-109"},
    "refuse": {"BRK-124"},
    "duplicate": {"BRK-125"},
    "reorder": {"BRK-121"},
    "again": {"BRK-117"},
    "count": {"BRK-113"},
}
CERTAIN = {"alter", "drop-annotations", "again", "count"}
"""What is certain where all connections are in view."""


@pytest.fixture
def recorded(tmp_path, request):
    """The traffic of two clients with a broker that has a fault."""
    (port,) = free_ports(1)
    command = [sys.executable, TESTS / "kit" / "bad_broker.py", f"127.0.0.1:{port}", request.param]
    broker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    path = tmp_path / "bad.pcapng"
    try:
        assert broker.stdout.readline() == "ready\n"
        with package.proxied(f"amqp://127.0.0.1:{port}", write=path) as proxy:
            converse(proxy, request.param)
    finally:
        broker.kill()
        broker.wait()
    return request.param, path


def converse(proxy, fault):
    """Send five messages on one connection and take what comes on another."""
    from proton import Delivery, Message, symbol
    from proton.utils import BlockingConnection, SendException

    producer = BlockingConnection(proxy.address, timeout=20)
    consumer = BlockingConnection(proxy.address, timeout=20)
    sender = producer.create_sender("q")
    receiver = consumer.create_receiver("q", credit=10)
    for number in range(5):
        message = Message(id=f"an id that is long enough, {number}", body="hello", priority=5)
        message.annotations = {symbol("x-opt-mine"): number}
        if fault == "ttl":
            message.ttl = 60
        try:
            sender.send(message)
        except SendException:
            assert fault == "refuse"
    for number in range({"duplicate": 10, "count": 6}.get(fault, 5)):
        receiver.receive(timeout=20)
        if fault == "count" and number == 0:
            receiver.fetcher.unsettled[0].local.failed = True
            receiver.settle(Delivery.MODIFIED)
        elif fault != "duplicate":
            receiver.accept()
    if fault == "again":
        receiver.close()
        receiver = consumer.create_receiver("q", credit=10)
        receiver.receive(timeout=20)
        receiver.accept()
    producer.close()
    consumer.close()


def findings(path, *options):
    command = [sys.executable, "-m", "amqpscope", "lint", "--format", "json", "--select", "BRK"]
    done = subprocess.run([*command, *options, path], capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    return json.loads(done.stdout)["findings"], done.returncode


@pytest.mark.parametrize("recorded", FAULTS, indirect=True)
def test_a_fault_is_found_and_nothing_else(recorded):
    fault, path = recorded
    found, code = findings(path)
    assert {each["rule"] for each in found} == FAULTS[fault]
    assert {each["certainty"] for each in found} <= {"suspect"}
    assert code == 0
    closed, code = findings(path, "--closed-world")
    assert {each["rule"] for each in closed} == FAULTS[fault]
    assert code == int(fault in CERTAIN), closed
    for each in closed:
        assert each["peer"] == "server"
        assert each["connection"] == 2
        assert each["related"][0]["connection"] == 1
        assert each["related"][0]["why"].startswith("published to q")
