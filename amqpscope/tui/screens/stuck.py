"""Why is it stuck: what holds each link, since when, who is waited for, and how it came to that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType

from amqpscope.insight.endings import explained
from amqpscope.insight.series import ENDLESS, LinkSeries, Series
from amqpscope.model.constraint import OVER, RESTS, STUCK, WAITS
from amqpscope.model.ending import Ending
from amqpscope.protocols.stuck import MEANINGS, Bound, Held, Refused
from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import cut
from amqpscope.report.endings import explained_words, full_words
from amqpscope.report.text import ARROWS
from amqpscope.stream.types import PEERS
from amqpscope.tui.screens.measured import (
    LEGEND,
    MeasuredView,
    axis,
    ends,
    lasted,
    plot,
    rated,
    short,
)
from amqpscope.tui.screens.panes import PANES
from amqpscope.tui.stats_worker import Report
from amqpscope.tui.widgets.heldlist import HeldList
from amqpscope.tui.widgets.plot import rates, slots
from amqpscope.tui.widgets.text_view import Line, Prose, line, paragraph
from amqpscope.tui.widgets.virtual_list import Rows


class Drought(NamedTuple):
    """The longest time during which a number was 0."""

    start: int
    duration: int


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
        yield Prose(id="text")

    @property
    def links(self) -> HeldList:
        """The list."""
        return self.query_one("#list", HeldList)

    def take(self, report: Report) -> None:
        """Show what is held, in as many lines as that needs."""
        self.links.styles.max_height = max(len(report.held), 2) + 1
        self.links.show(report.held, self.now)

    # -- the text -----------------------------------------------------------------------------

    def tell(self) -> None:
        """What is at the cursor, in words and plots."""
        held = self.links.at
        if held is None:
            self.text.show([], None)
            return
        width = self.text.measure
        lines = [*self.words(held, width)]
        end = held.bound.time if held.bound.rank == OVER else self.now
        series = self.store.numbers.plots
        link = series.newest(held.what, held.connection, held.name, held.sender)
        if link is not None:
            lines += [*self.droughts(link, held, end, width)]
            lines += [*plots(link, end, width, over=held.bound.ending is not None)]
        self.text.show(lines, held.key)

    def words(self, held: Held, width: int) -> Iterator[Line]:
        """What holds it."""
        name = printable(held.name) or "(no name)"
        where = f", {printable(held.address)}" if held.address else ""
        named = held.what in ("channel", "connection")
        title = f"{name if named else f'{held.what} {name}'}{where}"
        talk = "" if held.what == "connection" else f", connection {held.connection}"
        yield line(cut(f"{title}{talk}", width), "title")
        bound, refused = held.bound, held.refused
        if refused is not None:
            yield from self.refusal(refused, width)
        if bound.ending is not None:
            yield from self.over(held, bound.ending, width)
            return
        lasts = f" for {seconds(max(self.now - bound.time, 0))}" if bound.time else ""
        yield from self.since(f"{said(bound)}{lasts}{waiting(bound)}", bound, width)
        meaning = MEANINGS.get(bound.kind)
        if meaning is not None and meaning.text:
            yield from paragraph(meaning.text, width)

    def over(self, held: Held, ending: Ending, width: int) -> Iterator[Line]:
        """How it ended, what explains that, and what held it until then."""
        if held.refused is None or held.refused.frame != ending.frame:
            words = full_words(ending, self.store.start, own=held.what)
            style = "strong" if ending.orderly else "warning"
            yield from paragraph(words[0].upper() + words[1:], width, style)
            if ending.after:
                yield line(f"The last frame that the {PEERS[ending.peer]} had received:", "dim")
            if ending.mark.frame:
                yield self.frame_line(ending.mark.frame, width)
        found = explained(ending, self.store.findings.explaining(held.connection))
        if found is not None:
            words = explained_words(found)
            yield from paragraph(words[0].upper() + words[1:], width, "warning")
            yield self.frame_line(found.finding.frame, width)
        if held.before is not None and held.before.rank != RESTS:
            time = seconds(max(held.bound.time - held.before.time, 0))
            yield from self.since(f"Until then: {said(held.before)} for {time}", held.before, width)

    def refusal(self, refused: Refused, width: int) -> Iterator[Line]:
        """What was refused, where, and what that means."""
        who, told = PEERS[refused.peer], refused.refusal.full
        if refused.messages:
            count = f"{refused.times:,} message{'' if refused.times == 1 else 's'}"
            last = "" if refused.times == 1 else "; the last time"
            told = f"{count} {refused.refusal.what} by the {who}{last}"
            words = " ".join(filter(None, (refused.refusal.reason, refused.refusal.text)))
            told += f": {words}" if words else ""
        else:
            what, colon, words = told.partition(":")
            told = f"{what} by the {who}{colon}{words}"
        yield from paragraph(told[0].upper() + told[1:], width, "warning")
        yield self.frame_line(refused.frame, width)
        if refused.refusal.meaning:
            yield from paragraph(refused.refusal.meaning, width)
        if refused.thief:
            yield line("This attach took it:", "dim")
            yield self.frame_line(refused.thief, width)

    def since(self, text: str, bound: Bound, width: int) -> Iterator[Line]:
        """What holds it, and the frame since which it does."""
        style = "warning" if bound.rank <= WAITS else "strong"
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

    def droughts(self, link: LinkSeries, held: Held, now: int, width: int) -> Iterator[Line]:
        """When it was held the longest, unless that is what the words tell."""
        for what, course in ((link.names.credit, link.credit), ("window", link.window)):
            found = None if course is None else drought(course, now)
            if found is None or found.duration <= 0:
                continue
            if found.start + found.duration >= now and held.worst.rank == STUCK:
                continue
            begin = (found.start - self.store.start) / 1e9
            text = f"longest without {what}: {seconds(found.duration)}, from {begin:.3f} s"
            number = self.store.at_time(found.start)
            yield Line((("⏎", "level"), (cut(f" {text}, frame {number}", width - 1), "")), number)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
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
        told = "" if refused is None else f" {refused.refusal.full}, frame {refused.frame};"
        stands = f"{said(bound)}, since frame {bound.frame}{waiting(bound)}"
        if bound.ending is not None:
            stands = full_words(bound.ending, self.store.start, own=held.what)
        name, address = printable(held.name), printable(held.address)
        return (f"{held.what} {name} ({address}), connection {held.connection}:{told}"
                f" {stands}")  # fmt: skip


def said(bound: Bound) -> str:
    """What binds, with its detail."""
    return f"{bound.kind} ({printable(bound.detail)})" if bound.detail else bound.kind


def waiting(bound: Bound) -> str:
    """Who is waited for, at the end of a sentence; empty: nobody."""
    return "" if bound.waits_for is None else f": waiting for the {PEERS[bound.waits_for]}"


def drought(course: Series, now: int) -> Drought | None:
    """The longest time during which a number was 0, after it was more."""
    best: Drought | None = None
    since = 0
    risen = False
    for point in course.points():
        # What is not known any more is no drought.
        if since and (point.high > 0 or not point.events):
            if best is None or point.time - since > best.duration:
                best = Drought(since, point.time - since)
            since = 0
        risen = risen or (point.events > 0 and point.high > 0)
        if risen and point.last is not None and point.last <= 0 and not since:
            since = point.at
    if since and (best is None or now - since > best.duration):
        best = Drought(since, now - since)
    return best


def plots(link: LinkSeries, now: int, width: int, *, over: bool) -> Iterator[Line]:
    """Credit, window, unsettled deliveries and rate, over the same time."""
    names = link.names
    rows = ((names.credit, link.credit), ("window", link.window), (names.waiting, link.unsettled))
    known = [(name, course) for name, course in rows if course is not None and course.count]
    begun = [course.start for course in (*(each for _, each in known), link.deliveries)
             if course.start]  # fmt: skip
    if not begun:
        return
    time = axis(min(begun), now, width)
    yield line("")
    for name, course in known:
        if course.low > ENDLESS:
            yield line(f"{name:{LEGEND}}never below {short(course.low)}: no limit", "dim")
            continue
        told = [point.last for point in course.points() if point.last is not None]
        last = f"{told[-1]:,}" if told else "?"
        when = "last" if over or course.last is None else "now"
        limit = f" of {link.limit:,}" if course is link.unsettled and link.limit else ""
        yield from plot(name, f" {when} {last}{limit}", slots(course.points(), time))
    found = rated(rates(link.deliveries.points(), time))
    yield from plot("rate", f" {link.deliveries.count:,} sent", found, "/s")
    first = {"link": "attach", "consumer": "consume", "channel": "first publish"}[link.kind]
    yield ends(first, f"{lasted(time)} later", time)
