"""A connection with layers between its sockets: TLS on one side or both, faults, or both of them.

Slower than a `PlainConnection` and apart from it: everything here happens after the turn, when the
arena is free, and each piece is written to the file before it is passed on.

Where a fault acts, what one peer sends is no longer what the other receives. From then on the
recording has two conversations: the client's, which goes on under the addresses that it began with,
and the upstream's, between the proxy's own socket and the upstream, from its beginning on.
"""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from amqpscope.proxy.address import address_of, address_text
from amqpscope.proxy.bridge import Bridge
from amqpscope.proxy.connection import ERR, IN, OUT, Connection, Endpoint, close_at_once
from amqpscope.proxy.files import AS_IT_WAS
from amqpscope.proxy.history import History, Passed
from amqpscope.proxy.lines import Repeats
from amqpscope.proxy.record import END, RESET, TLS_REMOVED, Address, Flow, Recording, flows
from amqpscope.proxy.sniff import TAIL
from amqpscope.proxy.tls import TlsError
from amqpscope.stream.types import CLIENT, SERVER
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.proxy.clock import Clock, Limits
    from amqpscope.proxy.faults.layer import FaultLayer

RECEIVE: Final = 256 * 1024
ENOUGH: Final = 64 * 1024
"""Octets waiting for a side: then the other is not read."""
_U32: Final = 0xFFFFFFFF
NAMES: Final = ("client", "upstream")
HOLD: Final = 2.0
"""Seconds for which a beginning too short to tell TLS from anything else is held back."""
LINGER: Final = 2.0
"""Seconds for which a peer whose connection we close may still send."""


class Relaying(Protocol):
    """What such a connection needs of the relay around it."""

    epoll: select.epoll
    recording: Recording
    later: list[Callable[[], None]]
    repeats: Repeats
    limits: Limits
    clock: Clock

    def register(self, fd: int, mask: int, handler: Callable[[int], None]) -> None:
        """Call a handler with the events of a descriptor."""

    def leave(self, connection: Connection) -> None:
        """A connection is over: forget its sockets and close them."""

    def upstream_broke_off(self, connection: Connection) -> None:
        """The upstream broke a connection off."""


class LayeredEnd(Endpoint):
    """One of the two sockets."""

    def __init__(self, epoll: select.epoll, endpoint: socket.socket, flow: Flow) -> None:
        super().__init__(epoll, endpoint, flow)
        self.written: Flow | None = None
        """What we write to the socket as the recording has it, once a fault has acted."""
        self.unsent = 0
        """Octets of plaintext given to TLS that have not come out as ciphertext yet."""
        self.shut = False
        """We have closed the direction to it."""


