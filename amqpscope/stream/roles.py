"""Who opened a TCP connection, by its SYN or, where the capture has none, by its ports.

Where neither decides, the first segments wait for a SYN that was captured late. If none comes, the
roles are a guess, and say so: see `Connection.guessed`.
"""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_ntop
from sys import intern
from typing import Final

from amqpscope.stream.flow import distance
from amqpscope.stream.types import ACK, CLIENT, FIN, RST, SERVER, SYN, Segment

SERVER_PORTS: Final = frozenset((5671, 5672))
"""Ports whose owner is the server when the capture did not see who connected."""
DYNAMIC_PORTS: Final = 32768
"""From here on systems choose ports for clients."""

EARLY: Final = 8
"""Segments that wait for a SYN where it is not clear who is the client."""
EARLY_TIME: Final = 1_000_000_000
"""Nanoseconds over which they wait."""
LATE_SYN: Final = 65535
"""A SYN whose number is at most so far before the first octet we saw came late."""


def endpoints(key: bytes) -> tuple[tuple[str, int], tuple[str, int]]:
    """Address and port of the sender and of the receiver of a segment."""
    size = (len(key) - 4) // 2
    family = AF_INET if size == 4 else AF_INET6
    source = (intern(inet_ntop(family, key[:size])), key[-4] << 8 | key[-3])
    destination = (intern(inet_ntop(family, key[size : 2 * size])), key[-2] << 8 | key[-1])
    return source, destination


def reverse(key: bytes) -> bytes:
    """The key of the other direction."""
    size = (len(key) - 4) // 2
    return key[size : 2 * size] + key[:size] + key[-2:] + key[-4:-2]


def sender_of(segment: Segment, ports: frozenset[int]) -> int:
    """Who sent the first segment of a connection; `ports` are those of servers."""
    if segment.flags & SYN:
        return SERVER if segment.flags & ACK else CLIENT
    (_, source), (_, destination) = endpoints(segment.key)
    if (source in ports) != (destination in ports):
        return SERVER if source in ports else CLIENT
    return SERVER if source < destination else CLIENT


def is_guess(segment: Segment, ports: frozenset[int]) -> bool:
    """Whether neither a SYN nor the ports show who sent it."""
    if segment.flags & SYN:
        return False
    (_, source), (_, destination) = endpoints(segment.key)
    known = (source in ports) != (destination in ports)
    return not known and (source < DYNAMIC_PORTS) == (destination < DYNAMIC_PORTS)


def waited_enough(pending: list[Segment]) -> bool:
    """Whether a SYN has come, or none will."""
    last = pending[-1]
    late = last.time - pending[0].time >= EARLY_TIME
    return late or len(pending) >= EARLY or last.flags & (SYN | FIN | RST) != 0


def opener(pending: list[Segment]) -> bytes:
    """The key of who opened the connection of these segments, by the SYN that came last."""
    syn = pending[-1]
    if not syn.flags & SYN:
        return b""
    for segment in pending[:-1]:
        if segment.key == syn.key:
            behind = distance(segment.seq, syn.seq)
        elif segment.flags & ACK and segment.ack:
            behind = distance(segment.ack, syn.seq)
        else:
            continue
        if not 0 < behind <= LATE_SYN:
            return b""  # it is of another connection
    return reverse(syn.key) if syn.flags & ACK else syn.key
