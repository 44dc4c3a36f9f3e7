"""What two captures do differently, as text: side by side where there is room, else stacked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from amqpscope.insight.diff.differences import CHANGED, FINDING, OUTCOME, Diff, Fold, Side, fold
from amqpscope.report.diff_words import (
    TITLES,
    counts_line,
    frame_title,
    latency_line,
    of_frames,
    opening_lines,
    others_line,
    parting_line,
    value_text,
)
from amqpscope.report.look import Look

WIDE: Final = 120
"""Columns from which both frames have room beside each other."""
COLOURS: Final = {"A": "31", "B": "32"}


class DiffText:
    """Writes differences for a terminal or a file."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.width = look.width or WIDE
        self.wide = self.width >= WIDE

    def lines(self, diff: Diff) -> Iterator[str]:
        """The whole report."""
        yield from map(self.cut, opening_lines(diff))
        if not diff.equal:
            yield from self.parting(diff)
        for latency in diff.latencies:
            yield self.cut(f"  {latency_line(latency)}")
        for note in diff.notes:
            yield self.cut(f"  {note}")

    def parting(self, diff: Diff) -> Iterator[str]:
        """Where they part, then every difference."""
        yield self.cut(parting_line(diff.differences[0]))
        for side in diff.context:
            yield self.cut(f"    {frame_title(side)}  {side.text}")
        yield ""
        for _, group in groupby(fold(diff.differences), of_frames):
            yield from self.frames(list(group))
        yield ""
        yield self.cut(counts_line(diff))

    def frames(self, group: list[Fold]) -> Iterator[str]:
        """Two frames that belong together, or one that has no like, and how they differ."""
        first = group[0].first
        if first.kind == FINDING:
            for name, side in (("A", first.a), ("B", first.b)):
                if side is not None:
                    text = f"{first.path} {side.value}, frame {side.frame}: {side.text}"
                    yield self.coloured(name, f"only in {name}: {text}")
            return
        yield from self.rows(_title(first.a), _title(first.b))
        yield from self.rows(_text(first.a), _text(first.b))
        for each in group:
            if each.first.kind in (CHANGED, OUTCOME):
                kind = "" if each.first.kind == CHANGED else f" ({TITLES[OUTCOME]})"
                yield self.cut(f"    {each.first.path}{kind}")
                yield from self.rows(f"  {_value(each.first.a)}", f"  {_value(each.first.b)}")
            others = others_line(each)
            if others:
                yield self.cut(f"    {others}")

    def rows(self, left: str, right: str) -> Iterator[str]:
        """What is said of A and of B: in two columns, or below each other."""
        if not self.wide:
            for name, text in (("A", left), ("B", right)):
                if text.strip():
                    yield self.coloured(name, f"  {name} {text}")
            return
        room = (self.width - 7) // 2
        if left.strip() or right.strip():
            a = self.paint("A", f"{self.shorten(left, room):<{room}}")
            b = self.paint("B", self.shorten(right, room))
            yield f"  {a} {'|' if self.look.plain else '│'} {b}".rstrip()

    def coloured(self, name: str, line: str) -> str:
        """A line that fits, in the colour of A or B."""
        return self.paint(name, self.cut(line))

    def paint(self, name: str, text: str) -> str:
        """A text in the colour of A or B."""
        return f"\x1b[{COLOURS[name]}m{text}\x1b[0m" if self.look.colour else text

    def cut(self, line: str) -> str:
        """A line that fits the terminal."""
        return self.shorten(line, self.look.width) if self.look.width else line

    def shorten(self, text: str, room: int) -> str:
        """A text with dots for what does not fit."""
        if len(text) <= room:
            return text
        dots = "..." if self.look.plain else "…"
        return text[: max(room - len(dots), 0)] + dots


def _title(side: Side | None) -> str:
    return "(no such frame)" if side is None else frame_title(side)


def _value(side: Side | None) -> str:
    return "" if side is None else value_text(side.value)


def _text(side: Side | None) -> str:
    return "" if side is None else side.text
