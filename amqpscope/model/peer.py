"""One peer of a connection, as far as all protocol families know it alike."""

from __future__ import annotations

from amqpscope.model.ledger import Subject
from amqpscope.model.mark import NOWHERE
from dissectors.native import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class PeerEnd(Subject):
    """How much was seen of one peer, and how its direction of TCP ended."""

    def __init__(self, peer: int, anchored: bool) -> None:
        super().__init__()
        self.peer = peer
        self.anchored = anchored
        """All that this peer ever wrote was seen: what we do not know of does not exist."""
        self.frames = 0
        """Units seen from this peer."""
        self.sound = 0
        """Frames in a row that could be decoded, since the last that could not or was lost."""
        self.last_mark = NOWHERE
        """The newest unit of this peer."""
        self.proved = 0
        """Octets of the partner's stream that this peer's frames show it has read (K-)."""
        self.finished = ""
        """How the direction ended: `fin`, `rst`, ...; empty while it goes on."""
        self.finished_time = 0
        self.finished_packet = 0
        self.finished_after = NOWHERE
        """The partner's newest unit when the direction ended: what this peer last received."""
        self.finished_second = False
        """The partner's direction had ended before."""

    def finish(self, reason: str, time: int, packet: int, partner: PeerEnd) -> None:
        """Note how the direction ended; what follows a first end says nothing new."""
        if not self.finished:
            self.finished = reason
            self.finished_time = time
            self.finished_packet = packet
            self.finished_after = partner.last_mark
            self.finished_second = bool(partner.finished)
