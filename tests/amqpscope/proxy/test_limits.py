"""What may not go on for ever, or by the thousand: connecting, TLS, silence, descriptors, lines."""

import contextlib
import resource
import socket
import ssl
import threading
import time

import pytest

from amqpscope.proxy.ca import load_or_make_ca
from amqpscope.proxy.clock import Limits
from amqpscope.proxy.lines import Repeats
from amqpscope.proxy.tls_policy import TlsOptions
from kit.proxy import tls_peers
from kit.proxy.relaying import PATIENCE, descriptors, memory, receive, receive_all, talks, was_reset
from kit.proxy.tls_peers import NOW, Certified

HEADER = b"AMQP\x00\x01\x00\x00"


@pytest.fixture
def deaf():
    """An upstream that swallows SYNs: its queue is full and nobody accepts."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = []
        for _ in range(8):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(address)
            waiting.append(client)
        time.sleep(0.2)
        yield f"{address[0]}:{address[1]}"
        for client in waiting:
            client.close()


def until_true(test):
    end = time.monotonic() + PATIENCE
    while not test():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_upstream_that_does_not_answer_is_given_up(relay, deaf):
    relay = relay(deaf, limits=Limits(connect=0.5))
    before = descriptors(relay.process.pid)
    clients = [relay.connect() for _ in range(20)]
    for client in clients:
        with contextlib.suppress(OSError):
            client.sendall(b"x")
    assert all(map(was_reset, clients))
    until_true(lambda: descriptors(relay.process.pid) == before)
    assert relay.watch.status().refused == 20
    (line,) = relay.watch.new_lines()
    assert line == (
        f"upstream {deaf}: no answer for 0.5 s (--connect-timeout); clients get a reset"
    )


def test_a_client_that_left_meanwhile_holds_nothing(proxy, deaf, tmp_path):
    run = proxy(deaf, "--connect-timeout", "0.5", "-w", "f.pcapng")
    with run.connect() as client:
        client.sendall(b"x")
    run.wait_for("no answer for 0.5 s")
    assert run.end() == 0
    assert run.said[-1] == "amqpscope: 2 packets recorded: f.pcapng"


def test_the_next_address_is_tried_when_one_does_not_answer(relay, server, monkeypatch):
    there = server()
    relay = relay(f"localhost:{there.port}", limits=Limits(connect=0.5))
    with relay.connect() as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"


@pytest.mark.parametrize("octets", [b"\x16", b"A", b"AMQP\x02", b"\x16\x03\x01"])
def test_a_beginning_too_short_to_tell_is_passed_on(relay, server, octets):
    relay = relay(server(), tls=TlsOptions())
    with relay.connect() as client:
        client.sendall(octets)
        begun = time.monotonic()
        assert receive(client, len(octets)) == octets
        assert 1 < time.monotonic() - begun < 10
        client.sendall(b"and more")
        assert receive(client, 8) == b"and more"
    relay.settle()
    relay.stop()
    (talk,) = talks(relay.path).values()
    assert talk.octets == [octets + b"and more"] * 2


@pytest.mark.usefixtures("config")
def test_a_client_that_does_not_go_on_with_tls_is_cut(relay, server):
    relay = relay(server(), tls=TlsOptions(), limits=Limits(handshake=3))
    hello = tls_peers.Peer(tls_peers.client(None), "localhost").turn(b"")
    with relay.connect() as half, relay.connect() as silent, relay.connect() as plain:
        half.sendall(hello[:100])
        silent.sendall(hello)
        plain.sendall(HEADER)
        assert receive(plain, 8) == HEADER
        assert receive_all(half) == b""
        assert receive_all(silent)[:1] == b"\x16"
        plain.sendall(b"goes on")
        assert receive(plain, 7) == b"goes on"
    relay.settle()
    told = relay.watch.new_lines()
    assert len(told) == 1
    assert "no TLS handshake within 3 s (--handshake-timeout)" in told[0]
    assert told[0].startswith("client 127.0.0.1:")


def test_an_upstream_that_does_not_go_on_with_tls_is_blamed(relay, server, tmp_path):
    there = server(receive_all)
    options = TlsOptions(upstream_tls=True, upstream_host="127.0.0.1", insecure=True)
    relay = relay(f"amqps://{there}", tls=options, limits=Limits(handshake=1))
    with relay.connect() as client:
        client.sendall(HEADER)
        assert receive_all(client) == b""
    relay.settle()
    (line,) = relay.watch.new_lines()
    assert line.startswith(f"upstream {there}: no TLS handshake within 1 s")


def test_a_client_that_says_nothing_at_all_may_wait(relay, server, tmp_path):
    there = server(receive_all)
    options = TlsOptions(upstream_tls=True, upstream_host="127.0.0.1", insecure=True)
    relay = relay(f"amqps://{there}", tls=options, limits=Limits(handshake=0.5))
    with relay.connect() as client:
        client.settimeout(2)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_silence_is_cut_only_when_that_is_wanted(relay, server):
    patient, hasty = relay(server()), relay(server(), name="b.pcapng", limits=Limits(idle=1))
    with patient.connect() as one, hasty.connect() as other, hasty.connect() as busy:
        other.sendall(b"x")
        assert other.recv(1) == b"x"
        begun = time.monotonic()
        ended = threading.Event()

        def chatter():
            while not ended.is_set():
                busy.sendall(b"y")
                assert busy.recv(1) == b"y"
                time.sleep(0.05)

        thread = threading.Thread(target=chatter)
        thread.start()
        assert other.recv(1) == b""
        assert time.monotonic() - begun > 0.9
        ended.set()
        thread.join()
        one.sendall(b"z")
        assert one.recv(1) == b"z"
    hasty.settle()
    hasty.stop()
    assert "idle for 1 s, closed (--idle-timeout)" in "".join(hasty.watch.new_lines())
    assert talks(hasty.path)


# Descriptors


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("tls", [False, True])
def test_clients_wait_while_descriptors_are_short(proxy, server, config, tls):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    run = proxy(server(), preexec_fn=limit)
    context = tls_peers.client(load_or_make_ca(config, NOW).path) if tls else None
    address = run.address
    failed = []

    def come(number):
        try:
            with socket.create_connection(address, PATIENCE) as plain:
                client = plain if context is None else context.wrap_socket(
                    plain, server_hostname="localhost"
                )  # fmt: skip
                client.sendall(HEADER)
                assert receive(client, 8) == HEADER
                time.sleep(0.1)
                client.close()
        except (OSError, AssertionError) as error:
            failed.append((number, error))

    threads = [threading.Thread(target=come, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    line = run.wait_for("cannot take more connections for now")
    assert "no more fit into 64 open files (ulimit -n); clients wait" in line
    assert failed == []
    assert run.end() == 0
    assert not any("upstream" in each for each in run.said[1:])


# Lines, and what failures leave behind


def test_lines_of_a_kind_are_said_once_and_counted():
    said = []
    repeats = Repeats(said.append, 60)
    for number in range(1000):
        repeats.say(f"client {number}", "does not trust us")
    repeats.say("client x", "something else")
    repeats.close()
    assert said == [
        "client 0: does not trust us",
        "client x: something else",
        "999 more like this: does not trust us",
    ]


def test_lines_of_a_kind_come_again_after_a_while():
    said = []
    repeats = Repeats(said.append, 0.1)
    for _ in range(3):
        repeats.say("a", "b")
    time.sleep(0.15)
    repeats.say("a", "b")
    assert said == ["a: b", "a: b (2 more like this before)"]


def test_kinds_without_end_take_no_memory_without_end():
    said = []
    repeats = Repeats(said.append, 60)
    for number in range(1000):
        repeats.say("a", str(number))
    assert len(repeats._said) <= 100


@pytest.mark.usefixtures("config")
def test_handshakes_that_fail_leave_neither_memory_nor_descriptors_nor_lines(
    proxy, server, tmp_path
):
    run = proxy(server(), "--keylog", "keys", "--no-tui")
    address = run.address
    stranger = tls_peers.client(Certified(tmp_path, "other").ca)

    def fail(times, begin):
        for number in range(times):
            with (
                socket.create_connection(address, PATIENCE) as plain,
                contextlib.suppress(OSError),
            ):
                stranger.wrap_socket(plain, server_hostname=f"host-{begin + number}.example")

    fail(150, 0)
    before, files = memory(run.process.pid), descriptors(run.process.pid)
    fail(300, 150)
    time.sleep(0.5)
    assert memory(run.process.pid) - before < 4096
    assert descriptors(run.process.pid) <= files + 3
    assert run.end() == 0
    told = [line for line in run.said if "does not trust" in line]
    assert len(told) < 10
    assert "more like this" in told[-1]


@pytest.mark.usefixtures("config")
def test_a_client_that_closes_tls_without_a_word_is_named_and_not_the_upstream(
    relay, server, tmp_path
):
    broker = Certified(tmp_path, "localhost", "127.0.0.1")
    context = tls_peers.server(broker, ssl.TLSVersion.TLSv1_3)

    def serve(peer):
        """As OpenSSL's own programs do: an unexpected end is answered with an alert."""
        with context.wrap_socket(peer, server_side=True, suppress_ragged_eofs=False) as tls:
            tls.settimeout(PATIENCE)
            with contextlib.suppress(OSError):
                while octets := tls.recv(100):
                    tls.sendall(octets)

    options = TlsOptions(
        upstream_tls=True, upstream_host="127.0.0.1", cafile=str(broker.ca)
    )  # fmt: skip
    relay = relay(f"amqps://{server(serve)}", tls=options)
    ca = load_or_make_ca(tmp_path / "config" / "amqpscope", NOW).path
    plain = relay.connect()
    tls = tls_peers.client(ca).wrap_socket(plain, server_hostname="localhost")
    tls.sendall(HEADER)
    assert receive(tls, 8) == HEADER
    socket.socket(fileno=tls.detach()).shutdown(socket.SHUT_WR)
    relay.settle()
    relay.stop()
    (line,) = relay.watch.new_lines()
    assert line.startswith("client 127.0.0.1:")
    assert "closed TLS without close_notify, which the upstream answers: " in line
