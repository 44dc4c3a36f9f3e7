"""Metrics of a running proxy, scraped over HTTP."""

import re
import socket
import time
import urllib.request
from urllib.error import HTTPError

import pytest

from amqpscope.proxy.metrics import escape
from dissectors.notation import parse
from kit.proxy.brokers import free_ports
from kit.proxy.relaying import PATIENCE, receive

HEADER = b"AMQP\x00\x01\x00\x00"
OPEN = parse('open container-id="a"')


def scrape(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    line = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9]+')
    found = {}
    for each in text.splitlines():
        if not each.startswith("# "):
            assert line.fullmatch(each), each
            name, _, value = each.rpartition(" ")
            found[name.removeprefix("amqpscope_")] = int(value)
    return found


def test_what_passes_is_counted(proxy, server):
    command = proxy(
        server(), "--no-tui", "--metrics", "127.0.0.1:0", "--fault", "open => delay 1ms"
    )
    url = command.wait_for("metrics at ").partition("metrics at ")[2]
    assert scrape(url)["connections_accepted_total"] == 0
    with command.connect() as client:
        # The echo sends it back: a server's open, and a client that sends two.
        client.sendall(HEADER + OPEN + OPEN)
        receive(client, len(HEADER + OPEN + OPEN))
        until = time.monotonic() + PATIENCE
        while (found := scrape(url)).get('frames_total{from="client"}', 0) < 6:
            assert time.monotonic() < until, found
            time.sleep(0.1)
        assert found["connections_open"] == 1
    assert found["connections_accepted_total"] == 1
    assert found["recorded_packets_total"] > 3
    assert found["recorded_octets_total"] > 100
    assert found['fault_actions_total{fault="fault-1"}'] == 4
    assert found['frame_octets_total{from="client"}'] == 2 * len(HEADER + OPEN + OPEN)
    assert [name for name in found if name.startswith('findings_total{rule="CON-')]
    assert found["analysis_lag_octets"] >= 0
    assert command.end() == 0


def test_other_requests_and_rubbish_get_an_answer(relay, server):
    (port,) = free_ports(1)
    near = relay(server(), metrics=f"127.0.0.1:{port}")
    with pytest.raises(HTTPError, match="404"):
        scrape(f"http://127.0.0.1:{port}/other")
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(b"POST /metrics HTTP/1.1\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 405 ")
    idle = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(40)]
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(b"x" * 100_000)
        with pytest.raises((ConnectionError, AssertionError)):
            assert client.recv(1)
    assert scrape(f"http://127.0.0.1:{port}/metrics")["connections_open"] == 0
    for each in idle:
        each.close()
    assert near.stop() == 0


def test_labels_are_escaped():
    assert escape('a"b\\c\nd') == r"a\"b\\c\nd"
