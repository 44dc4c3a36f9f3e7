"""Logs that libraries write of their frames: what a line of one holds, whatever the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?(?!\d)"
)


class LogEntry(NamedTuple):
    """Octets that passed, or the end of a direction, as a line of a log says."""

    connection: str
    """What the library calls the connection."""
    outgoing: bool
    """Sent by the program that writes the log."""
    time: int
    """Nanoseconds since 1970; 0 where the line has none."""
    octets: bytes = b""
    lost: int = 0
    """Octets behind these that the log leaves out."""
    ends: bool = False
    """Nothing more is sent this way."""


class LogFormat:
    """One library's way to log frames; an object for each log that is read."""

    name = ""
    sign: re.Pattern[str]
    """Found in lines that are of this format, and hardly in others."""
    note = ""
    """What users should know about frames that were read so."""

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """What a line says; ValueError where it cannot be understood."""
        raise NotImplementedError


def time_in(text: str) -> int:
    """The time in a text, in nanoseconds since 1970, as UTC unless it says otherwise."""
    found = _TIME.search(text)
    if found is None:
        return 0
    day, clock, fraction, zone = found.groups()
    try:
        when = datetime.fromisoformat(f"{day}T{clock}{zone or 'Z'}")
    except ValueError:
        return 0
    whole = int((when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return whole * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))
