"""Captures checked against the rules: what `lint` does, one process per capture at a time.

The result of a capture does not depend on how many are checked side by side.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Final

from amqpscope.analysis import FaultySteps, Share, Step
from amqpscope.capture.ring import Readable, is_capture, walk
from amqpscope.capture.source import STDIN, CaptureError
from amqpscope.check.result import CaptureResult, Excerpt
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.runs.collector import calm_collector
from amqpscope.runs.input import Input, as_input
from amqpscope.runs.run import Run
from dissectors.secrets import clean_name

DIED: Final = "the process that checked it died (out of memory?)"


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


def captures_in(folder: str) -> list[str]:
    """The captures in a directory and below, by their names."""
    return sorted(
        os.path.normpath(entry.path)
        for entry in walk(folder)
        if isinstance(entry, os.DirEntry) and is_capture(entry.name) and entry.is_file()
    )


def check_all(
    inputs: Sequence[Input | Readable],
    settings: CheckSettings,
    jobs: int,
    done: Callable[[], None],
) -> list[CaptureResult]:
    """Check captures, `jobs` at a time; the results in the order of the inputs."""
    sources = list(map(as_input, inputs))
    if jobs <= 1 or len(sources) <= 1:
        return _one_by_one(sources, settings, done)
    # Standard input cannot be handed to another process.
    kept = [each for each in sources if each.source == STDIN]
    handed = [each for each in sources if each.source != STDIN]
    own = iter(_one_by_one(kept, settings, done))
    others = iter(_side_by_side(handed, settings, jobs, done))
    return [next(own if each.source == STDIN else others) for each in sources]


def _one_by_one(
    sources: list[Input], settings: CheckSettings, done: Callable[[], None]
) -> list[CaptureResult]:
    results = []
    for source in sources:
        results.append(check(source, settings))
        done()
    return results


def _side_by_side(
    sources: list[Input], settings: CheckSettings, jobs: int, done: Callable[[], None]
) -> list[CaptureResult]:
    results = []
    with _workers(min(jobs, len(sources))) as pool:
        futures = _submit(pool, sources, settings, done)
        for source, future in zip(sources, futures, strict=True):
            try:
                results.append(future.result())
            except BrokenProcessPool:
                # One that dies takes the others' work down with it: find out which it was.
                results.append(_alone(source, settings))
    return results


def _alone(source: Input, settings: CheckSettings) -> CaptureResult:
    """Check a capture in a process of its own, which may die."""
    with _workers(1) as pool:
        try:
            return _submit(pool, [source], settings, lambda: None)[0].result()
        except BrokenProcessPool:
            return CaptureResult(source.name, error=DIED, unreadable=True)


@contextmanager
def _workers(number: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end when we do, also when the user interrupts us."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(number, mp_context=context, initializer=calm_collector)
    try:
        yield pool
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(
    pool: ProcessPoolExecutor,
    sources: list[Input],
    settings: CheckSettings,
    done: Callable[[], None],
) -> list[Future[CaptureResult]]:
    """Hand out the work; the processes are started here and leave Ctrl-C to us."""
    # It would unblock what is blocked next, if it were started by the first of the processes.
    resource_tracker.ensure_running()
    # Blocked, and not ignored: the processes inherit either, but to us it comes afterwards.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        futures = [_hand_out(pool, source, settings) for source in sources]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    for future in futures:
        future.add_done_callback(lambda _: done())
    return futures


def _hand_out(
    pool: ProcessPoolExecutor, source: Input, settings: CheckSettings
) -> Future[CaptureResult]:
    try:
        return pool.submit(check, source, settings)
    except BrokenProcessPool as error:
        lost: Future[CaptureResult] = Future()
        lost.set_exception(error)
        return lost


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
