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
from amqpscope.tui.widgets.plot import Axis, Slot, drawn
from amqpscope.tui.widgets.text_view import Line, line

TICK: Final = 0.25
"""Seconds between two looks whether the numbers have grown."""
LEGEND: Final = 21
"""Columns before a plot."""
HEIGHT: Final = 2
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


def plot(
    name: str, below: str, found: list[Slot | None], unit: str = "", height: int = HEIGHT
) -> Iterator[Line]:
    """One plot with its name, its highest value and some more at the left."""
    top = max((slot.high for slot in found if slot is not None), default=0)
    highest = f"{short(top)}{unit}"
    legends = [f"{name}{highest:>{max(LEGEND - 2 - len(name), 1)}}", *below.splitlines()]
    legends += [""] * (height - len(legends))
    for legend, picture in zip(legends, drawn(found, top, height), strict=True):
        yield Line(((f"{cut(legend, LEGEND - 1):{LEGEND}}", "dim"), (picture, "plot")))


def ends(first: str, last: str, time: Axis) -> Line:
    """What the ends of the line below plots stand for."""
    return line(f"{'':{LEGEND}}{first:<{max(time.parts // 2 - len(last), 0)}}{last}", "dim")


def rate_slots(found: list[float]) -> list[Slot | None]:
    """Rates as bars."""
    return [Slot(0, each) for each in found]


def span_words(time: Axis) -> str:
    """How long the time of a plot is."""
    return seconds(max(time.end - time.start, 0))


def short(number: float) -> str:
    """A number in few columns."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scale = limit if unit != "k" else 1e3
            return f"{number / scale:.3g}{unit}"
    return f"{number:.3g}" if number < 100 and number != int(number) else f"{number:.0f}"
