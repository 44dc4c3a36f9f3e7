"""The findings of a capture, also when there are hundreds of thousands of them.

Of each only its place, rule, severity and peer are kept; the rest is in the `facts` and is read
when somebody looks at it.
"""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, overload

from amqpscope.findings import Finding
from amqpscope.insight.endings import EXPLAINING

KEPT: Final = 2000
"""Findings that are kept whole."""

LATEST: Final = 200
"""Findings of a connection that are looked at for why it ended."""


class Brief(NamedTuple):
    """What is known of a finding without reading it."""

    frame: int
    rule: str
    severity: str
    peer: str
    connection: int


class FindingIndex(Sequence[Finding]):
    """All findings in the order in which they were made; whole ones are made when asked for."""

    def __init__(self, file: int) -> None:
        self.file = file
        self.places: array[int] = array("Q")
        self.sizes: array[int] = array("I")
        self.frames: array[int] = array("I")
        self.connections: array[int] = array("I")
        self.kinds: array[int] = array("H")
        """Rule, severity and peer as one number."""
        self.known: list[tuple[str, str, str]] = []
        self.numbers: dict[tuple[str, str, str], int] = {}
        self.of_frame: dict[int, int | list[int]] = {}
        """The findings of each frame that has some; most have one."""
        self.grave: list[int] = []
        """Frames with errors and warnings, ascending."""
        self.counts: Counter[str] = Counter()
        """How many there are of each severity."""
        self.groups: Counter[tuple[str, str, str]] = Counter()
        """How many there are of each rule, severity and peer."""
        self.whole: OrderedDict[int, Finding] = OrderedDict()
        self.causes: dict[int, array[int]] = {}
        """By connection: those that may explain how something of it ended."""

    def add(self, fact: dict[str, Any], place: int, size: int) -> int:
        """Take one more, and where it is kept; returns its frame."""
        kind = (fact["rule"], fact["severity"], fact["peer"])
        number = self.numbers.get(kind)
        if number is None:
            number = self.numbers[kind] = len(self.known)
            self.known.append(kind)
        at, frame = len(self.frames), int(fact["frame"])
        self.places.append(place)
        self.sizes.append(size)
        self.frames.append(frame)
        self.connections.append(fact["connection"])
        self.kinds.append(number)
        self.counts[kind[1]] += 1
        self.groups[kind] += 1
        before = self.of_frame.get(frame)
        if before is None:
            self.of_frame[frame] = at
        elif isinstance(before, int):
            self.of_frame[frame] = [before, at]
        else:
            before.append(at)
        if kind[1] != "info":
            self._mark(frame)
        if kind[1] == "error" or kind[0] in EXPLAINING:
            self.causes.setdefault(fact["connection"], array("I")).append(at)
        return frame

    def explaining(self, connection: int) -> list[Finding]:
        """Those of a connection that may explain how something of it ended, the newest."""
        return [self[at] for at in self.causes.get(connection, array("I"))[-LATEST:]]

    def _mark(self, frame: int) -> None:
        grave = self.grave
        if not grave or frame > grave[-1]:
            grave.append(frame)
        elif grave[bisect_left(grave, frame)] != frame:
            insort(grave, frame)

    def __len__(self) -> int:
        return len(self.frames)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        found = self.whole.get(index)
        if found is None:
            line = os.pread(self.file, self.sizes[index], self.places[index])
            found = self.whole[index] = made_finding(json.loads(line)["finding"])
            if len(self.whole) > KEPT:
                self.whole.popitem(last=False)
        return found

    def brief(self, index: int) -> Brief:
        """One of them without reading it."""
        rule, severity, peer = self.known[self.kinds[index]]
        return Brief(self.frames[index], rule, severity, peer, self.connections[index])

    def at(self, frame: int) -> list[Finding]:
        """Those about a frame."""
        found = self.of_frame.get(frame)
        if found is None:
            return []
        return [self[found]] if isinstance(found, int) else [self[at] for at in found]

    def count_at(self, frame: int) -> int:
        """How many there are about a frame."""
        found = self.of_frame.get(frame)
        return 0 if found is None else 1 if isinstance(found, int) else len(found)

    def after(self, frame: int) -> int:
        """The next frame with an error or warning; 0 if there is none."""
        place = bisect_right(self.grave, frame)
        return self.grave[place] if place < len(self.grave) else 0

    def before(self, frame: int) -> int:
        """The frame with an error or warning before; 0 if there is none."""
        place = bisect_left(self.grave, frame)
        return self.grave[place - 1] if place else 0


def made_finding(fact: dict[str, Any]) -> Finding:
    """A finding as its fact has it."""
    lists = {
        name: tuple(fact.get(name, ())) for name in ("related_connections", "related_captures")
    }
    related = tuple((frame, why) for frame, why in fact["related"])
    return Finding(**{**fact, **lists, "related": related})
