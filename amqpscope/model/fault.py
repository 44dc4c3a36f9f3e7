"""Violations, as far as other rules have to know of them, and what they have touched."""

from __future__ import annotations

from typing import Final

from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from dissectors.native import mypyc_attr

MAX_FAULTS: Final = 64
"""Findings of a connection that are remembered."""
MAX_BREACHES: Final = 64
"""Places in which a peer has broken the protocol and that are kept apart."""

# What a violation has touched, beside what a family has numbers for.
EVERYTHING: Final = -2
"""A frame that nobody can place may have been meant for anything."""
NOTHING: Final = -4
"""What the partner does next does not depend on it."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Fault(Subject):
    """A finding, as far as other rules have to know of it."""

    def __init__(self, rule: str, sure: bool, peer: int, mark: Mark) -> None:
        super().__init__()
        self.rule = rule
        self.sure = sure
        self.peer = peer
        """Who is at fault."""
        self.mark = mark


class Breaches:
    """What each peer's proven violations have touched.

    From there on the two peers may see the shared state differently, and ours is a guess: nothing
    that rests on it proves anything against the partner.
    """

    def __init__(self) -> None:
        self.touched: list[dict[int, Fault]] = [{}, {}]
        """By the guilty peer: its first violation of each place."""

    def touch(self, place: int, fault: Fault, since: int) -> None:
        """Remember a proven violation of a place that is there since a frame."""
        if place == NOTHING:
            return
        touched = self.touched[fault.peer]
        if len(touched) >= MAX_BREACHES and place not in touched:
            place = EVERYTHING
        first = touched.get(place)
        if first is None or first.mark.frame < since:
            touched[place] = fault
