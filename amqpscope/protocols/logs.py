"""Logs that libraries write of their frames: what a line of one holds, whatever the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?(?!\d)"
)

_CLOCK: Final = re.compile(
    r"(?<![\d:])([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:[.,](\d{1,9}))?(?![\d:])"
)

SENT: Final = frozenset(("->", "SENT", "SENT:", "SEND", "TX"))
"""How lines of what the program itself sent are marked."""
LOST: Final = 8
"""Octets that stand for a frame of which nothing is known: the least that one has."""


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

    def is_header(self, found: re.Match[str]) -> bool:
        """Whether a line is a protocol header: most formats have those without a channel."""
        return found["channel"] is None

    def unread(self, found: re.Match[str]) -> LogEntry:
        """What a line stands for that cannot be understood: something passed, and is missing."""
        groups = found.groupdict()
        outgoing = groups.get("way") in SENT or groups.get("out") is not None
        time = time_in(groups.get("before") or "")
        return LogEntry(groups.get("connection") or "", outgoing, time, lost=LOST)

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """What a line says; ValueError where it cannot be understood."""
        raise NotImplementedError


def _clock_in(text: str) -> int:
    """The time of a day that is not known."""
    found = _CLOCK.search(text)
    if found is None:
        return 0
    hours, minutes, seconds = map(int, found.groups()[:3])
    whole = (hours * 60 + minutes) * 60 + seconds
    return whole * 1_000_000_000 + int((found[4] or "0").ljust(9, "0"))


def time_in(text: str) -> int:
    """The time in a text, in nanoseconds since 1970, as UTC unless it says otherwise."""
    found = _TIME.search(text)
    if found is None:
        return _clock_in(text)
    day, clock, fraction, zone = found.groups()
    try:
        when = datetime.fromisoformat(f"{day}T{clock}{zone or 'Z'}")
    except ValueError:
        return 0
    whole = int((when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return whole * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))
