import contextlib
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from amqpscope.proxy.ca import load_or_make_ca
from amqpscope.proxy.sniff import Kind, Opening
from amqpscope.proxy.tls import RECORD, TlsEnd, TlsError
from amqpscope.proxy.tls_errors import ClientTroubles, UpstreamTroubles
from amqpscope.proxy.tls_policy import TlsOptions, TlsPolicy
from kit.proxy.tls_peers import NOW, VERSIONS, Certified, Peer, client, server

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
LONG = bytes(range(256)) * 1000


@pytest.fixture
def broker(tmp_path):
    return Certified(tmp_path, "broker.example", "127.0.0.1")


@pytest.fixture
def ends(broker):
    """Make an end and its peer, by the role of the end, with the handshake done."""

    def make(role, version=None):
        if role == "server":
            end = TlsEnd(server(broker, version), ClientTroubles())
            peer = Peer(client(broker.ca), "broker.example")
        else:
            troubles = UpstreamTroubles("broker.example:5671", "broker.example")
            end = TlsEnd(client(broker.ca, version), troubles, server_name="broker.example")
            peer = Peer(server(broker))
            end.start()
        assert carry(end, peer) == b""
        assert end.done
        return end, peer

    return make


def carry(end, peer, size=None):
    """Carry octets to and fro until there are no more; the plaintext that came out."""
    plain = b""
    while True:
        out = end.outgoing()
        data = peer.turn(out)
        step = size or len(data) or 1
        for at in range(0, len(data), step):
            plain += end.receive(data[at : at + step])
        if not (out or data):
            return plain


both_roles = pytest.mark.parametrize("role", ["server", "client"])
both_versions = pytest.mark.parametrize("version", VERSIONS)


@both_roles
@both_versions
@pytest.mark.parametrize("size", [None, 1, 16389])
@pytest.mark.parametrize("text", [b"x", LONG[:RECORD], LONG[: RECORD + 1]])
def test_text_goes_both_ways_however_it_is_cut(ends, role, version, size, text):
    end, peer = ends(role, version)
    peer.say(text)
    assert carry(end, peer, size) == text
    end.send(text)
    carry(end, peer, size)
    assert peer.plain == text


@both_roles
def test_text_given_before_the_handshake_is_sent_after_it(broker, role):
    if role == "server":
        end, peer = TlsEnd(server(broker), ClientTroubles()), Peer(client(broker.ca), "127.0.0.1")
    else:
        end = TlsEnd(client(broker.ca), UpstreamTroubles("b", "b"), server_name="127.0.0.1")
        peer = Peer(server(broker))
        end.start()
    end.send(memoryview(LONG))
    end.send(b"end")
    assert end.queued >= len(LONG) + 3
    carry(end, peer)
    assert peer.plain == LONG + b"end"
    assert end.queued == 0


def test_a_buffer_may_be_used_again_after_send(ends):
    end, peer = ends("server")
    buffer = bytearray(b"first")
    end.send(memoryview(buffer))
    buffer[:] = b"later"
    carry(end, peer)
    assert peer.plain == b"first"


@both_roles
@both_versions
def test_after_close_it_still_receives(ends, role, version):
    end, peer = ends(role, version)
    end.send(b"last words")
    end.close()
    carry(end, peer)
    assert end.closed
    assert (peer.plain, peer.eof) == (b"last words", True)
    peer.say(LONG[:RECORD])
    assert carry(end, peer, 7) == LONG[:RECORD]
    assert not end.eof
    peer.hang_up()
    carry(end, peer)
    assert end.eof
    assert not end.truncated


@both_roles
@both_versions
def test_after_the_peers_close_notify_it_still_sends(ends, role, version):
    end, peer = ends(role, version)
    peer.say(b"last words")
    words = peer.turn(b"")
    peer.hang_up()
    assert end.receive(words + peer.sent.read()) == b"last words"
    assert end.eof
    end.send(LONG[:RECORD])
    end.close()
    carry(end, peer)
    assert peer.plain == LONG[:RECORD]
    end.receive_eof()
    assert not end.truncated


def test_a_socket_that_ends_without_close_notify_is_told_apart(ends):
    end, _ = ends("server")
    end.receive_eof()
    assert end.eof
    assert end.truncated


def test_plaintext_before_damage_is_not_lost(ends):
    end, peer = ends("server")
    peer.say(b"good")
    good = peer.turn(b"")
    with pytest.raises(TlsError) as caught:
        end.receive(good + b"\x17\x03\x03\x00\x20" + bytes(32))
    assert caught.value.plain == b"good"
    assert "failed" in str(caught.value)
    assert end.outgoing() != b""  # the alert
    with pytest.raises(TlsError):
        end.receive(b"more")


