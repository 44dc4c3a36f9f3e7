"""Compares two captures: connections paired by what passes on them, then one by one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from amqpscope.insight.diff.connections import Compared
from amqpscope.insight.diff.differences import (
    EXTRA,
    FINDING,
    MISSING,
    Diff,
    Difference,
    Latency,
    Scope,
    Side,
    side,
)
from amqpscope.insight.diff.entries import ComparedConnection
from amqpscope.insight.diff.pairing import pair
from amqpscope.wording import plural

CONNECTION: Final = "connection"
CONTEXT: Final = 2
"""Frames that are shown before the first difference."""
CLASSES: Final = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000)
"""Bounds of classes of latency, in nanoseconds."""
CLEARLY: Final = 3
"""How many times as long something takes that is of another class."""


def compare(
    a: Sequence[ComparedConnection], b: Sequence[ComparedConnection], diff: Diff, scope: Scope, *,
    exact: bool,
) -> Diff:  # fmt: skip
    """Fill in what two captures do differently."""
    diff.frames = (sum(len(each.entries) for each in a), sum(len(each.entries) for each in b))
    places = pair([each.shape() for each in a], [each.shape() for each in b])
    found: list[Difference] = []
    for i, j in places:
        compared = Compared(a[i], b[j], exact=exact)
        found.extend(compared.differences())
        diff.pairs.append((a[i].number, b[j].number))
        diff.copies = diff.copies or compared.copies
        diff.latencies.extend(latencies(a[i], b[j]))
        diff.notes.extend(timing_notes(compared))
    paired = {i for i, _ in places}, {j for _, j in places}
    for place, each in enumerate(a):
        if place not in paired[0]:
            found.append(Difference(MISSING, CONNECTION, _whole(each), None, _first(each)))
    for place, each in enumerate(b):
        if place not in paired[1]:
            found.append(Difference(EXTRA, CONNECTION, None, _whole(each), _first(each)))
    wanted = filter(scope.counts, found)
    diff.differences = sorted(wanted, key=lambda each: (each.kind == FINDING, each.order))
    diff.context = context(a, diff)
    return diff


def context(a: Sequence[ComparedConnection], diff: Diff) -> list[Side]:
    """The frames of A before the first difference."""
    if not diff.differences or diff.differences[0].path == CONNECTION:
        return []
    first = diff.differences[0]
    numbers = [first.a.connection] if first.a is not None else []
    if first.b is not None and not numbers:
        numbers = [one for one, other in diff.pairs if other == first.b.connection]
    before = [
        entry
        for recording in a
        if recording.number in numbers
        for entry in recording.entries
        if entry.frame < first.order
    ]
    return [one for one in map(side, before[-CONTEXT:]) if one is not None]


def latencies(a: ComparedConnection, b: ComparedConnection) -> list[Latency]:
    """Where deliveries took clearly longer to be settled in one than in the other."""
    found = []
    for address in a.latencies.keys() & b.latencies.keys():
        first, second = int(median(a.latencies[address])), int(median(b.latencies[address]))
        low, high = sorted((first, second))
        if latency_class(low) != latency_class(high) and high > CLEARLY * low:
            found.append(Latency(address, first, second, (a.number, b.number)))
    return sorted(found, key=lambda each: each.address)


def latency_class(nanoseconds: int) -> int:
    """The class of a latency, from 0."""
    return sum(nanoseconds >= bound for bound in CLASSES)


def timing_notes(compared: Compared) -> list[str]:
    """What differs and is a matter of time."""
    pair = f"connections {compared.a.number} and {compared.b.number}"
    return [
        f"{pair}: {plural(abs(more), f'{name} frame')} more in {'A' if more > 0 else 'B'},"
        " which is a matter of time"
        for name, more in sorted(compared.skipped.items())
        if more
    ]


def _whole(recording: ComparedConnection) -> Side:
    first = recording.entries[0] if recording.entries else None
    text = f"{recording.protocol}, {plural(len(recording.entries), 'frame')}"
    time, packet = (0, 0) if first is None else (first.time, first.packet)
    return Side(recording.number, 0, packet, time, 0, CONNECTION, text)


def _first(recording: ComparedConnection) -> float:
    return float(recording.entries[0].frame) if recording.entries else 0.0
