"""The findings by rule and peer, each with the frames that prove it and what the rule is about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Lock
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType

from amqpscope.findings import Finding
from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import cut
from amqpscope.report.text import ARROWS
from amqpscope.tui.screens.panes import PANES, PanesView
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.findinglist import FindingList
from amqpscope.tui.widgets.framelist import SIGNS
from amqpscope.tui.widgets.text_view import TextLine, TextView, line, paragraph
from amqpscope.tui.widgets.virtual_list import VirtualList

READING: Final = Lock()
HEADS: Final = {"Bad": "bad", "Good": "good"}


class FindingsView(PanesView):
    """List and explanation."""

    BINDINGS: ClassVar[list[BindingType]] = [*PANES]

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.explained: dict[tuple[str, int], list[TextLine]] = {}
        """What is said of a rule in lines of a width."""
        self.asked: set[tuple[str, int]] = set()

    def compose(self) -> ComposeResult:
        """The two panes."""
        yield FindingList(self.store, id="list")
        yield TextView(id="text")

    @property
    def findings(self) -> FindingList:
        """The list."""
        return self.query_one("#list", FindingList)

    def updated(self) -> None:
        """More findings, perhaps."""
        taken = self.findings.taken
        if self.findings.take():
            if not taken:
                self.near(self.scope.frame)
            self.show_text()
        else:
            self.findings.refresh()

    def near(self, number: int) -> None:
        """Put the cursor on the finding of the selected frame, if it has one; else on the first."""
        first = self.findings.at(1)
        if first is not None and first[1] >= 0:
            self.findings.go(1)
            self.call_after_refresh(self.findings.go_up)
        found = self.store.findings_at(number)
        for index in range(min(self.findings.count, 1000) if found else 0):
            here = self.findings.at(index)
            if here is not None and here[1] >= 0:
                place = self.findings.of[here[0]][here[1]]
                if self.store.findings.frames[place] == number:
                    self.findings.go(index, center=True)
                    return

    def show_text(self) -> None:
        """What is at the cursor, and its rule."""
        here = self.findings.here
        if here is None:
            self.text.show([], None)
            return
        kind, _ = here
        finding = self.findings.finding
        width = self.text.measure
        lines = [] if finding is None else [*self.evidence(finding, width)]
        lines += self.rule(kind.rule, width)
        self.text.show(lines, here)

    def evidence(self, finding: Finding, width: int) -> Iterator[TextLine]:
        """One finding and the frames that it rests on."""
        doubt = "" if finding.certainty == "sure" else f", {finding.certainty}"
        head = f"{SIGNS[finding.severity]} {finding.severity}, the {finding.peer}{doubt}: "
        yield from paragraph(head + printable(finding.message), width, finding.severity)
        parts = [f"frame {finding.frame}", f"packet {finding.packet}",
                 f"connection {finding.connection}"]  # fmt: skip
        if finding.channel is not None:
            parts.append(f"channel {finding.channel}")
        if finding.link:
            parts.append(f'link "{printable(finding.link)}"')
        if finding.path:
            parts.append(printable(finding.path))
        yield from paragraph(", ".join(parts), width, "dim")
        reasons = dict(reversed(finding.related))
        for frame in sorted({finding.frame, *reasons}):
            if 0 < frame <= self.store.count:
                yield self.frame_line(frame, finding, width)
            if frame in reasons:
                yield from paragraph(f"^ {printable(reasons[frame])}", width, "dim", " " * 10)
        yield line("")

    def frame_line(self, frame: int, finding: Finding, width: int) -> TextLine:
        """A frame that proves something; Enter goes there."""
        row = self.store.row(frame)
        apart = row.time - finding.time
        when = "" if not apart else f"{'-' if apart < 0 else '+'}{seconds(abs(apart))}"
        channel = "" if row.channel is None else str(row.channel)
        text = f"{when:>8} {ARROWS[row.sender]} {channel:>2} {row.name} {row.text}"
        here = frame == finding.frame
        number = f"⏎{frame:>8} "
        shown = cut(text, width - len(number))
        return TextLine(((number, "level"), (shown, "strong" if here else "")), frame)

    def rule(self, rule: str, width: int) -> list[TextLine]:
        """What is written about a rule; it is read when it is first wanted."""
        wanted = (rule, width)
        found = self.explained.get(wanted)
        if found is not None:
            return found
        if wanted not in self.asked:
            self.asked.add(wanted)
            self.run_worker(partial(self.read, rule, width), thread=True, group="rules")
        return [line(f"{rule} ...", "dim")]

    def read(self, rule: str, width: int) -> None:
        """In a thread: all rules have to be loaded for the first."""
        from amqpscope.report.explain import explanation

        # Python 3.11 cannot make syntax trees, which documents are read by, in two threads.
        with READING:
            text = explanation(rule, width)
        lines = [*explanation_lines(text)]
        self.call_later(self.learn, (rule, width), lines)

    def learn(self, wanted: tuple[str, int], lines: list[TextLine]) -> None:
        """The explanation is there."""
        self.explained[wanted] = lines
        self.show_text()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter goes to the frame."""
        finding = self.findings.finding
        if event.rows is self.findings and finding is not None:
            self.scope.visit(finding.frame)

    def copied(self) -> str:
        """The finding in words."""
        finding = self.findings.finding
        if finding is None:
            here = self.findings.here
            return "" if here is None else f"{here[0].rule} {self.findings.names[here[0].rule]}"
        where = f"frame {finding.frame} ({finding.peer}) {finding.path}"
        return f"{finding.rule} {finding.severity} {where}: {finding.message}"


def explanation_lines(text: str) -> Iterator[TextLine]:
    """A rule's explanation, with what is a heading in it."""
    for place, each in enumerate(text.splitlines()):
        word = each.partition(" ")[0].rstrip(":")
        if not place:
            yield line(each, "title")
        elif word in HEADS:
            yield line(each, HEADS[word])
        elif "# <-" in each:
            yield line(each, "strong")
        else:
            yield line(each)
