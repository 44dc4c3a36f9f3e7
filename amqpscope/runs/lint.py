"""One capture checked against the rules: what `lint` does."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from amqpscope.analysis import FaultySteps, Share, Step
from amqpscope.capture.ring import Readable
from amqpscope.capture.source import CaptureError
from amqpscope.check.result import CaptureResult, Excerpt
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.runs.input import Input, as_input
from amqpscope.runs.run import Run
from dissectors.secrets import clean_name


@dataclass(frozen=True)
class CheckSettings:
    """What is wanted of a check."""

    selection: Selection = field(default_factory=Selection)
    excerpts: bool = True
    """Whether the frames behind the findings are wanted as text."""
    limit: int = 0
    """How many findings of one rule, peer and connection are kept, others being counted; 0: all."""
    closed_world: bool = False
    """Whether all connections to the brokers are in the captures."""


def check(
    given: Input | Readable, settings: CheckSettings, watch: Callable[[Run], None] | None = None
) -> CaptureResult:
    """Check one capture, whatever is in it."""
    source = as_input(given)
    result = CaptureResult(source.name, only=source.connection)
    try:
        faulty, world = FaultySteps(), settings.closed_world
        with Run(source, settings.selection, sink=faulty, watch=watch, closed_world=world) as run:
            read_run(run, faulty, result, settings)
        check_number(result)
        look_up(source, result, settings)
    except CaptureError as error:
        result.error, result.unreadable = error.message, True
    except Exception as error:
        place = f"after frame {result.frames}: {_in_one_line(error)}"
        result.error = f"this is a bug of amqpscope, {place}"
        result.unreadable, result.problems = True, []
    return result


def read_run(run: Run, faulty: FaultySteps, result: CaptureResult, settings: CheckSettings) -> None:
    """Let the rules see every frame."""
    adjusted = settings.selection.adjust_all
    try:
        for batch in run:
            for step in faulty.drain():
                found = adjusted(step.findings, result.path)
                if keep(result, found, settings) and settings.excerpts:
                    result.excerpts[step.frame.number] = excerpt(step)
            keep(result, batch.findings, settings)
    finally:
        run.fill(result)
        result.sort()


def check_number(result: CaptureResult) -> None:
    """Report it where the only connection that is wanted does not exist."""
    if result.only > result.connections and not result.unreadable:
        last = f"the last is {result.connections}"
        result.error, result.unreadable = f"there is no connection {result.only}, {last}", True


def keep(result: CaptureResult, found: list[Finding], settings: CheckSettings) -> bool:
    """Take findings; whether one of them was kept."""
    kept = [result.keep(finding, settings.limit) for finding in found]
    return any(kept)


def look_up(source: Input, result: CaptureResult, settings: CheckSettings) -> None:
    """Read the capture once more for frames that turned out to matter after they had passed."""
    mentioned = [result.frames_of(finding) for finding in result.findings]
    missing = set().union(*mentioned).difference(result.excerpts)
    if not missing or not settings.excerpts or not source.repeatable:
        return
    connections = frozenset[int]().union(*map(connections_of, result.findings))
    with Run(source, until=max(missing), share=Share(connections)) as run:
        for batch in run:
            for step in batch.steps:
                if step.frame.number in missing:
                    result.excerpts[step.frame.number] = excerpt(step)


def connections_of(finding: Finding) -> tuple[int, ...]:
    """The connections of the frames that a finding is about."""
    return finding.connection, *finding.related_connections


def excerpt(step: Step, show_secrets: bool = False) -> Excerpt:
    """A frame as a finding shows it."""
    frame, voice = step.frame, step.talk.voice
    unit = frame.unit
    channel = None if unit.header is not None else unit.channel
    link = clean_name(voice.link(step.event) or "")
    text = voice.summary(step.event, show_secrets)
    return Excerpt(frame.time, frame.sender, channel, link, unit.name, text)


def _in_one_line(error: Exception) -> str:
    """An exception in one line, with its place in our code."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}".replace("\n", " ")
