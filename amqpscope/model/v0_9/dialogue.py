"""Requests and responses of 0-9 (4.2.10, 4.4): one peer's numbers on one channel.

Work in progress of that version which its successor dropped: methods travel in frames with numbers
of their own, and one response can answer several requests.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark

MAX_OPEN: Final = 4096
"""Requests of a peer on a channel that are remembered until they are answered."""


class Asked:
    """One request that has no response yet."""

    def __init__(self, id: int, name: str, replies: tuple[str, ...], mark: Mark) -> None:
        self.id = id
        self.name = name
        self.replies = replies
        self.mark = mark


class Dialogue:
    """What one peer has asked and answered."""

    def __init__(self) -> None:
        self.request_id: int | None = None
        """The number of its last request."""
        self.request_mark: Mark | None = None
        self.response_id: int | None = None
        """The number of its last response."""
        self.response_mark: Mark | None = None
        self.seen = 0
        """The highest response of the partner that it said to have seen."""
        self.open: dict[int, Asked] = {}
        """Its requests that are not answered."""
        self.unsure = False
        """Requests or responses may have been missed."""

    def ask(self, asked: Asked) -> None:
        """Note a request that waits for its answer."""
        self.request_id, self.request_mark = asked.id, asked.mark
        self.open[asked.id] = asked
        if len(self.open) > MAX_OPEN:
            del self.open[next(iter(self.open))]
            self.unsure = True

    def answered_requests(self, first: int, batch: int) -> list[Asked]:
        """The requests that a response of the partner covers, of those that are open."""
        if batch >= MAX_OPEN:
            return [asked for id, asked in self.open.items() if first <= id <= first + batch]
        covered = [self.open.get(id) for id in range(first, first + batch + 1)]
        return [asked for asked in covered if asked is not None]
