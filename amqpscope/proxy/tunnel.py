"""The way to an upstream through another proxy: HTTP CONNECT (RFC 9110) or SOCKS5 (RFC 1928, 1929).

The other proxy looks the upstream's name up. A `Tunnel` is what is said to it: it takes what it
answers, and no octet more, for those behind belong to the upstream.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import socket
import struct
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from amqpscope.proxy.address import AddressError, Upstream, address_text, hidden, is_literal

PORTS: Final = {"http": 8080, "socks5": 1080, "socks5h": 1080}
LONGEST_HEAD: Final = 16 * 1024
PEEK: Final = LONGEST_HEAD + 4

SOCKS_ERRORS: Final = (
    "", "general failure", "not allowed by its rules", "network unreachable", "host unreachable",
    "connection refused", "time to live expired", "command not supported",
    "address type not supported",
)  # fmt: skip
NO_LOGIN: Final = 0
PASSWORD: Final = 2


class TunnelError(Exception):
    """The other proxy does not let us through; one line says why."""


class Via(NamedTuple):
    """A proxy on the way to the upstream."""

    scheme: str
    upstream: Upstream
    """Where the proxy itself is."""
    user: str = ""
    password: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.upstream}"

    def tunnel(self, upstream: Upstream) -> Tunnel:
        """The conversation that leads to an upstream."""
        kind = HttpTunnel if self.scheme == "http" else SocksTunnel
        return kind(self, upstream)


def parse_via(text: str) -> Via:
    """`http://user:password@host:port` or `socks5://host`."""
    scheme = text.partition("://")[0].lower()
    if "://" not in text or scheme not in PORTS:
        raise AddressError(f"{hidden(text)!r}: expected http://HOST:PORT or socks5://HOST:PORT")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or PORTS[scheme]
    except ValueError as error:
        raise AddressError(f"{hidden(text)!r}: not a URL of a proxy") from error
    if not host:
        raise AddressError(f"{hidden(text)!r} names no host")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if any(len(each.encode()) > 255 for each in (user, password)):
        raise AddressError(f"{hidden(text)!r}: expected at most 255 octets of user and password")
    return Via(scheme, Upstream(host, port, False), user, password)


def via_of_environment(upstream: Upstream) -> str:
    """The proxy that HTTPS_PROXY names for an upstream, unless NO_PROXY excepts it."""
    if not any(os.environ.get(name) for name in ("https_proxy", "HTTPS_PROXY")):
        return ""
    from urllib.request import getproxies_environment, proxy_bypass

    if proxy_bypass(f"{upstream.host}:{upstream.port}"):
        return ""
    found = getproxies_environment().get("https", "")
    return found if "://" in found or not found else f"http://{found}"


class Tunnel:
    """What is said to the other proxy until it lets us through."""

    def __init__(self, via: Via, upstream: Upstream) -> None:
        self.via = via
        self.upstream = upstream
        self.open = False

    def begin(self) -> bytes:
        """The first octets to send."""
        raise NotImplementedError

    def octets_needed(self, peeked: bytes) -> int:
        """How many octets of an answer to take now; 0: it is not whole yet."""
        raise NotImplementedError

    def take(self, answer: bytes) -> bytes:
        """Take an answer; the octets to send next."""
        raise NotImplementedError

    def work(self, endpoint: socket.socket) -> bool:
        """Take what the other proxy answers, without waiting; whether the way is open."""
        while not self.open:
            try:
                peeked = endpoint.recv(PEEK, socket.MSG_PEEK)
            except BlockingIOError:
                return False
            if not peeked:
                raise TunnelError("it closed the connection")
            size = self.octets_needed(peeked)
            if not size:
                return False
            if octets := self.take(endpoint.recv(size)):
                endpoint.send(octets)
        return True


class HttpTunnel(Tunnel):
    """CONNECT to an HTTP proxy."""

    def begin(self) -> bytes:
        """The request."""
        target = address_text((self.upstream.host, self.upstream.port))
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.via.user or self.via.password:
            login = base64.b64encode(f"{self.via.user}:{self.via.password}".encode()).decode()
            lines.append(f"Proxy-Authorization: Basic {login}")
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("utf-8")

    def octets_needed(self, peeked: bytes) -> int:
        """The whole head."""
        end = peeked.find(b"\r\n\r\n")
        if end < 0 and len(peeked) > LONGEST_HEAD:
            raise TunnelError("it answers without an end")
        return end + 4 if end >= 0 else 0

    def take(self, answer: bytes) -> bytes:
        """The status."""
        status = answer.partition(b"\r\n")[0]
        if not status.startswith(b"HTTP/") or status.split(None, 2)[1:2] == []:
            raise TunnelError("it does not answer as an HTTP proxy")
        if not status.split(None, 2)[1].startswith(b"2"):
            said = ascii(status.partition(b" ")[2].decode("latin-1"))[1:-1][:80]
            raise TunnelError(f"it answers {said}")
        self.open = True
        return b""


class SocksTunnel(Tunnel):
    """CONNECT of SOCKS5: the greeting, a login where it is asked for, and the request."""

    def __init__(self, via: Via, upstream: Upstream) -> None:
        super().__init__(via, upstream)
        self.stage = "greeting"

    def begin(self) -> bytes:
        """The greeting, with the ways to log in that we have."""
        ways = [NO_LOGIN, PASSWORD] if self.via.user or self.via.password else [NO_LOGIN]
        return bytes((5, len(ways), *ways))

    def octets_needed(self, peeked: bytes) -> int:
        """Two octets, or a reply that says itself how long it is."""
        if self.stage != "request":
            return 2 if len(peeked) >= 2 else 0
        if len(peeked) < 5:
            return 0
        lengths = {1: 10, 3: 7 + peeked[4], 4: 22}
        size = 2 if peeked[1] else lengths.get(peeked[3], 0)
        if not size:
            raise TunnelError("it does not answer as a SOCKS5 proxy")
        return size if len(peeked) >= size else 0

    def take(self, answer: bytes) -> bytes:
        """The answer to what was said last."""
        version = 1 if self.stage == "login" else 5
        if answer[0] != version:
            raise TunnelError("it does not answer as a SOCKS5 proxy")
        if self.stage == "greeting":
            return self.log_in(answer[1])
        if self.stage == "login":
            if answer[1]:
                raise TunnelError("it refused the user name and password")
            return self.request()
        if answer[1]:
            known = answer[1] < len(SOCKS_ERRORS)
            raise TunnelError(SOCKS_ERRORS[answer[1]] if known else f"error {answer[1]}")
        self.open = True
        return b""

    def log_in(self, way: int) -> bytes:
        """Log in as the proxy wants it."""
        if way == NO_LOGIN:
            return self.request()
        if way != PASSWORD or not (self.via.user or self.via.password):
            raise TunnelError("it asks for a login (--via socks5://USER:PW@HOST)")
        self.stage = "login"
        user, password = self.via.user.encode(), self.via.password.encode()
        return bytes((1, len(user))) + user + bytes((len(password),)) + password

    def request(self) -> bytes:
        """Ask for the upstream, by its name if it has one."""
        self.stage = "request"
        host = self.upstream.host
        if is_literal(host):
            address = ipaddress.ip_address(host.partition("%")[0]).packed
            octets = bytes((1 if len(address) == 4 else 4,)) + address
        else:
            name = host.encode("idna")
            octets = bytes((3, len(name))) + name
        return b"\x05\x01\x00" + octets + struct.pack(">H", self.upstream.port)
