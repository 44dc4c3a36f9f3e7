"""What an exchange has beneath AMQP: TLS records and WebSocket frames, as octets on the wire.

    client: TLS client-hello broker.example    with the name that the client asks for (SNI)
    server: TLS server-hello                   of TLS 1.2
    server: TLS certificate a.example until 2030
    server: TLS alert 70
    client: HTTP upgrade amqp                  with the subprotocols that it asks for
    server: HTTP switching amqp
    client: HTTP text messages follow

A peer that has sent a hello is inside TLS. Its records are not encrypted here: `Opened` takes
their content for the plaintext, as if the keys were known.
"""

from __future__ import annotations

import struct
from typing import Final

from amqpscope.capture.tls import Records, TlsStream

SEALED: Final = b"\x17\x03\x03"
"""How a record with application data begins."""

_COMMON_NAME: Final = "06 03 55 04 03"
_ALTERNATIVE_NAMES: Final = "06 03 55 1d 11"
_REQUEST: Final = "GET /amqp HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade"
_RESPONSE: Final = "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade"


class Opened(Records):
    """Takes the content of application data for its plaintext."""

    def record(self, stream: TlsStream, sender: int, record: bytes) -> bytes:
        return record[5:] if record[0] == 23 else b""


class Beneath:
    """What each peer has begun beneath AMQP."""

    def __init__(self) -> None:
        self.tls = [False, False]
        self.frames = [0, 0]
        """The opcode of a peer's WebSocket frames; 0: it is in none."""

    def begin(self, sender: int, line: str) -> bytes:
        """The octets of a TLS or HTTP line."""
        layer, verb, *words = line.split()
        if layer == "HTTP":
            head = self.http(sender, verb, words)
            return record(23, head) if head and self.tls[sender] else head
        if verb == "alert":
            return record(21, bytes((2, int(words[0]))))
        self.tls[sender] = True
        random = bytes(range(32))
        if verb == "client-hello":
            names = server_name(words[0]) if words else b""
            body = b"\3\3" + random + b"\0" + b"\0\2\x13\1" + b"\1\0" + sized(2, names)
            return record(22, message(1, body))
        if verb == "server-hello":
            return record(22, message(2, b"\3\3" + random + b"\0" + b"\x13\1" + b"\0"))
        chain = sized(3, certificate(words[0], words[-1]))
        return record(22, message(11, sized(3, chain)))

    def http(self, sender: int, verb: str, words: list[str]) -> bytes:
        """An upgrade, or a note that changes what follows."""
        self.frames[sender] = 1 if verb == "text" else 2
        if verb == "text":
            return b""
        head = _REQUEST if verb == "upgrade" else _RESPONSE
        if words:
            head += f"\r\nSec-WebSocket-Protocol: {', '.join(words)}"
        return f"{head}\r\n\r\n".encode()

    def wrap(self, sender: int, raw: bytes) -> bytes:
        """A unit as its sender puts it on the wire."""
        if raw and self.frames[sender]:
            masked = sender == 0
            size = bytes((len(raw) | masked << 7,))
            if len(raw) > 125:
                size = struct.pack(">BH", 126 | masked << 7, len(raw))
            raw = bytes((0x80 | self.frames[sender],)) + size + bytes(4 if masked else 0) + raw
        return record(23, raw) if raw and self.tls[sender] else raw


def record(kind: int, body: bytes) -> bytes:
    return bytes((kind, 3, 3)) + sized(2, body)


def message(kind: int, body: bytes) -> bytes:
    return bytes((kind,)) + sized(3, body)


def sized(width: int, data: bytes) -> bytes:
    return len(data).to_bytes(width, "big") + data


def server_name(name: str) -> bytes:
    entry = b"\0" + sized(2, name.encode())
    return b"\0\0" + sized(2, sized(2, entry))


def certificate(name: str, year: str) -> bytes:
    """An X.509 certificate, unsigned and without a key."""
    empty = der(0x30, b"")
    validity = der(0x30, der(0x17, b"200101000000Z") + der(0x18, f"{year}1231235959Z".encode()))
    common = der(0x30, bytes.fromhex(_COMMON_NAME) + der(0x0C, b"somebody"))
    subject = der(0x30, der(0x31, common))
    names = der(0x04, der(0x30, der(0x82, name.encode())))
    extension = der(0x30, bytes.fromhex(_ALTERNATIVE_NAMES) + names)
    extensions = der(0xA3, der(0x30, extension))
    version, serial = der(0xA0, der(0x02, b"\2")), der(0x02, b"\1")
    signed = version + serial + empty + empty + validity + subject + empty + extensions
    return der(0x30, der(0x30, signed) + empty + der(0x03, b"\0"))


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes((size,)) if size < 128 else b"\x82" + size.to_bytes(2, "big")
    return bytes((tag,)) + length + content
