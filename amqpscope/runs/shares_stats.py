"""The numbers of a capture: gathered by one process, or on all cores and put together."""

from __future__ import annotations

import copyreg
from typing import NamedTuple

from amqpscope.analysis import Batch, Share, Step, StepSink
from amqpscope.capture.source import CaptureError
from amqpscope.check.result import CaptureResult
from amqpscope.insight.counters import ConnectionNumbers, Histogram
from amqpscope.insight.delays import Delays
from amqpscope.insight.journeys.need import Need
from amqpscope.insight.statistics import MAX_PLACES, Statistics
from amqpscope.model.mark import Mark
from amqpscope.runs.input import Input
from amqpscope.runs.processes import Died, Outbox, cores
from amqpscope.runs.run import Run
from amqpscope.runs.shares import is_worth_sharing, share_capture


def mark_parts(mark: Mark) -> tuple[type[Mark], tuple[int, int, int, int]]:
    """What a mark is made of again in another process; a compiled class does not say so itself."""
    return Mark, (mark.frame, mark.packet, mark.time, mark.end)


copyreg.pickle(Mark, mark_parts)


class Measured(NamedTuple):
    """What was counted in a capture."""

    connections: list[ConnectionNumbers]
    delays: dict[str, Histogram]
    """How long messages took through the broker, by address."""
    result: CaptureResult | None
    error: str = ""
    """Why it could not be read to its end, where there is no result."""


class Counted(NamedTuple):
    """What one process counted."""

    first: dict[int, int]
    """The first frame of each connection."""
    connections: list[ConnectionNumbers]
    named: int
    needed: bool
    """Messages have to be followed to other connections."""
    result: CaptureResult


class Counting(StepSink):
    """Counts what passes on connections."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.first: dict[int, int] = {}

    def take(self, steps: list[Step]) -> None:
        """Count the Steps of the next piece."""
        self.first.setdefault(steps[0].conversation.number, steps[0].frame.number)
        for step in steps:
            self.statistics.take(step)

    def end(self, batch: Batch) -> None:
        """Note that a direction of a connection is over."""
        if batch.end is not None:
            self.statistics.end(batch.end.conversation)


class Timing(StepSink):
    """Times messages through brokers."""

    def __init__(self) -> None:
        self.delays = Delays()

    def take(self, steps: list[Step]) -> None:
        """Follow the Steps of the next piece."""
        for step in steps:
            self.delays.take(step)

    def end(self, batch: Batch) -> None:
        """Note that a direction of a connection is over."""
        if batch.end is not None:
            self.delays.end(batch.end.conversation)


class CountingAndTiming(StepSink):
    """Counts frames and times messages."""

    def __init__(self) -> None:
        self.counting = Counting()
        self.timing = Timing()

    def take(self, steps: list[Step]) -> None:
        """Take the Steps of the next piece."""
        self.counting.take(steps)
        self.timing.take(steps)


def measure(source: Input, jobs: int | None = None) -> Measured:
    """Count what a capture holds, in as many processes as help."""
    jobs = jobs or cores()
    if is_worth_sharing(source, jobs):
        try:
            found = measure_in_shares(source, jobs)
        except (Died, CaptureError):
            found = None  # One process alone says what is wrong.
        if found is not None:
            return found
    both = CountingAndTiming()
    result, error = None, ""
    try:
        with Run(source, sink=both) as run:
            for batch in run:
                both.counting.end(batch)
                both.timing.end(batch)
            result = run.result()
    except CaptureError as reason:
        error = str(reason)
    numbers = both.counting.statistics.finish()
    return Measured(numbers, both.timing.delays.by_address, result, error)


def measure_in_shares(source: Input, jobs: int) -> Measured | None:
    """Count in several processes; None where more places have names than are told apart."""

    def count(outbox: Outbox, share: Share) -> None:
        counting = Counting()
        need = Need(counting)
        with Run(source, sink=need, watch=lambda _: outbox.look(), share=share) as run:
            for batch in run:
                counting.end(batch)
            statistics = counting.statistics
            found = statistics.finish()
            outbox.send(Counted(counting.first, found, statistics.named, need.found, run.result()))

    def follow(outbox: Outbox, share: Share) -> None:
        timing = Timing()
        with Run(source, sink=timing, watch=lambda _: outbox.look()) as run:
            for batch in run:
                timing.end(batch)
        outbox.send(timing.delays.by_address)

    with share_capture(source, jobs, count, follow) as shares:
        counted: list[Counted] = [worker.receive() for worker in shares.workers]
        if any(each.needed for each in counted):
            shares.follow()
        delays = {}
        if shares.follower is not None and shares.followed:
            delays = shares.follower.receive()
    if sum(each.named for each in counted) >= MAX_PLACES:
        return None
    first = {number: frame for each in counted for number, frame in each.first.items()}
    found = [numbers for each in counted for numbers in each.connections]
    found.sort(key=lambda numbers: first[numbers.number])
    return Measured(found, delays, counted[0].result)
