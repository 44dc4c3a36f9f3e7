"""Connections that are put together in memory: octets by peer, as pieces and as packets.

To leave out, change or make up frames there is an `Exchange`: who sent which octets when, and
how much of its partner it had read by then. It can be analysed at once (`pieces`), or written as a
capture of whole TCP connections (`write_exchanges`). Offsets and acknowledgements follow from what
is in it, so that anything may be taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Final

from amqpscope.capture.write import SEGMENT, CaptureWriter, ConnectionWriter
from amqpscope.stream.carrier import read_carrier
from amqpscope.stream.types import ACK, BEYOND, PEERS, Chunk, Connection, End, Gap, Piece

FIN: Final = "fin"
RST: Final = "rst"
ENDS: Final = (FIN, RST)
"""Ends of a direction that are packets of their own."""
UNKNOWN: Final = -2
"""What a peer had read is not known."""


@dataclass(frozen=True)
class Sent:
    """One thing that a peer did: octets that it sent, octets that are missing, or an end."""

    sender: int
    time: int
    """Nanoseconds since the Unix epoch."""
    octets: bytes = b""
    read: int = -1
    """Which of its partner's it had read, as their number from the start; -1: all before it;
    UNKNOWN."""
    lost: int = 0
    """Octets behind these that the capture does not have."""
    end: str = ""
    """Why this direction ends, as in `stream.types.End`; empty: it goes on."""
    order: int = 0
    """Its place among what passed on all connections."""


@dataclass(frozen=True)
class Exchange:
    """One connection: its endpoints and what was sent on it."""

    client: tuple[str, int]
    server: tuple[str, int]
    sent: tuple[Sent, ...] = ()
    complete: bool = True
    """Whether it begins with a handshake."""
    opened: int = 0
    """When the handshake was; 0: with the first octets."""
    cut: bool = False
    """What is missing had passed, and was only not written down: as in a log."""
    carrier: str = ""
    """What was around it, as a comment, see `stream.carrier`."""

    @property
    def start(self) -> int:
        """When it begins."""
        return self.opened or (self.sent[0].time if self.sent else 0)

    def with_only(self, places: Iterable[int]) -> Exchange:
        """The connection with some of what was sent, by place; who had read what stays right."""
        kept = sorted(places)
        before: list[list[int]] = [[0], [0]]
        chosen = set(kept)
        for place, each in enumerate(self.sent):
            count = before[each.sender]
            count.append(count[-1] + (place in chosen))
        left = [self.sent[place] for place in kept]
        sent = [
            each if each.read < 0 else replace(each, read=_counted(before[1 - each.sender], each))
            for each in left
        ]
        return replace(self, sent=tuple(sent))

    def with_octets(self, changes: dict[int, bytes]) -> Exchange:
        """The connection with other octets at some places."""
        sent = list(self.sent)
        for place, octets in changes.items():
            sent[place] = replace(sent[place], octets=octets)
        return replace(self, sent=tuple(sent))

    def with_ends(self) -> Exchange:
        """The connection closed by both peers, unless one has broken it off."""
        if not self.sent or any(each.end not in ("", FIN) for each in self.sent):
            return self
        last, ended = self.sent[-1], {each.sender for each in self.sent if each.end}
        ends = [Sent(peer, last.time, end=FIN, order=last.order) for peer in (0, 1)]
        return replace(
            self, sent=(*self.sent, *(each for each in ends if each.sender not in ended))
        )


def _counted(before: list[int], each: Sent) -> int:
    return before[min(each.read, len(before) - 1)]


@dataclass
class _Stream:
    """How far both directions of a connection have come."""

    ends: list[list[int]] = field(default_factory=lambda: [[0], [0]])
    """Where in its stream each thing ends that a peer sent."""
    whole: list[list[int]] = field(default_factory=lambda: [[0], [0]])
    """Where in the whole stream each thing ends, with all that is still to come."""

    def note_all(self, exchange: Exchange) -> None:
        for each in exchange.sent:
            ends = self.whole[each.sender]
            ends.append(ends[-1] + len(each.octets) + each.lost)

    def advance(self, each: Sent) -> int:
        """Count something in; returns where it begins."""
        ends = self.ends[each.sender]
        start = ends[-1]
        ends.append(start + len(each.octets) + each.lost)
        return start

    def octets_read(self, each: Sent) -> int:
        """Octets of the partner that the sender had read."""
        if each.read == UNKNOWN:
            return BEYOND
        if each.read < 0:
            return self.ends[1 - each.sender][-1]
        ends = self.whole[1 - each.sender]
        return ends[min(each.read, len(ends) - 1)]


def connection_of(exchange: Exchange) -> Connection:
    """The connection that pieces of an exchange belong to."""
    connection = Connection(exchange.client, exchange.server, exchange.complete)
    connection.opened = exchange.start if exchange.complete else 0
    if exchange.carrier:
        read_carrier(connection, exchange.carrier)
    return connection


def pieces(exchanges: Sequence[Exchange]) -> Iterator[Piece]:
    """What a capture of these connections gives to the analysis."""
    connections = [connection_of(each) for each in exchanges]
    streams = _streams(exchanges)
    packet = 0
    for place, each in in_order(exchanges):
        connection, stream = connections[place], streams[place]
        packet += 1
        start = stream.advance(each)
        if each.octets:
            yield Chunk(
                connection, each.sender, start, each.octets, packet, each.time,
                stream.octets_read(each),
            )  # fmt: skip
        if each.lost:
            at = start + len(each.octets)
            yield Gap(connection, each.sender, at, each.lost, packet, each.time)
        if each.end:
            yield End(connection, each.sender, each.end, packet, each.time)
    for connection, exchange in zip(connections, exchanges, strict=True):
        yield from _cut_off_ends(connection, exchange, packet)


def _cut_off_ends(connection: Connection, exchange: Exchange, packet: int) -> Iterator[End]:
    """The ends of directions that the capture's own end cuts off."""
    ends = {each.sender: each.end for each in exchange.sent if each.end}
    if RST in ends.values():
        # It ends both directions.
        reason, last = RST, exchange.sent[-1].time
    else:
        reason, last = "capture", exchange.sent[-1].time if exchange.sent else 0
    for sender in range(len(PEERS)):
        if sender not in ends:
            yield End(connection, sender, reason, packet, last)


