"""Why is it stuck: what holds each link, since when, who has to move, and how it came to that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from amqpscope.report.columns import cut
from amqpscope.report.stats import seconds
from amqpscope.report.text import ARROWS
from amqpscope.report.words import printable
from amqpscope.stream import PEERS
from amqpscope.tui.holding import MEANINGS, OVER, RESTS, Bound, Held
from amqpscope.tui.numbers import Course, Courses, LinkKey, Report
from amqpscope.tui.screens.panes import PANES, PanesView
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.heldlist import HeldList
from amqpscope.tui.widgets.plot import Slot, Value, drawn, rates, slots
from amqpscope.tui.widgets.prose import Line, Prose, line, paragraph
from amqpscope.tui.widgets.rows import Rows

TICK: Final = 0.25
"""Seconds between two looks whether the numbers have grown."""
LEGEND: Final = 21
"""Columns before a plot."""
HEIGHT: Final = 2


class Drought(NamedTuple):
    """The longest time during which a number was 0."""

    start: int
    duration: int


class StuckView(PanesView):
    """List, and the course of what is at the cursor."""

    DEFAULT_CSS = """
    StuckView > #list { height: 1fr; }
    StuckView > #text { height: 2fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *PANES,
        Binding("enter", "since", "Since then", show=True),
    ]

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.report: Report | None = None

    def compose(self) -> ComposeResult:
        """The two panes."""
        yield HeldList(id="list")
        yield Prose(id="text")

    def on_mount(self) -> None:
        """The numbers grow in a thread."""
        self.set_interval(TICK, self.look)

    @property
    def links(self) -> HeldList:
        """The list."""
        return self.query_one("#list", HeldList)

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
        self.links.progress = "" if report.frame >= self.store.count else f" (read {percent}%)"
        if report is self.report:
            return
        self.report = report
        self.links.styles.max_height = max(len(report.held), 2) + 1
        self.links.show(report.held, report.time)
        self.tell()

    # -- the text -----------------------------------------------------------------------------

    def tell(self) -> None:
        """What is at the cursor, in words and plots."""
        held, report = self.links.at, self.report
        if held is None or report is None:
            self.text.show([], None)
            return
        width = self.text.measure
        lines = [*self.words(held, report, width)]
        courses = report.courses.get(LinkKey(held.connection, held.name, held.sender))
        if courses is not None and held.what == "link":
            end = held.bound.time if held.bound.rank == OVER else report.time
            lines += [*self.droughts(courses, end, width)]
            lines += [*plots(courses, end, width)]
        self.text.show(lines, held.key)

    def words(self, held: Held, report: Report, width: int) -> Iterator[Line]:
        """What holds it."""
        name = printable(held.name) or "(no name)"
        where = f", {printable(held.address)}" if held.address else ""
        title = name if held.what == "channel" else f"{held.what} {name}"
        yield line(cut(f"{title}{where}, connection {held.connection}", width), "title")
        bound = held.bound
        if bound.rank == OVER:
            yield from self.since(f"It is over: {said(bound)}", bound, width)
            if held.before is None or held.before.rank == RESTS:
                return
            lasted = seconds(max(bound.time - held.before.time, 0))
            yield from self.since(f"Until then: {said(held.before)} for {lasted}", held.before,
                                  width)  # fmt: skip
            return
        lasts = f" for {seconds(max(report.time - bound.time, 0))}" if bound.time else ""
        yield from self.since(f"{said(bound)}{lasts}: the {PEERS[bound.peer]} has to move", bound,
                              width)  # fmt: skip
        meaning = MEANINGS.get(bound.kind)
        if meaning is not None and meaning.text:
            yield from paragraph(meaning.text, width)

    def since(self, text: str, bound: Bound, width: int) -> Iterator[Line]:
        """What holds it, and the frame since which it does."""
        style = "warning" if bound.rank <= 1 else "strong"
        yield from paragraph(text[0].upper() + text[1:], width, style)
        number = bound.frame or (self.store.at_time(bound.time) if bound.time else 0)
        if 0 < number <= self.store.count:
            yield self.frame_line(number, width)

    def frame_line(self, number: int, width: int) -> Line:
        """A frame to go to."""
        row = self.store.row(number)
        time = (row.time - self.store.start) / 1e9
        head = f"⏎{number:>7} "
        text = f"{time:.3f} s  {ARROWS[row.sender]} {row.name} {row.text}"
        return Line(((head, "level"), (cut(text, width - len(head)), "")), number)

    def droughts(self, courses: Courses, now: int, width: int) -> Iterator[Line]:
        """When it was held the longest, whether or not it is now."""
        for what, course in (("credit", courses.credit), ("window", courses.window)):
            found = drought(course, now)
            if found is None or found.duration <= 0:
                continue
            begin = (found.start - self.store.start) / 1e9
            text = f"longest without {what}: {seconds(found.duration)}, from {begin:.3f} s"
            number = self.store.at_time(found.start)
            yield Line((("⏎", "level"), (cut(f" {text}, frame {number}", width - 1), "")), number)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Enter goes to the frame since which it is so."""
        if event.rows is self.links:
            self.action_since()

    def action_since(self) -> None:
        """Go to the frame since which the link is held."""
        held = self.links.at
        if held is None:
            return
        bound = held.worst
        number = bound.frame or (self.store.at_time(bound.time) if bound.time else 0)
        if number:
            self.scope.visit(number)

    def copied(self) -> str:
        """What holds it, in one line."""
        held = self.links.at
        if held is None:
            return ""
        bound = held.bound
        return (f"{held.what} {held.name} ({held.address}), connection {held.connection}:"
                f" {said(bound)}, since frame {bound.frame},"
                f" the {PEERS[bound.peer]} has to move")  # fmt: skip


def said(bound: Bound) -> str:
    """What binds, with its detail."""
    return f"{bound.kind} ({printable(bound.detail)})" if bound.detail else bound.kind


def drought(course: Course, now: int) -> Drought | None:
    """The longest time during which a number was 0, after it was more."""
    best: Drought | None = None
    since = 0
    risen = False
    for point in course:
        if since and point.high > 0:
            if best is None or point.time - since > best.duration:
                best = Drought(since, point.time - since)
            since = 0
        risen = risen or point.high > 0
        if risen and point.last <= 0 and not since:
            since = point.time
    if since and (best is None or now - since > best.duration):
        best = Drought(since, now - since)
    return best


def values(course: Course) -> Iterable[Value]:
    """A course as a plot takes it."""
    return (Value(point.time, point.low, point.high, point.last) for point in course)


def plots(courses: Courses, now: int, width: int) -> Iterator[Line]:
    """Credit, window, unsettled deliveries and rate, over the same time."""
    start = courses.deliveries.start
    count = max(width - LEGEND, 10) * 2
    yield line("")
    for name, course in (("credit", courses.credit), ("window", courses.window),
                         ("unsettled", courses.unsettled)):  # fmt: skip
        last = next((str(point.last) for point in reversed([*course])), "?")
        found = slots(values(course), start, now, count)
        yield from plot(name, last, found)
    found = rates(values(courses.deliveries), start, now, count)
    total = next((point.last for point in reversed([*courses.deliveries])), 0)
    yield from plot("rate", f"{total:,} sent", found, "/s")
    span = seconds(max(now - start, 0))
    yield line(f"{'':{LEGEND}}{'attach':<{max(count // 2 - len(span) - 6, 0)}}{span} later", "dim")


def plot(name: str, last: str, found: list[Slot | None], unit: str = "") -> Iterator[Line]:
    """One plot with its legend at the left."""
    top = max((slot.high for slot in found if slot is not None), default=0)
    pictures = drawn(found, top, HEIGHT)
    highest = f"{short(top)}{unit}"
    legends = (f"{name:10}{highest:>9} ", f" now {last}" if not unit else f" {last}")
    for legend, picture in zip(legends, pictures, strict=True):
        yield Line(((f"{cut(legend, LEGEND - 1):{LEGEND}}", "dim"), (picture, "plot")))


def short(number: float) -> str:
    """A number in few columns."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scale = limit if unit != "k" else 1e3
            return f"{number / scale:.3g}{unit}"
    return f"{number:.3g}" if number < 100 and number != int(number) else f"{number:.0f}"
