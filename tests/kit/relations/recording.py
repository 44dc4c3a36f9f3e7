"""A capture as the packets of its TCP connections, which relations take apart and change.

Times are nanoseconds, and `key` is that of a `Segment`: addresses and ports of source and
destination. TLS is decrypted once, when a capture is loaded: `plaintexts` knows what is inside each
record, whichever of the others a mutant has lost.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from amqpscope.capture.decrypt import Decryptor
from amqpscope.capture.handshake import HANDSHAKE
from amqpscope.capture.keylog import Keys
from amqpscope.capture.reader import open_capture
from amqpscope.capture.tls import Records, TlsStream
from amqpscope.capture.tshark import RecordWriter
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.stream.reassembly import Reassembler
from amqpscope.stream.types import ACK, FIN, SERVER, SYN, Connection, Piece, Segment

SUFFIXES = (".pcap", ".pcapng", ".pcap.gz", ".pcapng.gz", ".pcap.zst", ".pcapng.zst")
FORGED = "dmg_bitflip"
SEQ = 1 << 32
REACH = 1 << 30
"""How far ahead a sequence number may be."""
SERVER_HELLO = 2

Pair = frozenset[tuple[bytes, int]]
"""Both endpoints of a connection; of an address its last four octets, the same in IPv4 and IPv6."""


class Accusation(NamedTuple):
    """A rule that a peer of a connection is said to break."""

    pair: Pair
    rule: str
    peer: str


class Packet(NamedTuple):
    """One TCP segment, as captured."""

    time: int
    key: bytes
    seq: int
    ack: int
    flags: int
    window: int
    payload: bytes
    missing: int

    @property
    def next_seq(self) -> int:
        """The sequence number behind it."""
        length = len(self.payload) + self.missing
        return (self.seq + length + (self.flags & (SYN | FIN)).bit_count()) % SEQ


class Form(NamedTuple):
    """How a capture is written to a file."""

    container: str = "pcap"
    """`pcap` or `pcapng`."""
    link: int = 1
    vlans: int = 0
    """Tags before the IP header, on Ethernet only."""
    order: str = "<"
    nanoseconds: bool = True
    offload: bool = False
    """The IP header has no length, as segmentation offload leaves it."""


@dataclass(frozen=True)
class Recording:
    """A capture, or what a relation made of it."""

    name: str
    packets: tuple[Packet, ...]
    ports: frozenset[int]
    """Of servers that speak AMQP without TLS or WebSocket."""
    plaintexts: dict[bytes, bytes] = field(default_factory=dict, repr=False)
    """TLS records and the application data inside them."""
    keylog: bytes = b""
    orderly: bool = True
    """Every octet is there, in the order in which it was sent and acknowledged."""
    form: Form | None = None
    """How to write it before it is read; None: the packets are read as they are."""
    errors: frozenset[Accusation] = frozenset()
    warnings: frozenset[Accusation] = frozenset()
    """What the capture itself shows."""

    def having(self, packets: Iterable[Packet]) -> Recording:
        """The same with other packets."""
        return replace(self, packets=tuple(packets))


class Known(Records):
    """Takes the plaintext of TLS records from a table, once both hellos were captured."""

    def __init__(self, plaintexts: dict[bytes, bytes]) -> None:
        super().__init__()
        self._plaintexts = plaintexts
        self._answered: set[TlsStream] = set()

    def record(self, stream: TlsStream, sender: int, record: bytes) -> bytes:
        self.count += 1
        if sender == SERVER and record[0] == HANDSHAKE and record[5] == SERVER_HELLO:
            self._answered.add(stream)
        if not stream.client_random or stream not in self._answered:
            return b""
        return self._plaintexts.get(record, b"")


class Learning(Decryptor):
    """Decrypts, and remembers what it found inside each record."""

    def __init__(self, path: Path, keys: Keys) -> None:
        self._path = path
        self.plaintexts: dict[bytes, bytes] = {}
        super().__init__(keys, self._all_records)

    def record(self, stream: TlsStream, sender: int, record: bytes) -> bytes:
        plain = super().record(stream, sender, record)
        if plain:
            self.plaintexts[record] = plain
        return plain

    def _all_records(self, writer: RecordWriter) -> None:
        packets, _ = read_packets(self._path)
        unwrapped(packets, writer)


def captures_in(folder: Path) -> list[Path]:
    """The captures in a directory, by name, but for those with octets that nobody has sent."""
    found = (path for path in folder.iterdir() if path.name.endswith(SUFFIXES))
    return sorted(path for path in found if not path.name.startswith(FORGED))


def load(path: Path) -> Recording:
    """Read a capture; `NAME.keys` beside it is its key log."""
    keys = path.with_name(path.name.partition(".pcap")[0] + ".keys")
    keylog = keys.read_bytes() if keys.exists() else b""
    packets, secrets = read_packets(path)
    keylog = b"\n".join([keylog, *secrets])
    learning = Learning(path, Keys(keylog))
    pieces = unwrapped(packets, learning)
    learning.close()
    plain = (c for p in pieces if (c := p.connection).tls is None and c.websocket is None)
    ports = frozenset(connection.server[1] for connection in plain)
    return Recording(
        path.name, packets, ports, learning.plaintexts, keylog, orderly=is_orderly(packets)
    )


def read_packets(path: Path) -> tuple[tuple[Packet, ...], list[bytes]]:
    """The TCP segments of a file, and the key logs inside it."""
    with open_capture(str(path)) as capture:
        packets = tuple(packet_of(segment) for batch in capture for segment in batch)
        return packets, capture.secrets


def unwrapped(packets: Iterable[Packet], records: Records) -> list[Piece]:
    """The pieces of all streams, with TLS and WebSocket taken off."""
    reassembler, unwrapper = Reassembler(), Unwrapper(records)
    pieces = unwrapper.feed_all(reassembler.feed_all(segments_of(packets)))
    return pieces + unwrapper.feed_all(reassembler.finish())


def packet_of(segment: Segment) -> Packet:
    """A segment without its number."""
    return Packet(
        segment.time,
        segment.key,
        segment.seq,
        segment.ack,
        segment.flags,
        segment.window,
        segment.payload,
        segment.missing,
    )


def segments_of(packets: Iterable[Packet]) -> list[Segment]:
    """Packets as a capture would give them."""
    return [
        Segment(n, p.time, p.key, p.seq, p.ack, p.flags, p.window, p.payload, p.missing)
        for n, p in enumerate(packets, 1)
    ]


def reverse(key: bytes) -> bytes:
    """The key of the other direction."""
    size = (len(key) - 4) // 2
    return key[size : 2 * size] + key[:size] + key[-2:] + key[-4:-2]


def pair_of(key: bytes) -> Pair:
    """The connection that a key belongs to."""
    size = (len(key) - 4) // 2
    source = key[size - 4 : size], int.from_bytes(key[-4:-2])
    return frozenset((source, (key[2 * size - 4 : 2 * size], int.from_bytes(key[-2:]))))


def endpoints(connection: Connection) -> Pair:
    """The same of a connection that was read."""
    return frozenset(
        (ipaddress.ip_address(host).packed[-4:], port)
        for host, port in (connection.client, connection.server)
    )


def is_orderly(packets: Iterable[Packet]) -> bool:
    """Whether no octet is missing or late, and none is acknowledged before it was captured."""
    reached: dict[bytes, int] = {}
    for packet in packets:
        expected = reached.get(packet.key, packet.seq)
        acknowledged = reached.get(reverse(packet.key), packet.ack)
        if packet.missing or 0 < (packet.seq - expected) % SEQ < REACH:
            return False
        if packet.flags & ACK and 0 < (packet.ack - acknowledged) % SEQ < REACH:
            return False
        if (packet.next_seq - expected) % SEQ < REACH:
            reached[packet.key] = packet.next_seq
    return True


def initiators(packets: Iterable[Packet]) -> dict[Pair, bytes]:
    """For each connection the key of its client's packets: by the SYN, else by the higher port."""
    found: dict[Pair, bytes] = {}
    guessed: set[Pair] = set()
    for packet in packets:
        key = packet.key
        pair = pair_of(key)
        if packet.flags & SYN and (pair not in found or pair in guessed):
            found[pair] = reverse(key) if packet.flags & ACK else key
            guessed.discard(pair)
        elif pair not in found:
            found[pair] = key if key[-4:-2] > key[-2:] else reverse(key)
            guessed.add(pair)
    return found
