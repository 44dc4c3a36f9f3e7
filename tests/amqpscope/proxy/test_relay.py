"""The relay, in a process of its own, between real sockets."""

import contextlib
import random
import socket
import threading
import time

import pytest

from amqpscope.proxy.process import StartError
from kit.proxy.relaying import (
    PATIENCE,
    descriptors,
    digest,
    echo,
    memory,
    noise,
    receive,
    receive_all,
    reset,
    talks,
    was_reset,
)

CLIENT, SERVER = 0, 1
BULK = 200_000_000


def fill(client):
    """Send until nothing more is taken for a while; what was sent."""
    client.setblocking(False)
    sent = bytearray()
    block = noise(1 << 16)
    idle = 0
    while idle < 20:
        try:
            sent += block[: client.send(block)]
            idle = 0
        except BlockingIOError:
            idle += 1
            time.sleep(0.01)
    client.setblocking(True)
    return bytes(sent)


def is_refused(relay):
    """Whether a client gets a reset, in its first call or a later one."""
    try:
        with relay.connect() as client:
            return was_reset(client)
    except ConnectionResetError:
        return True


def test_octets_pass_unchanged_both_ways_and_into_the_recording(relay, server):
    sent = noise(3_000_000)
    relay = relay(server())
    with relay.connect() as client:
        port = client.getsockname()[1]
        threading.Thread(target=lambda: (client.sendall(sent), client.shutdown(1))).start()
        assert receive_all(client) == sent
    relay.settle()
    assert relay.stop() == 0
    talk = talks(relay.path)[port]
    assert talk.octets == [sent, sent]
    assert talk.ends == ["fin", "fin"]


def test_a_bulk_transfer_arrives_as_it_was_sent(relay, server):
    block = noise(1 << 20)
    count = BULK // len(block)
    arrived = []

    def take(peer):
        arrived.append(receive_all(peer))
        peer.sendall(digest(arrived[0]).encode())

    relay = relay(server(take))
    with relay.connect() as client:
        for number in range(count):
            client.sendall(number.to_bytes(4) + block[4:])
        client.shutdown(socket.SHUT_WR)
        told = receive_all(client).decode()
    sent = b"".join(number.to_bytes(4) + block[4:] for number in range(count))
    assert told == digest(sent)
    relay.settle()
    relay.stop()
    (talk,) = talks(relay.path).values()
    assert digest(talk.octets[CLIENT]) == digest(sent)


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:0"])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_both_versions_of_ip_in_every_mixture(relay, server, listen, family):
    relay = relay(server(family=family), listen=(listen,))
    with relay.connect() as client:
        client.sendall(b"hello")
        assert receive(client, 5) == b"hello"
        port = client.getsockname()[1]
    relay.settle()
    relay.stop()
    assert talks(relay.path)[port].octets == [b"hello", b"hello"]


def test_a_name_with_several_addresses_is_tried_through(relay, server):
    relay = relay(f"localhost:{server().port}", listen=("localhost:0",))
    for which in range(len(relay.addresses)):
        with relay.connect(which) as client:
            client.sendall(b"x")
            assert client.recv(1) == b"x"


def test_a_half_close_leaves_the_other_direction_open(relay, server):
    def answer_late(peer):
        asked = receive_all(peer)
        time.sleep(0.1)
        peer.sendall(b"answer to " + asked)

    relay = relay(server(answer_late))
    with relay.connect() as client:
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        assert receive_all(client) == b"answer to question"


def test_what_the_client_said_last_is_delivered_when_the_server_closes_first(relay, server):
    got = []

    def hang_up(peer):
        peer.sendall(b"bye")
        peer.shutdown(socket.SHUT_WR)
        got.append(receive_all(peer))

    relay = relay(server(hang_up))
    with relay.connect() as client:
        assert receive_all(client) == b"bye"
        client.sendall(b"but I have more")
    relay.settle()
    until = time.monotonic() + PATIENCE
    while not got and time.monotonic() < until:
        time.sleep(0.01)
    assert got == [b"but I have more"]


def test_a_reset_by_the_client_reaches_the_server(relay, server):
    seen = []
    relay = relay(server(lambda peer: seen.append(was_reset(peer))))
    client = relay.connect()
    client.sendall(b"x")
    time.sleep(0.1)
    reset(client)
    relay.settle()
    relay.stop()
    assert seen == [True]
    (talk,) = talks(relay.path).values()
    assert talk.ends == ["rst", "rst"]


