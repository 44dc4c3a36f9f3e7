"""Counts, courses over time and the present state of all connections, gathered in a thread.

It replays the capture once, without the rules, and goes on as the capture grows. What it has so
far is handed over twice a second as values that it does not touch again.
"""

from __future__ import annotations

import threading
from copy import deepcopy
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.delays import Delays
from amqpscope.insight.series import Plots
from amqpscope.insight.statistics import ConnectionNumbers, Histogram, Statistics, finish_stalls
from amqpscope.insight.stuck import StuckWatch
from amqpscope.protocols.stuck import Held
from amqpscope.stream import types
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.tui.spool import PieceHead, Spool

PAUSE: Final = 0.5
"""Seconds between two reports."""
POLL: Final = 0.2
GLANCE: Final = 256


@dataclass
class Measurements:
    """Everything up to a frame."""

    frame: int = 0
    time: int = 0
    """When that frame, or the newest end of a connection, passed, in nanoseconds."""
    connections: list[ConnectionNumbers] = field(default_factory=list)
    delays: dict[str, Histogram] = field(default_factory=dict)
    """How long messages took through the broker, by the address that they came from."""
    held: list[Held] = field(default_factory=list)
    """All links, channels and consumers, with what holds each; the worst first."""
    ends: bool = False
    """An end of a connection is newer than the frame."""
    made: float = field(default_factory=monotonic)
    """When it was made, by the clock of this machine."""


class WatchingReplay(Replay):
    """A replay that notes which peers have closed their TCP windows, and what has ended."""

    def __init__(self, places: PieceIndex) -> None:
        super().__init__(places)
        self.watch = StuckWatch()
        self.over: list[Conversation] = []
        """Connections of which a direction has ended since somebody looked."""
        self.time = 0
        """When the newest of these ends passed."""

    def make_piece(self, head: PieceHead, data: bytes) -> types.Piece:
        """A piece; a window is noted."""
        piece = super().make_piece(head, data)
        if isinstance(piece, types.Window):
            self.watch.take_window(head.connection, piece.sender, piece.time, zero=piece.zero)
        return piece

    def note_end(self, piece: types.End) -> None:
        """Note that a direction is over."""
        conversation = self.analyzer.conversation_of(piece.connection)
        if conversation is not None:
            self.over.append(conversation)
            self.time = max(self.time, piece.time)


class StatsWorker:
    """Gathers in a thread, from when `start` is called."""

    def __init__(self, files: Spool, decode_as: dict[int, str]) -> None:
        self.run = WatchingReplay(PieceIndex(files, decode_as))
        self.statistics = Statistics()
        self.delays = Delays()
        self.plots = Plots()
        """Grows while others look at it, which it can bear."""
        self.latest = Measurements()
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
        shown: Step | None = None
        while not self.closed.is_set():
            self.run.places.update()
            for at, step in enumerate(self.run.steps()):
                newest = step
                self.take_ends()
                self.take(step)
                if at % GLANCE == 0:
                    if self.closed.is_set():
                        return
                    if monotonic() - reported > PAUSE:
                        self.report(step)
                        reported = monotonic()
            # An end may come long after the last frame, and has to be shown all the same.
            ended = self.take_ends()
            if newest is not None and (ended or newest is not shown):
                self.report(newest)
                shown = newest
            self.closed.wait(POLL)

    def take(self, step: Step) -> None:
        """Count a frame."""
        self.statistics.take(step)
        self.delays.take(step)
        self.run.watch.take(step)
        self.plots.take(step)

    def take_ends(self) -> bool:
        """Take the ends of connections that have passed; whether there were any."""
        over, self.run.over = self.run.over, []
        for talk in over:
            self.statistics.end(talk)
            self.delays.end(talk)
        return bool(over)

    def report(self, step: Step) -> None:
        """Hand over what there is."""
        time = max(step.frame.time, self.run.time)
        counted = deepcopy(list(self.statistics.connections.values()))
        for numbers in counted:
            numbers.over_at = numbers.over_at or time
            talk = self.run.watch.talks.get(numbers.number)
            if talk is not None:
                numbers.transactions = talk.current.transactions()
        finish_stalls(counted)
        held = self.run.watch.held_places()
        ends = self.run.time > step.frame.time
        delays = deepcopy(self.delays.by_address)
        self.latest = Measurements(step.frame.number, time, counted, delays, held, ends)
