"""The relations: changes of a capture that make no peer guilty of anything.

Each takes a recording and chance, and returns what it made of it, or None where it has nothing to
change. They change what was captured and how, never what the peers did, so lint may not find an
error in the result that it does not find in the original.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from kit.relations.recording import Recording

Another = Callable[[Random], Recording]
"""Some other recording."""
Relation = Callable[[Recording, Random, Another], Recording | None]

RELATIONS: dict[str, Relation] = {}
RETIMING: set[str] = set()
"""Those that change how long something took, or how a connection ended: no error may come of it,
but a warning about just that is in order."""
WHOLE: set[str] = set()
"""Those after which every octet is there, in an order in which the tap can have seen it."""
BLINDING: set[str] = set()
"""Those that take away what TCP's numbers tell of what a peer knew. What is lost or out of order
besides can then be seen by nobody, so they go together only with what is whole, and go last."""


def relation(
    name: str, *, retimes: bool = False, whole: bool = False, blinds: bool = False
) -> Callable[[Relation], Relation]:
    """Register a function as a relation."""

    def register(change: Relation) -> Relation:
        RELATIONS[name] = change
        for kind, belongs in ((RETIMING, retimes), (WHOLE, whole), (BLINDING, blinds)):
            if belongs:
                kind.add(name)
        return change

    return register


def composed(names: Sequence[str], chance: Random) -> tuple[str, ...]:
    """Some relations that may be applied one after the other: mostly one, or two or three."""
    count = chance.choices((1, 2, 3), (60, 25, 15))[0]
    steps = [chance.choice(names) for _ in range(count)]
    blind = [step for step in steps if step in BLINDING]
    if blind:
        steps = [step for step in steps if step in WHOLE] + blind[:1]
    return tuple(steps)


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