def test_a_reset_by_the_server_reaches_the_client(relay, server):
    def refuse_rudely(peer):
        receive(peer, 1)
        reset(peer)

    there = server(refuse_rudely)
    relay = relay(there)
    with relay.connect() as client:
        client.sendall(b"x")
        assert was_reset(client)
        host, port = client.getsockname()
    relay.settle()
    assert relay.watch.new_lines() == [
        f"upstream {there} has reset the connection of client {host}:{port}"
    ]
    for _ in range(3):
        with relay.connect() as client:
            client.sendall(b"x")
            assert was_reset(client)
    relay.settle()
    relay.stop()
    assert relay.watch.new_lines() == [f"upstream {there} has reset 3 more connections"]


@pytest.mark.parametrize("faults", [(), ({"on": "flow", "action": "drop"},)])
def test_the_last_words_of_a_server_that_is_still_sent_to_are_not_lost(relay, server, faults):
    """A send to a server that has closed may fail before its last octets are read."""

    def close(peer):
        peer.recv(8)
        peer.sendall(b"close-ok")

    relay = relay(server(close), faults=faults)
    answers = []
    for _ in range(100):
        with relay.connect() as client, contextlib.suppress(OSError):
            with contextlib.suppress(OSError):
                client.sendall(b"closing!")
                for _ in range(20):
                    time.sleep(0.0001)
                    client.sendall(b"too late" * 10)
            answers.append(client.recv(100))
    assert answers == [b"close-ok"] * 100


def test_a_client_that_only_looks_whether_somebody_listens_is_not_news(relay, server):
    looked = threading.Event()

    def refuse_rudely(peer):
        peer.recv(1)
        reset(peer)
        looked.set()

    relay = relay(server(refuse_rudely))
    relay.connect().close()
    assert looked.wait(PATIENCE)
    relay.settle()
    assert relay.watch.new_lines() == []
    with relay.connect() as client:
        client.sendall(b"AMQP")
        assert was_reset(client)
    relay.settle()
    (line,) = relay.watch.new_lines()
    assert "has reset the connection of client" in line


def test_a_reset_reaches_a_peer_that_does_not_read(relay, server):
    let_go = threading.Event()
    seen = []

    def stall(peer):
        let_go.wait(PATIENCE)
        seen.append(was_reset(peer))

    relay = relay(server(stall))
    client = relay.connect()
    fill(client)
    reset(client)
    relay.settle()
    let_go.set()
    relay.stop()


def test_an_upstream_that_refuses_is_a_reset_for_the_client(relay):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    relay = relay(f"127.0.0.1:{port}")
    for _ in range(3):
        assert is_refused(relay)
    assert relay.watch.status().refused == 3
    told = relay.watch.new_lines()
    assert told == [f"upstream 127.0.0.1:{port}: connection refused; clients get a reset"]
    with socket.create_server(("127.0.0.1", port)), relay.connect():
        until = time.monotonic() + PATIENCE
        while not told[1:] and time.monotonic() < until:
            told += relay.watch.new_lines()
    assert told[1:] == [f"upstream 127.0.0.1:{port} takes connections again"]


def test_a_peer_that_does_not_read_holds_the_sender_up_and_loses_nothing(relay, server):
    let_go = threading.Event()
    got = []

    def read_late(peer):
        let_go.wait(PATIENCE)
        got.append(receive_all(peer))

    relay = relay(server(read_late))
    client = relay.connect()
    before = memory(relay.process.pid)
    sent = fill(client)
    assert len(sent) < 64 << 20
    assert memory(relay.process.pid) - before < 4096
    let_go.set()
    client.setblocking(True)
    client.close()
    relay.settle()
    until = time.monotonic() + PATIENCE
    while not got and time.monotonic() < until:
        time.sleep(0.01)
    assert got == [sent]


def test_another_connection_goes_on_while_one_is_stalled(relay, server):
    def stall_or_echo(peer):
        if receive(peer, 1) == b"e":
            echo(peer)
        else:
            time.sleep(PATIENCE)

    relay = relay(server(stall_or_echo))
    stalled = relay.connect()
    stalled.sendall(b"s")
    fill(stalled)
    with relay.connect() as client:
        client.sendall(b"e")
        for number in range(100):
            client.sendall(number.to_bytes(4))
            assert receive(client, 4) == number.to_bytes(4)
    stalled.close()


def test_the_ack_covers_what_had_been_written_to_the_sender_and_no_more(relay, server):
    def twice(peer):
        for _ in range(2):
            peer.sendall(b"answer " + receive(peer, 8))

    relay = relay(server(twice))
    with relay.connect() as client:
        for word in (b"question", b"and more"):
            client.sendall(word)
            receive(client, 15)
    relay.settle()
    relay.stop()
    (talk,) = talks(relay.path).values()
    assert talk.acks == [(CLIENT, 0, 0), (SERVER, 0, 8), (CLIENT, 8, 15), (SERVER, 15, 16)]


