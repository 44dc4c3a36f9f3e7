"""Two captures compared: what `diff` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from amqpscope.capture.source import CaptureError
from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.insight.diff.compare import compare
from amqpscope.insight.diff.differences import Diff, Scope
from amqpscope.insight.diff.entries import ComparedConnection
from amqpscope.runs.input import Input, split_connection
from amqpscope.runs.run import Run


@dataclass(frozen=True)
class DiffSettings:
    """What is wanted of a comparison."""

    scope: Scope = field(default_factory=Scope)
    exact: bool = False
    """Compare what changes from run to run too."""
    selection: Selection = field(default_factory=Selection)
    show_secrets: bool = False


def read_recordings(
    given: Input,
    settings: DiffSettings,
    watch: Callable[[Run], None] | None = None,
) -> tuple[list[ComparedConnection], CaptureResult]:
    """The connections of a capture, and what is to be said of it."""
    found: dict[int, ComparedConnection] = {}
    with Run(given, settings.selection, watch=watch) as run:
        for batch in run:
            for step in batch.steps:
                number = step.conversation.number
                if number not in found:
                    found[number] = ComparedConnection(
                        step.conversation, show_secrets=settings.show_secrets
                    )
                found[number].take(step)
                found[number].findings.extend(step.findings)
            for finding in batch.findings:
                found[finding.connection].findings.append(finding)
        return list(found.values()), run.result()


def compare_recordings(
    a: tuple[list[ComparedConnection], CaptureResult],
    b: tuple[list[ComparedConnection], CaptureResult],
    settings: DiffSettings,
) -> Diff:
    """What two captures that were read do differently."""
    diff = Diff(a[1].path, b[1].path)
    return compare(a[0], b[0], diff, settings.scope, exact=settings.exact)


def choose(recordings: list[ComparedConnection], number: int) -> list[ComparedConnection]:
    """The connection of a number; all for 0."""
    return [each for each in recordings if number in (0, each.number)]


class CannotCompare(Exception):
    """One of two captures could not be read, or has no such connection."""


def compare_captures(a: str, b: str, settings: DiffSettings) -> Diff:
    """What two captures do differently, each by its path, or as `PATH#N`."""
    read = []
    for name in (a, b):
        path, number = split_connection(name)
        try:
            recordings, result = read_recordings(Input(path), settings)
        except CaptureError as error:
            raise CannotCompare(str(error)) from error
        chosen = choose(recordings, number)
        if not chosen:
            raise CannotCompare("; ".join(result.lines()) or f"{name}: there is no such connection")
        result.path = name
        read.append((chosen, result))
    return compare_recordings(read[0], read[1], settings)
