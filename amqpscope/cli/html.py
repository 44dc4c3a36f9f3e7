"""The HTML report of `lint` and `read`: read what is needed once more, and write it as a stream."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from amqpscope.capture.source import CaptureError
from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.output import INTERRUPTED, UNREADABLE, complain, silence

if TYPE_CHECKING:
    from amqpscope.analysis import Step
    from amqpscope.capture.ring import Readable
    from amqpscope.check.result import CaptureResult
    from amqpscope.filter import Filter
    from amqpscope.runs.illustrate import CheckedCapture
    from amqpscope.runs.input import Input

DRAWN: Final = 40
"""Connections that are drawn, in all captures together: those with findings first."""
LIMIT: Final = 1000
"""Findings of one rule, peer and connection that are kept; `lint` has an option for it."""
ROWS: Final = 400
"""Rows of a ladder after which only findings are drawn."""


@dataclass
class Report:
    """How captures are shown in a report, and what of it is left to draw."""

    show_secrets: bool = False
    where: Filter | None = None
    frames: bool = False
    """All frames are listed."""
    left: int = DRAWN

    def write(self, out: TextIO, captures: Sequence[tuple[Input, CaptureResult]]) -> None:
        """The whole page, about captures that can be read again."""
        from amqpscope.report.html import page_foot, page_head

        if self.where is not None:
            for source, result in captures:
                self.pick(source, result)
        results = [result for _, result in captures]
        names = [os.path.basename(result.path.rstrip("/")) for result in results]
        title = names[0] if len(names) == 1 else f"{len(names)} captures"
        out.writelines(page_head(results, title, frames=self.frames))
        for place, (source, result) in enumerate(captures, 1):
            try:
                out.writelines(self.capture(place, source, result))
            except CaptureError as error:
                complain(str(error))
        out.writelines(page_foot(results))

    def print(self, captures: Sequence[tuple[Input, CaptureResult]]) -> None:
        """The page on standard output; who reads it may stop early, which changes no exit code."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        try:
            self.write(sys.stdout, captures)
            sys.stdout.flush()
        except BrokenPipeError:
            silence()

    def capture(self, place: int, source: Input, result: CaptureResult) -> Iterator[str]:
        """One capture."""
        from amqpscope.cli.progress import CaptureBar
        from amqpscope.report.html_capture import MOST, capture_foot, capture_parts, frame_parts
        from amqpscope.report.html_findings import detailed_frames
        from amqpscope.report.illustration import Illustration
        from amqpscope.runs.illustrate import Illustrator, evidence

        shown = Illustration(list(result.findings))
        subject = self.subject(source, result)
        if result.frames:
            drawn = self.drawn_connections(result)
            with CaptureBar(result.path) as bar:
                illustrator = Illustrator(subject, drawn, detailed_frames(result.findings), ROWS)
                shown = illustrator.run(bar.update)
        yield from capture_parts(place, result, shown, frames=self.frames)
        if self.frames and result.frames:
            yield from frame_parts(
                place,
                matching_steps(subject),
                evidence(result.findings),
                show_secrets=self.show_secrets,
            )
            if result.frames > MOST and self.where is None:
                complain(f"{result.path}: the page lists {MOST:,} of {result.frames:,} frames")
        yield capture_foot()

    def subject(self, source: Input, result: CaptureResult) -> CheckedCapture:
        """What is drawn of a capture."""
        from amqpscope.runs.illustrate import CheckedCapture

        return CheckedCapture(source, tuple(result.findings), self.where, self.show_secrets)

    def pick(self, source: Input, result: CaptureResult) -> None:
        """Leave only the findings on frames that match the filter."""
        if not result.findings:
            return
        subject = self.subject(source, result)
        frames = {step.frame.number for step in matching_steps(subject) if step.findings}
        result.findings = [finding for finding in result.findings if finding.frame in frames]

    def drawn_connections(self, result: CaptureResult) -> frozenset[int]:
        """The connections of a capture that are drawn."""
        first = dict.fromkeys(finding.connection for finding in result.findings)
        numbers = dict.fromkeys((*first, *range(1, result.connections + 1)))
        chosen = frozenset(list(numbers)[: max(self.left, 0)])
        self.left -= len(chosen)
        return chosen


def matching_steps(subject: CheckedCapture) -> Iterator[Step]:
    """The frames that match the filter."""
    from amqpscope.analysis import Step
    from amqpscope.runs.illustrate import replay

    for passed in replay(subject):
        if isinstance(passed, Step) and (subject.where is None or subject.where.matches(passed)):
            yield passed


def read_html(captures: Sequence[Readable], options: ReaderOptions, where: Filter | None) -> int:
    """What `read --format html` writes; the exit code."""
    from amqpscope.runs.lint import CheckSettings, check

    inputs = Inputs(options)
    settings = CheckSettings(excerpts=False, limit=LIMIT)
    try:
        with repeatable_inputs(inputs.inputs(captures)) as sources:
            results = [check(source, settings) for source in sources]
            for result in results:
                inputs.report(result)
            pairs = list(zip(sources, results, strict=True))
            Report(options.show_secrets, where, frames=True).print(pairs)
    except CaptureError as error:
        complain(str(error))
        return UNREADABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    return inputs.code


@contextmanager
def repeatable_inputs(inputs: Iterable[Input]) -> Iterator[list[Input]]:
    """Inputs that can be read again, while the block lasts."""
    from amqpscope.runs.input import repeatable

    with ExitStack() as stack:
        yield [stack.enter_context(repeatable(each)) for each in inputs]
