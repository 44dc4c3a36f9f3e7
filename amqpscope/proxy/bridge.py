"""What lies between the two sockets of a layered connection: octets in, plaintext, octets out.

A `Bridge` passes octets as they are; `tls_bridge.Crossing` puts TLS on one side or both.
"""

from __future__ import annotations


class Bridge:
    """Plain on both sides."""

    def __init__(self) -> None:
        self._out = [bytearray(), bytearray()]
        """Octets for a socket."""
        self._ended = [False, False]
        self._closing = [False, False]

    # What comes from the sockets

    def upstream_connected(self) -> None:
        """Upstream is there."""

    def feed(self, side: int, data: bytes) -> bytes:
        """Take octets from a side's socket; the plaintext that the other side is to get."""
        return data

    def end(self, side: int) -> bytes:
        """Take the end of a side's socket; the plaintext that was still held."""
        self._ended[side] = True
        return b""

    # What goes to the sockets

    def send(self, side: int, plain: bytes | memoryview) -> None:
        """Take plaintext for a side."""
        self._out[side] += plain

    def close(self, side: int) -> None:
        """Nothing more is sent to a side."""
        self._closing[side] = True

    def outgoing(self, side: int) -> bytes:
        """The octets to write to a side's socket now."""
        octets = bytes(self._out[side])
        self._out[side].clear()
        return octets

    # How it stands

    def eof(self, side: int) -> bool:
        """Whether a side has said its last."""
        return self._ended[side]

    def is_closed(self, side: int) -> bool:
        """Whether `close` is through and all is taken: the socket may be shut down for writing."""
        return self._closing[side] and not self._out[side]

    def queued_octets(self, side: int) -> int:
        """Octets for a side that lie here."""
        return len(self._out[side])

    def wants(self, side: int) -> bool:
        """Whether more from a side is of use now."""
        return True

    def is_truncated(self, side: int) -> bool:
        """Whether a side's TLS ended without a word."""
        return False

    @property
    def settled(self) -> bool:
        """Who speaks TLS is decided, and every handshake is through."""
        return True

    @property
    def undecided(self) -> bool:
        """Octets of the client are held that may be the beginning of TLS, and of anything else."""
        return False

    @property
    def waits_for_upstream(self) -> bool:
        """Whether the client has said what it wants, and it is upstream's turn."""
        return False

    @property
    def transparent(self) -> bool:
        """Plain on both sides, and nothing is held: there is nothing to do here any more."""
        return True

    def step_aside(self) -> bytes:
        """Stop waiting for the rest of a beginning: it is not TLS; what was held."""
        return b""

    def forget(self) -> None:
        """The connection is over: let go of what holds memory."""
