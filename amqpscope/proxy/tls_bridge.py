"""What a connection through the proxy needs of TLS, on both of its sides, without a socket.

A `Crossing` looks at the client's first octets and decides who speaks TLS to whom:

* the client: as its first octets say, directly or after AMQP's TLS header (spec 5.2.1);
* the upstream: as the user said; and when a client asks a plain upstream for TLS by AMQP's header,
  the upstream is asked too, and TLS begins on both sides if it agrees.

The upstream's handshake comes first. Only then is the client answered: with the protocol (ALPN)
that the upstream chose, or not at all when the upstream is not to be trusted.

`feed` gives plaintext, to be recorded and then given to `send` for the other side; `outgoing` has
the octets for a side's socket. What is plain on both sides is `transparent`: nothing is left to do.
"""

from __future__ import annotations

from typing import Final

from amqpscope.proxy.bridge import Bridge
from amqpscope.proxy.sniff import IN_BAND_TLS_HEADER, Kind, Opening, may_be_anything, sniff
from amqpscope.proxy.tls import TlsEnd, TlsError
from amqpscope.proxy.tls_policy import TlsPolicy
from amqpscope.stream.types import CLIENT, SERVER

UPSTREAM: Final = SERVER


class Crossing(Bridge):
    """The TLS of one connection through the proxy."""

    def __init__(self, policy: TlsPolicy, local: str) -> None:
        super().__init__()
        self._policy = policy
        self._local = local
        """The address that the client connected to: its name for us when it asks for no host."""
        self._opening: Opening | None = None
        self._connected = False
        self._tls = [False, policy.options.encrypted]
        """Sides that speak TLS, now or once they may."""
        self._ends: list[TlsEnd | None] = [None, None]
        self._early = [bytearray(), bytearray()]
        """Plaintext for a side whose TLS has not begun."""
        self._held = [bytearray(), bytearray()]
        """Octets from a side that cannot be dealt with yet."""
        self._cut = [False, False]
        self._client_asked = False
        """The client has sent AMQP's TLS header, so TLS must follow."""
        self._asking = False
        """Upstream was sent AMQP's TLS header and has not answered yet."""
        self._mirrored = False
        """... because the client asked for TLS in this way; upstream's answer is for it."""
        self._agreed = False
        """Upstream has answered with that header."""
        self._echo = False
        """... and the client is to be given it yet."""

    # What comes from the sockets

    def upstream_connected(self) -> None:
        """Upstream is there."""
        self._connected = True
        self._go_on()

    def feed(self, side: int, data: bytes) -> bytes:
        """Take octets from a side's socket; the plaintext that the other side is to get."""
        end = self._ends[side]
        if end is not None:
            done = end.done
            plain = end.receive(data)
            if end.done is not done:
                self._go_on()
            return plain
        if side == UPSTREAM:
            return self._feed_upstream(data)
        if self._waits():
            self._held[CLIENT] += data
            return b""
        if self._opening is None:
            return self._open(data)
        return self._release(CLIENT) + data

    def end(self, side: int) -> bytes:
        """Take the end of a side's socket; the plaintext that was still held."""
        end = self._ends[side]
        self._ended[side] = True
        if end is not None:
            end.receive_eof()
            return b""
        if side == CLIENT and (self._waits() or self._client_asked):
            raise TlsError("the client left before TLS began", CLIENT, quiet=True)
        if side == UPSTREAM and self._asking and not self._mirrored:
            raise TlsError(self._refused(), UPSTREAM)
        if side == CLIENT and self._opening is None and self._held[CLIENT]:
            self._opening = Opening(Kind.OTHER)
            self._go_on()
        if side == UPSTREAM:
            self._asking = self._mirrored = False
        return self._release(side)

    # What goes to the sockets

    def send(self, side: int, plain: bytes | memoryview) -> None:
        """Take plaintext for a side."""
        end = self._ends[side]
        if end is not None:
            end.send(plain)
        elif side == CLIENT and self._echo:
            self._echo = False
            self._out[CLIENT] += plain
            if self._held[CLIENT]:
                self._open(b"")
        elif self._tls[side]:
            self._early[side] += plain
        else:
            self._out[side] += plain

    def close(self, side: int) -> None:
        """Nothing more is sent to a side: say so in TLS, once all that was given is sent."""
        self._closing[side] = True
        end, source = self._ends[side], self._ends[1 - side]
        if source is not None and source.truncated:
            self._cut[side] = True  # cut short there, so cut short here
        elif end is not None:
            end.close()

    def outgoing(self, side: int) -> bytes:
        """The octets to write to a side's socket now."""
        plain = b""
        if self._out[side]:
            plain = bytes(self._out[side])
            self._out[side].clear()
        end = self._ends[side]
        return plain if end is None else plain + end.outgoing()

    # How it stands

    def eof(self, side: int) -> bool:
        """Whether a side has said its last."""
        end = self._ends[side]
        return self._ended[side] if end is None else end.eof

    def is_closed(self, side: int) -> bool:
        """Whether `close` is through and all is taken: the socket may be shut down for writing."""
        if not self._closing[side] or self.queued_octets(side):
            return False
        end = self._ends[side]
        if end is None:
            return not self._tls[side] or self._opening is None
        return end.closed or self._cut[side]

    def queued_octets(self, side: int) -> int:
        """Octets for a side that lie here."""
        end = self._ends[side]
        inside = 0 if end is None else end.queued
        return len(self._out[side]) + len(self._early[side]) + inside

    def held_octets(self, side: int) -> int:
        """Octets from a side that lie here."""
        end = self._ends[side]
        return len(self._held[side]) + (0 if end is None else end.held)

    def wants(self, side: int) -> bool:
        """Whether more from a side is of use now."""
        return side != CLIENT or not self._waits()

    @property
    def settled(self) -> bool:
        """Who speaks TLS is decided, and every handshake is through."""
        return self._opening is not None and self._upstream_ready() and self._client_ready()

    @property
    def undecided(self) -> bool:
        """Octets of the client are held that may be the beginning of TLS, and of anything else."""
        begun = self._opening is not None or self._client_asked
        return not begun and may_be_anything(self._held[CLIENT])

    @property
    def waits_for_upstream(self) -> bool:
        """Whether the client has said what it wants, and it is upstream's turn."""
        return self._asking or (self._opening is not None and not self._upstream_ready())

    def step_aside(self) -> bytes:
        """Stop waiting for the rest of a beginning: it is not TLS; what was held."""
        self._opening = Opening(Kind.OTHER)
        self._go_on()
        return self._release(CLIENT)

    def forget(self) -> None:
        """The connection is over: let go of both ends, which hold memory and key logs."""
        self._ends = [None, None]

    @property
    def transparent(self) -> bool:
        """Plain on both sides, and nothing is held: there is nothing to do here any more."""
        return (
            self._opening is not None
            and not (self._tls[CLIENT] or self._tls[UPSTREAM] or self._asking)
            and not (self._held[CLIENT] or self._held[UPSTREAM])
        )

    def is_truncated(self, side: int) -> bool:
        """Whether a side's TLS ended without a word."""
        end = self._ends[side]
        return end is not None and end.truncated

    def describe(self) -> str:
        """Who speaks what: `TLSv1.3 -> plain`; empty where nobody speaks TLS."""
        if not any(self._tls):
            return ""
        words = [end.version or "TLS" if end is not None else "plain" for end in self._ends]
        return " -> ".join(words)

    # The client's beginning

    def _open(self, data: bytes) -> bytes:
        held = self._held[CLIENT]
        held += data
        opening = sniff(held)
        if opening is None:
            return b""
        if self._client_asked:
            return self._open_in_band(opening)
        if opening.kind is Kind.IN_BAND_TLS:
            return self._ask_in_band()
        self._opening = opening
        self._tls[CLIENT] = opening.kind is Kind.TLS
        self._go_on()
        return b"" if self._tls[CLIENT] else self._release(CLIENT)

    def _ask_in_band(self) -> bytes:
        """The client asks by AMQP's header: ask on, or answer if upstream has TLS anyway."""
        del self._held[CLIENT][: len(IN_BAND_TLS_HEADER)]
        self._client_asked = True
        if self._policy.options.upstream_tls and not self._policy.options.in_band:
            self._out[CLIENT] += IN_BAND_TLS_HEADER
            return self._open(b"") if self._held[CLIENT] else b""
        self._asking = self._mirrored = True
        # The header itself goes there in the clear.
        self._tls[UPSTREAM] = False
        return IN_BAND_TLS_HEADER

    def _open_in_band(self, opening: Opening) -> bytes:
        if opening.kind is not Kind.TLS:
            raise TlsError("the client asked for TLS and continues without it", CLIENT)
        self._opening = opening
        self._tls[CLIENT] = True
        self._go_on()
        return b""

    # Upstream's beginning

    def _feed_upstream(self, data: bytes) -> bytes:
        if not self._asking:
            if self._opening is None and not self._client_asked:
                # It speaks first, so this is no TLS, and no AMQP either.
                self._opening = Opening(Kind.OTHER)
            return data
        held = self._held[UPSTREAM]
        held += data
        if held.startswith(IN_BAND_TLS_HEADER):
            return self._agree()
        if IN_BAND_TLS_HEADER.startswith(held):
            return b""
        if not self._mirrored or self._policy.options.in_band:
            raise TlsError(self._refused(), UPSTREAM)
        # Its answer is for the client, and so is what to do about it.
        self._asking = self._mirrored = self._client_asked = False
        self._opening = Opening(Kind.AMQP)
        return self._release(UPSTREAM)

    def _agree(self) -> bytes:
        del self._held[UPSTREAM][: len(IN_BAND_TLS_HEADER)]
        self._echo = self._mirrored
        self._asking = self._mirrored = False
        self._agreed = self._tls[UPSTREAM] = True
        self._go_on()
        return IN_BAND_TLS_HEADER if self._echo else b""

    def _refused(self) -> str:
        got = bytes(self._held[UPSTREAM][:8])
        said = "closed the connection" if not got else f"answered {got.hex(' ')}"
        return f"{self._upstream} does not take AMQP's TLS header (--in-band-tls): it {said}"

    # Going on when something has become possible

    def _go_on(self) -> None:
        if not self._connected or self._opening is None or self._asking:
            return
        self._start_upstream(self._opening)
        if self._tls[CLIENT] and self._ends[CLIENT] is None and self._upstream_ready():
            self._start_client(self._opening)

    def _start_upstream(self, opening: Opening) -> None:
        if not self._tls[UPSTREAM] or self._ends[UPSTREAM] is not None:
            return
        if self._policy.options.in_band and not self._agreed:
            self._out[UPSTREAM] += IN_BAND_TLS_HEADER
            self._asking = True
            return
        end = self._ends[UPSTREAM] = self._policy.upstream_end(opening.alpn)
        end.start()
        self._hand_over(UPSTREAM, end)
        if held := self._release(UPSTREAM):
            end.receive(held)

    def _start_client(self, opening: Opening) -> None:
        upstream = self._ends[UPSTREAM]
        alpn = self._policy.agree(opening.alpn) if upstream is None else upstream.alpn
        end = self._ends[CLIENT] = self._policy.client_end(opening, self._local, alpn)
        self._hand_over(CLIENT, end)
        end.receive(self._release(CLIENT))

    def _hand_over(self, side: int, end: TlsEnd) -> None:
        end.send(bytes(self._early[side]))
        self._early[side].clear()
        if self._closing[side]:
            end.close()

    def _upstream_ready(self) -> bool:
        end = self._ends[UPSTREAM]
        return self._connected and (end.done if end is not None else not self._tls[UPSTREAM])

    def _client_ready(self) -> bool:
        end = self._ends[CLIENT]
        return end.done if end is not None else not self._tls[CLIENT]

    def _waits(self) -> bool:
        """Whether the client has to wait for upstream before it gets an answer."""
        return self._mirrored or self._echo or (self._tls[CLIENT] and self._ends[CLIENT] is None)

    def _release(self, side: int) -> bytes:
        held = bytes(self._held[side])
        self._held[side].clear()
        return held

    @property
    def _upstream(self) -> str:
        return self._policy.options.upstream
