"""Which frames of two sequences belong together: as few and as small differences as can be."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from amqpscope.insight.diff.entries import Entry

GAP: Final = 1.0
"""What a frame costs that only one of them has."""
MANY: Final = 20_000
"""Pairs of frames up to which the best alignment is computed; beyond, a good one."""
NEVER: Final = 9.0

Pair = tuple[Entry | None, Entry | None]


def align(a: Sequence[Entry], b: Sequence[Entry], settling: frozenset[str]) -> list[Pair]:
    """Pair the frames of a lane in their order; None where the other one has no such frame."""
    left, right = [each.signature for each in a], [each.signature for each in b]
    start = 0
    while start < len(a) and start < len(b) and left[start] == right[start]:
        start += 1
    stop = 0
    while stop < min(len(a), len(b)) - start and left[-1 - stop] == right[-1 - stop]:
        stop += 1
    head: list[Pair] = list(zip(a[:start], b[:start], strict=True))
    tail: list[Pair] = list(zip(a[len(a) - stop :], b[len(b) - stop :], strict=True))
    inside, other = a[start : len(a) - stop], b[start : len(b) - stop]
    if len(inside) * len(other) <= MANY:
        middle = best(inside, other, settling)
    else:
        middle = good(inside, other, settling)
    return head + middle + tail


def good(a: Sequence[Entry], b: Sequence[Entry], settling: frozenset[str]) -> list[Pair]:
    """Pair long sequences around the frames that say the same."""
    found: list[Pair] = []
    matcher = SequenceMatcher(
        None, [each.signature for each in a], [each.signature for each in b], autojunk=False
    )
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            found.extend(zip(a[i:j], b[k:m], strict=True))
        elif (j - i) * (m - k) <= MANY:
            found.extend(best(a[i:j], b[k:m], settling))
        else:
            found.extend(by_place(a[i:j], b[k:m]))
    return found


def by_place(a: Sequence[Entry], b: Sequence[Entry]) -> list[Pair]:
    """Pair frames of a name by their order among those."""
    waiting: dict[str, deque[Entry]] = {}
    for each in b:
        waiting.setdefault(each.name, deque()).append(each)
    found: list[Pair] = []
    for each in a:
        others = waiting.get(each.name)
        found.append((each, others.popleft() if others else None))
    found.extend((None, each) for others in waiting.values() for each in others)
    return found


def best(a: Sequence[Entry], b: Sequence[Entry], settling: frozenset[str]) -> list[Pair]:
    """Pair two sequences at the least cost."""
    rows, columns = len(a), len(b)
    costs = [[j * GAP for j in range(columns + 1)]]
    for i in range(1, rows + 1):
        row, above = [i * GAP], costs[i - 1]
        for j in range(1, columns + 1):
            matched = above[j - 1] + distance(a[i - 1], b[j - 1], settling)
            row.append(min(matched, above[j] + GAP, row[j - 1] + GAP))
        costs.append(row)
    found: list[Pair] = []
    i, j = rows, columns
    while i or j:
        here = costs[i][j]
        # Of equal costs, what comes first is paired, and the rest is what only one has.
        if i and here == costs[i - 1][j] + GAP:
            found.append((a[i - 1], None))
            i -= 1
        elif j and here == costs[i][j - 1] + GAP:
            found.append((None, b[j - 1]))
            j -= 1
        else:
            found.append((a[i - 1], b[j - 1]))
            i, j = i - 1, j - 1
    found.reverse()
    return found


def distance(a: Entry, b: Entry, settling: frozenset[str]) -> float:
    """How little two frames have in common, from 0; NEVER where they cannot be the same."""
    if a.name != b.name:
        return 1.5 * GAP if a.name in settling and b.name in settling else NEVER
    if a.stable == b.stable:
        return 0.0
    differing = sum(b.stable.get(path) != text for path, text in a.stable.items())
    differing += sum(path not in a.stable for path in b.stable)
    return min(1.6, 0.5 + 1.1 * differing / max(len(a.stable), len(b.stable), 1)) * GAP
