"""Several upstreams in one process, Unix sockets, and names that are looked up for each client."""

import os
import socket
import stat

import pytest

from amqpscope.proxy import address, resolver
from amqpscope.proxy.address import AddressError, Upstream
from amqpscope.proxy.listening import listen_on_path
from amqpscope.proxy.process import StartError
from amqpscope.proxy.resolver import Targets
from kit.proxy.relaying import PATIENCE, noise, receive, receive_all, talks

OCTETS = noise(1000)


def say(word):
    def handler(peer):
        peer.sendall(word)

    return handler


def connect_to_path(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(str(path))
    return client


def test_each_listener_leads_to_its_own_upstream(relay, server):
    one, two = server(say(b"one")), server(say(b"two"))
    relay = relay(one, ["127.0.0.1:0", f"127.0.0.1:0=amqp://{two}"])
    for which, word in enumerate((b"one", b"two")):
        with relay.connect(which) as client:
            assert receive_all(client) == word
    relay.settle()
    relay.stop()
    found = [bytes(talk.octets[1]) for talk in talks(relay.path).values()]
    assert sorted(found) == [b"one", b"two"]


def test_an_upstream_that_is_down_is_named_for_each_route(relay, server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        down = f"127.0.0.1:{taken.getsockname()[1]}"
    relay = relay(server(say(b"up")), ["127.0.0.1:0", f"127.0.0.1:0={down}"])
    with relay.connect(1) as client, pytest.raises(ConnectionResetError):
        client.recv(1)
    with relay.connect(0) as client:
        assert receive_all(client) == b"up"
    relay.settle()
    assert relay.watch.new_lines() == [f"upstream {down}: connection refused; clients get a reset"]


def test_unix_sockets_on_both_sides(relay, server, tmp_path):
    path, far = tmp_path / "near.sock", tmp_path / "far.sock"
    behind = server()
    relay_far = relay(behind, [f"unix:{far}"], "far.pcapng")
    relay_near = relay(f"unix:{far}", [f"unix:{path}"], "near.pcapng")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with connect_to_path(path) as client:
        client.sendall(OCTETS)
        assert receive(client, len(OCTETS)) == OCTETS
    for each in (relay_near, relay_far):
        each.settle()
        each.stop()
        (talk,) = talks(each.path).values()
        assert bytes(talk.octets[0]) == bytes(talk.octets[1]) == OCTETS
    assert not path.exists()


def test_a_fault_acts_between_unix_sockets(relay, server, tmp_path):
    path, far = tmp_path / "near.sock", tmp_path / "far.sock"
    relay(server(), [f"unix:{far}"], "far.pcapng")
    relay = relay(
        f"unix:{far}", [f"unix:{path}"], faults=({"on": "header", "action": "duplicate"},)
    )
    header = b"AMQP\x00\x01\x00\x00"
    with connect_to_path(path) as client:
        client.sendall(header)
        # Ours twice to the upstream, and what comes back twice each.
        assert receive(client, 16) == header * 2
    relay.settle()
    relay.stop()
    assert len(talks(relay.path)) == 2


def test_a_file_that_is_no_socket_is_left_alone(tmp_path):
    precious = tmp_path / "notes.txt"
    precious.write_text("mine")
    with pytest.raises(AddressError, match="address already in use"):
        listen_on_path(str(precious))
    assert precious.read_text() == "mine"


def test_a_socket_that_nobody_answers_at_is_replaced(tmp_path):
    path = str(tmp_path / "old.sock")
    listen_on_path(path).close()
    assert os.path.exists(path)
    with listen_on_path(path), pytest.raises(AddressError, match="address already in use"):
        listen_on_path(path)


def test_what_cannot_begin_leaves_no_socket_behind(relay, server, tmp_path):
    path = tmp_path / "near.sock"
    with pytest.raises(StartError, match="port out of range"):
        relay(server(), [f"unix:{path}", "127.0.0.1:0=amqp://broker:0"])
    assert not path.exists()


def test_a_name_is_looked_up_for_each_connection(relay, server):
    relay = relay(f"localhost:{server().port}")
    for _ in range(3):
        with relay.connect() as client:
            client.sendall(b"hello")
            assert receive(client, 5) == b"hello"


class Turn:
    """A relay's loop, of which only what the resolver needs."""

    def __init__(self):
        self.later = []
        self.said = []
        self.repeats = self

    def register(self, fd, mask, handler):
        self.handler = handler

    def say(self, who, text):
        self.said.append(f"{who}: {text}")


def test_new_addresses_count_at_once_and_old_ones_when_the_resolver_fails(monkeypatch):
    answers = {"where": [(2, ("127.0.0.1", 1))]}

    def resolve(host, port):
        if not answers["where"]:
            raise AddressError("broker: name or service not known")
        return answers["where"]

    monkeypatch.setattr(address, "resolve", resolve)
    targets = Targets(Upstream("broker", 1, False))
    turn, found = Turn(), []
    looked = resolver.Resolver(turn)
    for where in ([(2, ("127.0.0.2", 1))], []):
        answers["where"] = where
        looked.look_up(targets, found.append)
        looked.look_up(targets, found.append)
        looked.heard.setblocking(True)
        turn.handler(1)
        for action in turn.later:
            action()
        turn.later.clear()
    looked.close()
    assert found == [[(2, ("127.0.0.2", 1))]] * 4
    assert turn.said == ["upstream: broker: name or service not known; going by its last addresses"]
