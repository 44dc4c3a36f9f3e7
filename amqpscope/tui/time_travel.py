"""The state of a connection as of any frame: time travel.

A thread replays the connection up to the frame that is asked for, and keeps the states of the
frames before it too, so that the next step back costs nothing. Only the newest question counts.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from amqpscope.analysis import Conversation
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.tui.spool import Spool

T = TypeVar("T")

WINDOW: Final = 200
"""Frames before the one asked for whose states are kept too."""
KEPT: Final = 2000
"""States that are kept in all."""
GLANCE: Final = 256
"""Frames between two looks whether something else is asked."""


class Moment(NamedTuple, Generic[T]):
    """A connection after a frame, and after its frame before that."""

    number: int
    """The newest frame of the connection that is not behind the one asked for."""
    time: int
    state: T
    before: T | None


class Question(NamedTuple, Generic[T]):
    """Which state is wanted, and who wants it."""

    number: int
    connection: int
    answer: Callable[[Moment[T] | None], None]


class TimeTravel(Generic[T]):
    """Answers questions about states; `look` makes of a model what is kept of it."""

    def __init__(
        self, files: Spool, decode_as: dict[int, str], look: Callable[[Conversation], T]
    ) -> None:
        self.places = PieceIndex(files, decode_as)
        self.look = look
        self.run: Replay | None = None
        self.kept: OrderedDict[tuple[int, int], Moment[T]] = OrderedDict()
        """By connection and frame."""
        self.question: Question[T] | None = None
        self.changed = threading.Condition()
        self.closed = False
        self.thread: threading.Thread | None = None

    def ask(self, number: int, connection: int, answer: Callable[[Moment[T] | None], None]) -> None:
        """Ask for the state of a connection; `answer` is called in another thread.

        It is not called at all when something else is asked before.
        """
        with self.changed:
            self.question = Question(number, connection, answer)
            if self.thread is None:
                self.thread = threading.Thread(target=self.work, name="travel", daemon=True)
                self.thread.start()
            self.changed.notify()

    def close(self) -> None:
        """Answer no more."""
        with self.changed:
            self.closed = True
            self.changed.notify()
        if self.thread is not None:
            self.thread.join()

    def work(self) -> None:
        """Answer questions until the end."""
        while True:
            with self.changed:
                while self.question is None and not self.closed:
                    self.changed.wait()
                if self.closed:
                    return
                question, self.question = self.question, None
            if question is not None:
                self.places.update()
                found = self.find(question)
                if not self.interrupted:
                    question.answer(found)

    @property
    def interrupted(self) -> bool:
        """Whether something newer is asked."""
        return self.question is not None or self.closed

    def find(self, question: Question[T]) -> Moment[T] | None:
        """The state that is asked for; None if the connection has no frame so early."""
        connection = question.connection
        found = self.after(self.own_frame(question.number, connection), connection)
        return None if found is None else self.with_ends(found, question)

    def with_ends(self, found: Moment[T], question: Question[T]) -> Moment[T]:
        """A state, with what has ended since its frame and before the one behind that asked for."""
        connection, run = question.connection, self.run
        if run is None or run.connection != connection or run.frame != found.number:
            run = Replay(self.places, connection)
        if not run.is_end(self.places.turn_after(connection, found.number), question.number):
            return found
        self.run = run
        if run.frame != found.number and not self.skip(run, found.number):
            return found
        run.take_ends(question.number)
        state = self.look(run.conversations[connection])
        return Moment(found.number, found.time, state, found.state)

    def after(self, number: int, connection: int) -> Moment[T] | None:
        """The state after a frame of a connection; None: there is none, or a newer question."""
        found = self.kept.get((connection, number))
        if found is not None or not number:
            return found
        run = self.run
        early = number - WINDOW
        if run is None or run.connection != connection or run.frame >= number:
            run = self.run = Replay(self.places, connection)
        previous = self.kept.get((connection, run.frame))
        if run.frame < early and not self.skip(run, early):
            return None
        state = None if previous is None or previous.number != run.frame else previous.state
        for step in run.steps(number):
            after = self.look(run.conversations[connection])
            self.keep(connection, Moment(run.frame, step.frame.time, after, state))
            state = after
            if self.interrupted:
                return None
        return self.kept.get((connection, number))

    def skip(self, run: Replay, number: int) -> bool:
        """Bring a run to a frame without looking; False when something newer is asked."""
        for at, _ in enumerate(run.steps(number)):
            if at % GLANCE == 0 and self.interrupted:
                return False
        return True

    def keep(self, connection: int, moment: Moment[T]) -> None:
        """Remember a state, and forget an old one."""
        self.kept[connection, moment.number] = moment
        if len(self.kept) > KEPT:
            self.kept.popitem(last=False)

    def own_frame(self, number: int, connection: int) -> int:
        """The newest frame of a connection up to a number; 0 if there is none."""
        files = self.places.files
        number = min(number, self.places.count)
        while number > 0:
            first = max(number - GLANCE + 1, 1)
            for record in reversed(files.records(first, number)):
                if record.connection == connection:
                    return number
                number -= 1
        return 0
