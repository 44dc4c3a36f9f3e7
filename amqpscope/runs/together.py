"""Captures that are read together: several places of one clock, at which one broker was seen.

Each keeps its own numbers of frames and connections; messages are followed from one to another.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from amqpscope.analysis import Batch, Step
from amqpscope.capture.source import CaptureError
from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.insight.journeys import Journeys
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check_number, excerpt, keep, look_up
from amqpscope.runs.run import Run

NEVER: Final = 1 << 63
"""After all times that captures have."""
Report = Callable[[int, CaptureResult], None]
"""Called with the place of a capture, and how reading it went."""


def read_together(
    inputs: Sequence[Input], selection: Selection | None, report: Report
) -> Iterator[tuple[int, Batch]]:
    """The batches of several captures in the order of time, each with the place of its capture."""
    streams = [
        timed_batches(place, source, selection, report) for place, source in enumerate(inputs)
    ]
    for _, place, batch in heapq.merge(*streams, key=itemgetter(0)):
        yield place, batch


def timed_batches(
    place: int, source: Input, selection: Selection | None, report: Report
) -> Iterator[tuple[int, int, Batch]]:
    """The batches of one capture, with a time that never goes back.

    A connection that only the end of its capture ends may go on while others are captured, so that
    it comes after all of them.
    """
    latest = 0
    try:
        with Run(source, selection, follow_messages=False) as run:
            for batch in run:
                if batch.steps:
                    latest = max(latest, batch.steps[0].frame.time)
                if batch.end is not None and batch.end.reason == "capture":
                    latest = NEVER
                yield latest, place, batch
            report(place, run.result())
    except CaptureError as error:
        report(place, CaptureResult(source.name, error=error.message, unreadable=True))


def follow_together(
    inputs: Sequence[Input],
    selection: Selection | None,
    journeys: Journeys,
    report: Report,
    watch: Callable[[Step, int], None] | None = None,
) -> list[tuple[int, Finding]]:
    """Follow the messages of several captures; what is wrong with them, by capture.

    `watch` sees each frame before the journeys do, with the place of its capture.
    """
    found: list[tuple[int, Finding]] = []
    for place, batch in read_together(inputs, selection, report):
        for step in batch.steps:
            if watch is not None:
                watch(step, place)
            found += [(place, finding) for finding in journeys.take(step, place)]
        if batch.end is not None:
            journeys.end(batch.end.conversation)
    return found + journeys.remaining_findings()


def check_together(inputs: Sequence[Input], settings: CheckSettings) -> list[CaptureResult]:
    """Check captures in the order of time, and follow messages from one to another."""
    results = [
        CaptureResult(source.name, place=place, only=source.connection)
        for place, source in enumerate(inputs)
    ]
    journeys = Journeys(
        settings.selection.rules(), closed_world=settings.closed_world, sparing=True
    )

    def fill(place: int, read: CaptureResult) -> None:
        read.place, read.only = place, results[place].only
        read.findings = results[place].findings
        read.counts, read.more = results[place].counts, results[place].more
        read.excerpts = results[place].excerpts
        results[place] = read

    for place, batch in read_together(inputs, settings.selection, fill):
        result = results[place]
        for step in batch.steps:
            followed = settings.selection.adjust_all(journeys.take(step, place), result.path)
            if keep(result, [*step.findings, *followed], settings) and settings.excerpts:
                result.excerpts[step.frame.number] = excerpt(step)
        keep(result, batch.findings, settings)
        if batch.end is not None:
            journeys.end(batch.end.conversation)
    for place, finding in journeys.remaining_findings():
        adjusted = settings.selection.adjust_all([finding], results[place].path)
        keep(results[place], adjusted, settings)
    for source, result in zip(inputs, results, strict=True):
        result.sort()
        if not result.unreadable:
            check_number(result)
            look_up(source, result, settings)
    return results
