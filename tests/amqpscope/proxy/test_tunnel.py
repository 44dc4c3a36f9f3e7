"""The way to an upstream through another proxy: HTTP CONNECT and SOCKS5."""

import base64
import socket
import threading

import pytest

from amqpscope.proxy.address import AddressError, Upstream
from amqpscope.proxy.clock import Limits
from amqpscope.proxy.process import choose_via
from amqpscope.proxy.tunnel import parse_via
from kit.proxy.relaying import PATIENCE, noise, receive, receive_all, talks, was_reset

OCTETS = noise(100_000)


def join(one, other):
    """Pass octets both ways until both directions have ended."""

    def copy(source, target):
        while octets := source.recv(1 << 16):
            target.sendall(octets)
        target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=copy, args=(other, one))
    back.start()
    copy(one, other)
    back.join()


class HttpProxy:
    """Lets through who has the password."""

    def __init__(self, target, answer=b"HTTP/1.1 200 Connection established\r\n\r\n"):
        self.target, self.answer = target, answer
        self.requests = []

    def __call__(self, peer):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += peer.recv(1)
        self.requests.append(head.decode())
        with socket.create_connection(("127.0.0.1", self.target)) as upstream:
            for at in range(len(self.answer)):
                peer.sendall(self.answer[at : at + 1])
            if b" 200 " in self.answer:
                join(peer, upstream)


class SocksProxy:
    """Asks for a password, and connects to a fixed port whatever it is asked for."""

    def __init__(self, target, *, login=True, reply=0):
        self.target, self.login, self.reply = target, login, reply
        self.asked = []

    def __call__(self, peer):
        _, count = receive(peer, 2)
        ways = receive(peer, count)
        if self.login:
            if 2 not in ways:
                peer.sendall(b"\x05\xff")
                return
            peer.sendall(b"\x05\x02")
            _, size = receive(peer, 2)
            user = receive(peer, size)
            password = receive(peer, receive(peer, 1)[0])
            peer.sendall(b"\x01" + bytes([(user, password) != (b"me", b"p@ss")]))
        else:
            peer.sendall(b"\x05\x00")
        _, _, _, kind = receive(peer, 4)
        host = receive(peer, receive(peer, 1)[0] if kind == 3 else {1: 4, 4: 16}[kind])
        self.asked.append((kind, host, int.from_bytes(receive(peer, 2), "big")))
        with socket.create_connection(("127.0.0.1", self.target)) as upstream:
            peer.sendall(bytes((5, self.reply, 0, 3, 3)) + b"abc" + b"\x00\x01")
            if not self.reply:
                join(peer, upstream)


def exchange(relay):
    with relay.connect() as client:
        client.sendall(OCTETS)
        client.shutdown(socket.SHUT_WR)
        assert receive_all(client) == OCTETS
    relay.settle()
    relay.stop()
    (talk,) = talks(relay.path).values()
    assert bytes(talk.octets[0]) == bytes(talk.octets[1]) == OCTETS


def test_through_an_http_proxy(relay, server):
    between = HttpProxy(server().port)
    via = f"http://me:p%40ss@{server(between)}"
    exchange(relay("amqp://broker.example:5672", via=via))
    login = base64.b64encode(b"me:p@ss").decode()
    assert between.requests == [
        "CONNECT broker.example:5672 HTTP/1.1\r\nHost: broker.example:5672\r\n"
        f"Proxy-Authorization: Basic {login}\r\n\r\n"
    ]


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        ("broker.example", (3, b"broker.example")),
        ("10.1.2.3", (1, bytes((10, 1, 2, 3)))),
        ("[fd00::1]", (4, socket.inet_pton(socket.AF_INET6, "fd00::1"))),
    ],
)
def test_through_a_socks_proxy(relay, server, host, asked):
    between = SocksProxy(server().port)
    exchange(relay(f"amqp://{host}:5672", via=f"socks5://me:p%40ss@{server(between)}"))
    assert between.asked == [(*asked, 5672)]


def test_an_upstream_that_speaks_first_is_heard_from_its_first_octet(relay, server):
    behind = server(lambda peer: peer.sendall(b"hello"))
    for number, kind in enumerate((HttpProxy(behind.port), SocksProxy(behind.port, login=False))):
        scheme = ("http", "socks5h")[number]
        near = relay("broker.example", name=f"{scheme}.pcapng", via=f"{scheme}://{server(kind)}")
        with near.connect() as client:
            assert receive_all(client) == b"hello"


@pytest.mark.parametrize(
    ("between", "scheme", "reason"),
    [
        (lambda port: HttpProxy(port, b"HTTP/1.1 407 No\r\n\r\n"), "http", "it answers 407 No"),
        (lambda port: HttpProxy(port, b"SSH-2.0\r\n\r\n"), "http", "it does not answer as an HTTP"),
        (SocksProxy, "socks5", "it asks for a login"),
        (lambda port: SocksProxy(port, login=False, reply=5), "socks5", "connection refused"),
        (lambda port: SocksProxy(port, login=False, reply=77), "socks5", "error 77"),
        (lambda port: lambda peer: peer.recv(3), "socks5", "it closed the connection"),
        (lambda port: lambda peer: peer.sendall(b"\x04\x00"), "socks5", "it does not answer as a"),
    ],
)
def test_why_there_is_no_way_through(relay, server, between, scheme, reason):
    proxy = server(between(server().port))
    near = relay("broker.example", via=f"{scheme}://{proxy}")
    with near.connect() as client:
        assert was_reset(client)
    near.settle()
    (line,) = near.watch.new_lines()
    assert line.startswith(f"upstream broker.example:5672 via {scheme}://{proxy}: {reason}")
    assert line.endswith("; clients get a reset")


def test_a_proxy_that_says_nothing_is_given_up(relay, server):
    silent = server(lambda peer: peer.recv(1 << 16) and threading.Event().wait(PATIENCE))
    near = relay("broker.example", via=f"http://{silent}", limits=Limits(connect=0.3))
    with near.connect() as client:
        assert was_reset(client)
    near.settle()
    assert "no answer for 0.3 s (--connect-timeout)" in near.watch.new_lines()[0]


@pytest.mark.parametrize(
    ("url", "environment", "via"),
    [
        ("wss://broker", {"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ("wss://broker", {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ("wss://broker", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "other,broker"}, None),
        ("wss://a.b.example", {"HTTPS_PROXY": "http://proxy", "no_proxy": ".b.example"}, None),
        ("amqps://broker", {"HTTPS_PROXY": "http://proxy"}, None),
        ("wss://broker", {}, None),
    ],
)
def test_the_environment_names_a_proxy_for_wss_alone(monkeypatch, url, environment, via):
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    target = Upstream(url.partition("://")[2], 443, True)
    found = choose_via("", url, target)
    assert (None if found is None else str(found)) == via
    assert choose_via("direct", url, target) is None


@pytest.mark.parametrize(
    "text", ["proxy:3128", "https://proxy", "http://", "socks5://u:secret@:1x"]
)
def test_no_proxy_at_all(text):
    with pytest.raises(AddressError) as error:
        parse_via(text)
    assert "secret" not in str(error.value)
