"""AMQP 0-8, 0-9 and 0-9-1 as both peers see it."""

from __future__ import annotations

from amqpscope.protocols.v0_9.framer import DialectGuess
from amqpscope.proxy.faults.peer_view import PeerView


class PeersV09(PeerView):
    """Both peers of one connection."""

    def __init__(self, spoken: DialectGuess) -> None:
        self.spoken = spoken

    @property
    def dialect(self) -> str:
        """The dialect of frames that do not name their own."""
        return self.spoken.dialect.name
