"""Times as people write them: `2s`, `500ms`."""

from __future__ import annotations

import re
from typing import Final

NANOSECONDS: Final = {"us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
LONGEST: Final = 366 * 24 * 3600.0
"""Seconds; a longer time is a slip."""

_DURATION: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([a-z]+)")


def parse_seconds(text: str) -> float:
    """A time; ValueError says what was expected."""
    found = _DURATION.fullmatch(text)
    unit = NANOSECONDS.get(found[2]) if found else None
    seconds = round(float(found[1]) * unit) / 1e9 if found and unit else LONGEST + 1
    if seconds > LONGEST:
        raise ValueError(f"{text[:40]!r} is not a time such as 500ms, 2s or 1min")
    return seconds
