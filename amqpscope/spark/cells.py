"""Rows as numbers, of which there are as many as messages.

Arrow takes columns of numbers at once, and longer for rows of texts and nulls than it takes to find
them out. So texts that come again are kept once, and a row has their numbers.
"""

from __future__ import annotations

from typing import Final

NONE: Final = -(1 << 62)
"""The cell of what is not known."""


class Cells:
    """Rows of one table and ring: all columns but the ring, one after the other."""

    def __init__(self, ring: str) -> None:
        self.ring = ring
        self.cells: list[int] = []
        self.words: dict[str, int] = {}
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def add(self, row: tuple[int, ...]) -> None:
        """One more."""
        self.cells.extend(row)
        self.count += 1

    def word(self, text: str) -> int:
        """The number of a text; an empty one is not known."""
        if not text:
            return NONE
        found = self.words.get(text)
        if found is None:
            found = self.words[text] = len(self.words)
        return found
