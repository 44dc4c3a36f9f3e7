"""Counts, rates and latencies of addresses, connections and links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from amqpscope.insight.counters import WIDTH, Histogram, LinkNumbers
from amqpscope.protocols.words import seconds
from amqpscope.report.columns import folded
from amqpscope.report.stats import connection_lines, delay_lines, link_lines
from amqpscope.tui.screens.measured import MeasuredView, axis, ends, plot, rate_slots, span_words
from amqpscope.tui.screens.panes import PANES
from amqpscope.tui.stats_worker import Measurements
from amqpscope.tui.widgets.countlist import Counted, CountList, counted
from amqpscope.tui.widgets.plot import Slot, rates
from amqpscope.tui.widgets.text_view import Line, TextView, line

SHARES: Final = (50, 99)
HEIGHT: Final = 3
FEWEST: Final = 3
"""Durations below which a plot of them says nothing."""


class StatsView(MeasuredView):
    """List, and more about what is at the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*PANES]

    def compose(self) -> ComposeResult:
        """The two panes."""
        yield CountList(id="list")
        yield TextView(id="text")

    @property
    def counts(self) -> CountList:
        """The list."""
        return self.query_one("#list", CountList)

    def take(self, report: Measurements) -> None:
        """Show what is counted."""
        self.counts.show(counted(report.connections))

    def show_text(self) -> None:
        """What is at the cursor, in words and plots."""
        one = self.counts.at
        if one is None:
            self.text.show([], None)
            return
        self.text.show([*self.words(one, self.text.measure)], one.key)

    def words(self, one: Counted, width: int) -> Iterator[Line]:
        """All that is known of a line."""
        if one.link is None:
            assert one.connection is not None
            told = connection_lines(one.connection, self.store.start)
            for place, text in enumerate(folded(told, width)):
                yield line(text, "" if place else "title")
            return
        lines = [*link_lines(one.link, one.title)]
        if not one.depth:
            lines += delay_lines(one.link, self.report.delays)
        for place, text in enumerate(folded(lines, width)):
            yield line(text.removeprefix("  "), "" if place else "title")
        yield line("")
        yield from latencies(one.link.latency, width)
        yield from self.rate(one, one.link, width)

    def rate(self, one: Counted, link: LinkNumbers, width: int) -> Iterator[Line]:
        """Deliveries per second over time, of a link or of all links of an address."""
        series = self.store.numbers.plots
        time = axis(self.store.start, self.now, width)
        # A link may be attached again under its name, and is then counted apart.
        alike = dict.fromkeys(
            (numbers.number, each.name, each.sender, each.kind)
            for numbers in self.report.connections
            for each in numbers.links
            if (each is link or not one.depth)
            and (each.address, each.sender, each.kind) == (link.address, link.sender, link.kind)
        )
        found = [course for key in alike for course in series.deliveries(*key)]
        total = [0.0] * time.parts
        for course in found:
            for place, rate in enumerate(rates(course.points(), time)):
                total[place] += rate
        if found:
            yield from plot("rate", f" {one.rate:.3g}/s on average", rate_slots(total), "/s")
            yield ends("start", span_words(time), time)


def latencies(found: Histogram, width: int) -> Iterator[Line]:
    """How long settling took: how often each duration, on a logarithmic axis."""
    if found.count < FEWEST:
        return
    first, last = min(found.classes), max(found.classes)
    time = axis(0, 0, width)
    count = time.parts
    sums = [0] * count
    span = max(last - first, 1)
    for place, number in found.classes.items():
        sums[(place - first) * (count - 1) // span] += number
    # A class that is met falls on one slot; its neighbours make it a bar that can be seen.
    wide = max(count // (span + 1), 1)
    slots: list[Slot | None] = [Slot(0, 0)] * count
    for at, number in enumerate(sums):
        if number:
            for near in range(at, min(at + wide, count)):
                slots[near] = Slot(0, number)
    below = [f" p{part} {seconds(int(found.percentile(part) * 1e9))}" for part in SHARES]
    yield from plot("settled", "\n".join(below), slots, height=HEIGHT)
    low, high = seconds(int(2.718281828459045 ** (first * WIDTH))), seconds(found.largest)
    yield ends(low, high, time)
