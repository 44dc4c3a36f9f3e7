"""Counts, courses over time and the present state of all connections, gathered in a thread.

It replays the capture once, without the rules, and goes on as the capture grows. What it has so
far is given on twice a second as values that it does not touch again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, NamedTuple

from amqpscope.analysis import Step
from amqpscope.model.link import LinkEnd
from amqpscope.model.stall import credit_left, window_left
from amqpscope.statistics import ConnectionNumbers, Statistics
from amqpscope.tui.holding import Held, Watching, held_by
from amqpscope.tui.replay import Places
from amqpscope.tui.spool import Spool

PAUSE: Final = 0.5
"""Seconds between two reports."""
POLL: Final = 0.2
POINTS: Final = 512
"""Points of a course that are kept; with more of them, each stands for a longer time."""
FIRST_WIDTH: Final = 1_000_000
"""Nanoseconds that a point stands for at first."""
GLANCE: Final = 256


class Point(NamedTuple):
    """What a number was during some time."""

    time: int
    """When that time began, in nanoseconds."""
    low: int
    high: int
    last: int


class Course:
    """A number over time, in a bounded number of points."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.width = FIRST_WIDTH
        """Nanoseconds that each point stands for."""
        self.points: dict[int, list[int]] = {}
        """Lowest, highest and last value, by the place of the point."""

    def add(self, time: int, value: int) -> None:
        """The number is this from now on."""
        place = max(time - self.start, 0) // self.width
        point = self.points.get(place)
        if point is None:
            self.points[place] = [value, value, value]
            while len(self.points) > POINTS:
                self.coarsen()
            return
        if value < point[0]:
            point[0] = value
        elif value > point[1]:
            point[1] = value
        point[2] = value

    def coarsen(self) -> None:
        """Let each point stand for twice the time."""
        self.width *= 2
        merged: dict[int, list[int]] = {}
        for place, (low, high, last) in self.points.items():
            point = merged.get(place // 2)
            if point is None:
                merged[place // 2] = [low, high, last]
            else:
                point[:] = [min(low, point[0]), max(high, point[1]), last]
        self.points = merged

    def __iter__(self) -> Iterator[Point]:
        for place, (low, high, last) in self.points.items():
            yield Point(self.start + place * self.width, low, high, last)


class LinkKey(NamedTuple):
    """A link of a capture."""

    connection: int
    name: str
    sender: int
    """Which peer sends: 0 the client, 1 the server."""


@dataclass
class Courses:
    """How a link's numbers went."""

    credit: Course
    """What the sender may still send by the receiver's last grant."""
    window: Course
    """Transfers that the session lets the sender send."""
    unsettled: Course
    deliveries: Course
    """Deliveries begun so far."""


@dataclass
class Report:
    """Everything up to a frame."""

    frame: int = 0
    time: int = 0
    """When that frame passed, in nanoseconds."""
    connections: list[ConnectionNumbers] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    """All links, channels and consumers, with what holds each."""
    courses: dict[LinkKey, Courses] = field(default_factory=dict)


class Numbers:
    """Gathers in a thread, from when `start` is called."""

    def __init__(self, files: Spool, decode_as: dict[int, str]) -> None:
        self.run = Watching(Places(files, decode_as))
        self.statistics = Statistics()
        self.courses: dict[LinkKey, Courses] = {}
        self.latest = Report()
        """The newest report; another object each time."""
        self.closed = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if that was not done yet."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.work, name="numbers", daemon=True)
            self.thread.start()

    def close(self) -> None:
        """Gather no more."""
        self.closed.set()
        if self.thread is not None:
            self.thread.join()

    def work(self) -> None:
        """Take Steps as they come."""
        reported = monotonic()
        newest: Step | None = None
        while not self.closed.is_set():
            self.run.places.update()
            for at, step in enumerate(self.run.steps()):
                newest = step
                self.take(step)
                if at % GLANCE == 0:
                    if self.closed.is_set():
                        return
                    if monotonic() - reported > PAUSE:
                        self.report(step)
                        reported = monotonic()
            if newest is not None:
                self.report(newest)
                newest = None
            self.closed.wait(POLL)

    def take(self, step: Step) -> None:
        """One more frame."""
        self.statistics.take(step)
        if step.link is not None:
            self.follow(step.link, step)
        elif step.covered:
            self.follow(step.covered[0].link, step)

    def follow(self, link: LinkEnd, step: Step) -> None:
        """Note how a link stands after a frame."""
        sender = link.pair if link.role else link
        if sender is None:
            return
        time = step.frame.time
        key = LinkKey(step.conversation.number, link.name, sender.session.owner.peer)
        courses = self.courses.get(key)
        if courses is None:
            courses = self.courses[key] = Courses(*(Course(time) for _ in range(4)))
        credit, window = credit_left(sender), window_left(sender.session)
        if credit is not None:
            courses.credit.add(time, credit)
        if window is not None:
            courses.window.add(time, window)
        courses.unsettled.add(time, len(sender.unsettled))
        courses.deliveries.add(time, sender.deliveries)

    def report(self, step: Step) -> None:
        """Give on what there is."""
        counted = deepcopy(list(self.statistics.connections.values()))
        for numbers in counted:
            for link in numbers.links:
                link.credit.finish(numbers.last)
            for session in numbers.sessions:
                session.window.finish(numbers.last)
        held = [one for talk in self.run.conversations.values() for one in held_by(talk, self.run)]
        self.latest = Report(
            step.frame.number, step.frame.time, counted, held, deepcopy(self.courses)
        )
