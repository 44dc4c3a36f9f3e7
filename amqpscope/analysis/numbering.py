"""How the frames and connections of a capture are numbered, and which of them are followed."""

from __future__ import annotations


class Share:
    """Some of the connections of a capture."""

    def __init__(self, chosen: frozenset[int], every: int = 0) -> None:
        self.chosen = chosen
        """By their numbers."""
        self.every = every
        """Or, if not 0, by their places among so many, over and over."""

    def has(self, number: int) -> bool:
        """Whether a connection is one of them."""
        place = (number - 1) % self.every if self.every else number
        return place in self.chosen


class Numbering:
    """Counts the frames and connections of a capture.

    Who reads only a part of a capture moves the counts on, before it hands over what comes next.
    """

    def __init__(self) -> None:
        self.frames = 0
        self.connections = 0
        self.pieces = 0
