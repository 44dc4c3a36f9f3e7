"""What is wrong with a relay at this moment, from the lines that it prints."""

from __future__ import annotations

from time import monotonic
from typing import Final

RECOVERED: Final = "takes connections again"
REFUSING: Final = "; clients get a reset"
"""How lines end about an upstream that answers again, and about one that does not."""
LASTING: Final = 30.0
"""Seconds for which a trouble is shown that has no end of its own."""


class RelayTrouble:
    """The last line that is about a trouble, until that is over."""

    def __init__(self) -> None:
        self.last = ""
        self.since = 0.0

    def take(self, line: str) -> None:
        """Take a line of the relay; one that says the upstream answers again ends a trouble."""
        self.last = "" if line.endswith(RECOVERED) else line
        self.since = monotonic()

    @property
    def text(self) -> str:
        """The trouble; an upstream that does not answer is one until it does."""
        lasts = REFUSING in self.last or monotonic() - self.since < LASTING
        return self.last if lasts else ""
