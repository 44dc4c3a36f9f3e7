"""Relations that carry the same octets in other segments: split, joined, repeated, renumbered."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

from amqpscope.stream.types import ACK, FIN, RST, SYN
from kit.relations.recording import REACH, SEQ, Packet, Recording, reverse
from kit.relations.relations import Another, places, relation, some_direction

DELAY = 200_000_000
"""Nanoseconds for which TCP holds octets back, to send them with others."""


@relation("split", whole=True)
def split(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Segments are cut at any place."""
    share = chance.choice((0.05, 0.3, 1.0))
    return recording.having(
        part
        for packet in recording.packets
        for part in (parts(packet, cuts(packet, chance)) if chance.random() < share else [packet])
    )


@relation("split-small", whole=True)
def split_small(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """No segment has more than a few octets."""
    size = chance.choice((1, 2, 3, 5, 7, 8, 11, 16, 50))
    if sum(len(packet.payload) for packet in recording.packets) > size * 4000:
        return None
    return recording.having(
        part
        for packet in recording.packets
        for part in parts(packet, list(range(size, len(packet.payload), size)))
    )


@relation("join", whole=True)
def join(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Segments that follow each other go as one, which is sent when the last was."""
    share = chance.choice((0.2, 1.0))
    joined: list[Packet | None] = []
    newest: dict[bytes, tuple[int, Packet]] = {}
    for packet in recording.packets:
        place, first = newest.get(packet.key, (-1, packet))
        if place >= 0 and follows(first, packet) and chance.random() < share:
            joined[place] = None
            packet = packet._replace(seq=first.seq, payload=first.payload + packet.payload)
        if packet.payload:
            newest[packet.key] = len(joined), packet
        _, other = newest.get(reverse(packet.key), (-1, None))
        if other is not None and packet.flags & ACK and 0 < (packet.ack - other.seq) % SEQ < REACH:
            del newest[reverse(packet.key)]  # it had been sent by then
        joined.append(packet)
    return recording.having(packet for packet in joined if packet) if None in joined else None


@relation("duplicate", whole=True)
def duplicate(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Some packets are captured twice, the copy a little later."""
    packets = list(recording.packets)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(packets))
        later = min(place + chance.randint(0, 10), len(packets) - 1)
        packets.insert(later + 1, packets[place]._replace(time=packets[later].time + 1))
    return recording.having(packets)


@relation("duplicate-all", whole=True)
def duplicate_all(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Every packet is captured twice, as on two interfaces."""
    delay = chance.choice((0, 1_000, 50_000, 2_000_000))
    copies = [packet._replace(time=packet.time + delay) for packet in recording.packets]
    return recording.having(sorted([*recording.packets, *copies], key=lambda p: p.time))


@relation("retransmit", whole=True)
def retransmit(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Octets are sent again later, with the acknowledgement of that time."""
    packets = list(recording.packets)
    for _ in range(chance.randint(1, 5)):
        place = chance.choice([n for n, packet in enumerate(packets) if packet.payload])
        old = packets[place]
        later = min(place + chance.choice((0, 1, 2, 5, 30)), len(packets) - 1)
        ack = latest(packets, later, old.key)
        packets.insert(later + 1, old._replace(time=packets[later].time + 1, ack=ack))
    return recording.having(packets)


@relation("overlap", blinds=True)
def overlap(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Segments repeat the end of what was sent before, and its acknowledgement."""
    share = chance.choice((0.1, 0.5, 1.0))
    previous: dict[bytes, Packet] = {}
    packets = []
    for packet in recording.packets:
        before = previous.get(packet.key)
        if packet.payload:
            previous[packet.key] = packet
        if before and follows(before, packet) and chance.random() < share:
            old = before.payload[-chance.randint(1, len(before.payload)) :]
            start = (packet.seq - len(old)) % SEQ
            packet = packet._replace(seq=start, payload=old + packet.payload, ack=before.ack)
        packets.append(packet)
    return recording.having(packets)


@relation("keep-alive", whole=True)
def keep_alive(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """TCP asks whether the other is still there: with the sequence number of an old octet."""
    return with_keep_alive(recording, chance, b"")


@relation("keep-alive-octet", blinds=True)
def keep_alive_octet(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """TCP asks so with an octet of any value in the place of an old one."""
    return with_keep_alive(recording, chance, b"\0")


@relation("sequence-wrap", whole=True)
def sequence_wrap(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Sequence numbers begin elsewhere, and pass 2^32 on the way."""
    shifts: dict[bytes, int] = {}
    for key in sorted({packet.key for packet in recording.packets}):
        own = [packet for packet in recording.packets if packet.key == key]
        octets = sum(len(packet.payload) for packet in own)
        shifts[key] = -own[0].seq - chance.randint(0, octets + 1)
    return recording.having(renumbered(packet, shifts) for packet in recording.packets)


@relation("ack-zero", blinds=True)
def ack_zero(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """A tool wrote acknowledgement numbers of zero: all, of one direction, or some."""
    key = chance.choice((None, some_direction(recording, chance)))
    share = chance.choice((1.0, 1.0, 0.3))
    return recording.having(
        packet._replace(ack=0) if key in (None, packet.key) and chance.random() < share else packet
        for packet in recording.packets
    )


@relation("reset", retimes=True)
def reset(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Something on the way resets a connection, and it ends there or goes on."""
    packets = list(recording.packets)
    place = chance.choice((len(packets) - 1, chance.randrange(len(packets))))
    last = packets[place]
    key = chance.choice((last.key, reverse(last.key)))
    seq = last.next_seq if key == last.key else last.ack
    ack = last.ack if key == last.key else last.next_seq
    fatal = Packet(last.time + 1, key, seq, ack, RST | chance.choice((0, ACK)), 0, b"", 0)
    rest = packets[place + 1 :]
    if chance.random() < 0.5:
        rest = [packet for packet in rest if packet.key not in (key, reverse(key))]
    return recording.having([*packets[: place + 1], fatal, *rest])


def with_keep_alive(recording: Recording, chance: Random, payload: bytes) -> Recording:
    """Let the sender of a packet ask a little later whether its peer is still there."""
    packets = list(recording.packets)
    place = chance.choice(places(recording))
    key = packets[place].key
    later = min(place + chance.randint(1, 20), len(packets) - 1)
    newest = max((p for p in packets[: later + 1] if p.key == key), key=lambda p: p.time)
    probe = newest._replace(
        time=packets[later].time + 1,
        seq=(newest.next_seq - 1) % SEQ,
        payload=payload,
        missing=0,
        flags=ACK,
        ack=latest(packets, later, key),
    )
    return recording.having([*packets[: later + 1], probe, *packets[later + 1 :]])


def cuts(packet: Packet, chance: Random) -> list[int]:
    """Some places inside a payload."""
    size = len(packet.payload)
    count = chance.randint(1, 4) if size > 1 else 0
    return sorted({chance.randrange(1, size) for _ in range(count)})


def parts(packet: Packet, at: list[int]) -> Iterator[Packet]:
    """A segment as several; the last has its FIN, and what was not captured of it."""
    if not at or packet.flags & SYN:
        yield packet
        return
    bounds = [0, *at, len(packet.payload)]
    for start, stop in pairwise(bounds):
        last = stop == bounds[-1]
        yield packet._replace(
            seq=(packet.seq + start) % SEQ,
            payload=packet.payload[start:stop],
            flags=packet.flags if last else packet.flags & ~FIN,
            missing=packet.missing if last else 0,
        )


def follows(first: Packet, second: Packet) -> bool:
    """Whether two segments of one direction can go as one: octets do not wait for long."""
    if second.time - first.time > DELAY:
        return False
    plain = not (first.flags | second.flags) & (SYN | FIN | RST) and not first.missing
    return plain and bool(first.payload and second.payload) and first.next_seq == second.seq


def latest(packets: list[Packet], place: int, key: bytes) -> int:
    """What a direction acknowledged last, up to a place."""
    for packet in reversed(packets[: place + 1]):
        if packet.key == key:
            return packet.ack
    return 0


def renumbered(packet: Packet, shifts: dict[bytes, int]) -> Packet:
    """A packet with its sequence numbers moved."""
    ack = packet.ack
    if packet.flags & ACK and ack:
        ack = (ack + shifts.get(reverse(packet.key), 0)) % SEQ
    return packet._replace(seq=(packet.seq + shifts[packet.key]) % SEQ, ack=ack)
