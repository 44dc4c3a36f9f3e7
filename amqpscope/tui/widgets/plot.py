"""Small plots in braille: two dots across and four down in each cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

DOTS: Final = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bits of a cell's dots: by column, from the top."""


class Slot(NamedTuple):
    """The lowest and the highest value during a part of the time."""

    low: float
    high: float


class Value(NamedTuple):
    """What a number was from a time on."""

    time: int
    low: float
    high: float
    last: float


def slots(values: Iterable[Value], start: int, end: int, count: int) -> list[Slot | None]:
    """The time from start to end in equal parts; a value stays until the next."""
    width = max((end - start) / count, 1)
    found: list[Slot | None] = [None] * count
    last: float | None = None
    at = 0
    for value in values:
        place = min(max(int((value.time - start) / width), 0), count - 1)
        while at < place:
            if found[at] is None and last is not None:
                found[at] = Slot(last, last)
            at += 1
        known = found[place]
        low, high = value.low, value.high
        if known is not None:
            low, high = min(low, known.low), max(high, known.high)
        elif last is not None:
            low, high = min(low, last), max(high, last)
        found[place] = Slot(low, high)
        last = value.last
    for rest in range(at, count):
        if found[rest] is None and last is not None:
            found[rest] = Slot(last, last)
    return found


def rates(values: Iterable[Value], start: int, end: int, count: int) -> list[Slot | None]:
    """Of a number that only grows: how much it grew per second, in each part of the time."""
    width = max((end - start) / count, 1)
    grown = [0.0] * count
    before = 0.0
    for value in values:
        place = min(max(int((value.time - start) / width), 0), count - 1)
        grown[place] += value.last - before
        before = value.last
    return [Slot(0, each * 1e9 / width) for each in grown]


def drawn(found: list[Slot | None], top: float, height: int) -> list[str]:
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
