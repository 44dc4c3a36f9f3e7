"""The PROXY protocol: what a load balancer says of a client before the client's first octet.

Version 1 is a line of text, version 2 is binary; both are read, and one of them is written when it
is asked for. `LOCAL`, `UNKNOWN` and addresses that are not those of TCP say nothing of a client.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from typing import Final, NamedTuple

from amqpscope.proxy.flow import as_ipv6, pack_address
from amqpscope.proxy.record import Address

SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
LINE: Final = b"PROXY "
LONGEST_LINE: Final = 107
"""Octets of a header of version 1, its end included."""
LONGEST: Final = 4096
"""Octets of a header of version 2 that we take; what is behind the addresses is not of use."""
SIZES: Final = {0x11: 4, 0x21: 16}
"""Octets of an address, by family and transport."""


class HeaderError(Exception):
    """What comes first is no such header; one line says why."""


class ProxyHeader(NamedTuple):
    """Who connected to whom; None where the header does not say."""

    source: Address | None
    target: Address | None
    size: int
    """Octets of the header itself."""


def parse_header(octets: bytes) -> ProxyHeader | None:
    """The header with which octets begin; None while it is not whole."""
    if octets[: len(SIGNATURE)] == SIGNATURE[: len(octets)]:
        return parse_binary(octets)
    if octets[: len(LINE)] == LINE[: len(octets)]:
        return parse_line(octets)
    raise HeaderError("sent no PROXY header (--accept-proxy)")


def parse_line(octets: bytes) -> ProxyHeader | None:
    """A header of version 1."""
    end = octets.find(b"\r\n", 0, LONGEST_LINE)
    if end < 0:
        if len(octets) >= LONGEST_LINE:
            raise HeaderError("sent a PROXY header without an end")
        return None
    words = octets[:end].decode("latin-1").split(" ")
    if words[1:2] == ["UNKNOWN"]:
        return ProxyHeader(None, None, end + 2)
    try:
        _, family, source, target, near, far = words
        version = {"TCP4": 4, "TCP6": 6}[family]
        hosts = [ipaddress.ip_address(each) for each in (source, target)]
        ports = [port_of(each) for each in (near, far)]
    except (ValueError, KeyError) as error:
        raise HeaderError("sent a PROXY header that does not parse") from error
    if any(host.version != version for host in hosts):
        raise HeaderError("sent a PROXY header with addresses of another family")
    return ProxyHeader((str(hosts[0]), ports[0]), (str(hosts[1]), ports[1]), end + 2)


def port_of(text: str) -> int:
    """A port as version 1 writes it."""
    port = int(text)
    if not text.isascii() or not text.isdigit() or port > 65_535:
        raise ValueError(text)
    return port


def parse_binary(octets: bytes) -> ProxyHeader | None:
    """A header of version 2."""
    if len(octets) < 16:
        return None
    command, family, length = struct.unpack_from(">BBH", octets, 12)
    size = 16 + length
    if command not in (0x20, 0x21) or size > LONGEST:
        raise HeaderError("sent a PROXY header that does not parse")
    if len(octets) < size:
        return None
    width = SIZES.get(family, 0)
    if command == 0x20 or not width:
        return ProxyHeader(None, None, size)
    if length < 2 * width + 4:
        raise HeaderError("sent a PROXY header that does not parse")
    hosts = [str(ipaddress.ip_address(octets[16 + at : 16 + at + width])) for at in (0, width)]
    near, far = struct.unpack_from(">HH", octets, 16 + 2 * width)
    return ProxyHeader((hosts[0], near), (hosts[1], far), size)


def take_header(endpoint: socket.socket) -> ProxyHeader | None:
    """Receive a header, and no octet more; None while it is not whole."""
    try:
        octets = endpoint.recv(LONGEST, socket.MSG_PEEK)
    except BlockingIOError:
        return None
    if not octets:
        raise HeaderError("closed the connection before its PROXY header")
    header = parse_header(octets)
    if header is not None:
        endpoint.recv(header.size)
    return header


def write_header(version: str, source: Address, target: Address) -> bytes:
    """The header that says who connected to whom."""
    hosts = [pack_address(source[0]), pack_address(target[0])]
    if len(hosts[0]) != len(hosts[1]):
        hosts = [as_ipv6(host) for host in hosts]
    wide = len(hosts[0]) == 16
    if version == "v1":
        first, second = (ipaddress.ip_address(host) for host in hosts)
        family = "TCP6" if wide else "TCP4"
        return f"PROXY {family} {first} {second} {source[1]} {target[1]}\r\n".encode()
    octets = b"".join(hosts) + struct.pack(">HH", source[1], target[1])
    return SIGNATURE + struct.pack(">BBH", 0x21, 0x21 if wide else 0x11, len(octets)) + octets
