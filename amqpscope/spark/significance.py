"""Whether numbers of two archives differ by more than chance.

Each test asks how likely a difference at least as large is where nothing has changed. They take
what is counted as independent; what comes in bursts, as findings of one broken client do, differs
more easily than they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, exp, lgamma, log, log1p, sqrt
from typing import Final, NamedTuple

EXACT: Final = 20_000
"""Up to how many things are counted exactly; above, the normal distribution is near enough."""
FEWEST: Final = 8
"""Durations on each side below which nothing is concluded."""


def rate_p(before: int, exposure: float, after: int, exposure_after: float) -> float:
    """Of two rates: things counted, and how much was looked at."""
    total = before + after
    if not total or exposure <= 0 or exposure_after <= 0:
        return 1.0
    share = exposure_after / (exposure + exposure_after)
    if total > EXACT:
        spread = sqrt(total * share * (1 - share))
        return two_sided(max(abs(after - total * share) - 0.5, 0) / spread)
    logs = [
        log_choose(total, count) + count * log(share) + (total - count) * log1p(-share)
        for count in range(total + 1)
    ]
    return twice_smaller_tail(logs, after)


def share_p(before: int, of: int, after: int, of_after: int) -> float:
    """Of two shares: so many of so many (Fisher's exact test)."""
    hits, total = before + after, of + of_after
    if not of or not of_after or hits in (0, total):
        return 1.0
    if total > EXACT:
        share = hits / total
        spread = sqrt(share * (1 - share) * (1 / of + 1 / of_after))
        return two_sided(abs(after / of_after - before / of) / spread)
    lowest = max(0, hits - of)
    logs = [
        log_choose(of_after, count) + log_choose(of, hits - count) - log_choose(total, hits)
        for count in range(lowest, min(hits, of_after) + 1)
    ]
    return twice_smaller_tail(logs, after - lowest)


def shift_p(before: dict[int, int], after: dict[int, int]) -> float:
    """Of durations in classes, whether one side's are longer (Mann and Whitney's test)."""
    size, size_after = sum(before.values()), sum(after.values())
    if min(size, size_after) < FEWEST:
        return 1.0
    total, rank, tied, passed = size + size_after, 0.0, 0.0, 0
    for place in sorted({*before, *after}):
        ties = before.get(place, 0) + after.get(place, 0)
        rank += after.get(place, 0) * (passed + (ties + 1) / 2)
        tied += ties**3 - ties
        passed += ties
    excess = rank - size_after * (size_after + 1) / 2 - size * size_after / 2
    spread = sqrt(size * size_after / 12 * (total + 1 - tied / (total * (total - 1))))
    return two_sided(max(abs(excess) - 0.5, 0) / spread) if spread else 1.0


def two_sided(deviation: float) -> float:
    """How likely a normal number is at least so far from the middle."""
    return erfc(deviation / sqrt(2))


def twice_smaller_tail(logs: Sequence[float], place: int) -> float:
    """Twice the smaller tail of a distribution that includes a place."""
    below = sum(exp(each) for each in logs[: place + 1])
    above = sum(exp(each) for each in logs[place:])
    return min(1.0, 2 * min(below, above))


def log_choose(total: int, count: int) -> float:
    """The logarithm of how many ways there are to choose so many of so many."""
    return lgamma(total + 1) - lgamma(count + 1) - lgamma(total - count + 1)


class Judged(NamedTuple):
    """How likely a difference is where nothing has changed."""

    p: float
    adjusted: float
    """The same, in view of how many differences were looked at (Holm's method)."""


def judge(values: Sequence[float]) -> list[Judged]:
    """Several tests together: of a hundred, one is below 0.01 where nothing has changed."""
    found: list[Judged] = [Judged(1.0, 1.0)] * len(values)
    floor = 0.0
    order = sorted(range(len(values)), key=lambda at: values[at])
    for passed, at in enumerate(order):
        floor = max(floor, min(1.0, values[at] * (len(values) - passed)))
        found[at] = Judged(values[at], floor)
    return found
