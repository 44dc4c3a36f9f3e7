"""Messages for the screen, followed by a thread that replays all connections.

It begins when the screen is first opened, so that a user who does not ask pays nothing for it.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import Final

from amqpscope.insight.message_list import SUSPICIOUS, MessageList, list_messages
from amqpscope.insight.messages import Followed, Message
from amqpscope.stream import types
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.tui.spool import Spool

PAUSE: Final = 0.5
"""Seconds between two lists."""
POLL: Final = 0.2
GLANCE: Final = 256
SECOND: Final = 1_000_000_000


class FollowingReplay(Replay):
    """A replay that lets messages know when a connection ends."""

    def __init__(self, places: PieceIndex, followed: Followed) -> None:
        super().__init__(places)
        self.followed = followed
        self.time = 0
        """When the newest frame or end passed."""
        self.ended = False
        """A connection has ended since somebody looked."""

    def note_end(self, piece: types.End) -> None:
        """A direction is over."""
        conversation = self.analyzer.conversation_of(piece.connection)
        if conversation is not None:
            self.followed.end(conversation, piece.reason)
            self.time = max(self.time, piece.time)
            self.ended = True


class MessagesWorker:
    """Follows messages in a thread, from when `start` is called."""

    def __init__(self, files: Spool, decode_as: dict[int, str]) -> None:
        self.followed = Followed()
        self.run = FollowingReplay(PieceIndex(files, decode_as), self.followed)
        self.latest = MessageList()
        """The newest list; another object each time."""
        self.order = SUSPICIOUS
        """What is to come first."""
        self.done = False
        """The capture was read to its end."""
        self.final = False
        """The newest list was made when all was read."""
        self.heard = 0.0
        """When the newest frame came, by the clock of this machine."""
        self.closed = threading.Event()
        self.woken = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if that was not done yet."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.work, name="messages", daemon=True)
            self.thread.start()

    def close(self) -> None:
        """Follow no more."""
        self.closed.set()
        self.woken.set()
        if self.thread is not None:
            self.thread.join()

    def reorder(self, order: str) -> None:
        """Let others come first."""
        self.order = order
        self.woken.set()

    def work(self) -> None:
        """Take Steps as they come."""
        while not self.closed.is_set():
            done, frame = self.done, self.run.frame
            self.run.places.update()
            listed = monotonic()
            for at, step in enumerate(self.run.steps()):
                self.followed.take(step)
                self.run.time = max(self.run.time, step.frame.time)
                if at % GLANCE == 0:
                    if self.closed.is_set():
                        return
                    if monotonic() - listed > PAUSE or self.order != self.latest.order:
                        self.list_messages(self.run.time, final=False)
                        listed = monotonic()
            now = self.run.time
            if self.run.frame != frame or self.run.ended:
                self.heard = monotonic()
            elif not done:
                now += int(monotonic() - self.heard) * SECOND
            if self.is_stale(now, done):
                self.list_messages(now, final=done)
            self.woken.wait(POLL)
            self.woken.clear()

    def is_stale(self, now: int, done: bool) -> bool:
        """Whether the newest list is not what it would be now."""
        latest = self.latest
        known = (latest.frame, latest.time, latest.order, self.final)
        return self.run.ended or known != (self.run.frame, now, self.order, done)

    def list_messages(self, now: int, *, final: bool) -> None:
        """Hand over what there is."""
        self.final, self.run.ended = final, False
        self.latest = list_messages(self.followed, self.run.frame, now, self.order, final=final)

    def message_of(self, frame: int, connection: int) -> Message | None:
        """The message that a frame carries or settles, as far as it is kept."""
        for message in list(self.followed.messages.values()):
            for passage in message.passages:
                if passage.frame <= frame <= passage.last and passage.connection == connection:
                    return message
        return None
