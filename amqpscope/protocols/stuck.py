"""What can hold a link, channel, consumer or connection, and what it means."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.model.constraint import (
    CLOSED,
    FILTERED,
    IDLE,
    OVER,
    RESTING,
    RESTS,
    STUCK,
    UNKNOWN,
    UNSURE,
    WAITS,
    Constraint,
    Meaning,
)
from amqpscope.model.ending import Ending
from amqpscope.model.refusal import COUNTED, Refusal

ZERO_WINDOW: Final = "TCP window closed"
WAITING_PEER: Final = "opening not finished"
NO_LINK: Final = "no link"

# fmt: off
MEANINGS: Final = {
    ZERO_WINDOW:  Meaning(STUCK,  "It does not read from its socket, whose buffer is full."),
    WAITING_PEER: Meaning(STUCK,  "The connection is not open yet."),
    UNKNOWN:      Meaning(UNSURE, "The capture began too late, or has gaps."),
    IDLE:         Meaning(RESTS,  "Nothing holds it: there is nothing to send."),
    FILTERED:     Meaning(WAITS,  "It has credit, and only messages that match are delivered."),
    NO_LINK:      Meaning(RESTS,  "The connection is open and has neither link nor channel."),
    CLOSED:       Meaning(OVER,   ""),
}
"""What all families have; each adds its own."""
# fmt: on
NO_MEANING: Final = Meaning(UNSURE, "")


def meaning(kind: str) -> Meaning:
    """What a kind of constraint means."""
    return MEANINGS.get(kind, NO_MEANING)


class Bound(NamedTuple):
    """What holds a link, channel or consumer, and since when."""

    kind: str
    frame: int
    """The frame that brought it about; 0: none."""
    time: int
    peer: int
    """Who is waited for; where it is over, who ended it."""
    detail: str
    ending: Ending | None = None
    """How it ended, where it is over."""

    @property
    def rank(self) -> int:
        """How much it looks like a fault."""
        return meaning(self.kind).rank

    @property
    def waits_for(self) -> int | None:
        """Who has to do something for it to go on; None: nobody."""
        held = self.rank in (STUCK, WAITS) and self.kind not in RESTING
        return self.peer if held else None


class Refused(NamedTuple):
    """What a peer has refused of it."""

    refusal: Refusal
    frame: int
    """Where it did so; of several, the last time."""
    time: int
    peer: int
    """Who refused."""
    times: int = 1
    """How many messages, or transactions; 1 for anything else."""
    thief: int = 0
    """Of a link that was stolen: the attach that took it away; 0: not known."""

    @property
    def brief(self) -> str:
        """In a few words."""
        return f"{self.times:,} {self.refusal.what}" if self.counted else self.refusal.brief

    @property
    def counted(self) -> bool:
        """It is about messages or transactions, and what carries them went on."""
        return self.refusal.what in COUNTED


class Held(NamedTuple):
    """One link, channel or consumer; or a connection without any."""

    connection: int
    what: str
    """`link`, `channel`, `consumer` or `connection`."""
    name: str
    address: str
    sender: int
    """Who sends on it."""
    channel: int
    bound: Bound
    before: Bound | None = None
    """Of what is over: what held it until then."""
    refused: Refused | None = None
    attached: int = 0
    """The frame that attached a link."""

    @property
    def key(self) -> tuple[int, str, str, int, int]:
        """What it is known by."""
        return self.connection, self.what, self.name, self.sender, self.channel

    @property
    def worst(self) -> Bound:
        """What held it while it could be held at all."""
        return self.bound if self.before is None else self.before

    @property
    def was_refused(self) -> bool:
        """What was refused says more than what holds it now."""
        return self.refused is not None and self.bound.rank != STUCK


def bound_of(found: Constraint) -> Bound:
    """A constraint without the model behind it."""
    since = found.since
    return Bound(found.kind, since.frame, since.time, found.peer, found.detail, found.ending)
