"""Mutants: recordings changed by one relation or a few, each found again by its number and seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import kit.relations.arriving
import kit.relations.company
import kit.relations.losses
import kit.relations.segmenting  # noqa: F401
from kit.relations.linted import Found, lint, news
from kit.relations.recording import Packet, Recording
from kit.relations.relations import BLINDING, RELATIONS, RETIMING, Another, composed

LONGEST = 20_000
"""Packets of a mutant at most: some relations make many of one."""
TRIALS = 400
"""Times that a mutant is linted to make it smaller."""


@dataclass(frozen=True)
class Mutant:
    """What relations made of a recording."""

    original: str
    seed: str
    relations: tuple[str, ...]
    recording: Recording

    @property
    def retimed(self) -> bool:
        """Times or endings were changed."""
        return not RETIMING.isdisjoint(self.relations)

    @property
    def name(self) -> str:
        """What was done, in order."""
        return " + ".join(self.relations)


def breed(recording: Recording, seed: str, another: Another, names: tuple[str, ...]) -> Mutant:
    """A mutant by chance: one relation, sometimes two or three."""
    chance = Random(seed)
    if not recording.orderly:
        names = tuple(name for name in names if name not in BLINDING)
    while True:
        steps = composed(names, chance)
        again = f"{seed}/{chance.getrandbits(32)}"
        made = change(recording, steps, again, another)
        if made is not None:
            return Mutant(recording.name, again, steps, made)


def change(
    recording: Recording, steps: tuple[str, ...], seed: str, another: Another
) -> Recording | None:
    """Apply relations one after the other; None if one of them has nothing to change."""
    made: Recording | None = recording
    for step in steps:
        if made is None or not any(packet.payload for packet in made.packets):
            return None
        made = RELATIONS[step](made, Random(f"{seed}/{step}"), another)
    if made is None or not 0 < len(made.packets) <= LONGEST:
        return None
    return made


def accuses(recording: Recording, found: Found) -> bool:
    """Whether the same is found in it."""
    wanted = found.finding.severity, found.accusation
    return any(
        (each.finding.severity, each.accusation) == wanted
        for each in news(recording, lint(recording))
    )


def simplest(mutant: Mutant, original: Recording, another: Another, found: Found) -> Mutant:
    """The mutant by fewer relations and with fewer packets that still shows it."""
    for step in mutant.relations:
        if len(mutant.relations) > 1:
            made = change(original, (step,), mutant.seed, another)
            if made is not None and accuses(made, found):
                mutant = Mutant(mutant.original, mutant.seed, (step,), made)
                break
    if not BLINDING.isdisjoint(mutant.relations):
        return mutant
    packets = fewer(mutant.recording, found)
    smaller = mutant.recording.having(packets)
    return Mutant(mutant.original, mutant.seed, mutant.relations, smaller)


def fewer(recording: Recording, found: Found) -> list[Packet]:
    """As few packets as still show it: losing more of them is a relation too."""
    packets = list(recording.packets)
    size = len(packets) // 2
    trials = 0
    while size:
        place, before = 0, len(packets)
        while place < len(packets) and trials < TRIALS:
            rest = packets[:place] + packets[place + size :]
            trials += 1
            if rest and accuses(recording.having(rest), found):
                packets = rest
            else:
                place += size
        if size > 1 or len(packets) == before or trials >= TRIALS:
            size //= 2
    return packets
