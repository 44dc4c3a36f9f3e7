"""What a TLS handshake shows in the clear: hellos, the server's certificate, alerts.

Only what AMQP's rules ask for is read. Octets that do not fit are no error here, they just say
nothing: whoever uses TLS wrongly hears so from the partner.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from amqpscope.stream.types import CLIENT, SERVER, Certificate, Tls

ALERT: Final = 21
HANDSHAKE: Final = 22
RECORD_HEADER: Final = 5

CLIENT_HELLO: Final = 1
SERVER_HELLO: Final = 2
CERTIFICATE: Final = 11

SERVER_NAME: Final = 0
ALPN: Final = 16
SUPPORTED_VERSIONS: Final = 43

MAX_HANDSHAKE: Final = 1 << 17
"""Octets of handshake messages of one peer that are looked at; certificates can be long."""

MAX_ALERTS: Final = 64
MAX_NAMES: Final = 64
"""Alerts of a connection, and protocols that a client offers, which are remembered."""
_COMMON_NAME: Final = bytes.fromhex("550403")
_ALTERNATIVE_NAMES: Final = bytes.fromhex("551d11")
_DNS_NAME: Final = 0x82
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_UTC_TIME: Final = 0x17


class Handshake:
    """Reads the records of one connection until they are encrypted."""

    __slots__ = ("_buffers", "_facts", "_over")

    def __init__(self, facts: Tls) -> None:
        self._facts = facts
        self._buffers = [bytearray(), bytearray()]
        self._over = [False, False]

    def record(self, sender: int, record: bytes, packet: int) -> None:
        """Look at the next whole record of a peer, of any kind."""
        if self._over[sender]:
            return
        kind = record[0]
        if kind == HANDSHAKE:
            buffer = self._buffers[sender]
            buffer += record[RECORD_HEADER:]
            del buffer[: self._messages(sender, buffer, packet)]
            self._over[sender] = len(buffer) > MAX_HANDSHAKE
        elif kind == ALERT:
            if len(record) == RECORD_HEADER + 2 and len(self._facts.alerts) < MAX_ALERTS:
                self._facts.alerts.append((sender, record[RECORD_HEADER + 1], packet))
        else:
            # ChangeCipherSpec or data: what this peer sends from here on is encrypted.
            self._over[sender] = True
            self._buffers[sender] = bytearray()

    def _messages(self, sender: int, data: bytearray, packet: int) -> int:
        """Take the whole messages; where the last of them ends."""
        at = 0
        while len(data) - at >= 4:
            stop = at + 4 + int.from_bytes(data[at + 1 : at + 4], "big")
            if stop > len(data):
                break
            self._message(sender, data[at], bytes(data[at + 4 : stop]), packet)
            at = stop
        return at

    def _message(self, sender: int, kind: int, body: bytes, packet: int) -> None:
        facts = self._facts
        if kind == CLIENT_HELLO:
            facts.hello[sender] = facts.hello[sender] or packet
            if sender == CLIENT:
                read_client_hello(facts, body)
        elif kind == SERVER_HELLO:
            read_server_hello(facts, body)
        elif kind == CERTIFICATE and sender == SERVER and facts.certificate is None:
            facts.certificate = read_certificate(vector(body[3:], 0, 3)[0])


def vector(data: bytes, at: int, width: int) -> tuple[bytes, int]:
    """Octets with their length before them in `width` octets, and where they end."""
    start = at + width
    stop = start + int.from_bytes(data[at:start], "big")
    return data[start:stop], stop


def extensions(data: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """The extensions of a hello, by type."""
    block, _ = vector(data, at, 2)
    at = 0
    while at + 4 <= len(block):
        body, stop = vector(block, at + 2, 2)
        yield int.from_bytes(block[at : at + 2], "big"), body
        at = stop


def read_client_hello(facts: Tls, body: bytes) -> None:
    """Version, random, session, suites, compressions; then the extensions."""
    _, at = vector(body, 34, 1)
    _, at = vector(body, at, 2)
    _, at = vector(body, at, 1)
    for kind, value in extensions(body, at):
        if kind == SERVER_NAME and value[2:3] == b"\0":
            name, _ = vector(value, 3, 2)
            facts.server_name = name.decode("ascii", "replace").lower()
        elif kind == ALPN:
            names, _ = vector(value, 0, 2)
            at = 0
            while at < len(names) and len(facts.alpn) < MAX_NAMES:
                name, at = vector(names, at, 1)
                facts.alpn.append(name.decode("ascii", "replace"))


def read_server_hello(facts: Tls, body: bytes) -> None:
    """Version, random, session, suite, compression; then the extensions."""
    facts.version = int.from_bytes(body[:2], "big")
    _, at = vector(body, 34, 1)
    for kind, value in extensions(body, at + 3):
        if kind == SUPPORTED_VERSIONS and len(value) == 2:
            facts.version = int.from_bytes(value, "big")


def read_certificate(der: bytes) -> Certificate | None:
    """What an X.509 certificate says; None for octets that are none."""
    try:
        return _certificate(der)
    except (IndexError, ValueError):
        return None


def _certificate(der: bytes) -> Certificate:
    signed = elements(elements(elements(der)[0][1])[0][1])
    if signed[0][0] == _VERSION:
        del signed[0]
    # Serial number, algorithm, issuer, then these.
    not_before, not_after = (moment(*one) for one in elements(signed[3][1])[:2])
    names: list[str] = []
    for tag, value in signed[6:]:
        if tag == _EXTENSIONS:
            names = alternative_names(elements(value)[0][1])
    return Certificate(names or common_names(signed[4][1]), not_before, not_after)


def elements(data: bytes) -> list[tuple[int, bytes]]:
    """The elements of DER, each with its tag."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            width = size & 0x7F
            size = int.from_bytes(data[at : at + width], "big")
            at += width
        if at + size > len(data):
            raise ValueError("an element goes beyond its end")
        found.append((tag, data[at : at + size]))
        at += size
    return found


def moment(tag: int, value: bytes) -> int:
    """A UTCTime or GeneralizedTime in nanoseconds since the Unix epoch."""
    text = value.decode("ascii")
    if tag == _UTC_TIME:
        # RFC 5280, 4.1.2.5.1: two digits of a year are of 1950 to 2049.
        text = ("19" if text[:2] >= "50" else "20") + text
    when = datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    return int(when.timestamp()) * 1_000_000_000


def alternative_names(block: bytes) -> list[str]:
    """The DNS names among the subject's alternative names."""
    for _, extension in elements(block):
        parts = elements(extension)
        if parts[0][1] == _ALTERNATIVE_NAMES:
            names = elements(elements(parts[-1][1])[0][1])
            return [name.decode("ascii").lower() for tag, name in names if tag == _DNS_NAME]
    return []


def common_names(subject: bytes) -> list[str]:
    """The common names of a subject: what counts where there are no alternative names."""
    found: list[str] = []
    for _, attributes in elements(subject):
        for _, attribute in elements(attributes):
            parts = elements(attribute)
            if parts[0][1] == _COMMON_NAME:
                found.append(parts[1][1].decode("utf-8").lower())
    return found
