"""How a client begins: TLS, AMQP's own TLS header, WebSocket or plain AMQP; and how both end.

Looks at the first octets of a connection, and keeps what a proxy needs from a ClientHello
(RFC 8446, 4.1.2): the host the client asks for and the protocols it offers. The last octets show
whether AMQP was closed in order.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

IN_BAND_TLS_HEADER: Final = b"AMQP\x02\x01\x00\x00"
"""Spec 5.2.1: sent by both peers, and TLS follows."""

MAX_HELLO: Final = 65536
"""Octets of a ClientHello worth waiting for; OpenSSL takes no longer one either."""

_LARGEST_RECORD: Final = 16384
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


def may_be_anything(data: bytes | bytearray) -> bool:
    """Whether first octets that `sniff` waits for more of are too few to be more likely TLS."""
    hello = len(data) > 5 and data[0] == _HANDSHAKE and data[5] == _CLIENT_HELLO
    return bool(data) and not hello


def _sniff_hello(data: bytes) -> Opening | None:
    """Only what is a ClientHello as far as it goes; anything else is not for us to answer."""
    other = Opening(Kind.OTHER)
    message = bytearray()
    at = 0
    while at < len(data):
        kind, major, minor = (data[at : at + 3] + b"\x16\x03\x01"[len(data) - at :])[:3]
        if kind != _HANDSHAKE or major != 3 or minor > 4:
            return other
        if len(data) - at < 5:
            return None
        size = int.from_bytes(data[at + 3 : at + 5])
        if not 0 < size <= _LARGEST_RECORD:
            return other
        message += data[at + 5 : at + 5 + size]
        at += 5 + size
        if message and message[0] != _CLIENT_HELLO:
            return other
        if len(message) >= 4:
            need = 4 + int.from_bytes(message[1:4])
            if need > MAX_HELLO:
                return other
            if len(message) >= need:
                return _hello(_Octets(bytes(message[4:need]))) or other
    return None if len(data) < MAX_HELLO else other


class _Octets:
    """Takes length-prefixed parts off the front; what is cut short comes out empty."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.short = False
        """More was asked for than there was."""

    def skip(self, size: int) -> None:
        self.short = self.short or size > len(self.data)
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


def _hello(body: _Octets) -> Opening | None:
    """What a ClientHello says; None when it is none."""
    body.skip(2 + 32)  # legacy_version, random
    session = body.part(1)  # legacy_session_id
    ciphers = body.part(2)
    compressions = body.part(1)  # legacy_compression_methods
    if not compressions.data or len(ciphers.data) % 2 or not ciphers.data:
        return None
    extensions = body.part(2)
    if body.short or extensions.short or body.data or len(session.data) > 32:
        return None
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


TAIL: Final = 64
"""Octets at the end of what a peer has sent that show whether it has closed in order."""
_CLOSE: Final = b"\x02\x00\x00\x00\x00\x53\x18"
"""The middle of a 1.0 close: the data offset, the type, the channel and the descriptor."""
_CLOSE_OK: Final = tuple(
    b"\x01\x00\x00\x00\x00\x00\x04\x00\x0a" + method + b"\xce" for method in (b"\x003", b"\x00=")
)
"""A connection.close-ok of 0-9-1, and of its elders."""


def is_closed(client: bytes, server: bytes) -> bool:
    """Whether two peers have closed an AMQP connection, by the last octets that each has sent."""
    if client.endswith(_CLOSE_OK) or server.endswith(_CLOSE_OK):
        return True
    at = server.rfind(_CLOSE) - 4
    return at >= 0 and int.from_bytes(server[at : at + 4], "big") == len(server) - at
