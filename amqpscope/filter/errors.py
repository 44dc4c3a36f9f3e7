"""What is wrong with a filter, and where."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final
from unicodedata import east_asian_width

LONGEST: Final = 400
"""Characters of a text that are shown; of a longer one those around its error."""
BEFORE: Final = 60
"""Characters of a longer text that are shown before its error."""
CUT: Final = "..."


class FilterError(ValueError):
    """A filter that cannot be understood; `str()` shows the place with carets under it."""

    def __init__(self, text: str, position: int, length: int, message: str) -> None:
        super().__init__(text, position, length, message)
        self.text = text
        self.position = position
        self.length = length
        """Characters that are wrong; 0 where something is missing."""
        self.message = message

    def __str__(self) -> str:
        start = max(0, self.position - BEFORE) if len(self.text) > LONGEST else 0
        end = start + LONGEST
        shown = "".join(c if c.isprintable() else " " for c in self.text[start:end])
        dots = CUT if start else ""
        before = columns(dots + shown[: self.position - start])
        wrong = columns(shown[self.position - start : self.position - start + self.length])
        line = f"{dots}{shown}{CUT if end < len(self.text) else ''}"
        return f"{line}\n{' ' * before}{'^' * max(wrong, 1)}\n{self.message}"


def columns(text: str) -> int:
    """The columns that a terminal needs for a text."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known ones, if any is near."""
    near = difflib.get_close_matches(word.lower().replace("_", "-"), list(known), 3, 0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""
