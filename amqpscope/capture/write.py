"""Writes captures: TCP conversations as well-formed Ethernet, IP and TCP packets in pcapng.

`ConnectionWriter` keeps sequence and acknowledgement numbers, so that what is written looks to any
reader as if it had been recorded: handshake, data cut to segments, and the ends.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import IO, Final

from amqpscope.stream.types import ACK, CLIENT, FIN, RST, SYN

_SECTION: Final = struct.Struct("<IIIHHqI")
_INTERFACE: Final = struct.Struct("<IIHHIHHB3xHHI")
_PACKET: Final = struct.Struct("<IIIIIII")
_NANOSECONDS: Final = 9
_ETHERNET: Final = 1
_PSH: Final = 0x08
_MACS: Final = (b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02")
"""Destination and source, by who sends."""
LONGEST_COMMENT: Final = 60_000
"""Octets of a comment: its length has two octets."""
SEGMENT: Final = 65_000
"""Octets of payload in one packet: below what IPv4 can count."""


class CaptureWriter:
    """A pcapng file with one Ethernet interface and times in nanoseconds."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.packets = 0
        self.comment = ""
        """What is noted about the next packet."""
        file.write(_SECTION.pack(0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))
        file.write(_INTERFACE.pack(1, 32, _ETHERNET, 0, 0, 9, 1, _NANOSECONDS, 0, 0, 32))

    def packet(self, time: int, data: bytes, missing: int = 0) -> None:
        """One packet; the time in nanoseconds since the Unix epoch."""
        padding = -len(data) % 4
        options = comment_option(self.comment)
        self.comment = ""
        size = 32 + len(data) + padding + len(options)
        high, low, length = time >> 32, time & 0xFFFFFFFF, len(data)
        head = _PACKET.pack(6, size, 0, high, low, length, length + missing)
        self.file.write(b"".join((head, data, bytes(padding), options, struct.pack("<I", size))))
        self.packets += 1


class ConnectionWriter:
    """One TCP connection, written as it goes."""

    def __init__(
        self, writer: CaptureWriter, client: tuple[str, int], server: tuple[str, int]
    ) -> None:
        self.writer = writer
        self.ports = (client[1], server[1])
        self.addresses = (pack_address(client[0]), pack_address(server[0]))
        self.seq = [1000, 2000]
        """Each peer's next sequence number."""
        self.window = 65535

    def open(self, time: int) -> None:
        """Write the handshake of TCP."""
        self.segment(0, time, SYN, b"", 0)
        self.seq[0] += 1
        self.segment(1, time, SYN | ACK, b"", self.seq[0])
        self.seq[1] += 1
        self.segment(0, time, ACK, b"", self.seq[1])

    def data(
        self, sender: int, time: int, octets: bytes, unseen: int = 0, comment: str = ""
    ) -> None:
        """Octets; `unseen` of the partner's newest had not arrived at the sender.

        The comment goes on the last packet, which completes what the octets are.
        """
        self.send(sender, time, octets, self.seq[1 - sender] - unseen, comment)

    def send(
        self, sender: int, time: int, octets: bytes, acknowledged: int, comment: str = ""
    ) -> None:
        """Octets, with what their sender acknowledges."""
        for at in range(0, len(octets), SEGMENT):
            part = octets[at : at + SEGMENT]
            if comment and at + SEGMENT >= len(octets):
                self.writer.comment = comment
            self.segment(sender, time, ACK | _PSH, part, acknowledged)
            self.seq[sender] += len(part)

    def finish(self, sender: int, time: int) -> None:
        """This peer closes its direction."""
        self.segment(sender, time, FIN | ACK, b"", self.seq[1 - sender])
        self.seq[sender] += 1

    def reset(self, sender: int, time: int) -> None:
        """This peer resets the connection."""
        self.segment(sender, time, RST | ACK, b"", self.seq[1 - sender])

    def segment(
        self, sender: int, time: int, flags: int, payload: bytes, ack: int, missing: int = 0
    ) -> None:
        """One packet, of which the capture does not have the last octets where some are missing."""
        source, target = (0, 1) if sender == CLIENT else (1, 0)
        tcp = struct.pack(
            ">HHIIHHHH",
            self.ports[source],
            self.ports[target],
            self.seq[sender] & 0xFFFFFFFF,
            ack & 0xFFFFFFFF,
            0x5000 | flags,
            self.window,
            0,
            0,
        )
        length = len(tcp) + len(payload) + missing
        head = ip_header(self.addresses[source], self.addresses[target], length)
        kind = 0x0800 if len(self.addresses[0]) == 4 else 0x86DD
        ethernet = _MACS[sender] + struct.pack(">H", kind)
        self.writer.packet(time, b"".join((ethernet, head, tcp, payload)), missing)


def comment_option(text: str) -> bytes:
    """A comment as the options of a block; none where there is no text."""
    if not text:
        return b""
    octets = text.encode("utf-8", "replace")[:LONGEST_COMMENT]
    padding = bytes(-len(octets) % 4)
    return struct.pack("<HH", 1, len(octets)) + octets + padding + bytes(4)


def pack_address(address: str) -> bytes:
    """The octets of an IP address."""
    return ipaddress.ip_address(address).packed


def ip_header(source: bytes, target: bytes, length: int) -> bytes:
    """IPv4 or IPv6, by the addresses."""
    if len(source) == 16:
        return struct.pack(">IHBB", 0x60000000, length, 6, 64) + source + target
    head = struct.pack(">BBHHHBBH", 0x45, 0, length + 20, 0, 0x4000, 64, 6, 0) + source + target
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~(total + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack(">H", checksum) + head[12:]
