"""One connection through the relay: two sockets, each passing on what the other receives.

`Endpoint` and `Connection` are what every connection has. The plain one is here too: in one loop
turn a `Side` receives into the recording's arena and queues what it got; when the turn is written
to the file, `forward` passes it on. Whatever happens to one side happens to the other: a
half-close, a reset, and a peer that stops reading.

Connections that need more than that (TLS, faults) are `layered_connection.LayeredConnection`s: this
one must stay as short as it is.
"""

from __future__ import annotations

import select
import socket
import struct
from typing import Final, Protocol

from amqpscope.proxy.record import DATA, END, PAYLOAD, RESET, Address, Flow, Recording, flows
from amqpscope.proxy.sniff import TAIL
from dissectors.native import mypyc_attr

IN: Final = select.EPOLLIN
OUT: Final = select.EPOLLOUT
ERR: Final = select.EPOLLERR
EDGE: Final = select.EPOLLET
"""For a socket of which nothing is wanted: a hang-up is then told once, not over and over."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
_U32: Final = 0xFFFFFFFF


class Host(Protocol):
    """What a connection needs of the relay around it."""

    epoll: select.epoll
    recording: Recording
    queue: list[tuple[Side, memoryview | None]]
    """What was received in this turn and must be passed on; None for the end of a direction."""
    broken: list[Side]
    """Sides that failed while the turn was passed on."""

    def watch(self, side: Side, mask: int) -> None:
        """Tell a side of its events from now on."""

    def leave(self, connection: Connection) -> None:
        """A connection is over: forget its sockets and close them."""

    def upstream_broke_off(self, connection: Connection) -> None:
        """The upstream broke a connection off."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Endpoint:
    """One of the two sockets of a connection, and the direction that comes out of it."""

    __slots__ = ("alive", "ended", "epoll", "fd", "flow", "mask", "pending", "socket", "tail")

    def __init__(self, epoll: select.epoll, endpoint: socket.socket, flow: Flow) -> None:
        self.epoll = epoll
        self.socket = endpoint
        self.fd = endpoint.fileno()
        self.flow = flow
        self.mask = IN
        self.pending = b""
        """What this socket has not taken yet: then the peer is not read."""
        self.ended = False
        """The peer behind this socket has closed its direction."""
        self.alive = True
        self.tail = b""
        """The last octets that came out of it."""

    def want(self, mask: int) -> None:
        """Be told of these events from now on."""
        if mask != self.mask:
            self.mask = mask
            self.epoll.modify(self.fd, mask or EDGE)


@mypyc_attr(allow_interpreted_subclasses=True)
class Connection:
    """A client and the upstream it talks to."""

    __slots__ = ("client", "client_address", "number", "server", "server_address", "upstream")

    def __init__(
        self,
        number: int,
        addresses: tuple[Address, Address],
        client: Endpoint,
        server: Endpoint,
        upstream: str,
    ) -> None:
        self.number = number
        self.upstream = upstream
        """The upstream as messages name it."""
        self.client_address, self.server_address = addresses
        self.client = client
        self.server = server

    @property
    def waiting(self) -> bool:
        """Whether octets wait to be passed on, and will be."""
        return bool(self.client.pending or self.server.pending)

    @property
    def passed(self) -> int:
        """A number that changes with every octet that passes."""
        return self.client.flow.seq + self.server.flow.seq

    def left(self) -> None:
        """It is over."""

    def late(self) -> None:
        """What was to begin by now has not."""


class PlainConnection(Connection):
    """A connection whose octets pass as they are."""

    __slots__ = ()

    def __init__(
        self,
        host: Host,
        number: int,
        sockets: tuple[socket.socket, socket.socket],
        addresses: tuple[Address, Address],
        recorded: Address,
        upstream: str,
    ) -> None:
        # The server as the recording has it, which may be another port.
        there, back = flows(addresses[0], recorded, number)
        host.recording.write_handshake(there, back)
        client = Side(host, self, sockets[0], there)
        server = Side(host, self, sockets[1], back)
        super().__init__(number, addresses, client, server, upstream)
        client.peer, server.peer = server, client
        host.watch(client, IN)
        host.watch(server, IN)


class Side(Endpoint):
    """One of the two sockets of a plain connection."""

    __slots__ = ("connection", "host", "peer", "queue", "recording")

    def __init__(
        self, host: Host, connection: PlainConnection, endpoint: socket.socket, flow: Flow
    ) -> None:
        super().__init__(host.epoll, endpoint, flow)
        self.host = host
        self.recording = host.recording
        self.queue = host.queue
        self.connection = connection
        self.peer = self

    def event(self, events: int) -> None:
        """Something happened on the socket."""
        try:
            if events & OUT:
                self.write_pending()
            if self.mask & IN:
                recording = self.recording
                flow = self.flow
                start = recording.position + flow.head
                room = recording.view[start : start + PAYLOAD]
                size = self.socket.recv_into(room)
                if size:
                    recording.add(flow, size, size, DATA)
                    self.queue.append((self, room[:size]))
                else:
                    self.end()
            elif events & ERR:
                self.reset()
        except BlockingIOError:
            pass
        except OSError:
            self.reset()

    def end(self) -> None:
        """The peer behind this socket has closed its direction."""
        self.ended = True
        self.want(self.mask & ~IN)
        self.recording.add(self.flow, 0, 1, END)
        self.queue.append((self, None))

    def forward(self, octets: memoryview | None) -> None:
        """Pass on what was received in this turn; it is in the file by now."""
        peer = self.peer
        try:
            if octets is None:
                self.pass_end()
                return
            self.tail = bytes(octets[-TAIL:])
            sent = peer.socket.send(octets)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.host.broken.append(peer)
            return
        peer.flow.ack = (peer.flow.ack + sent) & _U32
        if octets is not None and sent < len(octets):
            peer.pending = bytes(octets[sent:])
            self.want(self.mask & ~IN)
            peer.want(peer.mask | OUT)

    def pass_end(self) -> None:
        """Close the direction that goes out of the other socket, too."""
        peer = self.peer
        peer.socket.shutdown(socket.SHUT_WR)
        peer.flow.ack = (peer.flow.ack + 1) & _U32
        if peer.ended:
            self.host.leave(self.connection)

    def write_pending(self) -> None:
        """The socket takes octets again."""
        sent = self.socket.send(self.pending)
        self.flow.ack = (self.flow.ack + sent) & _U32
        self.pending = self.pending[sent:]
        if not self.pending:
            self.want(self.mask & ~OUT)
            peer = self.peer
            if not peer.ended:
                peer.want(peer.mask | IN)

    def read_rest(self) -> None:
        """Pass on what came in before a send to this socket failed: a close may be the last of it.

        Only between turns, when the arena is free.
        """
        peer = self.peer
        try:
            while self.alive and not self.ended and not peer.pending:
                octets = self.socket.recv(PAYLOAD)
                if not octets:
                    return
                self.recording.data(self.flow, octets)
                self.recording.flush()
                self.tail = octets[-TAIL:]
                sent = peer.socket.send(octets)
                peer.pending = octets[sent:]
        except OSError:
            return

    def reset(self) -> None:
        """The connection broke on this side: it breaks on the other, as it would without us."""
        if not self.alive:
            return
        self.recording.add(self.flow, 0, 0, RESET)
        close_at_once(self.peer.socket)
        self.host.leave(self.connection)
        if self is self.connection.server:
            self.host.upstream_broke_off(self.connection)


def close_at_once(endpoint: socket.socket) -> None:
    """Let the peer see a reset."""
    try:
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    finally:
        endpoint.close()
