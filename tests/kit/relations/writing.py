"""Recordings written to capture files, in every form that the reader knows."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from amqpscope.capture.packets import (
    ETHERNET,
    IPV4,
    IPV6,
    LINUX_SLL,
    LINUX_SLL2,
    LOOP,
    NULL,
    RAW,
)
from amqpscope.capture.write import ip_header
from amqpscope.stream.types import INSIDE_TLS
from kit.relations.recording import Form, Packet, Recording

LINKS = (ETHERNET, LINUX_SLL, LINUX_SLL2, NULL, LOOP, RAW)
INSIDE = b"amqpscope proxy, TLS removed"
"""The interface of packets out of which the proxy took TLS."""
LONGEST = 65_000
"""Octets of payload above which a packet is written as segmentation offload leaves it."""


def write(recording: Recording, path: Path) -> None:
    """Write the packets, in the recording's form if it has one."""
    form = recording.form or Form()
    encode = pcapng if form.container == "pcapng" else pcap
    path.write_bytes(b"".join(encode(recording.packets, form)))


def save(recording: Recording, stem: Path) -> Path:
    """Write a capture for people, with its key log beside it; the file's path."""
    if any(packet.flags & INSIDE_TLS for packet in recording.packets):
        form = Form("pcapng")
    else:
        form = recording.form or Form()
    path = stem.with_name(f"{stem.name}.{form.container}")
    encode = pcapng if form.container == "pcapng" else pcap
    path.write_bytes(b"".join(encode(recording.packets, form)))
    if recording.plaintexts:
        path.with_suffix(".keys").write_bytes(recording.keylog)
    return path


def pcap(packets: tuple[Packet, ...], form: Form) -> Iterator[bytes]:
    """The octets of a pcap file, part by part."""
    magic = 0xA1B23C4D if form.nanoseconds else 0xA1B2C3D4
    unit = 1 if form.nanoseconds else 1000
    order = form.order
    yield struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, form.link)
    for packet in packets:
        data = frame(packet, form)
        seconds, rest = divmod(packet.time, 1_000_000_000)
        size = len(data) + packet.missing
        yield struct.pack(f"{order}IIII", seconds, rest // unit, len(data), size) + data


def pcapng(packets: tuple[Packet, ...], form: Form) -> Iterator[bytes]:
    """The octets of a pcapng file: one interface for packets out of TLS, one for the others."""
    order = form.order
    yield block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    resolution = b"\x09\0\0\0"
    for name in (b"eth0", INSIDE):
        options = struct.pack(f"{order}HH", 2, len(name)) + name
        options += struct.pack(f"{order}HH", 9, 1) + resolution + bytes(4)
        yield block(order, 1, struct.pack(f"{order}HHI", form.link, 0, 0) + options)
    for packet in packets:
        data = frame(packet, form)
        head = struct.pack(
            f"{order}IIIII",
            1 if packet.flags & INSIDE_TLS else 0,
            packet.time >> 32,
            packet.time & 0xFFFFFFFF,
            len(data),
            len(data) + packet.missing,
        )
        yield block(order, 6, head + data + bytes(-len(data) % 4))


def block(order: str, kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    size = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + size + body + size


def frame(packet: Packet, form: Form) -> bytes:
    """A packet from its link layer on."""
    key = packet.key
    size = (len(key) - 4) // 2
    kind = IPV4 if size == 4 else IPV6
    tcp = key[-4:] + struct.pack(
        ">IIHHHH", packet.seq, packet.ack, 0x5000 | packet.flags & 0xFF, packet.window, 0, 0
    )
    length = len(tcp) + len(packet.payload) + packet.missing
    if length > LONGEST or form.offload:
        length = -20 if size == 4 else 0
    network = ip_header(key[:size], key[size : 2 * size], length)
    return b"".join((link(kind, form), network, tcp, packet.payload))


def link(kind: int, form: Form) -> bytes:
    """The header before IP."""
    if form.link == ETHERNET:
        tags = [struct.pack(">HH", 0x8100, 100 + tag) for tag in range(form.vlans)]
        return bytes(12) + b"".join(tags) + struct.pack(">H", kind)
    if form.link == LINUX_SLL:
        return struct.pack(">HHH8xH", 0, 1, 6, kind)
    if form.link == LINUX_SLL2:
        return struct.pack(">HHIHBB8x", kind, 0, 1, 1, 0, 6)
    if form.link in (NULL, LOOP):
        family = 2 if kind == IPV4 else 24
        return struct.pack(">I" if form.link == LOOP else f"{form.order}I", family)
    return b""
