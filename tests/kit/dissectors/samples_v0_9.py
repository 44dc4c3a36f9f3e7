"""The units of real captures of 0-8, 0-9 and 0-9-1."""

import functools
from collections import defaultdict
from typing import NamedTuple

from amqpscope.stream.types import Chunk
from dissectors.v0_9.dialects import by_version, refine
from dissectors.v0_9.framing import Unit, decode_unit, measure
from dissectors.wire import DAMAGED, MORE
from kit import TESTS
from kit.dissectors.samples import CAPTURES, pieces


class Captured(NamedTuple):
    packet: int
    raw: bytes
    unit: Unit


OWN = TESTS / "dissectors" / "v0_9" / "captures"
"""A client of 0-8 and one of 0-9 at RabbitMQ 3.10, recorded on the loopback: handshake, one queue,
three messages got and delivered, a transaction, and everything closed in order."""


def captures():
    """All captures of 0-8, 0-9 and 0-9-1 that are not encrypted."""
    found = [path for place in (OWN, CAPTURES) for path in sorted(place.glob("v0[89]*_*.pcap*"))]
    return [path for path in found if "_tls-" not in path.name]


@functools.cache
def units(path):
    """The headers and frames of a capture, in the order in which they became complete."""
    waiting = defaultdict(bytes)
    spoken = {}
    result = []
    for piece in pieces(path):
        if not isinstance(piece, Chunk):
            continue
        connection = id(piece.connection)
        key = (connection, piece.sender)
        data = waiting[key] + piece.data
        if connection not in spoken:
            spoken[connection] = by_version(data[4:8])
        at = 0
        while (size := measure(data, at, len(data))) != MORE and at + size <= len(data):
            assert size != DAMAGED
            raw = data[at : at + size]
            unit = decode_unit(raw, spoken[connection])
            result.append(Captured(piece.packet, raw, unit))
            if unit.name == "connection.start":
                properties = unit.method.get("server-properties")
                spoken[connection] = refine(spoken[connection], properties)
            at += size
        waiting[key] = data[at:]
    return result
