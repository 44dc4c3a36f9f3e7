"""Octets for the tests: spaced hex, frames around bodies, and the units of real captures."""

import functools
from collections import defaultdict

from amqpscope.capture.reader import open_capture
from amqpscope.stream.reassembly import Reassembler
from amqpscope.stream.types import Chunk, End, Gap
from dissectors.v1_0.framing import measure
from dissectors.wire import DAMAGED, MORE
from kit import CAPTURES


def octets(text):
    """Octets from hex, spaced as it pleases the eye."""
    return bytes.fromhex(text.replace("|", " "))


def frame(body, *, type=0, channel=0, extended=b""):
    """A frame header before a body, given in hex or octets."""
    body = octets(body) if isinstance(body, str) else body
    size = 8 + len(extended) + len(body)
    head = size.to_bytes(4, "big") + bytes((2 + len(extended) // 4, type))
    return head + channel.to_bytes(2, "big") + extended + body


def captures():
    """All AMQP 1.0 captures of the checkout."""
    found = sorted(CAPTURES.glob("*.pcap*"))
    return [path for path in found if path.name.startswith(("v10_", "fmt_", "dmg_", "demo"))]


@functools.cache
def pieces(path):
    """What a capture's connections carry, in order."""
    reassembler = Reassembler()
    result = []
    capture = open_capture(str(path))
    while (segments := capture.read()) is not None:
        result += reassembler.feed_all(segments)
    capture.close()
    return result + reassembler.finish()


@functools.cache
def units(path):
    """The headers and frames of a capture: (connection and sender, raw), until a gap."""
    waiting = defaultdict(bytes)
    lost = set()
    result = []
    for piece in pieces(path):
        key = (id(piece.connection), piece.sender)
        if isinstance(piece, Gap):
            lost.add(key)
        if isinstance(piece, End) or not isinstance(piece, Chunk) or key in lost:
            continue
        data = waiting[key] + piece.data
        at = 0
        if not waiting[key] and piece.offset == 0 and not data.startswith((b"AMQP", b"\0\0")):
            lost.add(key)  # TLS, HTTP, ...
        while key not in lost:
            size = measure(data, at, len(data))
            if size == DAMAGED or data[at : at + 6] == b"AMQP\0\0":
                lost.add(key)
            if size in (MORE, DAMAGED) or at + size > len(data):
                break
            result.append((key, data[at : at + size]))
            at += size
        waiting[key] = data[at:]
    return result
