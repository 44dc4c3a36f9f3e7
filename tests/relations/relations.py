"""The relations: changes of a capture that make no peer guilty of anything.

Each takes a recording and chance, and returns what it made of it, or None where it has nothing to
change. They change what was captured and how, never what the peers did, so lint may not find an
error in the result that it does not find in the original.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from recording import Recording

Another = Callable[[Random], Recording]
"""Some other recording."""
Relation = Callable[[Recording, Random, Another], Recording | None]

RELATIONS: dict[str, Relation] = {}
RETIMING: set[str] = set()
"""Those that change how long something took, or how a connection ended: no error may come of it,
but a warning about just that is in order."""


def relation(name: str, *, retimes: bool = False) -> Callable[[Relation], Relation]:
    """Register a function as a relation."""

    def register(change: Relation) -> Relation:
        RELATIONS[name] = change
        if retimes:
            RETIMING.add(name)
        return change

    return register


def places(recording: Recording, key: bytes | None = None) -> list[int]:
    """Where the packets with payload are, of one direction or of all."""
    return [
        place
        for place, packet in enumerate(recording.packets)
        if (packet.payload or packet.missing) and (key is None or packet.key == key)
    ]


def some_direction(recording: Recording, chance: Random) -> bytes:
    """The key of a direction that has packets with payload, or else of any."""
    keys = {packet.key for packet in recording.packets if packet.payload}
    keys = keys or {packet.key for packet in recording.packets}
    return chance.choice(sorted(keys))
