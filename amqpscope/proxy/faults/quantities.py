"""Counts and rates as people write them: `3`, `10kB/s`."""

from __future__ import annotations

import re
from typing import Final

OCTETS: Final = {"b": 1, "kb": 10**3, "mb": 10**6, "kib": 2**10, "mib": 2**20}

_RATE: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([A-Za-z]+)/s")


def parse_rate(text: str) -> float:
    """Octets in a second; ValueError says what was expected."""
    found = _RATE.fullmatch(text)
    unit = OCTETS.get(found[2].lower()) if found else None
    if found is None or unit is None or float(found[1]) * unit < 1:
        raise ValueError(f"{text[:40]!r} is not a rate such as 500B/s or 10kB/s")
    return float(found[1]) * unit


def parse_count(text: str, least: int = 1, most: int = 1 << 31) -> int:
    """A whole number; ValueError says what was expected."""
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise ValueError(f"{text[:40]!r} is not a whole number from {least} on")
    return int(text)
