"""Frame numbers and times that the user types."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from textual.command import Hit, Hits, Provider

if TYPE_CHECKING:
    from amqpscope.tui.app import Scope
    from amqpscope.tui.store import Store

SECONDS: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m)?")
CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d*)?))?")
UNITS: Final = {"ms": 1e6, "s": 1e9, "m": 60e9}
EXPECTED: Final = "expected a frame (17), a time since the first (1.5s), or of day (12:00:01.5)"


def place(store: Store, text: str) -> int:
    """The frame that is meant; ValueError when it cannot be understood."""
    text = text.strip().lower().lstrip("#")
    if text.isascii() and text.isdigit():
        return int(text[:12])
    plain = SECONDS.fullmatch(text)
    if plain is not None:
        return store.at_time(store.start + round(float(plain[1]) * UNITS[plain[2] or "s"]))
    clock = CLOCK.fullmatch(text)
    if clock is None:
        raise ValueError(f"{text!r} is not a frame or a time: {EXPECTED}")
    return store.at_time(time_of_day(store.start, clock))


def time_of_day(start: int, clock: re.Match[str]) -> int:
    """The first time of day like this at or after the capture's start, else on its first day."""
    day = datetime.fromtimestamp(start // 10**9, UTC).replace(hour=0, minute=0, second=0)
    seconds = int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3] or 0)
    found = int(day.timestamp()) * 10**9 + round(seconds * 1e9)
    # A capture over midnight: what is long before its start is meant of the next day.
    return found + 86_400 * 10**9 if start - found > 43_200 * 10**9 else found


class GotoProvider(Provider):
    """Lets a number in the command palette mean a frame, and a time a time."""

    async def search(self, query: str) -> Hits:
        """A frame or a time."""
        scope = cast("Scope", self.app)
        try:
            number = place(scope.store, query)
        except ValueError:
            return
        if 0 < number <= scope.store.count:
            yield Hit(1.0, f"Go to frame {number}", partial(scope.visit, number))
