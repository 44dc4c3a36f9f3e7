"""Lines for the user that may come by the thousand: the first of a kind at once, the rest counted.

A port scan, a client that does not trust the certificate and tries again for ever: each is worth a
line now and then, with how many more there were.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

AGAIN: Final = 10.0
"""Seconds in which lines of one kind are worth one."""
KINDS: Final = 100
"""Kinds that are told apart; texts of strangers could be any number."""


class Repeats:
    """Says lines that repeat themselves, once in a while."""

    def __init__(self, say: Callable[[str], None], seconds: float = AGAIN) -> None:
        self._say = say
        self._seconds = seconds
        self._said: dict[str, float] = {}
        """When a kind was said last."""
        self._held: dict[str, int] = {}
        """Lines of a kind since then."""

    def say(self, who: str, text: str) -> None:
        """One line about somebody; the text alone is its kind."""
        now = time.monotonic()
        last = self._said.get(text)
        if last is not None and now - last < self._seconds:
            self._held[text] = self._held.get(text, 0) + 1
            return
        if last is None and len(self._said) >= KINDS:
            self.close()
        more = self._held.pop(text, 0)
        self._said[text] = now
        self._say(f"{who}: {text}" + (f" ({more:,} more like this before)" if more else ""))

    def close(self) -> None:
        """Say how many were not said."""
        for text, more in self._held.items():
            self._say(f"{more:,} more like this: {text}")
        self._held.clear()
        self._said.clear()
