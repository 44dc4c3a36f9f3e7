"""A capture checked on all cores: what each process finds, put together."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from amqpscope.analysis import FaultySteps, Share
from amqpscope.capture.source import CaptureError
from amqpscope.check.result import CaptureResult
from amqpscope.insight.journeys.need import Need
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check, check_number, look_up, read_run
from amqpscope.runs.processes import Died, Outbox, cores
from amqpscope.runs.run import Run
from amqpscope.runs.shares import Shares, is_follower_wanted, is_worth_sharing, share_capture

PAUSE: Final = 0.2
"""Seconds between two reports of a process on how far it is."""

Show = Callable[[int, int, int], None]
"""Called with how many octets of how many were read, and the frames in them."""


class Progress(NamedTuple):
    """How far a process is."""

    position: int
    size: int
    frames: int
    needed: bool
    """It has found messages that have to be followed to other connections."""


def check_on_cores(
    source: Input, settings: CheckSettings, jobs: int | None = None, show: Show | None = None
) -> CaptureResult:
    """Check one capture in as many processes as help; what is found does not depend on that."""
    jobs = jobs or cores()
    if is_worth_sharing(source, jobs):
        try:
            return check_in_shares(source, settings, jobs, show)
        except (Died, CaptureError):
            pass  # One process alone says what is wrong.
    return check(source, settings, None if show is None else watch_with(show))


def watch_with(show: Show) -> Callable[[Run], None]:
    """What shows how far a run of this process is."""

    def watch(run: Run) -> None:
        capture = run.pieces.capture
        show(capture.position, capture.size, run.frames)

    return watch


def check_in_shares(
    source: Input, settings: CheckSettings, jobs: int, show: Show | None
) -> CaptureResult:
    """Check one capture in several processes."""

    def judge(outbox: Outbox, share: Share) -> None:
        faulty = FaultySteps()
        need = Need(faulty)
        report = Reports(outbox, need).watch
        run = Run(
            source, settings.selection, sink=need, watch=report, follow_messages=False, share=share
        )
        outbox.send(check_share(run, faulty, settings))

    def follow(outbox: Outbox, share: Share) -> None:
        faulty = FaultySteps()
        world = settings.closed_world
        run = Run(
            source, settings.selection, sink=faulty, closed_world=world, judged=share,
            watch=lambda _: outbox.look(),
        )  # fmt: skip
        outbox.send(check_share(run, faulty, settings))

    follower = follow if is_follower_wanted(settings.selection) else None
    with share_capture(source, jobs, judge, follower, closed_world=settings.closed_world) as shares:
        result = merge(collect(shares, show))
    check_number(result)
    return result


def check_share(run: Run, faulty: FaultySteps, settings: CheckSettings) -> CaptureResult:
    """What one process finds."""
    result = CaptureResult(run.input.name, only=run.input.connection)
    with run:
        read_run(run, faulty, result, settings)
    look_up(run.input, result, settings)
    return result


class Reports:
    """Sends now and then how far a process is, and at once that messages have to be followed."""

    def __init__(self, outbox: Outbox, need: Need) -> None:
        self.outbox = outbox
        self.need = need
        self.needed = False
        self.sent = time.monotonic()

    def watch(self, run: Run) -> None:
        """Send a report if it is time for one."""
        now = time.monotonic()
        if self.needed == self.need.found and now - self.sent < PAUSE:
            return
        self.needed, self.sent = self.need.found, now
        capture = run.pieces.capture
        self.outbox.send(Progress(capture.position, capture.size, run.frames, self.needed))


def collect(shares: Shares, show: Show | None) -> list[CaptureResult]:
    """Wait for all processes; what they have found, that of the one that follows messages last."""
    results: dict[int, CaptureResult] = {}
    with selectors.DefaultSelector() as selector:
        for worker in shares.all():
            selector.register(worker.file, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select():
                worker = key.data
                message = worker.receive()
                if isinstance(message, CaptureResult):
                    results[worker.pid] = message
                    selector.unregister(worker.file)
                    continue
                if show is not None:
                    show(message.position, message.size, message.frames)
                if message.needed and not shares.followed and shares.follower is not None:
                    shares.follow()
                    selector.register(shares.follower.file, selectors.EVENT_READ, shares.follower)
    return [results[worker.pid] for worker in shares.all()]


def merge(results: list[CaptureResult]) -> CaptureResult:
    """What several processes found in one capture, as one would have found it."""
    whole = results[-1]
    for each in results[:-1]:
        whole.findings += each.findings
        whole.counts.update(each.counts)
        whole.more.update(each.more)
        whole.excerpts.update(each.excerpts)
    whole.sort()
    return whole
