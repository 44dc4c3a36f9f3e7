"""Finds the message that a frame carries or settles, and shows its frames alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amqpscope.insight.messages import Message
    from amqpscope.tui.app import Scope


class MessageSearch:
    """At most one frame at a time is asked about; messages may have to be followed up to it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.frame = 0
        """The frame whose message is wanted; 0: none, or it is being looked for."""

    def follow(self) -> None:
        """Filter by the message at the cursor, or that of the selected frame."""
        chosen = self.scope.view.chosen_message()
        if chosen is not None:
            self.show(chosen)
        elif self.scope.frame:
            self.frame = self.scope.frame
            self.scope.store.messages.start()
            self.scope.announce(f"looking for the message of frame {self.frame} ...")

    def go_on(self) -> None:
        """Look for the message that is wanted, once its frame has been read."""
        worker, frame = self.scope.store.messages, self.frame
        if frame and worker.run.frame >= frame:
            self.frame = 0
            find = partial(self.find, frame, self.scope.store.record(frame).connection)
            self.scope.run_worker(find, thread=True, group="messages")

    def find(self, frame: int, connection: int) -> None:
        """In a thread: there may be many messages."""
        found = self.scope.store.messages.message_of(frame, connection)
        self.scope.call_later(self.show, found, frame)

    def show(self, message: Message | None, frame: int = 0) -> None:
        """Leave the frames of a message in the list."""
        scope = self.scope
        if message is None:
            scope.announce(f"frame {frame} is not part of a message")
            return
        scope.following = False
        scope.open_screen("frames")
        scope.looking.filter(f"message.frame == {message.frame}")
        scope.announce(f"the frames of one message, from frame {message.frame} on; Esc shows all")
