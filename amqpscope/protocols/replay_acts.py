"""What a replay is made of: what our own peer does, and what it waits for from the live one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from amqpscope.findings import Finding
from amqpscope.stream.framer import Frame

Lane = tuple[int, ...]
"""What acts keep their order in: () is the connection, (2,) a session or channel, (2, 5) a link."""

DROP: Final = "-"
"""Of an act that cannot be sent any more: what it belongs to is gone."""


@dataclass(frozen=True)
class Choices:
    """How the part is to be played."""

    user: str | None = None
    password: str = ""
    vhost: str | None = None
    """The virtual host, where the URL names one."""
    host: str = ""
    """The live server's name."""
    secrets: bool = False
    """Log in as the capture shows it."""
    show_secrets: bool = False
    """Show passwords and tokens in frames too."""
    exact: bool = False
    """Send what breaks the protocol too, and do not wait for credit."""
    speed: float = 0.0
    """1 as recorded, 2 twice as fast, 0 as fast as the peer allows."""
    rate: float = 0.0
    """Messages a second at most; 0: no limit."""
    ignore: frozenset[str] = field(default_factory=frozenset)
    """Fields that are not compared."""


class Refused(Exception):
    """A frame of ours that the rules do not allow now."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.rule} {finding.message}")
        self.finding = finding


class Judge:
    """Follows a live conversation, and says which frames of ours are legal in it."""

    now = 0.0
    """Seconds of the clock that the caller has."""

    def hear(self, octets: bytes) -> None:
        """Take octets of the live peer."""
        raise NotImplementedError

    def refusal(self, raw: bytes) -> Finding | None:
        """Why a frame may not be sent; None: it counts as sent from now on."""
        raise NotImplementedError


class Cue:
    """Something that the other peer did in the recording."""

    __slots__ = ("about", "commits", "count", "frame", "left", "lost", "message", "moot", "odd",
                 "soft", "turn", "where")  # fmt: skip

    def __init__(self, frame: Frame, where: str, turn: int, *, left: int = 1) -> None:
        self.frame = frame
        self.where = where
        self.turn = turn
        """Its place among all cues."""
        self.count = self.left = left
        """How much of it is still to come; 0: it has come, or is given up."""
        self.lost = False
        """It is given up: it has not come and will not."""
        self.moot = False
        """It is an error that answered a frame of ours which is left out: it may come or not."""
        self.odd = False
        """It is not legal: nothing waits for it."""
        self.about: object = None
        """What it answers, as the family keeps it."""
        self.soft = False
        """A message or grant does not depend on it: an outcome that only says it went well."""
        self.message = False
        """It is a message, to which others may be answers."""
        self.commits = False
        """Messages that came before it count only from now on, or come once more."""


class Act:
    """A frame that our own peer sent in the recording, or several that belong together."""

    __slots__ = ("about", "cues", "due", "frame", "index", "kind", "lane", "light", "message",
                 "pause", "released")  # fmt: skip

    def __init__(self, kind: str, frame: Frame, lane: Lane, about: object) -> None:
        self.kind = kind
        self.frame = frame
        self.lane = lane
        self.about = about
        """What it belongs to, as the family keeps it."""
        self.index = 0
        self.cues = 0
        """How many cues were recorded before it."""
        self.light = False
        """It may go ahead of soft cues, and of what it does not depend on when nothing moves."""
        self.message = False
        """It begins a message."""
        self.pause = 0.0
        """Seconds since the frame before it, of either peer."""
        self.released = False
        """It waits for no cue any more."""
        self.due: float | None = None
        """When it is sent, once everything else allows it."""


def are_nested(one: Lane, other: Lane) -> bool:
    """Whether one lane is the other, or lies within it, or around it."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
