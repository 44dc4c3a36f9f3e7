"""Counts, rates and latencies of addresses, connections and links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from amqpscope.numbers import WIDTH, Histogram
from amqpscope.report.columns import cut, folded
from amqpscope.report.stats import connection_lines, link_lines, seconds
from amqpscope.statistics import LinkNumbers
from amqpscope.stream import PEERS
from amqpscope.tui.numbers import LinkKey, Report
from amqpscope.tui.screens.panes import PANES, PanesView
from amqpscope.tui.screens.stuck import LEGEND, TICK, plot, short, values
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.countlist import Counted, CountList, counted
from amqpscope.tui.widgets.plot import Slot, drawn, rates
from amqpscope.tui.widgets.prose import Line, Prose, line

SHARES: Final = (50, 90, 99)
HEIGHT: Final = 3
FEWEST: Final = 3
"""Durations below which a plot of them says nothing."""


class StatsView(PanesView):
    """List, and more about what is at the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*PANES]

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.report: Report | None = None

    def compose(self) -> ComposeResult:
        """The two panes."""
        yield CountList(id="list")
        yield Prose(id="text")

    def on_mount(self) -> None:
        """The numbers grow in a thread."""
        self.set_interval(TICK, self.look)

    @property
    def counts(self) -> CountList:
        """The list."""
        return self.query_one("#list", CountList)

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
        percent = 100 * report.frame // max(self.store.count, 1)
        self.counts.progress = "" if report.frame >= self.store.count else f" (read {percent}%)"
        if report is not self.report:
            self.report = report
            self.counts.show(counted(report.connections))
            self.tell()

    def tell(self) -> None:
        """What is at the cursor, in words and plots."""
        one, report = self.counts.at, self.report
        if one is None or report is None:
            self.text.show([], None)
            return
        self.text.show([*self.words(one, report, self.text.measure)], one.key)

    def words(self, one: Counted, report: Report, width: int) -> Iterator[Line]:
        """All that is known of a line."""
        if one.link is None:
            assert one.connection is not None
            told = connection_lines(one.connection)
            for place, text in enumerate(folded(told, width)):
                yield line(text, "" if place else "title")
            return
        told = link_lines(one.link, one.title)
        for place, text in enumerate(folded(told, width)):
            yield line(text.removeprefix("  "), "" if place else "title")
        yield line("")
        yield from latencies(one.link.latency, width)
        yield from self.rate(one, one.link, report, width)

    def rate(self, one: Counted, link: LinkNumbers, report: Report, width: int) -> Iterator[Line]:
        """Deliveries per second over time, of a link or of all links of an address."""
        sender = PEERS.index(link.sender)
        keys = [
            LinkKey(numbers.number, each.name, sender)
            for numbers in report.connections
            for each in numbers.links
            if (each is link or not one.depth)
            and (each.address, each.sender) == (link.address, link.sender)
        ]
        found = [report.courses[key] for key in dict.fromkeys(keys) if key in report.courses]
        if not found:
            return
        count = max(width - LEGEND, 10) * 2
        start, end = self.store.start, report.time
        total = [0.0] * count
        for courses in found:
            for place, slot in enumerate(rates(values(courses.deliveries), start, end, count)):
                total[place] += 0.0 if slot is None else slot.high
        slots: list[Slot | None] = [Slot(0, each) for each in total]
        yield from plot("rate", f"{one.rate:.3g}/s on average", slots, "/s")
        span = seconds(max(end - start, 0))
        yield line(f"{'':{LEGEND}}{'start':<{max(count // 2 - len(span), 0)}}{span}", "dim")


def latencies(found: Histogram, width: int) -> Iterator[Line]:
    """How long settling took: how often each duration, on a logarithmic axis."""
    if found.count < FEWEST:
        return
    first, last = min(found.classes), max(found.classes)
    count = max(width - LEGEND, 10) * 2
    sums = [0] * count
    span = max(last - first, 1)
    for place, number in found.classes.items():
        sums[(place - first) * (count - 1) // span] += number
    top = max(sums)
    # A class that is met falls on one slot; its neighbours make it a bar that can be seen.
    wide = max(count // (span + 1), 1)
    slots: list[Slot | None] = [Slot(0, 0)] * count
    for at, number in enumerate(sums):
        if number:
            for near in range(at, min(at + wide, count)):
                slots[near] = Slot(0, number)
    legends = [f"{'settled':10}{short(top):>9} "]
    legends += [f" p{part} {seconds(int(found.percentile(part) * 1e9))}" for part in SHARES[::2]]
    for legend, picture in zip(legends, drawn(slots, top, HEIGHT), strict=True):
        yield Line(((f"{cut(legend, LEGEND - 1):{LEGEND}}", "dim"), (picture, "plot")))
    low = seconds(int(2.718281828459045 ** (first * WIDTH)))
    high = seconds(found.largest)
    yield line(f"{'':{LEGEND}}{low:<{max(count // 2 - len(high), 0)}}{high}", "dim")
