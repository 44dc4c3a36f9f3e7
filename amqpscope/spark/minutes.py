"""What passed over the links of a connection, minute by minute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amqpscope.insight.counters import (
    MINUTE,
    ConnectionNumbers,
    Counts,
    Histogram,
    LinkNumbers,
    SessionNumbers,
    Stall,
    Starved,
)
from dissectors.secrets import clean_name


class Minute:
    """What passed over a link in one minute."""

    def __init__(self) -> None:
        self.transfers = 0
        self.deliveries = 0
        self.redelivered = 0
        self.octets = 0
        self.ended = Counts()
        """Deliveries by their outcome."""
        self.latency = Histogram()


class Minutes:
    """The minutes of one connection."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, int], Minute] = {}
        """By minute since 1970 and link."""
        # What was counted last mostly is counted next.
        self.last = Minute()
        self.last_link: LinkNumbers | None = None
        self.last_when = 0

    def of(self, link: LinkNumbers, time: int) -> Minute:
        """Where to count what happens now on a link."""
        when = time // MINUTE
        if link is not self.last_link or when != self.last_when:
            self.last = self.minute(when, link.ordinal)
            self.last_link, self.last_when = link, when
        return self.last

    def minute(self, when: int, link: int) -> Minute:
        """A minute of a link."""
        found = self.kept.get((when, link))
        if found is None:
            found = self.kept[when, link] = Minute()
        return found

    def rows(self, ring: str, numbers: ConnectionNumbers, until: int) -> Iterator[tuple[Any, ...]]:
        """Rows of the minutes that are over: those before `until`; all where that is negative."""
        self.last_link = None
        stalls: dict[tuple[int, int], Starved] = {}
        for link in numbers.links:
            for when, starved in passed_minutes(link.credit, until):
                stalls[when, link.ordinal] = starved
                self.minute(when, link.ordinal)
        for key in [key for key in self.kept if until < 0 or key[0] < until]:
            link = numbers.links[key[1]]
            yield link_row(ring, numbers.number, key[0], link, self.kept.pop(key), stalls.get(key))
        for session in numbers.sessions:
            for when, starved in passed_minutes(session.window, until):
                yield session_row(ring, numbers.number, when, session, starved)


def passed_minutes(stall: Stall, until: int) -> list[tuple[int, Starved]]:
    """The minutes of a stall that are over, which are not kept any longer."""
    minutes = stall.minutes
    if minutes is None:
        return []
    if until >= 0 and stall.since:
        stall.spread(until * MINUTE)
    return [(when, minutes.pop(when)) for when in list(minutes) if until < 0 or when < until]


def link_row(
    ring: str, connection: int, when: int, link: LinkNumbers, minute: Minute,
    starved: Starved | None,
) -> tuple[Any, ...]:  # fmt: skip
    """A row of a link."""
    latency, session = minute.latency, link.session
    return (
        ring, connection, when * 60_000_000, link.ordinal,
        None if session is None else session.ordinal, clean_name(link.address) or None, link.sender,
        minute.transfers, minute.deliveries, minute.redelivered, minute.octets, latency.count,
        list(minute.ended.counter().items()), sorted(latency.classes.items()),
        latency.smallest, latency.largest,
        0 if starved is None else starved.count, 0 if starved is None else starved.total, 0, 0,
    )  # fmt: skip


def session_row(
    ring: str, connection: int, when: int, session: SessionNumbers, starved: Starved
) -> tuple[Any, ...]:
    """A row of a session's end, with its closed windows alone."""
    nothing: list[tuple[str, int]] = []
    return (
        ring, connection, when * 60_000_000, None, session.ordinal, None, session.peer,
        0, 0, 0, 0, 0, nothing, nothing, 0, 0, 0, 0, starved.count, starved.total,
    )  # fmt: skip
