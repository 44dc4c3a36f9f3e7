"""A list of what was measured, and a text with plots about what is at its cursor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from time import monotonic
from typing import Final

from amqpscope.protocols.words import seconds
from amqpscope.report.columns import cut
from amqpscope.tui.screens.panes import PanesView
from amqpscope.tui.stats_worker import Measurements
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.live_list import LiveList
from amqpscope.tui.widgets.plot import Axis, Slot, braille_lines, short
from amqpscope.tui.widgets.text_view import TextLine, line

TICK: Final = 0.25
"""Seconds between two looks whether the numbers have grown."""
LEGEND: Final = 21
"""Columns before a plot."""
LOWEST: Final = 2
HIGHEST: Final = 12
"""Rows of a plot, at the least and at the most."""
HALVED: Final = 6
"""Rows from which on the middle of the axis has its number too."""
FEW: Final = 1000
"""Frames that are measured in no time: that they are not yet is not worth a word."""
SECOND: Final = 1_000_000_000


class MeasuredView(PanesView):
    """A screen that shows the newest report; its list is a `LiveList`."""

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.report = Measurements()
        self.now = 0
        """Up to when things last: that of the newest frame, and live it goes on after that."""

    def on_mount(self) -> None:
        """The numbers grow in a thread."""
        self.set_interval(TICK, self.look)

    def entered(self) -> None:
        """Begin to gather, and give the keys to the list."""
        self.store.numbers.start()
        super().entered()

    def updated(self) -> None:
        """More may be known."""
        self.look()

    def look(self) -> None:
        """Take the newest numbers."""
        if not self.in_sight or self.scope.paused:
            return
        report = self.store.numbers.latest
        now = report.time
        if self.store.source.follow and not self.store.done and report.frame:
            newest = report.frame >= self.store.count and not report.ends
            now += int(monotonic() - (self.store.heard if newest else report.made)) * SECOND
        percent = 100 * report.frame // max(self.store.count, 1)
        far = self.store.count - report.frame > FEW
        self.query_one("#list", LiveList).progress = f" (read {percent}%)" if far else ""
        if report is not self.report or now != self.now:
            self.report, self.now = report, now
            self.take(report)
            self.show_text()

    @abstractmethod
    def take(self, report: Measurements) -> None:
        """Show what a report has in the list."""


def axis(start: int, end: int, width: int) -> Axis:
    """The time that plots of a width show, two parts in each column."""
    return Axis(start, end, max(width - LEGEND, 10) * 2)


def plot_height(room: int, plots: int) -> int:
    """The rows of each of some plots that share a room."""
    return max(min(room // max(plots, 1), HIGHEST), LOWEST)


def plot(
    name: str, below: str, found: list[Slot | None], unit: str = "", height: int = LOWEST
) -> Iterator[TextLine]:
    """One plot with its name, some words and an axis with its values at the left."""
    top = max((slot.high for slot in found if slot is not None), default=0)
    ticks = {0: f"{short(top)}{unit}", height - 1: "0"}
    if height >= HALVED and top > 1:
        ticks[height // 2] = f"{short(top * (1 - (height // 2 + 0.5) / height))}{unit}"
    words = [name, *below.splitlines()]
    for row, picture in enumerate(braille_lines(found, top, height)):
        word, tick = words[row] if row < len(words) else "", ticks.get(row, "")
        room = LEGEND - 2 - len(word)
        value = f"{tick:>{room}}" if len(tick) < room else ""
        sign = "┤" if value.strip() else "│"
        legend = f"{cut(word + value, LEGEND - 2):{LEGEND - 2}}"
        yield TextLine(((f"{legend} {sign}", "dim"), (picture, "plot")))


def ends(first: str, last: str, time: Axis) -> TextLine:
    """What the ends of the line below plots stand for."""
    width = max(time.parts // 2 - len(last), 0)
    return line(f"{'':{LEGEND - 1}}└{first:<{width}}{last}", "dim")


def rate_slots(found: list[float]) -> list[Slot | None]:
    """Rates as bars."""
    return [Slot(0, each) for each in found]


def span_words(time: Axis) -> str:
    """How long the time of a plot is."""
    return seconds(max(time.end - time.start, 0))
