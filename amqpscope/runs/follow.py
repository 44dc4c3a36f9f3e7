"""A recording followed while it is written: its Steps and findings, batch by batch.

What `read --follow` does, for those who want more than lines: the live output of `proxy`, the
context manager, the screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from amqpscope.analysis import Analyzer, Step
from amqpscope.capture.pieces import Pieces
from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.runs.lint import excerpt
from amqpscope.stream.types import SERVER


class Batch(NamedTuple):
    """What came next; both empty when nothing new is there yet."""

    steps: list[Step]
    late: list[Finding]
    """Findings about units of earlier batches, or of this one: an answer that did not come."""


class Follower:
    """One recording on its way."""

    def __init__(self, path: str, choice: Selection, fd: int = -1) -> None:
        self.path = path
        self.choice = choice
        self.analyzer = Analyzer(rules=choice.rules())
        self.pieces = Pieces(path, follow=True, fd=fd)
        self._batches = self._read()

    def __iter__(self) -> Iterator[Batch]:
        return self._batches

    def finish(self) -> None:
        """Nothing is written any more: end where the recording ends."""
        self.pieces.capture.finish()

    def catch_up(self, octets: int) -> list[Batch]:
        """What the first octets of the recording hold beyond what was given already."""
        found = []
        for batch in self._batches:
            found.append(batch)
            if self.pieces.capture.position >= octets and not batch.steps and not batch.late:
                break
        return found

    def close(self) -> None:
        """Stop reading."""
        self.pieces.close()

    def _read(self) -> Iterator[Batch]:
        analyzer, wanted = self.analyzer, self.wanted
        for pieces in self.pieces:
            steps: list[Step] = []
            for piece in pieces:
                steps.extend(analyzer.feed(piece))
            for step in steps:
                if step.findings:
                    step.findings = wanted(step.findings)
            late, analyzer.late = analyzer.late, []
            yield Batch(steps, wanted(late))

    def wanted(self, findings: list[Finding]) -> list[Finding]:
        """Those that the user wants to see, with the severity that they have for them."""
        return self.choice.adjust_all(findings, self.path)


class LiveResult:
    """The findings of a recording, as `lint` would report them."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.checked = CaptureResult(follower.path)
        self.answered = False
        """The server has sent a frame."""

    def take(self, batch: Batch) -> None:
        """Keep what is worth keeping."""
        checked = self.checked
        if not self.answered:
            self.answered = any(step.frame.sender == SERVER for step in batch.steps)
        for step in batch.steps:
            if step.findings:
                checked.findings.extend(step.findings)
                checked.excerpts[step.frame.number] = excerpt(step)
        checked.findings.extend(batch.late)

    def result(self) -> CaptureResult:
        """All that is known so far."""
        checked, analyzer, pieces = self.checked, self.follower.analyzer, self.follower.pieces
        checked.findings.sort(key=lambda finding: (finding.frame, finding.rule))
        checked.connections, checked.frames = analyzer.conversations, analyzer.frames
        checked.protocols, checked.gaps = analyzer.protocols, analyzer.gaps
        checked.packets = pieces.capture.packets
        checked.notes = list(pieces.notes)
        checked.error = pieces.capture.problem
        return checked
