"""Frames of captures as lines: what `read` and `demo` print, and `proxy` while traffic passes.

Reads, analyses, filters and writes as a stream: memory does not grow with the capture, but for a
bit for each frame where a filter has to know later which frames it let pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from amqpscope.filter.late import LateFilter
from amqpscope.report.formats import FRAME_FORMATS
from amqpscope.report.jsonl import JsonLines
from amqpscope.report.look import Look

if TYPE_CHECKING:
    from amqpscope.analysis import Batch, Step
    from amqpscope.filter import Filter
    from amqpscope.findings import Finding


class FramePrinter:
    """Writes the frames of one capture, and the findings that come too late to be with them."""

    def __init__(
        self,
        capture: str,
        form: str,
        look: Look,
        out: TextIO,
        where: Filter | None = None,
        *,
        every_finding: bool = False,
    ) -> None:
        self.capture = capture
        self.out = out
        self.where = None if where is None else LateFilter(where)
        self.every_finding = every_finding
        """Whether findings are on lines of their own below their frames, too."""
        self.format = FRAME_FORMATS[form](look)
        self.heading = self.format.heading()
        self.kept: list[str] = []
        """What is to be written next."""
        self.begun = False
        plain = where is None and not every_finding
        self.sink = self.format if plain and isinstance(self.format, JsonLines) else None
        """The format that is compiled takes frames as they come, where it shows all of them."""

    def print(self, batch: Batch) -> None:
        """Take what comes next; it is written when there is nothing more to take for a while."""
        steps, late, where = batch.steps, batch.findings, self.where
        if steps and not self.begun:
            self.begun = True
            self.format.begin(steps[0].frame.time)
        if where is not None:
            steps = [step for step in steps if where.matches(step)]
            late = [finding for finding in late if where.matches_finding(finding)]
        if self.sink is not None:
            lines = self.sink.drain()
        else:
            lines = self.with_findings(steps) if self.every_finding else self.format.lines(steps)
        self.keep(lines + self.findings(late, late=True) if late else lines)
        if batch.end is not None and batch.end.faults and where is None:
            number = batch.end.conversation.number
            self.keep([self.format.fault(number, *acted) for acted in batch.end.faults])
        if batch.pause and self.kept:
            write_lines(self.out, self.kept)
            self.kept = []

    def keep(self, lines: list[str]) -> None:
        """Keep lines for the next write, the first ones below the heading."""
        if lines:
            self.kept += self.heading
            self.kept += lines
            self.heading = []

    def with_findings(self, steps: list[Step]) -> list[str]:
        """Frames, each with what is wrong with it."""
        lines: list[str] = []
        for step in steps:
            lines.extend(self.format.lines([step]))
            lines.extend(self.findings(step.findings, late=False))
        return lines

    def findings(self, findings: Iterable[Finding], *, late: bool) -> list[str]:
        """Findings on lines of their own."""
        return [self.format.finding(each, self.capture, late=late) for each in findings]


def write_lines(out: TextIO, lines: Iterable[str]) -> None:
    """Write lines at once: a reader may be waiting."""
    out.write("\n".join(lines) + "\n")
    out.flush()
