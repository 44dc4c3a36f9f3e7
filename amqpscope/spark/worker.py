"""What one worker process does with a share of the work; nothing here knows of Spark.

* `scan` looks which connections a slice has, and counts its packets;
* `replay_whole` analyses a ring that is one slice;
* `follow_messages` follows messages from one connection of a larger ring to another;
* `replay_slice` analyses those connections that lie whole within a slice of a larger ring;
* `chosen` gives the segments of the other connections, and
* `replay_connection` analyses one of these from its segments, wherever they came from.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import IO, Final

from amqpscope.analysis import Share as Connections
from amqpscope.capture.packets import Packets
from amqpscope.capture.tls import Records, is_record
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.rules.dispatch import RuleSet
from amqpscope.spark.gather import Block
from amqpscope.spark.plan import Ring, Share
from amqpscope.spark.records import Reading
from amqpscope.spark.replay import Replay, Slices, canonical, source_of
from amqpscope.spark.unpickling import load, loads
from amqpscope.spark.work import Work
from amqpscope.stream.reassembly import Reassembler
from amqpscope.stream.types import Segment

FOLLOWED: Final = ("findings", "messages", "hops")
"""Tables that take a process which sees all connections of a ring."""


@dataclass
class FileNumbers:
    """What a part of a file had in it."""

    ordinal: int
    packets: int = 0
    first: int = 0
    """The time of its first segment, and below that of its last."""
    last: int = 0
    problem: str | None = None
    unreadable: bool = False


@dataclass
class Scan:
    """What a slice has in it."""

    ring: str
    slice: int
    packets: int = 0
    last_packet: int = 0
    """That of the last segment, from 1 in the slice; 0: there is none."""
    last_time: int = 0
    names: bytes = b""
    """Eight octets for each connection."""
    pending: bool = False
    """Fragments of a datagram may lie in the next slice."""
    files: list[FileNumbers] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    speakers: dict[bytes, int] = field(default_factory=dict)
    """Who sent a protocol header, and in which packet of the slice first."""
    secrets: list[bytes] = field(default_factory=list)
    """TLS key logs in the captures."""


@dataclass(frozen=True)
class RingPlan:
    """What a worker must know of a ring of several slices."""

    index: int
    name: str
    bases: list[int]
    elsewhere: frozenset[bytes]
    """Connections that lie in more than one slice."""
    end: tuple[int, int]
    """Packet and time of the last segment."""
    speakers: dict[bytes, int]
    secrets: list[bytes]


class Stream:
    """The segments of a share, and what was seen of its files."""

    def __init__(self, share: Share, secrets: list[bytes] | None = None) -> None:
        self.share = share
        self.packets = Packets()
        self.packets.count = share.base
        self.secrets: list[bytes] = [] if secrets is None else secrets
        self.files: list[FileNumbers] = []
        self.last: Segment | None = None

    def __iter__(self) -> Iterator[list[Segment]]:
        for piece in self.share.pieces:
            file = FileNumbers(piece.ordinal)
            self.files.append(file)
            before = self.packets.count
            reading = Reading(piece.part, self.packets, self.secrets)
            for batch in reading:
                if batch:
                    file.first = file.first or batch[0].time
                    self.last = batch[-1]
                    file.last = self.last.time
                    yield batch
            file.packets = self.packets.count - before
            file.problem, file.unreadable = reading.problem, reading.unreadable


def name_of(key: bytes) -> bytes:
    """Eight octets for a connection; that two have the same does no harm but to speed."""
    return blake2b(canonical(key), digest_size=8).digest()


def scan(share: Share) -> Scan:
    """Look at all packets of a slice once."""
    stream = Stream(share)
    names: dict[bytes, bytes] = {}
    speakers: dict[bytes, int] = {}
    for batch in stream:
        for segment in batch:
            if segment.key not in names:
                names[segment.key] = name_of(segment.key)
            if segment.payload[:4] == b"AMQP":
                speakers.setdefault(source_of(segment.key), segment.packet - share.base)
    found = Scan(share.ring, share.slice, stream.packets.count - share.base)
    if stream.last is not None:
        found.last_packet, found.last_time = stream.last.packet - share.base, stream.last.time
    found.names = b"".join(set(names.values()))
    found.pending = bool(stream.packets._fragments._waiting)
    found.files = stream.files
    found.speakers, found.secrets = speakers, stream.secrets
    return found


def names_in(octets: bytes) -> set[bytes]:
    """The names of connections in a Scan."""
    return {octets[at : at + 8] for at in range(0, len(octets), 8)}


def join_pending(ring: Ring, scans: list[Scan]) -> list[Share]:
    """Let slices between which a datagram was cut be one; what must be scanned again."""
    again: list[Share] = []
    at = 0
    while at < len(ring.slices) - 1:
        if scans[at].pending:
            ring.slices[at] += ring.slices.pop(at + 1)
            del scans[at + 1]
            again = [share for share in again if share.slice != at]
            again.append(Share(ring.name, at, ring.slices[at]))
        at += 1
    return again


def follow_messages(share: Share, work: Work, rules: RuleSet) -> Iterator[Block]:
    """What messages show that go from one connection of a larger ring to another, and their rows.

    It takes one process that sees all connections. What single connections show is judged
    elsewhere.
    """
    for found in replay_whole(share, work, rules, judged=False):
        if isinstance(found, Block) and found.table in FOLLOWED:
            yield found


def replay_whole(
    share: Share, work: Work, rules: RuleSet, *, judged: bool = True,
    part: Connections | None = None,
) -> Iterator[Block | Scan]:  # fmt: skip
    """Analyse a ring that is one slice, or a part of its connections; numbers are final."""
    stream = Stream(share)
    collect = again(lambda: Stream(share, stream.secrets), work)
    replay = Replay(
        share.ring, work, rules, None, collect, stream.secrets, judged=judged, part=part
    )
    for batch in stream:
        yield from replay.feed(batch)
    yield from replay.finish()
    found = Scan(share.ring, share.slice, stream.packets.count)
    found.files, found.notes = stream.files, list(replay.decryptor.notes)
    yield found


def again(segments: Callable[[], Iterable[list[Segment]]], work: Work) -> Callable[[Records], None]:
    """How to collect the TLS records of segments that can be read once more."""

    def collect(writer: Records) -> None:
        reassembler, unwrapper = Reassembler(work.decode_as), Unwrapper(writer)
        for batch in segments():
            unwrapper.feed_all(reassembler.feed_all(batch))
        unwrapper.feed_all(reassembler.finish())

    return collect


def replay_slice(
    share: Share, ring: RingPlan, work: Work, rules: RuleSet
) -> Iterator[Block | Scan]:
    """Analyse the connections of a slice that no other slice has a part of."""
    collect = again(lambda: chosen_segments(share, ring, spanning=False), work)
    yield from replay_connections(
        chosen_segments(share, ring, spanning=False), collect, share.slice, ring, work, rules
    )


def chosen_segments(share: Share, ring: RingPlan, *, spanning: bool) -> Iterator[list[Segment]]:
    """The segments of connections that other slices have a part of, or of all others."""
    wanted: dict[bytes, bool] = {}
    for batch in Stream(share):
        found = []
        for segment in batch:
            mine = wanted.get(segment.key)
            if mine is None:
                mine = (name_of(segment.key) in ring.elsewhere) == spanning
                wanted[segment.key] = mine
            if mine:
                found.append(segment)
        if found:
            yield found


def replay_connection(
    batches: Iterator[list[Segment]], ring: RingPlan, work: Work, rules: RuleSet
) -> Iterator[Block | Scan]:
    """Analyse one connection (or those that used its ports one after the other)."""
    held: list[list[Segment]] = []
    for batch in batches:
        held.append(batch)
        if any(segment.payload for segment in batch):
            break
    first = next((s.payload for batch in held for s in batch if s.payload), b"")
    batches = chain(held, batches)
    if not (ring.secrets or work.keylogs) or not is_record(first[:5].ljust(5)):
        yield from replay_connections(batches, None, 0, ring, work, rules)
        return
    with tempfile.TemporaryFile(prefix="amqpscope-") as file:
        # Decrypting reads twice, and a connection may be larger than memory.
        spool = Spool(file)
        for batch in batches:
            spool.write(batch)
        yield from replay_connections(spool.read(), again(spool.read, work), 0, ring, work, rules)


def pickle_segments(batch: list[Segment]) -> bytes:
    """Segments as octets; the class itself may be compiled, and then cannot be pickled."""
    return pickle.dumps(
        [
            (s.packet, s.time, s.key, s.seq, s.ack, s.flags, s.window, s.payload, s.missing)
            for s in batch
        ]
    )


def unpickle_segments(octets: bytes) -> list[Segment]:
    """Segments from octets."""
    return [Segment(*row) for row in loads(octets)]


class Spool:
    """Segments kept in a file, to be read more than once at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, batch: list[Segment]) -> None:
        """Keep some more."""
        self.file.write(pickle_segments(batch))

    def read(self) -> Iterator[list[Segment]]:
        """All of them."""
        place = 0
        while True:
            self.file.seek(place)
            try:
                rows = load(self.file)
            except EOFError:
                return
            place = self.file.tell()
            yield [Segment(*row) for row in rows]


def replay_connections(
    batches: Iterable[list[Segment]], collect: Callable[[Records], None] | None, place: int,
    ring: RingPlan, work: Work, rules: RuleSet,
) -> Iterator[Block | Scan]:  # fmt: skip
    """Analyse some connections of a larger ring; what is told of them comes last."""
    replay = Replay(
        ring.name, work, rules, Slices(ring.bases), collect, ring.secrets, ring.speakers
    )
    for batch in batches:
        yield from replay.feed(batch)
    yield from replay.finish(*ring.end)
    if replay.decryptor.notes:
        yield Scan(ring.name, place, notes=list(replay.decryptor.notes))