def test_octets_that_crossed_in_flight_do_not_acknowledge_each_other(relay, server):
    both = threading.Barrier(2)

    def speak(peer):
        for _ in range(200):
            both.wait(PATIENCE)
            peer.sendall(b"server says")
            receive(peer, 11)

    relay = relay(server(speak))
    with relay.connect() as client:
        for _ in range(200):
            both.wait(PATIENCE)
            client.sendall(b"client says")
            receive(client, 11)
    relay.settle()
    relay.stop()
    (talk,) = talks(relay.path).values()
    had = {CLIENT: 0, SERVER: 0}
    for sender, offset, ack in talk.acks:
        # Never more than was recorded of the other by then, never less than it answered.
        assert had[sender] <= ack
        assert ack <= (offset // 11 + 1) * 11
        had[sender] = ack


def test_500_connections_some_killed_none_mixed_up_none_missing(relay, server):
    count, size = 500, 20_000
    relay = relay(server())
    before = descriptors(relay.process.pid)
    chance = random.Random(1)
    killed = set(chance.sample(range(count), 100))
    clients = [relay.connect() for _ in range(count)]
    ports = [client.getsockname()[1] for client in clients]
    failed = []

    def talk(number, client):
        sent = noise(size, number)
        try:
            client.settimeout(PATIENCE)
            for at in range(0, size, 4000):
                client.sendall(sent[at : at + 4000])
                if receive(client, 4000) != sent[at : at + 4000]:
                    failed.append(number)
                if number in killed and at == 8000:
                    reset(client)
                    return
            client.close()
        except OSError as error:
            failed.append((number, error))

    threads = [threading.Thread(target=talk, args=each) for each in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    status = relay.settle()
    assert (status.open, status.accepted) == (0, count)
    assert descriptors(relay.process.pid) == before
    assert relay.stop() == 0
    found = talks(relay.path)
    assert set(found) == set(ports)
    for number, port in enumerate(ports):
        expected = noise(size, number)[: 12_000 if number in killed else size]
        assert found[port].octets[CLIENT] == expected
        assert expected.startswith(found[port].octets[SERVER])


def test_memory_does_not_grow_with_the_connections_that_came_and_went(relay, server):
    relay = relay(server())

    def come_and_go(times):
        for _ in range(times):
            with relay.connect() as client:
                client.sendall(b"x")
                client.recv(1)
        relay.settle()
        return memory(relay.process.pid)

    first = come_and_go(300)
    assert come_and_go(1500) - first < 1024


def test_a_restarted_upstream_is_found_again(relay, server):
    first = server()
    relay = relay(first)
    old = relay.connect()
    old.sendall(b"x")
    assert old.recv(1) == b"x"
    first.close()
    with socket.create_server(("127.0.0.1", first.port)) as second:
        with relay.connect() as client:
            peer, _ = second.accept()
            client.sendall(b"anew")
            assert receive(peer, 4) == b"anew"
            peer.close()
        old.sendall(b"y")
        assert old.recv(1) == b"y"
    old.close()


@pytest.mark.parametrize("seed", range(5))
def test_nothing_that_was_passed_on_is_missing_after_kill_9(relay, server, seed):
    got = bytearray()
    done = threading.Event()

    def take(peer):
        try:
            while octets := peer.recv(1 << 16):
                got.extend(octets)
        except OSError:
            pass
        done.set()

    relay = relay(server(take))
    client = relay.connect()

    def pour():
        block = noise(50_000, seed)
        try:
            while True:
                client.sendall(block)
        except OSError:
            pass

    threading.Thread(target=pour, daemon=True).start()
    time.sleep(0.1 + 0.03 * seed)
    relay.kill()
    assert done.wait(PATIENCE)
    client.close()
    (talk,) = talks(relay.path).values()
    assert got
    assert talk.octets[CLIENT].startswith(got)


def test_a_port_in_use_is_one_line(relay, server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=f"cannot listen on 127.0.0.1:{port}: address already"):
            relay(server(), listen=(f"127.0.0.1:{port}",))


@pytest.mark.parametrize(
    ("upstream", "told"),
    [
        ("no-such-host.invalid:5672", "no-such-host.invalid: "),
        ("http://broker", "http:// is not known, expected one of amqp://"),
        ("amqp://broker:99999", "port out of range"),
    ],
)
def test_an_upstream_that_cannot_be_is_one_line(relay, upstream, told, tmp_path):
    with pytest.raises(StartError) as caught:
        relay(upstream)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_status_tells_how_it_goes(relay, server):
    there = server()
    relay = relay(there)
    with relay.connect() as client:
        client.sendall(b"x")
        client.recv(1)
        status = relay.watch.status()
    assert (status.open, status.accepted, status.refused) == (1, 1, 0)
    assert status.upstream == str(there)
    assert status.packets == 5
    assert status.problem is None
