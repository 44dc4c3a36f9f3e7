"""A connection with TLS on one side or both: ciphertext on the sockets, plaintext recorded.

Slower than a plain `Connection` and apart from it: everything here happens after the turn, when the
arena is free, and each piece is written to the file before it is passed on.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from amqpscope.proxy.address import shown
from amqpscope.proxy.connection import EDGE, ERR, IN, OUT, close_at_once
from amqpscope.proxy.files import AS_IT_WAS
from amqpscope.proxy.lines import Repeats
from amqpscope.proxy.record import END, RESET, TLS_REMOVED, Address, Flow, Recording
from amqpscope.proxy.tls import TlsError
from amqpscope.proxy.tls_bridge import Crossing
from amqpscope.stream.types import CLIENT, SERVER
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.proxy.clock import Clock, Limits

RECEIVE: Final = 256 * 1024
ENOUGH: Final = 64 * 1024
"""Octets waiting for a side: then the other is not read."""
_U32: Final = 0xFFFFFFFF
NAMES: Final = ("client", "upstream")
HOLD: Final = 2.0
"""Seconds for which a beginning too short to tell TLS from anything else is held back."""


class Relaying(Protocol):
    """What such a connection needs of the relay around it."""

    recording: Recording
    later: list[Callable[[], None]]
    repeats: Repeats
    limits: Limits
    clock: Clock

    def register(self, fd: int, mask: int, handler: Callable[[int], None]) -> None:
        """Call a handler with the events of a descriptor."""

    def change(self, fd: int, mask: int) -> None:
        """Be told of other events of a descriptor."""

    def leave(self, connection: Crossed) -> None:
        """A connection is over: forget its sockets and close them."""

    def vanished(self, connection: Crossed) -> None:
        """The upstream broke a connection off."""


class End:
    """One of the two sockets."""

    def __init__(self, endpoint: socket.socket, address: Address, flow: Flow) -> None:
        self.socket = endpoint
        self.fd = endpoint.fileno()
        self.address = address
        self.flow = flow
        self.mask = IN
        self.pending = b""
        """Octets that the socket has not taken yet."""
        self.unsent = 0
        """Octets of plaintext given to TLS that have not come out as ciphertext yet."""
        self.ended = False
        """Its last octet of plaintext is recorded."""
        self.shut = False
        """We have closed the direction to it."""
        self.alive = True


class Crossed:
    """A client and the upstream it talks to, with TLS between."""

    def __init__(self, relay: Relaying, crossing: Crossing, client: End, server: End) -> None:
        self.relay = relay
        self.crossing = crossing
        self.client = client
        self.server = server
        self.ends = (client, server)
        self.client_address = client.address
        self.begun = False
        """The client has said something."""
        self.ready = False
        """Every handshake is through."""
        self.hurried = False
        """What was held back is TLS, and its time runs."""
        for end in self.ends:
            end.flow.interface = TLS_REMOVED

    def begin(self) -> None:
        """Both sockets are connected."""
        for side in (CLIENT, SERVER):
            end = self.ends[side]
            self.relay.register(end.fd, end.mask, partial(self.event, side))
        self.attempt(CLIENT, self.crossing.connected)

    def event(self, side: int, events: int) -> None:
        """Something happened on a socket; it has to wait for the end of the turn."""
        self.relay.later.append(partial(self.work, side, events))

    def work(self, side: int, events: int) -> None:
        """Receive and send on one of the sockets."""
        end = self.ends[side]
        if not end.alive:
            return
        try:
            if end.mask & IN:
                octets = end.socket.recv(RECEIVE)
                self.attempt(side, partial(self.take, side, octets))
            elif events & ERR:
                self.reset(side)
            else:
                self.pass_on()
        except BlockingIOError:
            self.pass_on()
        except OSError:
            self.reset(side)

    def take(self, side: int, octets: bytes) -> None:
        """Octets from a socket, none at its end."""
        crossing = self.crossing
        if side == CLIENT and octets and not self.begun:
            self.begun = True
            limit = self.relay.limits.handshake
            self.relay.clock.shaking(self, min(HOLD, limit) if limit else HOLD)
        self.give(side, crossing.feed(side, octets) if octets else crossing.end(side))

    def late(self) -> None:
        """The clock says that TLS should have begun by now."""
        if self.crossing.undecided:
            self.attempt(CLIENT, self.let_go)
            return
        limit, since = self.relay.limits.handshake, HOLD
        if not limit:
            return
        if limit > since and not self.hurried:
            self.hurried = True
            self.relay.clock.shaking(self, limit - since)
            return
        side = SERVER if self.crossing.waits_for_upstream else CLIENT
        text = f"no TLS handshake within {limit:g} s (--handshake-timeout)"
        self.fail(TlsError(text, side))

    def let_go(self) -> None:
        """Pass on what was held back: it may be anything, and goes on unchanged."""
        self.give(CLIENT, self.crossing.step_aside())

    def attempt(self, side: int, action: Callable[[], None]) -> None:
        """Do something that may fail for reasons of TLS, then send what came of it."""
        try:
            action()
            self.end_directions()
        except TlsError as error:
            with contextlib.suppress(TlsError):
                self.give(side, error.plain)
            self.fail(self.blamed(error))
            # It leads here by its traceback, so neither would go before a collector comes.
            error.__traceback__ = None
            return
        except OSError as error:
            # Not of the sockets: no descriptors or no memory for a certificate.
            self.fail(TlsError(f"no TLS: {reason_of(error)}", CLIENT))
            return
        self.pass_on()

    def blamed(self, error: TlsError) -> TlsError:
        """An error on one side that the other one has caused is the other's."""
        other = 1 - error.side
        if not self.crossing.truncated(other):
            return error
        answer = f"closed TLS without close_notify, which the {NAMES[error.side]} answers"
        return TlsError(f"{answer}: {error}", other, quiet=error.quiet)

    def give(self, side: int, plain: bytes) -> None:
        """Record plaintext, then let it go to the other side."""
        if not plain:
            return
        if not self.ready and self.crossing.transparent:
            for end in self.ends:
                end.flow.interface = AS_IT_WAS
        self.relay.recording.data(self.ends[side].flow, plain)
        self.relay.recording.flush()
        self.ends[1 - side].unsent += len(plain)
        self.crossing.send(1 - side, plain)

    def end_directions(self) -> None:
        """Pass on the end of a direction."""
        for side in (CLIENT, SERVER):
            end = self.ends[side]
            if not end.ended and self.crossing.eof(side):
                end.ended = True
                self.relay.recording.add(end.flow, 0, 1, END)
                self.relay.recording.flush()
                self.ends[1 - side].unsent += 1
                self.crossing.close(1 - side)

    def pass_on(self) -> None:
        """Send what there is for both sockets, and see who is to be read now."""
        for side in (CLIENT, SERVER):
            try:
                self.send(side)
            except OSError:
                self.reset(side)
                return
        if not self.ready and self.crossing.settled:
            self.ready = True
            self.relay.clock.shaken(self)
        if self.client.shut and self.server.shut and self.client.ended and self.server.ended:
            self.relay.leave(self)
            self.crossing.forget()
            return
        for side in (CLIENT, SERVER):
            end, other = self.ends[side], self.ends[1 - side]
            crossing = self.crossing
            waiting = len(other.pending) + crossing.queued(1 - side)
            readable = not end.ended and crossing.wants(side) and waiting < ENOUGH
            self.want(end, (IN if readable else 0) | (OUT if end.pending else 0))

    def send(self, side: int) -> None:
        """Send what there is for a socket."""
        end = self.ends[side]
        end.pending += self.crossing.outgoing(side)
        if end.unsent and not self.crossing.queued(side):
            end.flow.ack = (end.flow.ack + end.unsent) & _U32
            end.unsent = 0
        if end.pending:
            with contextlib.suppress(BlockingIOError):
                end.pending = end.pending[end.socket.send(end.pending) :]
        if not end.pending and not end.shut and self.crossing.closed(side):
            end.shut = True
            end.socket.shutdown(socket.SHUT_WR)

    def want(self, end: End, mask: int) -> None:
        """Be told of these events of a socket from now on."""
        if mask != end.mask:
            end.mask = mask
            self.relay.change(end.fd, mask or EDGE)

    def fail(self, error: TlsError) -> None:
        """TLS cannot go on: let both peers know, each in its own way."""
        end = self.ends[error.side]
        if not error.quiet:
            self.relay.repeats.say(f"{NAMES[error.side]} {shown(end.address)}", str(error))
        for side in (CLIENT, SERVER):
            with contextlib.suppress(OSError):
                self.send(side)
            with contextlib.suppress(OSError):
                self.ends[side].socket.shutdown(socket.SHUT_WR)
        self.relay.recording.add(end.flow, 0, 0, RESET)
        self.relay.leave(self)
        self.crossing.forget()

    def reset(self, side: int) -> None:
        """The connection broke on this side: it breaks on the other, as it would without us."""
        self.relay.recording.add(self.ends[side].flow, 0, 0, RESET)
        close_at_once(self.ends[1 - side].socket)
        self.relay.leave(self)
        self.crossing.forget()
        if side == SERVER:
            self.relay.vanished(self)
