"""What is put at the partner's in advance, and referred to later.

A file (10-3, 0-8, 0-9) is staged before it is published or delivered: open, open-ok with what the
partner has of it already, then stage with the rest as its content. A reference (message class of
0-9) is opened, appended to and closed, and transfers name it in the place of a body.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.content import Content

MAX_STAGED: Final = 4096
"""Staged files, references or destinations that are remembered, each."""


class Staging:
    """One file on its way."""

    def __init__(self, identifier: str, size: int, mark: Mark) -> None:
        self.identifier = identifier
        self.size = size
        """`content-size`: octets of the whole file."""
        self.mark = mark
        """Its open."""
        self.staged = 0
        """`staged-size`: octets that the partner says it has already."""
        self.ok_mark: Mark | None = None
        self.content: Content | None = None

    @property
    def complete(self) -> bool:
        """All of it has passed."""
        return self.content is not None and self.content.complete


class Reference:
    """One reference of a peer."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark
        """Its open or resume."""
        self.closed: Mark | None = None


class References:
    """What one peer has said on a channel by the message class."""

    def __init__(self) -> None:
        self.known: dict[str | bytes, Reference] = {}
        self.transfers: dict[int, str | bytes] = {}
        """The references that its transfers name, by their requests."""
        self.destinations: dict[str, Mark] = {}
        """Its consumers."""
        self.unsure = False
        """There were too many to remember them all."""

    def trim(self) -> None:
        """Forget the oldest of too many."""
        if len(self.known) > MAX_STAGED:
            del self.known[next(iter(self.known))]
            self.unsure = True
        if len(self.transfers) > MAX_STAGED:
            del self.transfers[next(iter(self.transfers))]
        if len(self.destinations) > MAX_STAGED:
            del self.destinations[next(iter(self.destinations))]
