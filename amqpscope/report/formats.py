"""The formats of frames and of findings, by the names that the command line takes.

A new one is a module of its own, and a row here. Beside these there is `html`, which is written as
a stream and reads captures more than once. Rows import what they need when they are asked for, so
that the command line knows the names at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from amqpscope.analysis import Step
    from amqpscope.check.result import CaptureResult
    from amqpscope.findings import Finding
    from amqpscope.report.look import Look

    Captures = Sequence[CaptureResult]
    Fails = Callable[[Finding], bool]


class FrameFormat(Protocol):
    """Writes the frames of one capture as lines."""

    first: tuple[str, ...]
    """What the output begins with, however many captures follow."""

    def heading(self) -> list[str]:
        """What is above the frames of a capture, if there are any."""

    def begin(self, time: int) -> None:
        """Learn when the first frame of the capture passed, before it is written."""

    def lines(self, steps: list[Step]) -> list[str]:
        """Frames one after the other."""

    def finding(self, finding: Finding, capture: str, *, late: bool) -> str:
        """A finding on a line of its own; a late one is not below its frame."""

    def fault(self, connection: int, name: str, action: str) -> str:
        """A fault behind the last frame of a connection, on a line of its own."""


class LineFormat(FrameFormat, Protocol):
    """Writes each frame as one line that does not depend on others."""

    def add_findings(self, line: str, findings: list[Finding]) -> str:
        """The line of a frame of which more turns out to be wrong."""


def text_frames(look: Look) -> FrameFormat:
    """A line a frame, for people."""
    from amqpscope.report.text import TextLines

    return TextLines(look)


def jsonl_frames(look: Look) -> LineFormat:
    """A JSON object a frame."""
    from amqpscope.report.jsonl import JsonLines

    return JsonLines(look)


def csv_frames(look: Look) -> LineFormat:
    """A row a frame."""
    from amqpscope.report.csv import CsvLines

    return CsvLines(look)


LINE_FORMATS: Final[dict[str, Callable[[Look], LineFormat]]] = {
    "jsonl": jsonl_frames,
    "csv": csv_frames,
}
FRAME_FORMATS: Final[dict[str, Callable[[Look], FrameFormat]]] = {
    "text": text_frames,
    **LINE_FORMATS,
}


def text_findings(captures: Captures, look: Look, fails: Fails) -> str:
    """Findings for people, with the frames that show them."""
    from amqpscope.report.lint_text import LintText

    writer = LintText(width=look.width, colour=look.colour, plain=look.plain)
    return "".join(f"{line}\n" for line in writer.lines(captures))


def json_findings(captures: Captures, look: Look, fails: Fails) -> str:
    """One JSON document."""
    from amqpscope.report.lint import json_text

    return json_text(captures)


def sarif_findings(captures: Captures, look: Look, fails: Fails) -> str:
    """SARIF, for code scanning services."""
    from amqpscope.report.sarif import sarif_text

    return sarif_text(captures)


def junit_findings(captures: Captures, look: Look, fails: Fails) -> str:
    """JUnit XML: findings that make the run fail are failures."""
    from amqpscope.report.junit import junit_text

    return junit_text(captures, fails)


def github_findings(captures: Captures, look: Look, fails: Fails) -> str:
    """GitHub workflow commands."""
    from amqpscope.report.github import github_text

    return github_text(captures)


FINDING_FORMATS: Final[dict[str, Callable[[Captures, Look, Fails], str]]] = {
    "text": text_findings,
    "json": json_findings,
    "sarif": sarif_findings,
    "junit": junit_findings,
    "github": github_findings,
}
"""By name: what writes captures with their findings; `fails` says which make the run fail."""
