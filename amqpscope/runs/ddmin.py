"""Delta debugging: take out of a set as much as can be, while a test still holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Reducer(Generic[Item]):
    """What is left of a set; never without what the test asks for."""

    def __init__(self, kept: frozenset[Item], holds: Callable[[frozenset[Item]], bool]) -> None:
        self.kept = kept
        self.holds = holds

    def try_only(self, kept: frozenset[Item]) -> bool:
        """Keep only these, if the test then holds."""
        if kept < self.kept and self.holds(kept):
            self.kept = kept
            return True
        return False

    def remove(self, groups: Sequence[frozenset[Item]]) -> bool:
        """Take out as many of some groups as can be: halves first, then smaller and smaller parts.

        What came last goes first, for less depends on it.
        """
        left = [group for group in groups if group & self.kept]
        size, before = max(1, len(left) // 2), len(self.kept)
        while left:
            stop = len(left)
            while stop > 0:
                start = max(0, stop - size)
                if self.try_only(self.kept.difference(*left[start:stop])):
                    del left[start:stop]
                stop = start
            if size == 1:
                break
            size //= 2
        return len(self.kept) < before
