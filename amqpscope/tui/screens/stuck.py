"""Why is it stuck: what holds each link, since when, who is waited for, and how it came to that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from amqpscope.insight.droughts import droughts
from amqpscope.insight.explanation import bound_words, explain, title, waiting
from amqpscope.insight.series import ENDLESS, LinkSeries, Series
from amqpscope.model.constraint import OVER
from amqpscope.protocols.ending_words import full_words
from amqpscope.protocols.stuck import Held
from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import cut
from amqpscope.report.text import ARROWS
from amqpscope.tui.screens.measured import (
    LEGEND,
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
from amqpscope.tui.widgets.heldlist import HeldList
from amqpscope.tui.widgets.plot import rates, short, slots
from amqpscope.tui.widgets.text_view import TextLine, TextView, line, paragraph
from amqpscope.tui.widgets.virtual_list import VirtualList


class StuckView(MeasuredView):
    """List, and the course of what is at the cursor."""

    DEFAULT_CSS = """
    StuckView > #list { height: 1fr; }
    StuckView > #text { height: 2fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*PANES]

    def compose(self) -> ComposeResult:
        """The two panes."""
        yield HeldList(id="list")
        yield TextView(id="text")

    @property
    def links(self) -> HeldList:
        """The list."""
        return self.query_one("#list", HeldList)

    def take(self, report: Measurements) -> None:
        """Show what is held, in as many lines as that needs."""
        self.links.styles.max_height = max(len(report.held), 2) + 1
        self.links.show(report.held, self.now)

    # -- the text -----------------------------------------------------------------------------

    def show_text(self) -> None:
        """What is at the cursor, in words and plots."""
        held = self.links.at
        if held is None:
            notes = self.store.status.get("notes", []) if not self.store.count else []
            width = self.text.measure
            self.text.show([each for note in notes for each in paragraph(note, width, "warning")],
                           None)  # fmt: skip
            return
        width = self.text.measure
        lines = [*self.words(held, width)]
        end = held.bound.time if held.bound.rank == OVER else self.now
        series = self.store.numbers.plots
        link = series.newest(held.what, held.connection, held.name, held.sender)
        if link is not None:
            lines += [*self.droughts(link, held, end, width)]
            room = self.text.size.height - len(lines)
            lines += [*plots(link, end, width, room, over=held.bound.ending is not None)]
        self.text.show(lines, held.key)

    def words(self, held: Held, width: int) -> Iterator[TextLine]:
        """Why it is as it is, with the frames that show it."""
        yield line(cut(title(held), width), "title")
        findings = self.store.findings.explaining(held.connection)
        for each in explain(held, self.now, self.store.start, findings):
            yield from paragraph(each.text, width, each.tone)
            number = each.frame or (self.store.at_time(each.time) if each.time else 0)
            if 0 < number <= self.store.count:
                yield self.frame_line(number, width)

    def frame_line(self, number: int, width: int) -> TextLine:
        """A frame to go to."""
        row = self.store.row(number)
        time = (row.time - self.store.start) / 1e9
        head = f"⏎{number:>7} "
        text = f"{time:.3f} s  {ARROWS[row.sender]} {row.name} {row.text}"
        return TextLine(((head, "level"), (cut(text, width - len(head)), "")), number)

    def droughts(self, link: LinkSeries, held: Held, now: int, width: int) -> Iterator[TextLine]:
        """When it was held the longest, unless that is what the words say."""
        for what, found in droughts(link, held, now):
            begin = (found.start - self.store.start) / 1e9
            text = f"longest without {what}: {seconds(found.duration)}, from {begin:.3f} s"
            number = found.frame or self.store.at_time(found.start)
            yield TextLine(
                (("⏎", "level"), (cut(f" {text}, frame {number}", width - 1), "")), number
            )

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter goes to the frame since which it is so, or in which it was refused."""
        held = self.links.at
        if event.rows is not self.links or held is None:
            return
        bound = held.bound if held.bound.ending is not None else held.worst
        number = bound.frame or (self.store.at_time(bound.time) if bound.time else 0)
        if held.refused is not None and held.was_refused:
            number = held.refused.frame
        if number:
            self.scope.visit(number)

    def copied(self) -> str:
        """What holds it, in one line."""
        held = self.links.at
        if held is None:
            return ""
        bound, refused = held.bound, held.refused
        refusal = "" if refused is None else f" {refused.refusal.full}, frame {refused.frame};"
        stands = f"{bound_words(bound)}, since frame {bound.frame}{waiting(bound)}"
        if bound.ending is not None:
            stands = full_words(bound.ending, self.store.start, own=held.what)
        name, address = printable(held.name), printable(held.address)
        return (f"{held.what} {name} ({address}), connection {held.connection}:{refusal}"
                f" {stands}")  # fmt: skip


def is_flat(course: Series) -> bool:
    """Whether one line says as much as a plot: it never changes, or is no limit."""
    return course.low == course.high or course.low > ENDLESS


def plots(link: LinkSeries, now: int, width: int, room: int, *, over: bool) -> Iterator[TextLine]:
    """Credit, window, unsettled deliveries and rate, over the same time, as high as fits."""
    names = link.names
    rows = ((names.credit, link.credit), ("window", link.window), (names.waiting, link.unsettled))
    known = [(name, course) for name, course in rows if course is not None and course.count]
    begun = [course.start for course in (*(each for _, each in known), link.deliveries)
             if course.start]  # fmt: skip
    if not begun:
        return
    time = axis(min(begun), now, width)
    yield line("")
    flat = sum(is_flat(course) for _, course in known)
    height = plot_height(room - 2 - flat, len(known) - flat + 1)
    for name, course in known:
        if course.low > ENDLESS:
            yield line(f"{name:{LEGEND}}never below {short(course.low)}: no limit", "dim")
            continue
        if is_flat(course):
            yield line(f"{name:{LEGEND}}{short(course.low)} all the time", "dim")
            continue
        values = [point.last for point in course.points() if point.last is not None]
        last = f"{values[-1]:,}" if values else "?"
        when = "last" if over or course.last is None else "now"
        limit = f" of {link.limit:,}" if course is link.unsettled and link.limit else ""
        yield from plot(name, f" {when} {last}{limit}", slots(course.points(), time),
                        height=height)  # fmt: skip
    if not link.deliveries.count:
        yield line(f"{'rate':{LEGEND}}nothing was sent", "dim")
        return
    found = rate_slots(rates(link.deliveries.points(), time))
    yield from plot("rate", f" {link.deliveries.count:,} sent", found, "/s", height)
    first = {"link": "attach", "consumer": "consume", "channel": "first publish"}[link.kind]
    yield ends(first, f"{span_words(time)} later", time)
