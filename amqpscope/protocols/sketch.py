"""Single events made again from what was kept of them, without the frames before.

A screen shows any of a million frames at once, and a filter looks at all of them again. Replaying
the connection makes a filter 2.2 times as expensive, and writing down the line of every frame makes
reading 3.3 times as expensive (.github/decisions/0012-events-made-again.md). So a family may keep a
`Clue` of each event, from which it makes that event again. The frames of a family without `Notes`
are replayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:  # light to import: a screen begins to read before all else is there
    from amqpscope.model.event import Event
    from amqpscope.protocols.talk import Talk
    from amqpscope.stream.framer import Frame

LOST_BEFORE: Final = 1
CUT: Final = 2
MESSAGE: Final = 4
LINE: Final = 8
"""The frame has no clue: `octets` and `previous` say where its line is kept, and how long it is."""
UNSENT: Final = 16
REDELIVERED: Final = 32
"""It hands out a message that was handed out before, as its sender says."""


class Clue(NamedTuple):
    """What an event is made again from, beside the octets of its frame; the family's own words."""

    octets: int = 0
    """Octets of its delivery up to this frame."""
    link: int = 0
    """The number of the note about its link; 0: none."""
    delivery: int = 0
    """The first frame of its delivery, or of the first that it covers; 0: none."""
    previous: int = 0
    """The frame of the same delivery before this one; 0: none. Of a frame that covers deliveries,
    whether they are of several links."""
    transfers: int = 0
    """Frames of the delivery up to this one, or deliveries that it covers."""


class FrameRecord(NamedTuple):
    """What is kept of a frame."""

    time: int
    """Nanoseconds since the Unix epoch."""
    data: int
    """Where its octets are kept."""
    offset: int
    """Where it begins in its direction's stream."""
    octets: int
    """This and the next four are its clue."""
    link: int
    delivery: int
    previous: int
    transfers: int
    size: int
    missing: int
    connection: int
    packet: int
    channel: int
    sender: int
    flags: int


class Records:
    """The frames that were kept."""

    def record(self, number: int) -> FrameRecord:
        """The record of a frame, from 1."""
        raise NotImplementedError

    def octets(self, record: FrameRecord) -> bytes:
        """The octets of a frame."""
        raise NotImplementedError


class Notes:
    """Writes down what the events of one family are made again from."""

    def __init__(self) -> None:
        self.fresh: list[Any] = []
        """Notes that clues refer to and that are not written yet, as plain JSON."""

    def clue(self, event: Event) -> Clue:
        """The clue of an event that was just applied."""
        raise NotImplementedError


class Sketcher:
    """Makes the events of one family again."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def learn(self, note: Any) -> None:
        """Take one of the family's notes."""

    def event(self, talk: Talk, number: int, record: FrameRecord) -> Event:
        """The event of a frame; the model behind it is as large as that frame needs it."""
        raise NotImplementedError


def flags_of(frame: Frame, event: Event) -> int:
    """How a frame was cut, and whether it completes a message."""
    return (
        LOST_BEFORE * frame.lost_before
        | CUT * frame.cut
        | UNSENT * frame.unsent
        | MESSAGE * (event.message is not None)
    )
