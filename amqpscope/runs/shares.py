"""One capture on all cores: each process follows a share of its connections.

Every process reads the whole capture, which takes an eighth of the time, and counts the frames of
the connections that it does not follow: so frames, connections and pieces have their final numbers
in all of them, and what they find is the same as in one process.

Rules about brokers need the messages of all connections in order. One more process follows these,
and judges few frames or none: the follower. It waits until another process finds that there is
something to follow. Where that shows at once, as in most captures with consumers, it takes the
place of one of the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from amqpscope.analysis import Share, Step, StepSink
from amqpscope.capture.ring import Ring
from amqpscope.capture.source import CaptureError
from amqpscope.check.selection import Selection
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.journeys.need import Need
from amqpscope.runs.input import Input
from amqpscope.runs.processes import Outbox, Worker, can_fork
from amqpscope.runs.run import Run

WORTH: Final = 4 << 20
"""Octets of a capture from which on it is shared: below, one process is as fast."""
PROBED: Final = 4
"""Blocks at the beginning of a capture that are looked at for something to follow."""
COUNTED: Final = 16
"""Blocks in which connections are counted: if there is one, others would have little to do."""

HELPED: Final = 8
HELP: Final = frozenset((1, 4, 6))
"""Of so many connections the follower takes these, where it has only one process beside it and
frames are written: that takes longer than to follow messages."""
NONE: Final = Share(frozenset())

Work = Callable[[Outbox, Share], None]
"""Reads a capture; is given the connections whose frames are to be judged."""


class NoSteps(StepSink):
    """Drops all Steps."""

    def take(self, steps: list[Step]) -> None:
        """Drop the Steps of the next piece."""


class Shares:
    """The processes that read a capture."""

    def __init__(self, workers: list[Worker], follower: Worker | None, *, followed: bool) -> None:
        self.workers = workers
        """Those that judge frames, each those of its connections."""
        self.follower = follower
        """The one that follows messages; None where nobody asks for that."""
        self.followed = followed
        """It has begun."""

    def follow(self) -> None:
        """Let messages be followed, now that there is something to follow."""
        if self.follower is not None and not self.followed:
            self.followed = True
            self.follower.start()

    def all(self) -> list[Worker]:
        """Those that work, the one that follows messages last."""
        if self.follower is None or not self.followed:
            return self.workers
        return [*self.workers, self.follower]


def is_worth_sharing(source: Input, jobs: int) -> bool:
    """Whether a capture is large enough, and can be read by several processes."""
    if jobs < 2 or source.follow or source.keylogs or not source.repeatable or not can_fork():
        return False
    place = source.source
    files = place.files if isinstance(place, Ring) else (place,)
    size = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    return size >= WORTH and has_several_connections(source)


@contextmanager
def share_capture(
    source: Input,
    jobs: int,
    judge: Work,
    follow: Work | None,
    *,
    closed_world: bool = False,
    helping: bool = False,
) -> Iterator[Shares]:
    """Start the processes that read a capture; they end with the context.

    `helping`: the follower can do what the others do.
    """
    followed = follow is not None and (closed_world or has_messages_to_follow(source))
    parts, help = split(jobs, followed=followed, helping=helping)
    workers: list[Worker] = []
    try:
        for part in parts:
            workers.append(Worker(partial(begin_now, judge, part)))
        follower = None
        if follow is not None:
            follower = Worker(partial(begin_later, follow, help))
            workers.append(follower)
        shares = Shares(workers[: len(parts)], follower, followed=False)
        if followed:
            shares.follow()
        yield shares
    finally:
        for worker in workers:
            worker.stop()


def split(jobs: int, *, followed: bool, helping: bool) -> tuple[list[Share], Share]:
    """The connections of each process, and those of the follower."""
    if followed and helping and jobs == 2:
        return [Share(frozenset(range(HELPED)) - HELP, HELPED)], Share(HELP, HELPED)
    count = jobs - 1 if followed else jobs
    return [Share(frozenset((place,)), count) for place in range(count)], NONE


def begin_now(work: Work, share: Share, outbox: Outbox) -> None:
    """Do the work on a share without waiting."""
    work(outbox, share)


def begin_later(work: Work, share: Share, outbox: Outbox) -> None:
    """Do some work when it is wanted."""
    outbox.wait()
    work(outbox, share)


def is_follower_wanted(selection: Selection) -> bool:
    """Whether a rule about brokers is to be reported."""
    return Journeys(selection.rules()).is_wanted


def has_several_connections(source: Input) -> bool:
    """Whether the beginning of a capture has more than one connection.

    One alone is followed by one process. If messages are to be followed as well, another process
    repeats nearly all of its work.
    """
    if source.connection:
        return False
    blocks = 0

    def count(run: Run) -> None:
        nonlocal blocks
        blocks += 1

    try:
        with Run(source, watch=count, share=NONE) as run:
            for _ in run:
                if run.analyzer.conversations > 1 or blocks >= COUNTED:
                    break
            return run.analyzer.conversations > 1
    except CaptureError:
        return False


def has_messages_to_follow(source: Input) -> bool:
    """Whether the beginning of a capture has something to follow."""
    need = Need(NoSteps())
    blocks = 0

    def count(run: Run) -> None:
        nonlocal blocks
        blocks += 1

    with Run(source, sink=need, watch=count) as run:
        for _ in run:
            if need.found or blocks >= PROBED:
                break
    return need.found