class LayeredConnection(Connection):
    """A client and the upstream it talks to, with layers between."""

    def __init__(
        self,
        relay: Relaying,
        bridge: Bridge,
        before: Connection,
        client: LayeredEnd,
        server: LayeredEnd,
        recorded: Address,
    ) -> None:
        """`before`: as it was before it had layers; `recorded`: the upstream in the recording."""
        addresses = before.client_address, before.server_address
        super().__init__(before.number, addresses, client, server, before.upstream)
        self.recorded = recorded
        self.relay = relay
        self.bridge = bridge
        self.ends = (client, server)
        self.addresses = addresses
        self.faults: FaultLayer | None = None
        self.history: History | None = None
        """What passed, while a fault may act and none has."""
        self.begun = False
        """The client has said something."""
        self.ready = False
        """Every handshake is through."""
        self.hurried = False
        """What was held back is TLS, and its time runs."""
        self.closing = False
        """A fault closes the connection: what still comes is dropped."""
        if not bridge.transparent:
            for end in self.ends:
                end.flow.interface = TLS_REMOVED

    def add_faults(self, layer: FaultLayer) -> None:
        """Let faults act on what passes."""
        self.faults = layer
        self.history = History()

    @property
    def waiting(self) -> bool:
        """Whether octets wait to be passed on, and will be."""
        return super().waiting or (self.faults is not None and self.faults.waiting)

    @property
    def recorded_at(self) -> int:
        """When the newest packet was recorded, in nanoseconds since the Unix epoch."""
        return self.relay.recording.time

    @property
    def is_split(self) -> bool:
        """Whether a fault has acted, so that the recording has two conversations."""
        return self.ends[CLIENT].written is not None

    def begin(self) -> None:
        """Both sockets are connected."""
        for side in (CLIENT, SERVER):
            end = self.ends[side]
            self.relay.register(end.fd, end.mask, partial(self.event, side))
        self.attempt(CLIENT, self.bridge.upstream_connected)

    def event(self, side: int, events: int) -> None:
        """Something happened on a socket; it has to wait for the end of the turn."""
        self.relay.later.append(partial(self.work, side, events))

    def work(self, side: int, events: int) -> None:
        """Receive and send on one of the sockets."""
        end = self.ends[side]
        if not end.alive:
            return
        try:
            if self.closing:
                self.drop_rest(side)
            elif end.mask & IN:
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
        bridge = self.bridge
        if side == CLIENT and octets and not self.begun and not self.ready:
            self.begun = True
            limit = self.relay.limits.handshake
            self.relay.clock.shaking(self, min(HOLD, limit) if limit else HOLD)
        self.give(side, bridge.feed(side, octets) if octets else bridge.end(side))

    def late(self) -> None:
        """The clock says that TLS should have begun by now."""
        if self.bridge.undecided:
            self.attempt(CLIENT, self.let_go)
            return
        limit, since = self.relay.limits.handshake, HOLD
        if not limit:
            return
        if limit > since and not self.hurried:
            self.hurried = True
            self.relay.clock.shaking(self, limit - since)
            return
        side = SERVER if self.bridge.waits_for_upstream else CLIENT
        text = f"no TLS handshake within {limit:g} s (--handshake-timeout)"
        self.fail(TlsError(text, side))

    def let_go(self) -> None:
        """Pass on what was held back: it may be anything, and goes on unchanged."""
        self.give(CLIENT, self.bridge.step_aside())

    def attempt(self, side: int, action: Callable[[], None]) -> None:
        """Do something that may fail for reasons of TLS, then send what came of it."""
        try:
            action()
            self.end_directions()
        except TlsError as error:
            with contextlib.suppress(TlsError):
                self.give(side, error.plain)
            self.fail(self.blame_cause(error))
            # It leads here by its traceback, so neither would go before a collector comes.
            error.__traceback__ = None
            return
        except OSError as error:
            # Not of the sockets: no descriptors or no memory for a certificate.
            self.fail(TlsError(f"no TLS: {reason_of(error)}", CLIENT))
            return
        if self.client.alive:
            self.pass_on()

    def blame_cause(self, error: TlsError) -> TlsError:
        """An error on one side that the other one has caused is the other's."""
        other = 1 - error.side
        if not self.bridge.is_truncated(other):
            return error
        answer = f"closed TLS without close_notify, which the {NAMES[error.side]} answers"
        return TlsError(f"{answer}: {error}", other, quiet=error.quiet)

    def give(self, side: int, plain: bytes) -> None:
        """Let plaintext from a side go through the faults, if there are any, to the other side."""
        if not plain:
            return
        if not self.ready and self.bridge.transparent:
            for end in self.ends:
                end.flow.interface = AS_IT_WAS
        if self.faults is None or not self.faults.following:
            self.emit(side, plain)
            return
        if self.is_split:
            self.record_received(side, plain)
        self.faults.feed(side, plain)

    def emit(self, side: int, plain: bytes, comment: str = "") -> None:
        """Record plaintext that comes from a side, or is said to, and let it go to the other."""
        if self.closing and self.ends[1 - side].shut:
            return
        other, recording = self.ends[1 - side], self.relay.recording
        flow = other.written or self.ends[side].flow
        if comment and plain:
            recording.data_with_comment(flow, plain, comment)
        else:
            recording.data(flow, plain)
        if self.history is not None:
            self.history.add(Passed(side, recording.time, flow.ack, plain))
        recording.flush()
        self.ends[side].tail = plain[-TAIL:]
        other.unsent += len(plain)
        self.bridge.send(1 - side, plain)

    def write_now(self, side: int) -> None:
        """Write what there is for a socket at once; whether that failed is seen later."""
        with contextlib.suppress(OSError):
            self.send(side)

    def end_directions(self) -> None:
        """Pass on the end of a direction."""
        for side in (CLIENT, SERVER):
            end = self.ends[side]
            if not end.ended and self.bridge.eof(side):
                end.ended = True
                if self.is_split:
                    self.relay.recording.add(end.flow, 0, 1, END)
                if self.faults is None:
                    self.pass_end(side)
                else:
                    self.faults.end(side)

    def pass_end(self, side: int) -> None:
        """A side says no more: let the other know."""
        other = self.ends[1 - side]
        self.relay.recording.add(other.written or self.ends[side].flow, 0, 1, END)
        self.relay.recording.flush()
        other.unsent += 1
        self.bridge.close(1 - side)

    # What faults do

    def record_received(self, side: int, plain: bytes) -> None:
        """Record what a peer sent, apart from what the other is sent."""
        end = self.ends[side]
        self.relay.recording.data(end.flow, plain)
        if end.written is not None:
            end.written.ack = end.flow.seq

    def split(self) -> None:
        """A fault acts for the first time: from here on there are two conversations."""
        if self.is_split:
            return
        recording, (client, server) = self.relay.recording, self.ends
        local = address_of(server.socket, self.number)
        # The same number: what both conversations have in common has the same sequence numbers.
        there, back = flows(local, self.recorded, self.number)
        there.interface, back.interface = client.flow.interface, server.flow.interface
        history, self.history = self.history, None
        if history is not None and not history.lost:
            recording.write_handshake(there, back)
            for passed in history.read():
                flow = back if passed.sender == SERVER else there
                flow.ack = passed.ack
                recording.replay(flow, passed.octets, passed.time)
            history.close()
        there.seq = back_ack = client.flow.seq
        back.seq, back.ack = server.flow.seq, server.flow.ack
        there.ack, server.flow.ack = back.seq, back_ack
        client.written, server.written = server.flow, there
        server.flow = back

    def mark(self, side: int, comment: str) -> None:
        """Note in the recording, where a side's octets would be, that a fault has acted."""
        end = self.ends[1 - side]
        if end.written is not None:
            self.relay.recording.comment(end.written, comment)

    def report(self, text: str) -> None:
        """Let the user know of a fault that cannot be applied."""
        self.relay.repeats.say(f"client {address_text(self.client_address)}", text)

    def call_later(self, seconds: float) -> None:
        """Let the faults go on after a while."""
        self.relay.clock.call_later(seconds, self.pump)

    def pump(self) -> None:
        """Pass on what is due by now."""
        if self.client.alive and self.faults is not None:
            self.attempt(CLIENT, self.faults.pump)

    def close_both(self) -> None:
        """A fault ends the connection: FIN to both peers, and what they still send is dropped."""
        if self.closing:
            return
        self.closing = True
        for side in (CLIENT, SERVER):
            if not self.ends[1 - side].shut:
                self.pass_end(side)
        self.relay.clock.call_later(LINGER, self.give_up)

    def reset_both(self) -> None:
        """A fault breaks the connection: RST to both peers."""
        self.closing = True
        for end in self.ends:
            if end.written is not None:
                self.relay.recording.add(end.written, 0, 0, RESET)
            close_at_once(end.socket)
        self.leave()

    def drop_rest(self, side: int) -> None:
        """Receive what a peer sends behind the end, so that it sees a FIN and no reset."""
        end = self.ends[side]
        if end.mask & IN and not end.socket.recv(RECEIVE):
            end.ended = True
            self.relay.recording.add(end.flow, 0, 1, END)
        self.pass_on()

    def give_up(self) -> None:
        """A peer has had long enough to close its side, too."""
        if self.client.alive:
            self.leave()

    def leave(self) -> None:
        """The connection is over."""
        self.relay.leave(self)

    def left(self) -> None:
        """It is over: let go of everything."""
        self.bridge.forget()
        if self.faults is not None:
            self.faults.abandon()
        if self.history is not None:
            self.history.close()

    def pass_on(self) -> None:
        """Send what there is for both sockets, and see who is to be read now."""
        for side in (CLIENT, SERVER):
            try:
                self.send(side)
            except OSError:
                self.read_rest(side)
                if self.client.alive:
                    self.reset(side)
                return
        if not self.ready and self.bridge.settled:
            self.ready = True
            self.relay.clock.shaken(self)
        if self.is_over:
            self.leave()
            return
        for side in (CLIENT, SERVER):
            end, other = self.ends[side], self.ends[1 - side]
            bridge = self.bridge
            waiting = len(other.pending) + bridge.queued_octets(1 - side)
            if self.faults is not None and not self.closing:
                waiting += self.faults.queued_octets(side)
            readable = not end.ended and bridge.wants(side) and waiting < ENOUGH
            end.want((IN if readable else 0) | (OUT if end.pending else 0))

    @property
    def is_over(self) -> bool:
        """Whether both directions have ended, and nothing is left that will be passed on."""
        client, server = self.ends
        if not (client.ended and server.ended):
            return False
        stalled = self.faults is not None and self.faults.stalled
        return (client.shut and server.shut) or (stalled and not self.waiting)

    def send(self, side: int) -> None:
        """Send what there is for a socket."""
        end = self.ends[side]
        end.pending += self.bridge.outgoing(side)
        if end.unsent and not self.bridge.queued_octets(side):
            end.flow.ack = (end.flow.ack + end.unsent) & _U32
            end.unsent = 0
        if end.pending:
            with contextlib.suppress(BlockingIOError):
                end.pending = end.pending[end.socket.send(end.pending) :]
        if not end.pending and not end.shut and self.bridge.is_closed(side):
            end.shut = True
            end.socket.shutdown(socket.SHUT_WR)

    def read_rest(self, side: int) -> None:
        """Pass on what came in before a send to a socket failed: a close may be the last of it."""
        end = self.ends[side]
        with contextlib.suppress(OSError, TlsError):
            while end.alive and not end.ended and not self.closing:
                octets = end.socket.recv(RECEIVE)
                if not octets:
                    break
                self.take(side, octets)
                self.send(1 - side)

    def fail(self, error: TlsError) -> None:
        """TLS cannot go on: let both peers know, each in its own way."""
        end = self.ends[error.side]
        if not error.quiet:
            address = address_text(self.addresses[error.side])
            self.relay.repeats.say(f"{NAMES[error.side]} {address}", str(error))
        for side in (CLIENT, SERVER):
            with contextlib.suppress(OSError):
                self.send(side)
            with contextlib.suppress(OSError):
                self.ends[side].socket.shutdown(socket.SHUT_WR)
        self.relay.recording.add(end.flow, 0, 0, RESET)
        self.leave()

    def reset(self, side: int) -> None:
        """The connection broke on this side: it breaks on the other, as it would without us."""
        other = self.ends[1 - side]
        self.relay.recording.add(self.ends[side].flow, 0, 0, RESET)
        if other.written is not None:
            self.relay.recording.add(other.written, 0, 0, RESET)
        close_at_once(other.socket)
        self.leave()
        if side == SERVER and not self.closing:  # else a fault has broken it off first
            self.relay.upstream_broke_off(self)
