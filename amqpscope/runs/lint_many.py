"""Many captures checked against the rules, one process per capture at a time.

The result of a capture does not depend on how many are checked side by side.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Final

from amqpscope.capture.ring import Readable, is_capture, walk
from amqpscope.capture.source import STDIN
from amqpscope.check.result import CaptureResult
from amqpscope.runs.collector import calm_collector
from amqpscope.runs.input import Input, as_input
from amqpscope.runs.lint import CheckSettings, check

DIED: Final = "the process that checked it died (out of memory?)"


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
