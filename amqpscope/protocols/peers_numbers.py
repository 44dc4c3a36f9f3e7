"""Numbers that two peers no longer share: what one counts, and what the other does.

When the proxy takes a delivery out of a stream, or puts one in, its sender and its receiver count
on differently. A `NumberMap` translates between them, in both directions, one number or a range.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

WRAP: Final = 1 << 32
OPEN: Final = 1 << 62
"""The length of the newest run."""
BEFORE: Final = -(1 << 40)
"""Where the first run begins: before any number."""
MOST_RUNS: Final = 100_000
"""Runs that are kept; numbers before the oldest are settled for certain."""


class Serial:
    """A number of 32 bits that wraps, as one that does not (RFC 1982)."""

    def __init__(self) -> None:
        self.newest: int | None = None

    def unwrap(self, number: int) -> int:
        """The number near the newest one; does not change what is the newest."""
        if self.newest is None:
            return number
        return self.newest + ((number - self.newest + WRAP // 2) % WRAP - WRAP // 2)

    def meet(self, number: int) -> int:
        """The number as one that does not wrap; it is the newest now."""
        self.newest = self.unwrap(number)
        return self.newest


class NumberMap:
    """Runs in which both peers count alike: where each begins for either peer, and its length."""

    def __init__(self) -> None:
        self._theirs = [BEFORE]
        """Where each run begins as its sender counts."""
        self._ours = [BEFORE]
        """Where it begins as the receiver counts."""
        self._sizes = [OPEN]

    @property
    def trivial(self) -> bool:
        """Both peers count alike."""
        return len(self._theirs) == 1

    def hide(self, number: int) -> None:
        """The receiver never sees this number of the sender, the newest."""
        self._begin(number, number + 1, 0)

    def insert(self, number: int) -> int:
        """The receiver sees a number before this one of the sender, which is to come; which."""
        self._begin(number, number, 1)
        return self._ours[-1] - 1

    def _begin(self, number: int, next_number: int, gap: int) -> None:
        size = max(0, number - self._theirs[-1])
        self._sizes[-1] = size
        self._theirs.append(next_number)
        self._ours.append(self._ours[-1] + size + gap)
        self._sizes.append(OPEN)
        if len(self._sizes) > MOST_RUNS:
            for runs in (self._theirs, self._ours, self._sizes):
                del runs[: MOST_RUNS // 2]

    def to_receiver(self, number: int) -> int | None:
        """A number of the sender as the receiver counts; None for what it never saw."""
        return _translate(number, self._theirs, self._ours, self._sizes)

    def to_sender(self, number: int) -> int | None:
        """A number of the receiver as the sender counts; None for what was put in."""
        return _translate(number, self._ours, self._theirs, self._sizes)

    def ranges_to_receiver(self, first: int, last: int) -> list[tuple[int, int]]:
        """A range of the sender's numbers as the receiver counts."""
        return _ranges(first, last, self._theirs, self._ours, self._sizes)

    def ranges_to_sender(self, first: int, last: int) -> list[tuple[int, int]]:
        """A range of the receiver's numbers as the sender counts."""
        return _ranges(first, last, self._ours, self._theirs, self._sizes)


def _translate(number: int, starts: list[int], others: list[int], sizes: list[int]) -> int | None:
    place = bisect_right(starts, number) - 1
    # A run may be empty, and then begins where the next one does.
    while place >= 0 and sizes[place] == 0:
        place -= 1
    if place < 0 or number - starts[place] >= sizes[place]:
        return None
    return others[place] + number - starts[place]


def _ranges(
    first: int, last: int, starts: list[int], others: list[int], sizes: list[int]
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    place = max(0, bisect_right(starts, first) - 1)
    while place > 0 and starts[place - 1] + sizes[place - 1] > first:
        place -= 1
    while place < len(starts) and starts[place] <= last:
        low = max(first, starts[place])
        high = min(last, starts[place] + sizes[place] - 1)
        if low <= high:
            shift = others[place] - starts[place]
            if found and found[-1][1] + 1 == low + shift:
                found[-1] = (found[-1][0], high + shift)
            else:
                found.append((low + shift, high + shift))
        place += 1
    return found
