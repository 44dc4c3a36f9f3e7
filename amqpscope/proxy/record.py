"""The recording: octets that pass become TCP packets, appended to a file once per loop turn.

Octets are received right into the arena, behind the room for their headers, so that a turn's
packets are one contiguous write without a copy. The section is big-endian: then the headers of
pcapng, Ethernet, IP and TCP are one call of `struct`.

A packet's ACK number says what had been written to its sender before its octets were read: so much
and no more may the sender have known.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import struct
import time
from typing import Final

from amqpscope.proxy.files import AS_IT_WAS, TLS_REMOVED, Files, RecordingError, secrets_block
from amqpscope.stream import ACK, FIN, RST, SYN

__all__ = ["TLS_REMOVED", "Flow", "Recording", "flows"]

Address = tuple[str, int]

PAYLOAD: Final = 65_495
"""Octets of payload in one packet: IPv4 can count so many behind 40 octets of headers."""
ARENA: Final = 1 << 20
FULL: Final = ARENA - 2 * (PAYLOAD + 256)
"""Beyond this the arena must be written before more is received."""

HEADERS_4: Final = 28 + 14 + 20 + 20
HEADERS_6: Final = 28 + 14 + 40 + 20

NO_OPTIONS: Final = 0x5000
WITH_OPTIONS: Final = 0x7000
DATA: Final = NO_OPTIONS | ACK | 0x08
END: Final = NO_OPTIONS | FIN | ACK
RESET: Final = NO_OPTIONS | RST | ACK
PLAIN_ACK: Final = NO_OPTIONS | ACK
HELLO: Final = WITH_OPTIONS | SYN
HELLO_BACK: Final = WITH_OPTIONS | SYN | ACK
WINDOW: Final = 65535
OPTIONS: Final = b"\x02\x04\xff\xd7\x01\x03\x03\x0e"
"""Our segment size, and the largest window scale: we do not see windows, so none may look full."""

_U32: Final = 0xFFFFFFFF
_ENHANCED_PACKET: Final = 6
_MACS: Final = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"
_PACKET_4: Final = struct.Struct(">IIIIIII12sHHHHHHH8sHHIIHHHH")
_PACKET_6: Final = struct.Struct(">IIIIIII12sHIHH32sHHIIHHHH")
_TAILS: Final = [struct.Struct(f">{-size & 3}xI") for size in range(4)]
"""Padding and the block's length once more."""


class Flow:
    """One direction of a connection: what the headers of its packets say."""

    __slots__ = (
        "ack", "addresses", "checksum", "head", "interface", "seq", "source", "target",
    )  # fmt: skip

    def __init__(self, addresses: bytes, source: int, target: int, isn: int, ack: int) -> None:
        self.addresses = addresses
        """Of the sender and the receiver, both IPv4 or both IPv6."""
        self.source = source
        self.target = target
        self.seq = isn
        """The next sequence number."""
        self.ack = ack
        """What has been written to this direction's sender, as its ACK number."""
        self.interface = AS_IT_WAS
        self.head = HEADERS_4 if len(addresses) == 8 else HEADERS_6
        # The sum of the words in an IPv4 header that stay the same.
        self.checksum = 0x4500 + 0x4000 + 0x4006
        if self.head == HEADERS_4:
            self.checksum += sum(struct.unpack(">4H", addresses))


def flows(client: Address, server: Address, number: int) -> tuple[Flow, Flow]:
    """Both directions of a connection, the client's first."""
    left, right = packed(client[0]), packed(server[0])
    if len(left) != len(right):
        left, right = mapped(left), mapped(right)
    # Other numbers for each connection: a port pair may come again.
    isn = (number * 0x01000193 + 1000) & _U32
    back = (isn + 0x40000000) & _U32
    return (
        Flow(left + right, client[1], server[1], isn, 0),
        Flow(right + left, server[1], client[1], back, 0),
    )


def packed(host: str) -> bytes:
    """The octets of an IP address."""
    return ipaddress.ip_address(host.partition("%")[0]).packed


def mapped(address: bytes) -> bytes:
    """An address as IPv6, whatever it is."""
    return address if len(address) == 16 else bytes(10) + b"\xff\xff" + address