def test_what_lies_inside_is_bounded_by_a_record(ends):
    end, peer = ends("server")
    peer.say(LONG[:RECORD])
    record = peer.turn(b"")
    for octet in record[:-1]:
        assert end.receive(bytes([octet])) == b""
        assert end.held <= RECORD + 512
    assert end.receive(record[-1:]) == LONG[:RECORD]


class Process:
    """An openssl that serves or connects, driven by its keys."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [OPENSSL, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def type(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()
        time.sleep(0.1)  # a key counts at the beginning of what openssl reads at once

    def stop(self):
        self.process.kill()
        return self.process.communicate()[0]


@pytest.fixture
def run_openssl():
    started = []

    def run(*arguments):
        started.append(Process(*arguments))
        return started[-1]

    yield run
    for process in started:
        process.stop()


def until(wanted, end, wire, seconds=10):
    """Drive an end over its socket until it has read what is wanted."""
    plain = b""
    deadline = time.monotonic() + seconds
    wire.settimeout(0.05)
    while wanted not in plain and time.monotonic() < deadline:
        wire.sendall(end.outgoing())
        try:
            data = wire.recv(65536)
        except TimeoutError:
            continue
        plain += end.receive(data)
        if not data:
            break
    wire.sendall(end.outgoing())
    return plain


def connected(port, seconds=10):
    """Connect once the server listens."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


# In s_server and s_client a line that begins with one of these does as said, in the versions named.
KEYS = [
    ("tls1_2", b"r\n"),  # the server asks for a renegotiation
    ("tls1_3", b"k\n"),  # KeyUpdate
    ("tls1_3", b"K\n"),  # KeyUpdate, and the other is to do the same
]


@needs_openssl
@pytest.mark.parametrize(("version", "key"), KEYS)
def test_toward_openssl_s_server_with_new_keys_on_the_way(run_openssl, broker, version, key):
    port = free_port()
    served = run_openssl(
        "s_server", "-accept", f"127.0.0.1:{port}", "-cert", broker.path, f"-{version}"
    )
    end = TlsEnd(client(broker.ca), UpstreamTroubles("b", "b"), server_name="broker.example")
    end.start()
    with connected(port) as wire:
        end.send(b"hello\n")
        served.type(b"first line\n")
        assert until(b"first line\n", end, wire) == b"first line\n"
        served.type(key)
        end.send(b"while keys change\n")
        served.type(b"second line\n")
        assert until(b"second line\n", end, wire) == b"second line\n"
        end.send(b"after the change\n")
        served.type(b"third line\n")
        until(b"third line\n", end, wire)
    time.sleep(0.1)
    said = served.stop()
    assert [line in said for line in (b"hello", b"while keys change", b"after the change")] == (
        [True] * 3
    )


@needs_openssl
@pytest.mark.parametrize(("version", "key"), [("tls1_2", b""), *KEYS[1:]])
def test_toward_openssl_s_client_with_a_certificate_of_the_local_ca(
    run_openssl, config, version, key
):
    ca = load_or_make_ca(config, NOW)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        asking = run_openssl(
            "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", ca.path, f"-{version}",
            "-verify_return_error", "-verify_hostname", "orders.example", "-x509_strict",
            "-servername", "orders.example",
        )  # fmt: skip
        wire, _ = listener.accept()
    policy = TlsPolicy(TlsOptions())
    end = policy.client_end(Opening(Kind.TLS, "orders.example"), "127.0.0.1", "")
    with wire:
        asking.type(b"first line\n")
        assert until(b"first line\n", end, wire) == b"first line\n"
        if key:
            asking.type(key)
        asking.type(b"second line\n")
        end.send(b"while keys change\n")
        assert until(b"second line\n", end, wire) == b"second line\n"
        end.send(b"after the change\n")
        wire.sendall(end.outgoing())
        time.sleep(0.1)
    said = asking.stop()
    assert b"Verify return code: 0 (ok)" in said
    assert b"while keys change" in said
    assert b"after the change" in said


@both_versions
def test_toward_a_python_socket_with_a_large_answer(broker, version):
    ours, theirs = socket.socketpair()
    end = TlsEnd(server(broker, version), ClientTroubles())
    with ours, theirs:
        theirs.setblocking(False)
        asking = client(broker.ca, version).wrap_socket(
            theirs, server_hostname="broker.example", do_handshake_on_connect=False
        )
        for _ in range(3):
            try:
                asking.do_handshake()
            except ssl.SSLWantReadError:
                end.receive(ours.recv(65536))
                ours.sendall(end.outgoing())
        if not end.done:
            end.receive(ours.recv(65536))
        ours.setblocking(False)
        end.send(LONG * 4)
        pending = end.outgoing()
        got = b""
        while len(got) < 4 * len(LONG):
            with contextlib.suppress(BlockingIOError):
                pending = pending[ours.send(pending) :] if pending else pending
            try:
                got += asking.recv(65536)
            except ssl.SSLWantReadError:
                continue
        assert got == LONG * 4
