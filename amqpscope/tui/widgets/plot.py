"""Small plots in braille: two dots across and four down in each cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from amqpscope.insight.series import Point

DOTS: Final = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bits of a cell's dots: by column, from the top."""


class Slot(NamedTuple):
    """The lowest and the highest value during a part of the time."""

    low: float
    high: float


class Axis(NamedTuple):
    """The time from start to end in equal parts."""

    start: int
    end: int
    parts: int

    @property
    def width(self) -> float:
        """Nanoseconds of a part."""
        return max((self.end - self.start) / self.parts, 1)

    def place(self, time: int) -> int:
        """The part in which a time lies, or the one that is nearest to it."""
        return min(max(int((time - self.start) / self.width), 0), self.parts - 1)


def slots(points: Iterable[Point], axis: Axis) -> list[Slot | None]:
    """A number by parts of the time; a value stays until the next."""
    found: list[Slot | None] = [None] * axis.parts
    last: float | None = None
    at = 0
    for point in points:
        place = axis.place(point.at)
        while at < place:
            if found[at] is None and last is not None:
                found[at] = Slot(last, last)
            at += 1
        known = found[place]
        if known is None and last is not None:
            known = Slot(last, last)
        if point.events:
            low, high = point.low, point.high
            known = Slot(low, high) if known is None else Slot(min(low, known.low),
                                                               max(high, known.high))  # fmt: skip
        found[place] = known
        last = point.last
    for rest in range(at, axis.parts):
        if found[rest] is None and last is not None:
            found[rest] = Slot(last, last)
    return found


def rates(points: Iterable[Point], axis: Axis) -> list[float]:
    """Events per second in each part of the time; a point's are spread over its own time."""
    found = [0.0] * axis.parts
    for point in points:
        if point.time > axis.end:
            break  # it came after what the axis shows was measured
        events: float = point.events
        if point.at > axis.end:
            events *= (axis.end - point.time + 1) / (point.until - point.time)
        first, last = axis.place(point.time), axis.place(point.until - 1)
        share = events * 1e9 / axis.width / (last - first + 1)
        for place in range(first, last + 1):
            found[place] += share
    return found


def braille_lines(found: list[Slot | None], top: float, height: int) -> list[str]:
    """Slots as lines of braille, two slots to a cell, from 0 to a top."""
    rows = height * 4
    scale = (rows - 1) / top if top > 0 else 0
    cells = [[0x2800] * ((len(found) + 1) // 2) for _ in range(height)]
    for x, slot in enumerate(found):
        if slot is None:
            continue
        lowest = level(slot.low, scale, rows)
        highest = level(slot.high, scale, rows)
        for y in range(lowest, highest + 1):
            row = rows - 1 - y
            cells[row // 4][x // 2] |= DOTS[x % 2][row % 4]
    return ["".join(map(chr, line)) for line in cells]


def level(value: float, scale: float, rows: int) -> int:
    """The dot of a value; what is more than 0 is above the lowest."""
    dot = round(max(value, 0) * scale)
    return min(max(dot, 1) if value > 0 and rows > 1 else dot, rows - 1)


def short(number: float) -> str:
    """A number in few columns."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scale = limit if unit != "k" else 1e3
            return f"{number / scale:.3g}{unit}"
    return f"{number:.3g}" if number < 100 and number != int(number) else f"{number:.0f}"
