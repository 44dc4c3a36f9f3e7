"""How a connection, session or link ended: who ended it, when, after what, and with which error.

Whatever shows an ending takes it from here, so that all of them agree. A link ends with the first
of: its detach, the end of its session, the close of its connection, the end of TCP. An ending by a
frame has the time of that frame; one by TCP has that of the packet with the FIN or RST, which may
come long after the last frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.model.mark import Mark
from dissectors.v1_0.bodies import Close, Detach, End, Error
from dissectors.v1_0.values import Value

if TYPE_CHECKING:
    from amqpscope.model.connection import ConnectionEnd
    from amqpscope.model.link import LinkEnd
    from amqpscope.model.older.connection import OlderEnd
    from amqpscope.model.session import SessionEnd

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
    """The error's condition, or the reply-code of the older protocols; empty: there is none."""
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


def tcp_ending(ends: Iterable[ConnectionEnd | OlderEnd]) -> Ending | None:
    """How TCP ended under a connection; None while it goes on, or where the capture ends first."""
    for end in ends:
        if end.finished in TCP_ENDS and not end.finished_second:
            peer = NOBODY if end.finished == REUSED else end.peer
            after = end.finished_after
            mark = Mark(after.frame, end.finished_packet, end.finished_time, after.end)
            return Ending(CONNECTION, end.finished, peer, mark)
    return None


def opened(ends: list[ConnectionEnd]) -> bool:
    """Both peers have opened a connection, or may have done so in octets that are missing."""
    return all(end.open is not None or not end.anchored for end in ends)


def connection_ending(ends: list[ConnectionEnd]) -> Ending | None:
    """How a connection ended; None while it goes on, or where the capture ends first."""
    closes = [
        None if end.close_mark is None else
        Ending(CONNECTION, CLOSE, end.peer, end.close_mark, *error_of(end.close),
               answered=ends[1 - end.peer].close_mark is not None)
        for end in ends
    ]  # fmt: skip
    tcp = tcp_ending(ends)
    return first((*closes, None if tcp is None else tcp._replace(opened=opened(ends))))


def over_at(ends: list[ConnectionEnd]) -> int:
    """When a connection was over, or else the capture, in nanoseconds; 0 while it goes on."""
    return tcp_over(ends) or max(
        (
            end.close_mark.time
            for end in ends
            if end.close_mark is not None and ends[1 - end.peer].close_mark is not None
        ),
        default=finished_at(ends),
    )


def tcp_over(ends: list[ConnectionEnd] | list[OlderEnd]) -> int:
    """When TCP was over and no frame came any more; 0 while it goes on."""
    found = tcp_ending(ends)
    if found is None:
        return 0
    return max(found.mark.time, *(end.last_mark.time for end in ends))


def finished_at(ends: list[ConnectionEnd] | list[OlderEnd]) -> int:
    """Until when a connection was followed, where it did not end before; 0 while it is."""
    return max(end.finished_time for end in ends) if all(end.finished for end in ends) else 0


def session_ending(session: SessionEnd) -> Ending | None:
    """How a session ended, seen from either of its ends; None while it goes on."""
    pair = session.pair
    ends = [
        Ending(SESSION, END, end.owner.peer, end.ended_mark, *error_of(end.ended),
               answered=end.pair is not None and end.pair.ended_mark is not None)
        for end in (session, pair)
        if end is not None and end.ended_mark is not None
    ]  # fmt: skip
    owners = owners_of(session)
    return first((*ends, None if owners is None else connection_ending(owners)))


def link_ending(link: LinkEnd) -> Ending | None:
    """How a link ended, seen from either of its ends; None while it goes on."""
    detaches = [detached(end) for end in (link, link.pair) if end is not None]
    return first((*detaches, session_ending(link.session)))


def detached(end: LinkEnd) -> Ending | None:
    """The ending that the detach of one peer brings."""
    if end.detach_mark is None:
        return None
    closed = closes(end)
    answered = end.pair is not None and end.pair.detach_mark is not None
    half = closed and answered and end.pair is not None and not closes(end.pair)
    return Ending(LINK, DETACH, end.session.owner.peer, end.detach_mark, *error_of(end.detach),
                  answered=answered, closed=closed, half=half)  # fmt: skip


def closes(end: LinkEnd) -> bool:
    """Whether the detach of a peer closes the link."""
    return end.detach is not None and bool(end.detach.closed)


def owners_of(session: SessionEnd) -> list[ConnectionEnd] | None:
    """Both ends of the connection of a session, client first; None where one stands alone."""
    own, other = session.owner, session.owner.partner
    if other is None:
        return None
    return [own, other] if own.peer == 0 else [other, own]


def error_of(body: Close | End | Detach | None) -> tuple[str, str]:
    """The condition and the description of an error; a condition is `error` where it has none."""
    error: Value = None if body is None else body.error
    if not isinstance(error, Error):
        return ("error", "") if error is not None else ("", "")
    return str(error.condition or "error"), str(error.description or "")
