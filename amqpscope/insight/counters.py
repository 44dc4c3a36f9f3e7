"""The numbers that statistics are made of: durations, stalls, and what is counted of each thing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from amqpscope.model.ending import Ending
from amqpscope.model.refusal import RETURNED
from amqpscope.model.transactions import NO_TRANSACTIONS, TransactionCounts

WIDTH: Final = math.log(1.04)
PERCENTILES: Final = (50, 90, 99)
MINUTE: Final = 60_000_000_000
MAX_MINUTES: Final = 1440
"""Minutes over which one stall is spread; what is left of a longer one counts in the last."""


class Count:
    """A number that goes up: one in a dict or list would be made again each time."""

    def __init__(self) -> None:
        self.count = 0


class Counts:
    """How often each of some things was seen; a Counter is slow to count in."""

    def __init__(self) -> None:
        self.tallies: dict[str, Count] = {}

    def add(self, name: str, times: int = 1) -> None:
        """It was seen once more."""
        found = self.tallies.get(name)
        if found is None:
            found = Count()
            self.tallies[name] = found
        found.count += times

    def counter(self) -> Counter[str]:
        """The counts as a `Counter`."""
        return Counter({name: found.count for name, found in self.tallies.items()})


class Sent:
    """What one peer has sent."""

    def __init__(self) -> None:
        self.frames = 0
        self.octets = 0


class Histogram:
    """Durations in nanoseconds."""

    def __init__(self) -> None:
        self.tallies: dict[int, Count] = {}
        self.count = 0
        self.smallest = 0
        """Also where it is not known."""
        self.largest = 0
        self.slowest = 0
        """The frame that began what took the longest; 0: not known."""
        self.samples: dict[int, int] = {}
        """The frame that began the first of each class."""

    @property
    def classes(self) -> dict[int, int]:
        """How many lie in each class."""
        return {place: found.count for place, found in self.tallies.items()}

    def add(self, duration: int, frame: int = 0) -> None:
        """Take one more, and the frame that began it."""
        place = int(math.log(float(duration)) / WIDTH) if duration > 0 else 0
        if place not in self.samples:
            self.samples[place] = frame
        self.fill(place, 1)
        if duration < self.smallest or not self.count:
            self.smallest = duration
        if duration > self.largest or not self.count:
            self.largest, self.slowest = duration, frame
        self.count += 1

    def fill(self, place: int, times: int) -> None:
        """Count so many in a class."""
        found = self.tallies.get(place)
        if found is None:
            found = Count()
            self.tallies[place] = found
        found.count += times

    def merge(self, other: Histogram) -> None:
        """Take all of another."""
        for place, count in other.classes.items():
            self.fill(place, count)
        for place, frame in other.samples.items():
            self.samples.setdefault(place, frame)
        if other.count and (other.largest > self.largest or not self.count):
            self.slowest = other.slowest
        if other.count and (other.smallest < self.smallest or not self.count):
            self.smallest = other.smallest
        self.count += other.count
        self.largest = max(self.largest, other.largest)

    def percentile(self, percent: int) -> float:
        """The duration in seconds below which so many lie, within two percent and the values."""
        if not self.count:
            return 0.0
        middle = math.exp((self.class_of(percent) + 0.5) * WIDTH)
        return float(max(min(middle, self.largest), self.smallest)) / 1e9

    def class_of(self, percent: int) -> int:
        """The class below whose end so many lie."""
        rank = max(math.ceil(self.count * percent / 100), 1)
        for place, count in sorted(self.classes.items()):
            rank -= count
            if rank <= 0:
                return place
        return 0

    def example(self, percent: int) -> int:
        """The frame that began one of those which took about that long; 0: not known."""
        return self.samples.get(self.class_of(percent), 0)

    def object(self) -> dict[str, float] | None:
        """For JSON: percentiles and the largest, in seconds."""
        if not self.count:
            return None
        found = {f"p{percent}": self.percentile(percent) for percent in PERCENTILES}
        return {**found, "max": self.largest / 1e9}


class Starved:
    """How often something ran out in one minute, and for how long in it nothing was left."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0


