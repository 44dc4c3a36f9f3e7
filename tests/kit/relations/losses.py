"""Relations that lose packets: a capture that begins late, ends early, or has holes."""

from __future__ import annotations

from random import Random

from amqpscope.stream.types import ACK, FIN, SYN
from kit.relations.recording import Packet, Recording
from kit.relations.relations import Another, places, relation, some_direction


def without(recording: Recording, lost: set[int]) -> Recording:
    """The recording without the packets at these places."""
    return recording.having(p for n, p in enumerate(recording.packets) if n not in lost)


@relation("start")
def start(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The capture begins at any packet."""
    return recording.having(recording.packets[chance.randrange(len(recording.packets)) :])


@relation("end", whole=True)
def end(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The capture ends at any packet."""
    return recording.having(recording.packets[: chance.randrange(len(recording.packets)) + 1])


@relation("window")
def window(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The capture begins and ends at any packet."""
    first, last = sorted(chance.choices(range(len(recording.packets)), k=2))
    return recording.having(recording.packets[first : last + 1])


@relation("lose-one")
def lose_one(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """A packet is lost."""
    return without(recording, {chance.choice(places(recording))})


@relation("lose-several")
def lose_several(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Some packets are lost, of any kind."""
    count = min(chance.randint(2, 12), len(recording.packets))
    return without(recording, set(chance.sample(range(len(recording.packets)), count)))


@relation("lose-run")
def lose_run(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """A run of packets is lost: of both directions."""
    first = chance.randrange(len(recording.packets))
    return without(recording, set(range(first, first + chance.randint(2, 24))))


@relation("lose-run-of-direction")
def lose_run_of_direction(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """A run of packets of one direction is lost."""
    own = own_places(recording, some_direction(recording, chance))
    first = chance.randrange(len(own))
    return without(recording, set(own[first : first + chance.randint(2, 12)]))


@relation("lose-direction")
def lose_direction(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Nothing of one direction is captured."""
    return without(recording, set(own_places(recording, some_direction(recording, chance))))


@relation("lose-direction-from")
def lose_direction_from(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Nothing of one direction is captured from a point on."""
    own = own_places(recording, some_direction(recording, chance))
    return without(recording, set(own[chance.randrange(len(own)) :]))


@relation("lose-direction-until")
def lose_direction_until(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Nothing of one direction is captured until a point."""
    own = own_places(recording, some_direction(recording, chance))
    return without(recording, set(own[: chance.randrange(len(own)) + 1]))


@relation("lose-syn")
def lose_syn(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The SYN of the client, of the server, or of both is lost."""
    wanted = chance.choice(((SYN,), (SYN | ACK,), (SYN, SYN | ACK)))
    return lose_where(recording, lambda packet: packet.flags & (SYN | ACK) in wanted)


@relation("lose-fin")
def lose_fin(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The FIN of one direction, or of all, is lost."""
    key = chance.choice((None, some_direction(recording, chance)))
    return lose_where(
        recording, lambda packet: packet.flags & FIN != 0 and key in (None, packet.key)
    )


@relation("lose-acks")
def lose_acks(recording: Recording, _chance: Random, _: Another) -> Recording | None:
    """Packets without payload are not captured."""
    return lose_where(
        recording, lambda packet: not packet.payload and not packet.flags & (SYN | FIN)
    )


@relation("snap-length")
def snap_length(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Only so many octets of each packet are kept."""
    keep = chance.choice((0, 1, 8, 10, 20, 42, 74, 100, chance.randrange(300)))
    return recording.having(cut(packet, keep) for packet in recording.packets)


@relation("snap-one")
def snap_one(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """Only so many octets of one packet are kept."""
    packets = list(recording.packets)
    place = chance.choice(places(recording))
    packets[place] = cut(packets[place], chance.randrange(len(packets[place].payload) + 1))
    return recording.having(packets)


def own_places(recording: Recording, key: bytes) -> list[int]:
    """Where the packets of a direction are."""
    return [place for place, packet in enumerate(recording.packets) if packet.key == key]


def lose_where(recording: Recording, condition) -> Recording | None:
    """The recording without some packets; None if there are none of that kind."""
    lost = {n for n, packet in enumerate(recording.packets) if condition(packet)}
    return without(recording, lost) if lost else None


def cut(packet: Packet, keep: int) -> Packet:
    """A packet of whose payload only the first octets are kept."""
    lost = max(len(packet.payload) - keep, 0)
    return packet._replace(payload=packet.payload[:keep], missing=packet.missing + lost)
