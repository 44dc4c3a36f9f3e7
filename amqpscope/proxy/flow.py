"""One direction of a recorded connection: what the headers of its packets say."""

from __future__ import annotations

import ipaddress
import struct
from typing import Final

from amqpscope.proxy.files import AS_IT_WAS

Address = tuple[str, int]

HEADERS_4: Final = 28 + 14 + 20 + 20
"""Octets of pcapng, Ethernet, IPv4 and TCP before the payload."""
HEADERS_6: Final = 28 + 14 + 40 + 20
U32: Final = 0xFFFFFFFF


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
    left, right = pack_address(client[0]), pack_address(server[0])
    if len(left) != len(right):
        left, right = as_ipv6(left), as_ipv6(right)
    # Other numbers for each connection: a port pair may come again.
    isn = (number * 0x01000193 + 1000) & U32
    back = (isn + 0x40000000) & U32
    return (
        Flow(left + right, client[1], server[1], isn, 0),
        Flow(right + left, server[1], client[1], back, 0),
    )


def pack_address(host: str) -> bytes:
    """The octets of an IP address."""
    return ipaddress.ip_address(host.partition("%")[0]).packed


def as_ipv6(address: bytes) -> bytes:
    """An address as IPv6, whatever it is."""
    return address if len(address) == 16 else bytes(10) + b"\xff\xff" + address