class Recording:
    """Packets on their way to the file."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.buffer = bytearray(ARENA)
        self.view = memoryview(self.buffer)
        """What is received lands here, `head` octets behind `position`."""
        self.position = 0
        self.packets = 0
        self.octets = 0
        """Written to all files so far."""
        self.problem: str | None = None
        """Why recording stopped."""
        self.time = time.time_ns()
        self._fd, self._size = files.begin()
        self.octets = self._size
        self._deadline = self.time + files.nanoseconds

    def add(self, flow: Flow, size: int, advance: int, bits: int) -> None:
        """A packet whose `size` octets behind the headers lie in the arena already.

        `bits` are the TCP header's offset and flags, `advance` how far the sequence number moves.
        """
        now = time.time_ns()
        self.time = now
        seq = flow.seq
        flow.seq = (seq + advance) & _U32
        at = self.position
        captured = size + flow.head - 28
        total = (captured + 3 & ~3) + 32
        if flow.head == HEADERS_4:
            check = flow.checksum + size + 40
            check = (check & 0xFFFF) + (check >> 16)
            check = ~((check & 0xFFFF) + (check >> 16)) & 0xFFFF
            _PACKET_4.pack_into(
                self.buffer, at, _ENHANCED_PACKET, total, flow.interface, now >> 32, now & _U32,
                captured, captured, _MACS, 0x0800, 0x4500, size + 40, 0, 0x4000, 0x4006, check,
                flow.addresses, flow.source, flow.target, seq, flow.ack, bits, WINDOW, 0, 0,
            )  # fmt: skip
        else:
            _PACKET_6.pack_into(
                self.buffer, at, _ENHANCED_PACKET, total, flow.interface, now >> 32, now & _U32,
                captured, captured, _MACS, 0x86DD, 0x60000000, size + 20, 0x0640,
                flow.addresses, flow.source, flow.target, seq, flow.ack, bits, WINDOW, 0, 0,
            )  # fmt: skip
        _TAILS[captured & 3].pack_into(self.buffer, at + flow.head + size, total)
        self.position = at + total
        self.packets += 1

    def opened(self, client: Flow, server: Flow) -> None:
        """The handshake of a connection."""
        self._hello(client, HELLO)
        server.ack = client.seq
        self._hello(server, HELLO_BACK)
        client.ack = server.seq
        self.add(client, 0, 0, PLAIN_ACK)

    def refused(self, client: Flow, server: Flow) -> None:
        """A connection that did not come about."""
        self._hello(client, HELLO)
        server.seq = 0
        server.ack = client.seq
        self.add(server, 0, 0, RESET)

    def _hello(self, flow: Flow, bits: int) -> None:
        self.require_room()
        start = self.position + flow.head
        self.buffer[start : start + len(OPTIONS)] = OPTIONS
        self.add(flow, len(OPTIONS), 1, bits)

    def data(self, flow: Flow, octets: bytes) -> None:
        """Octets that did not come through the arena."""
        for at in range(0, len(octets), PAYLOAD):
            part = octets[at : at + PAYLOAD]
            self.require_room()
            start = self.position + flow.head
            self.buffer[start : start + len(part)] = part
            self.add(flow, len(part), len(part), DATA)

    def secrets(self, text: bytes) -> None:
        """TLS secrets, ahead of the packets that they open, also of those in the arena."""
        self.files.remember(text)
        self._write(secrets_block(text))

    def require_room(self) -> None:
        """Make room for a packet; only while nothing in the arena waits to be passed on."""
        if self.position > FULL:
            self.flush()

    def flush(self) -> None:
        """Write the turn's packets; after this they survive us."""
        size = self.position
        if size:
            self.position = 0
            self._write(self.view[:size])

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.flush()
        self.forget()

    def forget(self) -> None:
        """Close the file as it is: another process writes it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, octets: memoryview | bytes) -> None:
        if self._fd < 0:
            return
        written = 0
        try:
            # Mostly once; what is written in part says why only when the rest is tried.
            while written < len(octets):
                written += os.write(self._fd, octets[written:] if written else octets)
        except OSError as error:
            self._stop((error.strerror or str(error)).lower())
            return
        self._size += written
        self.octets += written
        if self._size >= self.files.octets or self.time >= self._deadline:
            self._rotate()

    def _rotate(self) -> None:
        os.close(self._fd)
        self._fd = -1
        try:
            self._fd, self._size = self.files.begin()
        except RecordingError as error:
            self.problem = str(error)
            return
        self.octets += self._size
        self._deadline = self.time + self.files.nanoseconds

    def _stop(self, reason: str) -> None:
        """Keep the file valid, and let the traffic go on without it."""
        self.problem = f"{self.files.path}: {reason}"
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._size)
        self.forget()
