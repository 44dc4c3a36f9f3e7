"""How something ended: who ended it, when, after what, and with which error.

Whatever shows an ending takes it from here, so that all of them agree. What is carried ends with
the first of what carries it: a link with its detach, the end of its session, the close of its
connection, or the end of TCP. An ending by a frame has the time of that frame; one by TCP has that
of the packet with the FIN or RST, which may come long after the last frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from amqpscope.model.mark import Mark
from amqpscope.model.peer import PeerEnd

# fmt: off
# What was ended; where something larger ended, all that it carried ended with it.
CONNECTION: Final = "connection"
SESSION:    Final = "session"
LINK:       Final = "link"
CHANNEL:    Final = "channel"
CONSUMER:   Final = "consumer"

# How: by a frame, or by TCP.
CLOSE:      Final = "close"
END:        Final = "end"
DETACH:     Final = "detach"
CANCEL:     Final = "cancel"
FIN:        Final = "fin"
RST:        Final = "rst"
REUSED:     Final = "reused"   # another connection took its ports: how it ended was not captured
# fmt: on
TCP_ENDS: Final = (FIN, RST, REUSED)
NOBODY: Final = -1


class Ending(NamedTuple):
    """How something ended."""

    what: str
    """What was ended: it, or what carried it."""
    how: str
    peer: int
    """Who ended it: 0 the client, 1 the server; -1: not known."""
    mark: Mark
    """The frame that ended it; where TCP did, the packet and its time, and the last frame that the
    peer which did so had received."""
    condition: str = ""
    """The error's condition, or the reply-code of 0-9; empty: there is none."""
    text: str = ""
    """What the peer said of the error, in its own words."""
    answered: bool = True
    """The partner has confirmed it; for an end of TCP there is nothing to confirm."""
    closed: bool = True
    """Of a detach: for good, so that the link cannot be resumed."""
    half: bool = False
    """Of a detach for good: the partner's answer is one that does not close the link."""
    opened: bool = True
    """Where TCP ended it: the connection had been opened, so that a close was owed."""

    def __deepcopy__(self, memo: object) -> Ending:
        return self  # nothing in it changes

    @property
    def by_tcp(self) -> bool:
        """No frame said so."""
        return self.how in TCP_ENDS

    @property
    def frame(self) -> int:
        """The frame that ended it; 0: TCP did."""
        return 0 if self.by_tcp else self.mark.frame

    @property
    def after(self) -> int:
        """Where TCP ended it: the last frame that who did so had received; 0: none."""
        return self.mark.frame if self.by_tcp else 0

    @property
    def orderly(self) -> bool:
        """By frames that match and without an error: nobody is to blame for it."""
        return not self.by_tcp and not self.condition and not self.half


def first(endings: Iterable[Ending | None]) -> Ending | None:
    """The earliest of some; of those at the same time, one by a frame."""
    return min(
        (ending for ending in endings if ending is not None),
        key=lambda ending: (ending.mark.time, ending.by_tcp, ending.mark.frame),
        default=None,
    )


def tcp_ending(ends: Iterable[PeerEnd]) -> Ending | None:
    """How TCP ended under a connection; None while it goes on, or where the capture ends first."""
    for end in ends:
        if end.finished in TCP_ENDS and not end.finished_second:
            peer = NOBODY if end.finished == REUSED else end.peer
            after = end.finished_after
            mark = Mark(after.frame, end.finished_packet, end.finished_time, after.end)
            return Ending(CONNECTION, end.finished, peer, mark)
    return None


def tcp_over(ends: Sequence[PeerEnd]) -> int:
    """When TCP was over and no frame came any more; 0 while it goes on."""
    found = tcp_ending(ends)
    if found is None:
        return 0
    return max(found.mark.time, *(end.last_mark.time for end in ends))


def finished_at(ends: Sequence[PeerEnd]) -> int:
    """Until when a connection was followed, where it did not end before; 0 while it is."""
    return max(end.finished_time for end in ends) if all(end.finished for end in ends) else 0
