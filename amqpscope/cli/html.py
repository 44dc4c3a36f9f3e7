"""The HTML report of `lint` and `read`: read what is needed once more, and write it as a stream."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

from amqpscope.capture.source import CaptureError
from amqpscope.cli.output import INTERRUPTED, UNREADABLE, complain, silence

if TYPE_CHECKING:
    from amqpscope.analysis import Step
    from amqpscope.capture.ring import Readable
    from amqpscope.check.result import CaptureResult
    from amqpscope.filter import Filter
    from amqpscope.runs.illustrate import Source
    from amqpscope.runs.read import Options

DRAWN: Final = 40
"""Connections that are drawn, in all captures together: those with findings first."""
LIMIT: Final = 1000
"""Findings of one rule, peer and connection that are kept; `lint` has an option for it."""
ROWS: Final = 400
"""Rows of a ladder after which only findings are drawn."""


@dataclass
class Report:
    """How captures are read for a report, and what of it is left to draw."""

    keylogs: tuple[bytes, ...] = ()
    decode_as: dict[int, str] = field(default_factory=dict)
    show_secrets: bool = False
    where: Filter | None = None
    frames: bool = False
    """All frames are listed."""
    places: dict[str, Readable] = field(default_factory=dict)
    """How a capture is read again, if it is not simply the file at its path."""
    left: int = DRAWN

    def write(self, out: TextIO, captures: list[CaptureResult]) -> None:
        """The whole page."""
        from amqpscope.report.html import page_foot, page_head

        if self.where is not None:
            for checked in captures:
                self.pick(checked, self.where)
        names = [os.path.basename(checked.path.rstrip("/")) for checked in captures]
        title = names[0] if len(names) == 1 else f"{len(names)} captures"
        out.writelines(page_head(captures, title, frames=self.frames))
        for place, checked in enumerate(captures, 1):
            try:
                out.writelines(self.capture(place, checked))
            except CaptureError as error:
                complain(str(error))
        out.writelines(page_foot(captures))

    def print(self, captures: list[CaptureResult]) -> None:
        """The page on standard output; who reads it may stop early, which changes no exit code."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        try:
            self.write(sys.stdout, captures)
            sys.stdout.flush()
        except BrokenPipeError:
            silence()

    def capture(self, place: int, checked: CaptureResult) -> Iterator[str]:
        """One capture."""
        from amqpscope.cli.progress import CaptureBar
        from amqpscope.report.html_capture import capture_foot, capture_parts, frame_parts
        from amqpscope.report.html_findings import detailed
        from amqpscope.report.illustration import Illustration
        from amqpscope.runs.illustrate import Illustrator

        shown = Illustration(list(checked.findings))
        source = self.source(checked)
        if checked.frames:
            drawn = self.drawn(checked)
            with CaptureBar(checked.path) as bar:
                illustrator = Illustrator(source, drawn, detailed(checked.findings), ROWS)
                shown = illustrator.run(bar.update)
        yield from capture_parts(place, checked, shown, frames=self.frames)
        if self.frames and checked.frames:
            yield from frame_parts(place, picked(source), show_secrets=self.show_secrets)
        yield capture_foot()

    def source(self, checked: CaptureResult) -> Source:
        """How a capture is read again."""
        from amqpscope.runs.illustrate import Source

        return Source(
            self.places.get(checked.path, checked.path), self.keylogs, self.decode_as,
            tuple(checked.findings), self.where, self.show_secrets,
        )  # fmt: skip

    def pick(self, checked: CaptureResult, where: Filter) -> None:
        """Leave only the findings on frames that match the filter."""
        from amqpscope.runs.illustrate import Finished, replay

        if not checked.findings:
            return
        frames = {
            passed.frame.number
            for passed in replay(self.source(checked))
            if not isinstance(passed, Finished) and passed.findings and where.matches(passed)
        }
        checked.findings = [finding for finding in checked.findings if finding.frame in frames]

    def drawn(self, checked: CaptureResult) -> frozenset[int]:
        """The connections of a capture that are drawn."""
        first = dict.fromkeys(finding.connection for finding in checked.findings)
        numbers = dict.fromkeys((*first, *range(1, checked.connections + 1)))
        chosen = frozenset(list(numbers)[: max(self.left, 0)])
        self.left -= len(chosen)
        return chosen


def picked(source: Source) -> Iterator[Step]:
    """The frames that are listed."""
    from amqpscope.runs.illustrate import Finished, replay

    for passed in replay(source):
        if not isinstance(passed, Finished) and (
            source.where is None or source.where.matches(passed)
        ):
            yield passed


def read_html(captures: Sequence[Readable], options: Options) -> int:
    """What `read --format html` writes; the exit code."""
    from amqpscope.check.selection import Selection
    from amqpscope.cli.state import Reader
    from amqpscope.runs.lint import CheckSettings, check

    reader = Reader({"decode_as": options.decode_as, "keylog": options.keylogs})
    keylogs = tuple(reader.keylogs)
    work = CheckSettings(Selection(), keylogs, options.decode_as, excerpts=False, limit=LIMIT)
    try:
        with kept(captures) as places:
            checked = [check(places.get(str(given), given), work) for given in captures]
            for each, given in zip(checked, captures, strict=True):
                each.path = str(given)
                reader.failed = reader.failed or each.unreadable
                for line in each.told():
                    complain(line)
            report = Report(
                keylogs, options.decode_as, options.show_secrets, options.where, True, places
            )
            report.print(checked)
    except CaptureError as error:
        complain(str(error))
        return UNREADABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    return UNREADABLE if reader.failed else 0


@contextmanager
def kept(captures: Sequence[Readable]) -> Iterator[dict[str, Readable]]:
    """How captures are read that are no files: rings, and what comes from pipes and is kept."""
    from amqpscope.runs.illustrate import rereadable

    with ExitStack() as stack:
        found = {str(given): stack.enter_context(rereadable(given)) for given in captures}
        yield {path: place for path, place in found.items() if path != place}
