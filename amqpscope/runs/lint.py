"""Captures checked against the rules: what `lint` does, one process per capture at a time.

The result of a capture does not depend on how many are checked side by side.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Final

from amqpscope.analysis import Analyzer, Step
from amqpscope.capture.pieces import Pieces, can_be_read_again
from amqpscope.capture.ring import PACKED, SUFFIXES, Readable, Ring
from amqpscope.capture.source import STDIN, CaptureError
from amqpscope.check.result import CaptureResult, Excerpt
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from dissectors.secrets import clean_name

DIED: Final = "the process that checked it died (out of memory?)"

Watch = Callable[[Pieces, int], None]
"""Told after each batch: what is read, and how many frames were found."""


@dataclass(frozen=True)
class CheckSettings:
    """What a process needs to check captures."""

    selection: Selection
    keylogs: tuple[bytes, ...] = ()
    decode_as: dict[int, str] = field(default_factory=dict)
    excerpts: bool = True
    """Whether the frames behind the findings are wanted as text."""
    limit: int = 0
    """How many findings of one rule, peer and connection are kept, others being counted; 0: all."""


def captures_in(folder: str) -> list[str]:
    """The captures in a directory and below, by their names."""
    endings = tuple(suffix + packed for suffix in SUFFIXES for packed in PACKED)
    found = (path for path in Path(folder).rglob("*") if path.name.lower().endswith(endings))
    return sorted(str(path) for path in found if path.is_file())


def calm_collector() -> None:
    """Let Python look for cycles less often: frames leave none, and looking costs a tenth."""
    gc.set_threshold(100_000)


def check_all(
    paths: list[Readable], work: CheckSettings, jobs: int, done: Callable[[], None]
) -> list[CaptureResult]:
    """Check captures, `jobs` at a time; the results in the order of the paths."""
    if jobs <= 1 or len(paths) <= 1:
        return _one_by_one(paths, work, done)
    # Standard input cannot be handed to another process.
    own = iter(_one_by_one([path for path in paths if path == STDIN], work, done))
    others = iter(_side_by_side([path for path in paths if path != STDIN], work, jobs, done))
    return [next(own if path == STDIN else others) for path in paths]


def _one_by_one(
    paths: list[Readable], work: CheckSettings, done: Callable[[], None]
) -> list[CaptureResult]:
    results = []
    for path in paths:
        results.append(check(path, work))
        done()
    return results


def _side_by_side(
    paths: list[Readable], work: CheckSettings, jobs: int, done: Callable[[], None]
) -> list[CaptureResult]:
    results = []
    with _workers(min(jobs, len(paths))) as pool:
        for path, future in zip(paths, _submit(pool, paths, work, done), strict=True):
            try:
                results.append(future.result())
            except BrokenProcessPool:
                # One that dies takes the others' work down with it: find out which it was.
                results.append(_alone(path, work))
    return results


def _alone(path: Readable, work: CheckSettings) -> CaptureResult:
    """Check a capture in a process of its own, which may die."""
    with _workers(1) as pool:
        try:
            return _submit(pool, [path], work, lambda: None)[0].result()
        except BrokenProcessPool:
            return CaptureResult(str(path), error=DIED, unreadable=True)


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
    paths: Iterable[Readable],
    work: CheckSettings,
    done: Callable[[], None],
) -> list[Future[CaptureResult]]:
    """Hand out the work; the processes are started here and leave Ctrl-C to us."""
    # It would unblock what is blocked next, if it were started by the first of the processes.
    resource_tracker.ensure_running()
    # Blocked, and not ignored: the processes inherit either, but to us it comes afterwards.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        futures = [_handed_out(pool, path, work) for path in paths]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    for future in futures:
        future.add_done_callback(lambda _: done())
    return futures


def _handed_out(
    pool: ProcessPoolExecutor, path: Readable, work: CheckSettings
) -> Future[CaptureResult]:
    try:
        return pool.submit(check, path, work)
    except BrokenProcessPool as error:
        lost: Future[CaptureResult] = Future()
        lost.set_exception(error)
        return lost


def check(path: Readable, work: CheckSettings, watch: Watch | None = None) -> CaptureResult:
    """Check one capture, whatever is in it."""
    checked = CaptureResult(str(path))
    analyzer = Analyzer(work.decode_as, work.selection.rules())
    try:
        _read(path, checked, analyzer, work, watch)
        _look_up(path, checked, work)
    except CaptureError as error:
        checked.error = error.message
        checked.unreadable = True
    except Exception as error:
        checked.error = f"this is a bug of amqpscope, after frame {analyzer.frames}: {_told(error)}"
        checked.unreadable, checked.problems = True, []
    checked.connections, checked.frames = analyzer.conversations, analyzer.frames
    checked.protocols, checked.gaps = analyzer.protocols, analyzer.gaps
    return checked


def _read(
    path: Readable,
    checked: CaptureResult,
    analyzer: Analyzer,
    work: CheckSettings,
    watch: Watch | None,
) -> None:
    """Let the rules see every frame."""
    with Pieces(path, keylogs=work.keylogs, server_ports=work.decode_as) as pieces:
        try:
            for batch in pieces:
                for step in analyzer.faulty(batch):
                    if _keep(checked, step.findings, work) and work.excerpts:
                        checked.excerpts[step.frame.number] = excerpt(step)
                if analyzer.late:
                    _keep(checked, analyzer.late, work)
                    analyzer.late = []
                if watch is not None:
                    watch(pieces, analyzer.frames)
        finally:
            _keep(checked, analyzer.late, work)
            checked.findings.sort(key=lambda f: (f.frame, f.rule))
            checked.packets = pieces.capture.packets
        checked.error = pieces.capture.problem
        checked.problems = pieces.capture.problems if isinstance(path, Ring) else []
        checked.notes = list(pieces.notes)
        checked.unreadable = pieces.capture.unreadable


def _keep(checked: CaptureResult, found: list[Finding], work: CheckSettings) -> bool:
    """Take the findings that are wanted; whether one of them was kept."""
    wanted = work.selection.adjust_all(found, checked.path)
    kept = [checked.keep(finding, work.limit) for finding in wanted]
    return any(kept)


def _look_up(path: Readable, checked: CaptureResult, work: CheckSettings) -> None:
    """Read the capture once more for frames that turned out to matter after they had passed."""
    missing = _spoken_of(checked.findings).difference(checked.excerpts)
    if not missing or not work.excerpts or not can_be_read_again(path):
        return
    last = max(missing)
    analyzer = Analyzer(work.decode_as, until=last)
    with Pieces(path, keylogs=work.keylogs, server_ports=work.decode_as) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    if step.frame.number in missing:
                        checked.excerpts[step.frame.number] = excerpt(step)
            if analyzer.frames >= last:
                break


def _spoken_of(findings: list[Finding]) -> set[int]:
    frames = {finding.frame for finding in findings}
    frames.update(frame for finding in findings for frame, _ in finding.related)
    return frames


def excerpt(step: Step, show_secrets: bool = False) -> Excerpt:
    """A frame as a finding shows it."""
    frame, voice = step.frame, step.talk.voice
    unit = frame.unit
    channel = None if unit.header is not None else unit.channel
    link = clean_name(voice.link(step.event) or "")
    text = voice.summary(step.event, show_secrets)
    return Excerpt(frame.time, frame.sender, channel, link, unit.name, text)


def _told(error: Exception) -> str:
    """An exception in one line, with its place in our code."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}".replace("\n", " ")
