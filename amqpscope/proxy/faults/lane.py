"""One direction behind a fault: when octets go out, and in how large pieces; order is kept."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

FOR_EVER: Final = float("inf")
AT_ONCE: Final = 16 * 1024
"""Octets written at once under a rate, at most."""


class Item(NamedTuple):
    """Octets that wait; None for the end of the direction."""

    octets: bytes | None
    comment: str
    due: float


class Lane:
    """What waits in one direction."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self.size = 0
        """Octets that wait."""
        self._last = 0.0
        """When the newest item is due: none overtakes it."""
        self._stalled_until = 0.0
        self.slice = 0
        """Octets written at once; 0: all."""
        self.pause = 0.0
        self.rate = 0.0
        """Octets in a second; 0: as fast as they come."""
        self._next = 0.0
        """When the next piece may go, under a slice or rate."""

    def put(self, octets: bytes | None, now: float, delay: float = 0.0, comment: str = "") -> None:
        """Add octets that go out after a while, and behind all that wait."""
        self._last = max(self._last, now + delay)
        self._items.append(Item(octets, comment, self._last))
        self.size += len(octets or b"")

    def stall(self, until: float) -> None:
        """Let nothing out before a time."""
        self._stalled_until = max(self._stalled_until, until)

    @property
    def stalled(self) -> bool:
        """Whether nothing will ever come out by itself."""
        return self._stalled_until == FOR_EVER

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._items

    def due(self) -> float:
        """When the next piece goes out; FOR_EVER for never."""
        if not self._items:
            return FOR_EVER
        return max(self._items[0].due, self._stalled_until, self._next)

    def take(self, now: float) -> Item | None:
        """The next piece that is due; None when there is none yet."""
        if self.due() > now:
            return None
        item = self._items.popleft()
        octets = item.octets
        if octets is None:
            return item
        most = self.slice or (AT_ONCE if self.rate else len(octets))
        if self.rate:
            most = min(most, max(1, int(self.rate / 10)))
        piece, rest = octets[:most], octets[most:]
        if rest:
            self._items.appendleft(Item(rest, "", item.due))
        self.size -= len(piece)
        wait = self.pause if self.slice else 0.0
        if self.rate:
            wait = max(wait, len(piece) / self.rate)
        if wait:
            self._next = max(self._next, now) + wait
        return Item(piece, item.comment, item.due)

    def hurry(self) -> list[Item]:
        """All that waits, at once: the connection ends."""
        items = [*self._items]
        self._items.clear()
        self.size = 0
        return items
