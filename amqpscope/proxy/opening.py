"""How a client begins to speak: TLS, AMQP's own TLS header, WebSocket or plain AMQP.

Looks at the first octets of a connection only, and keeps what a proxy needs from a ClientHello
(RFC 8446, 4.1.2): the host the client asks for and the protocols it offers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

IN_BAND_TLS_HEADER: Final = b"AMQP\x02\x01\x00\x00"
"""Spec 5.2.1: sent by both peers, and TLS follows."""

MAX_HELLO: Final = 65536
"""Octets of a ClientHello worth waiting for; OpenSSL takes no longer one either."""

_HANDSHAKE: Final = 0x16
_CLIENT_HELLO: Final = 1
_SERVER_NAME: Final = 0
_ALPN: Final = 16


class Kind(StrEnum):
    """What the first octets are."""

    TLS = "TLS"
    IN_BAND_TLS = "in-band TLS"
    HTTP = "HTTP"
    AMQP = "AMQP"
    OTHER = "other"


class Opening(NamedTuple):
    """What the first octets of a connection say."""

    kind: Kind
    sni: str = ""
    """The host that a ClientHello asks for; empty when it names none."""
    alpn: tuple[str, ...] = ()
    """The protocols that a ClientHello offers, in its order."""


def sniff(data: bytes | bytearray) -> Opening | None:
    """Tell how a connection begins, or None when these first octets are too few to tell."""
    if not data:
        return None
    if data[0] == _HANDSHAKE:
        return _sniff_hello(bytes(data))
    head = bytes(data[: len(IN_BAND_TLS_HEADER)])
    if head == IN_BAND_TLS_HEADER:
        return Opening(Kind.IN_BAND_TLS)
    if IN_BAND_TLS_HEADER.startswith(head):
        return None
    if head.startswith(b"AMQP"):
        return Opening(Kind.AMQP)
    if b"GET ".startswith(head[:4]):
        return Opening(Kind.HTTP)
    return Opening(Kind.OTHER)


def _sniff_hello(data: bytes) -> Opening | None:
    if len(data) > 1 and data[1] != 3:
        return Opening(Kind.OTHER)
    message = bytearray()
    at = 0
    while at + 5 <= len(data):
        if data[at] != _HANDSHAKE or data[at + 1] != 3:
            return Opening(Kind.TLS)
        size = int.from_bytes(data[at + 3 : at + 5])
        message += data[at + 5 : at + 5 + size]
        at += 5 + size
        if message and message[0] != _CLIENT_HELLO:
            return Opening(Kind.TLS)
        if len(message) >= 4:
            need = int.from_bytes(message[1:4])
            if len(message) >= 4 + need:
                return _hello(_Octets(bytes(message[4 : 4 + need])))
            if need > MAX_HELLO:
                return Opening(Kind.TLS)
    return None if len(data) < MAX_HELLO else Opening(Kind.TLS)


class _Octets:
    """Takes length-prefixed parts off the front; what is cut short comes out empty."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def skip(self, size: int) -> None:
        self.data = self.data[size:]

    def number(self, width: int) -> int:
        value = int.from_bytes(self.data[:width])
        self.skip(width)
        return value

    def part(self, width: int) -> _Octets:
        size = self.number(width)
        part = _Octets(self.data[:size])
        self.skip(size)
        return part


def _hello(body: _Octets) -> Opening:
    body.skip(2 + 32)  # legacy_version, random
    body.part(1)  # legacy_session_id
    body.part(2)  # cipher_suites
    body.part(1)  # legacy_compression_methods
    extensions = body.part(2)
    sni = ""
    alpn: tuple[str, ...] = ()
    while extensions.data:
        kind = extensions.number(2)
        value = extensions.part(2)
        if kind == _SERVER_NAME:
            sni = _server_name(value)
        elif kind == _ALPN:
            alpn = _protocols(value)
    return Opening(Kind.TLS, sni, alpn)


def _server_name(value: _Octets) -> str:
    """RFC 6066, 3: a list of names by type, of which only type 0, a host, exists."""
    names = value.part(2)
    if names.number(1) != 0:
        return ""
    return _text(names.part(2).data)


def _protocols(value: _Octets) -> tuple[str, ...]:
    names = value.part(2)
    found = []
    while names.data:
        if name := _text(names.part(1).data):
            found.append(name)
    return tuple(found)


def _text(octets: bytes) -> str:
    return octets.decode("ascii", "replace") if octets.isascii() else ""