def write_exchanges(exchanges: Sequence[Exchange], file: IO[bytes]) -> int:
    """Write connections as a capture; returns the number of packets."""
    writer = CaptureWriter(file)
    talks = [ConnectionWriter(writer, each.client, each.server) for each in exchanges]
    streams = _streams(exchanges)
    begun: set[int] = set()
    carriers = {place: each.carrier for place, each in enumerate(exchanges)}
    for place, each in in_order(exchanges):
        talk, stream = talks[place], streams[place]
        if place not in begun:
            begun.add(place)
            if exchanges[place].complete:
                talk.open(exchanges[place].start)
        passed = stream.ends[1 - each.sender][-1]
        unseen = passed - stream.octets_read(each)
        if each.read == UNKNOWN:
            # A number older than the one before it says nothing about the octets beside it.
            talk.segment(each.sender, each.time, ACK, b"", talk.seq[1 - each.sender])
            unseen = passed
        stream.advance(each)
        if each.octets:
            writer.comment = carriers.pop(place, "")
        talk.data(each.sender, each.time, each.octets, unseen)
        if exchanges[place].cut:
            _announce_loss(talk, each, unseen)
        talk.seq[each.sender] += each.lost
        if each.end == FIN:
            talk.finish(each.sender, each.time)
        elif each.end == RST:
            talk.reset(each.sender, each.time)
    return writer.packets


def _announce_loss(talk: ConnectionWriter, each: Sent, unseen: int) -> None:
    """Packets without their octets, so that nobody waits for what is missing."""
    start = talk.seq[each.sender]
    for at in range(0, each.lost, SEGMENT):
        talk.seq[each.sender] = start + at
        size = min(SEGMENT, each.lost - at)
        ack = talk.seq[1 - each.sender] - unseen
        talk.segment(each.sender, each.time, ACK, b"", ack, size)
    talk.seq[each.sender] = start


def _streams(exchanges: Sequence[Exchange]) -> list[_Stream]:
    streams = [_Stream() for _ in exchanges]
    for stream, exchange in zip(streams, exchanges, strict=True):
        stream.note_all(exchange)
    return streams


def in_order(exchanges: Sequence[Exchange]) -> list[tuple[int, Sent]]:
    """All that was sent, with the place of its connection, in the order in which it passed."""
    placed = [(place, each) for place, exchange in enumerate(exchanges) for each in exchange.sent]
    return sorted(placed, key=lambda pair: pair[1].order)
