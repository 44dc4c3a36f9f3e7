"""Which of two sets of things belong together: connections and lanes, by what passes on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

MANY: Final = 40_000
"""Pairs up to which all are weighed; of more, those at the same place are taken."""


def pair(
    a: Sequence[Counter[Any]], b: Sequence[Counter[Any]], least: float = 0.0
) -> list[tuple[int, int]]:
    """Pair things by the likeness of their shapes, then by their order; each at most once."""
    if len(a) * len(b) > MANY:
        return [(place, place) for place in range(min(len(a), len(b)))]
    weighed = [
        (-round(likeness(one, other), 6), abs(i - j), i, j)
        for i, one in enumerate(a)
        for j, other in enumerate(b)
    ]
    taken: tuple[set[int], set[int]] = (set(), set())
    found = []
    for weight, _, i, j in sorted(weighed):
        if -weight >= least and i not in taken[0] and j not in taken[1]:
            taken[0].add(i)
            taken[1].add(j)
            found.append((i, j))
    return sorted(found)


def likeness(a: Counter[Any], b: Counter[Any]) -> float:
    """How much two shapes have in common, from 0 to 1."""
    total = max(a.total(), b.total())
    return (a & b).total() / total if total else 1.0
