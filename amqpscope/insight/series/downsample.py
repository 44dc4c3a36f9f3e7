"""One number over time, in bounded memory.

A `Series` takes values as they come and keeps a bounded number of slices of time, each with its
lowest, highest and last value: when there are too many, slices grow to twice their width. So a
moment without credit stays visible in a day of traffic, and memory does not grow with it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SLICES: Final = 240
"""Slices of time that a series keeps at most: a plot is not much wider."""
ENDLESS: Final = 1_000_000
"""A credit or window that never came below this holds nobody: there is nothing to see."""
FINEST: Final = 1_000
"""Nanoseconds of a slice at the beginning."""


class Point(NamedTuple):
    """What happened in one slice of time."""

    time: int
    """When it begins, nanoseconds since the Unix epoch."""
    until: int
    low: int
    high: int
    last: int | None
    """The value at its end; None: not known any more, or there is none."""
    events: int
    """How many values came in it."""
    total: int
    """All of them added up."""
    at: int
    """When the last of them came."""


class Drought(NamedTuple):
    """A time during which a number was 0, after it was more."""

    start: int
    duration: int
    frame: int
    """With which it began; 0: not known."""


class _Droughts:
    """The longest time during which a number was 0, exactly, and the one that goes on."""

    __slots__ = ("longest", "open", "risen")

    def __init__(self) -> None:
        self.longest: Drought | None = None
        self.open: tuple[int, int] | None = None
        """When, and with which frame, the one began that goes on."""
        self.risen = False

    def take(self, time: int, value: int | None, frame: int) -> None:
        if value is not None and value <= 0:
            if self.risen and self.open is None:
                self.open = (time, frame)
            return
        # What is not known any more is no drought.
        self.longest, self.open = self.until(time), None
        self.risen = self.risen or value is not None

    def until(self, now: int) -> Drought | None:
        """The longest up to now."""
        if self.open is None:
            return self.longest
        start, frame = self.open
        longest = self.longest
        if longest is None or now - start > longest.duration:
            return Drought(start, now - start, frame)
        return longest


class _Range:
    """The lowest and the highest of some values."""

    __slots__ = ("count", "high", "low")

    def __init__(self) -> None:
        self.low = self.high = self.count = 0

    def take(self, value: int) -> None:
        if not self.count:
            self.low = self.high = value
        elif value < self.low:
            self.low = value
        elif value > self.high:
            self.high = value
        self.count += 1


class _Slice(_Range):
    __slots__ = ("at", "last", "place", "total")

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place
        self.total = self.at = 0
        self.last: int | None = None

    def add(self, time: int, value: int | None) -> None:
        self.at, self.last = time, value
        if value is not None:
            self.take(value)
            self.total += value

    def merge(self, later: _Slice) -> None:
        if later.count:
            self.low = min(self.low, later.low) if self.count else later.low
            self.high = max(self.high, later.high) if self.count else later.high
        self.at, self.last = later.at, later.last
        self.count += later.count
        self.total += later.total


class Series(_Range):
    """One quantity over time; times never go back by much.

    Another thread may look at it while it grows: what belongs together is replaced at once.
    """

    def __init__(self, slices: int = SLICES) -> None:
        super().__init__()
        self.start = 0
        """When the first value came."""
        self.most = slices
        self._droughts = _Droughts()
        self._kept: tuple[int, list[_Slice]] = (FINEST, [])
        """The nanoseconds of a slice, and the slices."""

    @property
    def width(self) -> int:
        """Nanoseconds of a slice."""
        return self._kept[0]

    def add(self, time: int, value: int | None, frame: int = 0) -> None:
        """The value from this frame on, or of one event; None where it is not known."""
        self._droughts.take(time, value, frame)
        width, slices = self._kept
        if not slices:
            self.start = time
        place = max(time - self.start, 0) // width
        while place >= self.most:
            self._widen()
            width, slices = self._kept
            place = max(time - self.start, 0) // width
        if value is not None:
            self.take(value)
        if slices and slices[-1].place >= place:
            slices[-1].add(time, value)
        else:
            made = _Slice(place)
            made.add(time, value)
            slices.append(made)

    def _widen(self) -> None:
        """Join slices two by two."""
        width, slices = self._kept
        joined: list[_Slice] = []
        for each in slices:
            place = each.place // 2
            if not joined or joined[-1].place != place:
                joined.append(_Slice(place))
            joined[-1].merge(each)
        self._kept = (width * 2, joined)

    @property
    def last(self) -> int | None:
        """The newest value."""
        slices = self._kept[1]
        return slices[-1].last if slices else None

    def drought(self, now: int) -> Drought | None:
        """The longest time up to now during which the value was 0, after it was more."""
        return self._droughts.until(now)

    def points(self) -> list[Point]:
        """The slices in which something happened, in order."""
        width, slices = self._kept
        return [
            Point(
                self.start + each.place * width, self.start + (each.place + 1) * width,
                each.low, each.high, each.last, each.count, each.total, each.at,
            )
            for each in slices
        ]  # fmt: skip

    def rates(self, slices: int = 60, over: int = 0) -> list[tuple[int, float]]:
        """Events per second in equal stretches of time, also those without an event.

        Stretches are no shorter than that part of `over`, which a plot may show in all: a few
        events in a row are no high rate.
        """
        finest, kept = self._kept
        if not kept:
            return []
        together = max(-(-(kept[-1].place + 1) // slices), over // (slices * finest), 1)
        width = finest * together
        counts = [0] * (kept[-1].place // together + 1)
        for each in kept:
            counts[each.place // together] += each.count
        return [
            (self.start + place * width, count * 1e9 / width) for place, count in enumerate(counts)
        ]
