"""What holds a link, channel or consumer: why nothing moves, since when, and who is waited for.

Each family finds out by its own model; the kinds that only one family has are in its `constraint`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.model.ending import Ending
from amqpscope.model.mark import Mark

CLOSED: Final = "connection closed"
IDLE: Final = "idle"
UNKNOWN: Final = "unknown"
FILTERED: Final = "nothing passed its filter"
RESTING: Final = (IDLE, UNKNOWN, FILTERED)
"""What nobody is to blame for: nothing is to be sent, or it is not known what holds it."""


STUCK, WAITS, UNSURE, RESTS, OVER = range(5)
"""How much a constraint looks like a fault, the most first."""


class Meaning(NamedTuple):
    """What a constraint is to the reader."""

    rank: int
    """STUCK, WAITS, UNSURE, RESTS or OVER."""
    text: str


class Constraint(NamedTuple):
    """What holds a link, channel or consumer."""

    kind: str
    since: Mark
    """The frame that brought it about."""
    peer: int
    """Who is waited for: 0 the client, 1 the server; where it is over, who ended it, -1: unknown.
    Where it rests, who would go on."""
    detail: str
    ending: Ending | None = None
    """How it ended, where it is over."""


def waits_for(found: Constraint) -> int | None:
    """Who has to do something for it to go on; None: nobody, as it is over or at rest."""
    return None if found.ending is not None or found.kind in RESTING else found.peer
