"""Relations that change when and in which order the tap saw the packets."""

from __future__ import annotations

from random import Random

from amqpscope.stream.types import ACK
from kit.relations.recording import REACH, SEQ, Packet, Recording, reverse
from kit.relations.relations import Another, relation, some_direction

MILLISECOND = 1_000_000


@relation("reorder-direction", retimes=True)
def reorder_direction(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Packets of one direction overtake each other."""
    key = some_direction(recording, chance)
    packets = list(recording.packets)
    own = [place for place, packet in enumerate(packets) if packet.key == key]
    for _ in range(chance.randint(1, 6)):
        index = chance.randrange(len(own))
        other = min(index + chance.randint(1, 4), len(own) - 1)
        move(packets, own[index], own[other], chance)
    return recording.having(packets)


@relation("reorder", retimes=True)
def reorder(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Packets of all directions overtake each other, as when several queues are captured."""
    packets = list(recording.packets)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(packets))
        move(packets, place, min(place + chance.randint(1, 6), len(packets) - 1), chance)
    return recording.having(packets)


@relation("reorder-all", retimes=True)
def reorder_all(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Every packet may be a few places off."""
    reach = chance.choice((1.5, 2.5, 4.0))
    places = [(place + chance.random() * reach, place) for place in range(len(recording.packets))]
    return recording.having(recording.packets[place] for _, place in sorted(places))


@relation("clocks")
def clocks(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The clocks of the two directions are 0.2 to 20 ms apart, and packets sorted by time."""
    key = some_direction(recording, chance)
    apart = int(MILLISECOND * 0.2 * 100 ** chance.random()) * chance.choice((-1, 1))
    shifted = (p._replace(time=p.time + apart) if p.key == key else p for p in recording.packets)
    return recording.having(sorted(shifted, key=lambda packet: packet.time))


@relation("tap", retimes=True, whole=True)
def tap(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The tap is elsewhere: one direction passes later, but before it is acknowledged."""
    key = some_direction(recording, chance)
    patience = chance.choice((1, 3, 10, 1000))
    packets: list[Packet] = []
    delayed: list[tuple[int, Packet]] = []
    for place, packet in enumerate(recording.packets):
        if packet.key == reverse(key):
            while delayed and (
                acknowledges(packet, delayed[0][1]) or place - delayed[0][0] > patience
            ):
                packets.append(delayed.pop(0)[1]._replace(time=packet.time))
        if packet.key == key:
            delayed.append((place, packet))
        else:
            packets.append(packet)
    packets += [packet for _, packet in delayed]
    return recording.having(packets)


def acknowledges(packet: Packet, other: Packet) -> bool:
    """Whether a packet shows that the other had arrived before it was sent."""
    ahead = (packet.ack - other.seq) % SEQ
    return bool(packet.flags & ACK) and (0 < ahead < REACH or not other.payload)


def move(packets: list[Packet], place: int, to: int, chance: Random) -> None:
    """Let a packet be captured later, with the time when it passed or that of its new place."""
    packet = packets.pop(place)
    if chance.random() < 0.5 and packets:
        packet = packet._replace(time=packets[min(to, len(packets) - 1)].time)
    packets.insert(to, packet)
