"""Counts, rates and latencies of addresses, connections and links."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from amqpscope.insight.counters import PERCENTILES, WIDTH, Histogram, LinkNumbers
from amqpscope.protocols.words import seconds
from amqpscope.report.columns import cut, folded
from amqpscope.report.stats import connection_lines, delay_lines, link_lines
from amqpscope.tui.screens.measured import (
    MeasuredView,
    axis,
    ends,
    plot,
    plot_height,
    rate_slots,
    span_words,
)
from amqpscope.tui.screens.panes import PANES
from amqpscope.tui.stats_worker import Measurements
from amqpscope.tui.widgets.countlist import Counted, CountList, count_rows
from amqpscope.tui.widgets.plot import Slot, rates, short
from amqpscope.tui.widgets.text_view import TextLine, TextView, line
from amqpscope.tui.widgets.virtual_list import VirtualList

SHARES: Final = (50, 99)
LOW: Final = 3
"""Rows of the plot of durations, at the least: two of them have words."""
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
        self.counts.show(count_rows(report.connections))

    def show_text(self) -> None:
        """What is at the cursor, in words and plots."""
        one = self.counts.at
        if one is None:
            self.text.show([], None)
            return
        self.text.show([*self.words(one, self.text.measure)], one.key)

    def words(self, one: Counted, width: int) -> Iterator[TextLine]:
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
        examples = [*self.examples(one.link.latency, width)]
        yield from examples
        yield line("")
        plotted = one.link.latency.count >= FEWEST
        room = self.text.size.height - len([*folded(lines, width)]) - len(examples) - 3 - plotted
        height = plot_height(room, 1 + plotted)
        if plotted:
            yield from latencies(one.link.latency, width, max(height, LOW))
        yield from self.rate(one, one.link, width, height)

    def examples(self, found: Histogram, width: int) -> Iterator[TextLine]:
        """Deliveries that took as long as most, as few and as none of the others."""
        if not found.count:
            return
        rows = [(found.example(percent), f"p{percent}", int(found.percentile(percent) * 1e9))
                for percent in PERCENTILES]  # fmt: skip
        rows.append((found.slowest, "max", found.largest))
        for number, same in groupby(rows, key=itemgetter(0)):
            if 0 < number <= self.store.count:
                names = [(name, took) for _, name, took in same]
                words = names[0][0] if len(names) == 1 else f"{names[0][0]} to {names[-1][0]}"
                row, head = self.store.row(number), f"⏎{number:>7} "
                text = f"{words:10} {seconds(names[-1][1]):>8}  {row.name} {row.text}"
                yield TextLine(((head, "level"), (cut(text, width - len(head)), "")), number)

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter goes to the slowest delivery, or else to the first."""
        one = self.counts.at
        if event.rows is not self.counts or one is None or one.link is None:
            return
        number = one.link.latency.slowest or one.link.first_frame
        if number:
            self.scope.visit(number)
            if one.link.latency.slowest:
                took = seconds(one.link.latency.largest)
                self.scope.announce(f"the slowest of {one.title}: settled after {took}")

    def rate(self, one: Counted, link: LinkNumbers, width: int, height: int) -> Iterator[TextLine]:
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
            yield from plot("rate", f" {short(one.rate)}/s on average", rate_slots(total), "/s",
                            height)  # fmt: skip
            yield ends("start", span_words(time), time)


def latencies(found: Histogram, width: int, height: int) -> Iterator[TextLine]:
    """How long settling took: how often each duration, on a logarithmic axis."""
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
    yield from plot("settled", "\n".join(below), slots, height=height)
    low, high = seconds(int(2.718281828459045 ** (first * WIDTH))), seconds(found.largest)
    yield ends(low, high, time)
