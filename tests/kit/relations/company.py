"""Relations that put a conversation among others, or into another kind of file."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from amqpscope.capture.packets import ETHERNET
from amqpscope.stream.types import SYN
from kit.relations.recording import (
    Accusation,
    Form,
    Packet,
    Pair,
    Recording,
    initiators,
    pair_of,
    reverse,
)
from kit.relations.relations import Another, relation
from kit.relations.segmenting import renumbered
from kit.relations.writing import LINKS

NAT64 = bytes.fromhex("0064ff9b0000000000000000")
"""What makes an IPv6 address of an IPv4 address (RFC 6052)."""


@relation("file-format", whole=True)
def file_format(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """The capture is written in another format, with another link layer."""
    link = chance.choice(LINKS)
    form = Form(
        container=chance.choice(("pcap", "pcapng")),
        link=link,
        vlans=chance.randint(0, 3) if link == ETHERNET else 0,
        order=chance.choice("<>"),
        nanoseconds=chance.random() < 0.5,
        offload=chance.random() < 0.2,
    )
    return replace(recording, form=form)


@relation("ipv6", whole=True)
def ipv6(recording: Recording, _chance: Random, _: Another) -> Recording | None:
    """The same between IPv6 addresses."""
    return recording.having(p._replace(key=in_ipv6(p.key)) for p in recording.packets)


@relation("merge", retimes=True, whole=True)
def merge(recording: Recording, chance: Random, another: Another) -> Recording | None:
    """Another capture of the same time is merged into this one."""
    other = elsewhere(another(chance), {pair_of(packet.key) for packet in recording.packets})
    span = recording.packets[-1].time - recording.packets[0].time
    start = recording.packets[0].time + chance.randint(-abs(span), abs(span))
    moved = [p._replace(time=p.time - other.packets[0].time + start) for p in other.packets]
    merged = sorted([*recording.packets, *moved], key=lambda packet: packet.time)
    return together(recording, other, merged)


@relation("reuse", retimes=True)
def reuse(recording: Recording, chance: Random, another: Another) -> Recording | None:
    """The same ports serve another conversation, before or after, with numbers of its own."""
    own = initiators(recording.packets)
    pair = chance.choice(sorted(own, key=sorted))
    other = only(another(chance), chance)
    if len(own[pair]) != len(other.packets[0].key):
        return None
    theirs = next(iter(initiators(other.packets).values()))
    keys = {theirs: own[pair], reverse(theirs): reverse(own[pair])}
    pause = chance.choice((1_000, 1_000_000, 60_000_000_000))
    first, last = recording.packets[0].time, recording.packets[-1].time
    if before := chance.random() < 0.5:
        shift = first - pause - other.packets[-1].time
    else:
        shift = last + pause - other.packets[0].time
    start = {key: chance.getrandbits(32) for key in keys}
    own_numbers = (renumbered(p, start) for p in other.packets)
    moved = [p._replace(time=p.time + shift, key=keys[p.key]) for p in own_numbers]
    packets = [*moved, *recording.packets] if before else [*recording.packets, *moved]
    renamed = replace(
        other,
        errors=frozenset(each._replace(pair=pair) for each in other.errors),
        warnings=frozenset(each._replace(pair=pair) for each in other.warnings),
    )
    return together(recording, renamed, packets)


@relation("stray-syn", retimes=True)
def stray_syn(recording: Recording, chance: Random, _: Another) -> Recording | None:
    """A SYN of an older connection on the same ports is captured, mostly before it begins."""
    packets = list(recording.packets)
    key = chance.choice(sorted(initiators(packets).values()))
    place = chance.choice((0, 0, 0, chance.randrange(len(packets))))
    time = packets[place].time - chance.choice((1_000, 1_000_000, 1_000_000_000))
    packets.insert(place, Packet(time, key, chance.getrandbits(32), 0, SYN, 65535, b"", 0))
    return recording.having(packets)


def in_ipv6(key: bytes) -> bytes:
    """The key with IPv6 addresses for those of IPv4."""
    return NAT64 + key[:4] + NAT64 + key[4:] if len(key) == 12 else key


def together(recording: Recording, other: Recording, packets: list[Packet]) -> Recording:
    """Two recordings in one capture."""
    return replace(
        recording,
        packets=tuple(packets),
        ports=recording.ports | other.ports,
        plaintexts=recording.plaintexts | other.plaintexts,
        keylog=recording.keylog + b"\n" + other.keylog,
        errors=recording.errors | other.errors,
        warnings=recording.warnings | other.warnings,
    )


def only(recording: Recording, chance: Random) -> Recording:
    """One of the connections of a capture."""
    pair = chance.choice(sorted({pair_of(p.key) for p in recording.packets}, key=sorted))
    return recording.having(p for p in recording.packets if pair_of(p.key) == pair)


def elsewhere(recording: Recording, taken: set[Pair]) -> Recording:
    """A capture with its clients at other ports where the pairs are taken."""
    clients = initiators(recording.packets)
    keys: dict[bytes, bytes] = {}
    pairs: dict[Pair, Pair] = {}
    for pair, client in clients.items():
        moved = client
        while pair_of(moved) in taken:
            port = (int.from_bytes(moved[-4:-2]) + 1) % 65536
            moved = moved[:-4] + port.to_bytes(2) + moved[-2:]
        keys[client], keys[reverse(client)] = moved, reverse(moved)
        pairs[pair] = pair_of(moved)
    return replace(
        recording,
        packets=tuple(p._replace(key=keys[p.key]) for p in recording.packets),
        errors=renamed(recording.errors, pairs),
        warnings=renamed(recording.warnings, pairs),
    )


def renamed(accusations: frozenset[Accusation], pairs: dict[Pair, Pair]) -> frozenset[Accusation]:
    """The same accusations, of connections that were moved."""
    return frozenset(each._replace(pair=pairs.get(each.pair, each.pair)) for each in accusations)