class Stall:
    """Times during which something could not be sent."""

    def __init__(self) -> None:
        self.since = 0
        self.count = 0
        self.total = 0
        self.longest = 0
        self.frame = 0
        """With which the longest began, and below the packet of that frame."""
        self.packet = 0
        self._frame = 0
        """With which the one that lasts began, and below the packet of that frame."""
        self._packet = 0
        self.minutes: dict[int, Starved] | None = None
        """Counts by minute since 1970; None: nobody wants that."""
        self._spread = 0
        """Up to when the one that lasts is spread over minutes."""

    def update(self, stalled: bool, time: int, frame: int, packet: int) -> None:
        """It is, or is not, stalled from this frame on."""
        if stalled and not self.since:
            self.since, self._frame, self._packet = time, frame, packet
            self.count += 1
            if self.minutes is not None:
                self.minute(time // MINUTE).count += 1
                self._spread = time
        elif not stalled and self.since:
            self.spread(time)
            self.add(max(time - self.since, 0))  # clocks may step back
            self.since = 0

    def finish(self, time: int) -> None:
        """Nothing more comes: a stall that goes on counts up to here."""
        if self.since:
            self.spread(time)
            self.add(max(time - self.since, 0))
            self.since = 0

    def spread(self, until: int) -> None:
        """Count the one that goes on in the minutes up to here."""
        if self.minutes is None:
            return
        at = self._spread
        last = at // MINUTE + MAX_MINUTES - 1
        while at < until:
            minute = at // MINUTE
            stop = until if minute == last else min((minute + 1) * MINUTE, until)
            self.minute(minute).total += stop - at
            at = stop
        self._spread = at

    def minute(self, when: int) -> Starved:
        """What is counted in a minute."""
        minutes = self.minutes
        if minutes is None:
            minutes = self.minutes = {}
        found = minutes.get(when)
        if found is None:
            found = minutes[when] = Starved()
        return found

    def add(self, duration: int) -> None:
        """Take one that is over."""
        self.total += duration
        if duration > self.longest or not self.frame:
            self.longest, self.frame, self.packet = duration, self._frame, self._packet

    def object(self) -> dict[str, float]:
        """For JSON, in seconds."""
        return {"count": self.count, "total": self.total / 1e9, "longest": self.longest / 1e9}


@dataclass
class LinkNumbers:
    """What was counted of one link."""

    name: str
    address: str
    sender: str
    channel: int
    transfers: int = 0
    deliveries: int = 0
    bytes: int = 0
    aborted: int = 0
    presettled: int = 0
    ended: Counts = field(default_factory=Counts)
    """Deliveries by their outcome."""
    latency: Histogram = field(default_factory=Histogram)
    credit: Stall = field(default_factory=Stall)
    kind: str = "link"
    """Or `exchange` or `queue`."""
    redelivered: int = 0
    first_frame: int = 0
    """Of its first delivery, and below the packet of that frame."""
    first_packet: int = 0
    ending: Ending | None = None
    """How it ended; None while it goes on, or where the capture ends first."""
    ordinal: int = 0
    """Its place among the links of its connection, from 0."""
    session: SessionNumbers | None = None
    """The sender's end of its session, once something was sent."""

    def begin(self, frame: int, packet: int) -> None:
        """One more delivery begins."""
        if not self.deliveries:
            self.first_frame, self.first_packet = frame, packet
        self.deliveries += 1

    @property
    def unsettled(self) -> int:
        """Deliveries that were neither settled nor aborted, as far as was seen."""
        # What is returned is confirmed too, where there are confirms.
        over = sum(count for name, count in self.outcomes.items() if name != RETURNED)
        return max(self.deliveries - over - self.presettled - self.aborted, 0)

    @property
    def outcomes(self) -> Counter[str]:
        """Deliveries by their outcome."""
        return self.ended.counter()


@dataclass
class SessionNumbers:
    """One peer's end of a session."""

    peer: str
    channel: int
    transfers: int = 0
    window: Stall = field(default_factory=Stall)
    ending: Ending | None = None
    """How the session ended; None while it goes on, or where the capture ends first."""
    ordinal: int = 0
    """Its place among the sessions of its connection, from 0."""


@dataclass
class ConnectionNumbers:
    """What was counted of one connection."""

    number: int
    client: str
    server: str
    protocol: str
    containers: list[str | None] = field(default_factory=lambda: [None, None])
    sent: tuple[Sent, Sent] = field(default_factory=lambda: (Sent(), Sent()))
    """By the client and by the server."""
    by_name: Counts = field(default_factory=Counts)
    first: int = 0
    last: int = 0
    """When its newest frame passed."""
    over_at: int = 0
    """When it was over, or else the capture; 0 while it goes on, or where that is not known."""
    ending: Ending | None = None
    """How it ended; None while it goes on, or where the capture ends first."""
    sessions: list[SessionNumbers] = field(default_factory=list)
    links: list[LinkNumbers] = field(default_factory=list)
    transactions: TransactionCounts = NO_TRANSACTIONS

    @property
    def until(self) -> int:
        """Up to when its durations run: its end or that of the capture, else its last frame."""
        return max(self.over_at, self.last)

    @property
    def frames(self) -> list[int]:
        """Those of the client and those of the server."""
        return [sent.frames for sent in self.sent]

    @property
    def bytes(self) -> list[int]:
        """The octets of these."""
        return [sent.octets for sent in self.sent]

    @property
    def names(self) -> Counter[str]:
        """Frames by their names."""
        return self.by_name.counter()
