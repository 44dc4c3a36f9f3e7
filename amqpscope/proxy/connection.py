"""One connection through the relay: two sockets, each passing on what the other receives.

In one loop turn a `Side` receives into the recording's arena and queues what it got; when the turn
is written to the file, `forward` passes it on. Whatever happens to one side happens to the other:
a half-close, a reset, and a peer that stops reading.

Connections that need more than that (TLS; one day faults and edits) have classes of their own,
chosen when the connection is made: this one must stay as short as it is.
"""

from __future__ import annotations

import select
import socket
import struct
from typing import Final, Protocol

from amqpscope.proxy.record import DATA, END, PAYLOAD, RESET, Address, Flow, Recording, flows

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

    def vanished(self, connection: Connection) -> None:
        """The upstream broke a connection off."""


class Connection:
    """A client and the upstream it talks to."""

    __slots__ = ("client", "client_address", "number", "server", "server_address")

    def __init__(
        self,
        host: Host,
        number: int,
        sockets: tuple[socket.socket, socket.socket],
        client: Address,
        server: Address,
        recorded: Address,
    ) -> None:
        self.number = number
        self.client_address = client
        self.server_address = server
        # The server as the recording has it, which may be another port.
        there, back = flows(client, recorded, number)
        host.recording.opened(there, back)
        self.client = Side(host, self, sockets[0], there)
        self.server = Side(host, self, sockets[1], back)
        self.client.peer, self.server.peer = self.server, self.client
        host.watch(self.client, IN)
        host.watch(self.server, IN)


class Side:
    """One of the two sockets, and the direction that comes out of it."""

    __slots__ = (
        "alive", "connection", "ended", "fd", "flow", "host", "mask", "peer", "pending", "queue",
        "recording", "socket",
    )  # fmt: skip

    def __init__(
        self, host: Host, connection: Connection, endpoint: socket.socket, flow: Flow
    ) -> None:
        self.host = host
        self.recording = host.recording
        self.queue = host.queue
        self.connection = connection
        self.socket = endpoint
        self.fd = endpoint.fileno()
        self.flow = flow
        self.peer = self
        self.mask = IN
        self.pending = b""
        """What the peer sent and this socket has not taken yet: then the peer is not read."""
        self.ended = False
        """The peer behind this socket has closed its direction."""
        self.alive = True

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

    def want(self, mask: int) -> None:
        """Be told of these events from now on."""
        if mask != self.mask:
            self.mask = mask
            self.host.epoll.modify(self.fd, mask or EDGE)

    def reset(self) -> None:
        """The connection broke on this side: it breaks on the other, as it would without us."""
        if not self.alive:
            return
        self.recording.add(self.flow, 0, 0, RESET)
        close_at_once(self.peer.socket)
        self.host.leave(self.connection)
        if self is self.connection.server:
            self.host.vanished(self.connection)


def close_at_once(endpoint: socket.socket) -> None:
    """Let the peer see a reset."""
    try:
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    finally:
        endpoint.close()
