"""The relay: one thread, one epoll loop, all connections.

A turn of the loop receives from every socket that has something, appends all of it to the
recording with one write, and only then passes it on: nothing is ever forwarded that the file does
not have. Slow things (accepting, connecting, TLS, questions about our state) come after the turn.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.proxy.address import address_of, address_text
from amqpscope.proxy.bridge import Bridge
from amqpscope.proxy.clock import FOR_EVER, Clock, Limits
from amqpscope.proxy.connection import EDGE, Connection, PlainConnection, Side
from amqpscope.proxy.dial import Dial
from amqpscope.proxy.entrance import Entrance
from amqpscope.proxy.keylog_tail import KeyLog
from amqpscope.proxy.layered_connection import LayeredConnection, LayeredEnd
from amqpscope.proxy.lines import Repeats
from amqpscope.proxy.listening import remove_paths
from amqpscope.proxy.loading import Loader
from amqpscope.proxy.record import FULL, Recording
from amqpscope.proxy.route import Route
from amqpscope.proxy.sniff import MAX_HELLO, Kind, is_closed, sniff
from amqpscope.proxy.tls_bridge import Crossing
from amqpscope.proxy.trouble import RelayTrouble

if TYPE_CHECKING:
    from amqpscope.proxy.control_socket import ControlSocket
    from amqpscope.proxy.faults import FaultSet
    from amqpscope.proxy.metrics import MetricsServer

ONE_LINE: Final = 1.0
"""Seconds in which connections that the upstream breaks off are worth one line."""
SECONDS_TO_END: Final = 3.0
"""For what is under way when the relay is asked to end."""
QUIET: Final = 0.25
"""Seconds without an octet after which nothing is under way any more."""

Handler = Callable[[int], None]


class Status(NamedTuple):
    """How the relay is doing."""

    listening: list[str]
    upstream: str
    recording: str
    """The file that is written now."""
    first: str
    """The file with which the recording began."""
    octets: int
    """Written to the recording, all files together."""
    packets: int
    open: int
    """Connections at this moment."""
    accepted: int
    refused: int
    """Connections that the upstream did not take."""
    problem: str | None
    """Why the recording is not whole; None while it is."""
    lost: int = 0
    """Packets that passed and are not in the recording."""
    held: int = 0
    """Frames that wait for a decision."""
    trouble: str = ""
    """What is wrong now, such as an upstream that refuses connections."""


class Relay:
    """Listens, connects, passes on and records, until it is stopped."""

    def __init__(
        self,
        routes: list[Route],
        recording: Recording,
        tell: Callable[[str], None],
        idle_seconds: float = 0.0,
        keylog: KeyLog | None = None,
        limits: Limits | None = None,
        faults: FaultSet | None = None,
        *,
        accept_proxy: bool = False,
        send_proxy: str = "",
    ) -> None:
        self.routes = routes
        """Listeners with their upstreams; the first is what the user names first."""
        self.recording = recording
        self._print = tell
        """Shows one line to the user; must not wait."""
        self.trouble = RelayTrouble()
        self.repeats = Repeats(self.tell)
        self.keylog = keylog
        """Where a peer writes the secrets of TLS that is passed on."""
        self.limits = limits or Limits()
        self.faults = faults
        """What may be done to frames that pass; None: nothing is."""
        self.epoll = select.epoll()
        self.handlers: dict[int, Handler] = {}
        self.queue: list[tuple[Side, memoryview | None]] = []
        self.broken: list[Side] = []
        self.later: list[Callable[[], None]] = []
        """What waits for the end of the turn."""
        self.open: set[Connection] = set()
        self.vanished_at = 0.0
        self.vanished_from = ""
        self.vanished_too = 0
        """Connections that the upstream broke off and nobody was told of yet."""
        self.running = True
        self.timeout = FOR_EVER
        """Seconds to wait for events; the clock sets it."""
        self.clock = Clock(self, idle_seconds)
        self.loader = Loader(self)
        self.entrance = Entrance(
            self, self.limits.connect, accept_proxy=accept_proxy, send_proxy=send_proxy
        )
        self.control: ControlSocket | None = None
        self.metrics: MetricsServer | None = None
        self.analysis: dict[str, Any] | None = None
        """What the analysis has counted, as `runs.tally` reports it."""

    def tell(self, line: str) -> None:
        """Show one line to the user, and remember what it says is wrong."""
        self.trouble.take(line)
        self._print(line)

    def run(self) -> None:
        """Relay until stopped."""
        poll, handlers, recording = self.epoll.poll, self.handlers, self.recording
        while self.running:
            for fd, events in poll(self.timeout):
                handler = handlers.get(fd)
                if handler is not None:
                    handler(events)
                if recording.position > FULL:
                    self.end_turn()
            if recording.position:
                self.end_turn()
            if self.later:
                self.do_later()
            if self.timeout >= 0:
                self.clock.tick()

    def end_turn(self) -> None:
        """Write what was received, then pass it on."""
        recording = self.recording
        if self.keylog is not None and (secrets := self.keylog.news()):
            recording.secrets(secrets)
        recording.flush()
        for side, octets in self.queue:
            if side.alive:
                side.forward(octets)
        self.queue.clear()
        if self.broken:
            for side in self.broken:
                side.read_rest()
                side.reset()
            self.broken.clear()
            recording.flush()
        if recording.news:
            self.tell_news()

    def do_later(self) -> None:
        """The slow part of a turn; what it records is written before the next."""
        waiting, self.later = self.later, []
        for action in waiting:
            action()
        self.recording.flush()

    def stop(self) -> None:
        """End after this turn."""
        self.running = False

    def drain(self, seconds: float = SECONDS_TO_END, quiet: float = 0.0) -> None:
        """End when the last connection has closed, or after so many seconds.

        With `quiet`: nobody new is taken, and it ends too when nothing passed for so long.
        """
        if quiet:
            self.entrance.close()
        if self.faults is not None:
            self.later.append(self.faults.stop_holding)
        self.clock.end(seconds, quiet)

    @property
    def ending(self) -> bool:
        """Whether it was asked to end."""
        return self.clock.stop_at > 0

    @property
    def busy(self) -> bool:
        """Whether a connection is open, or about to be."""
        return bool(self.open or self.entrance.dialling)

    def close(self) -> None:
        """Close everything; the recording is complete after that."""
        if self.vanished_too:
            more = f"{self.vanished_too:,} more connections"
            self.tell(f"upstream {self.vanished_from} has reset {more}")
        self.repeats.close()
        if self.control is not None:
            self.control.close()
            self.control = None
        self.recording.close()
        self.tell_news()
        self.entrance.close()
        if self.metrics is not None:
            remove_paths(self.metrics.listeners)
        for connection in list(self.open):
            self.leave(connection)
        self.forget()

    def forget(self) -> None:
        """Close listeners, epoll and file, in a process that does not relay."""
        self.entrance.forget()
        if self.control is not None:
            self.control.forget()
        if self.metrics is not None:
            self.metrics.forget()
        self.epoll.close()
        self.recording.forget()

    def status(self) -> Status:
        """How it goes."""
        recording = self.recording
        return Status(
            [name for route in self.routes for name in route.names],
            str(self.routes[0].upstream),
            recording.files.path,
            recording.files.first,
            recording.octets,
            recording.packets,
            len(self.open),
            self.entrance.accepted,
            self.entrance.refused,
            recording.problem,
            recording.lost,
            0 if self.faults is None else len(self.faults.held),
            self.trouble.text,
        )

    # Sockets and their events.

    def register(self, fd: int, mask: int, handler: Handler) -> None:
        """Call a handler with the events of a descriptor."""
        self.handlers[fd] = handler
        self.epoll.register(fd, mask or EDGE)

    def watch(self, side: Side, mask: int) -> None:
        """Tell a side of its events from now on."""
        self.register(side.fd, mask, side.event)

    def change(self, fd: int, mask: int) -> None:
        """Be told of other events of a descriptor."""
        self.epoll.modify(fd, mask)

    def leave(self, connection: Connection) -> None:
        """A connection is over: forget its sockets and close them."""
        for side in (connection.client, connection.server):
            side.alive = False
            self.handlers.pop(side.fd, None)
            side.socket.close()
        self.open.discard(connection)
        self.clock.connection_over(connection)
        connection.left()

    # New connections.

    @property
    def reserved(self) -> int:
        """Connections that we cannot have because TLS needs the descriptors."""
        policies = [route.policy for route in self.routes if route.policy is not None]
        return sum((policy.descriptors + 1) // 2 for policy in policies)

    def connection(self, dial: Dial, upstream: socket.socket) -> None:
        """Let a client and its upstream talk, in the right way."""
        sockets = (dial.client, upstream)
        addresses = dial.client_address, dial.target
        route = dial.route
        recorded = route.recorded_address(dial.target)
        connection = PlainConnection(
            self, dial.number, sockets, addresses, recorded, str(route.upstream)
        )
        self.open.add(connection)
        self.clock.connection_opened()
        policy = route.policy
        if (policy is not None and policy.options.encrypted) or self.may_match(dial.number):
            # At once: not an octet may go upstream in the clear, or unseen by a fault.
            self.add_layers(connection, route)
        elif policy is not None:
            # The first octets of the client tell; after them nothing of this is left.
            self.handlers[connection.client.fd] = partial(self.sniff, connection, route)

    def may_match(self, number: int) -> bool:
        """Whether a fault can match a frame of a connection."""
        return self.faults is not None and self.faults.may_match(number)

    def sniff(self, connection: PlainConnection, route: Route, events: int) -> None:
        """The client speaks for the first time: TLS, or anything else."""
        client = connection.client
        try:
            first = client.socket.recv(MAX_HELLO, socket.MSG_PEEK)
        except OSError:
            first = b"?"
        opening = sniff(first)
        if first and (opening is None or opening.kind in (Kind.TLS, Kind.IN_BAND_TLS)):
            self.later.append(partial(self.add_layers, connection, route))
        elif isinstance(client, Side):
            self.handlers[client.fd] = client.event
            client.event(events)

    def add_layers(self, connection: PlainConnection, route: Route) -> None:
        """Let a connection go on with TLS on one side or both, with faults, or with both."""
        client, server = connection.client, connection.server
        if not client.alive or connection not in self.open:
            return
        self.open.discard(connection)
        ends = []
        for side in (client, server):
            side.alive = False
            self.epoll.unregister(side.fd)
            end = LayeredEnd(self.epoll, side.socket, side.flow)
            end.pending, end.ended = side.pending, side.ended
            ends.append(end)
        bridge = Bridge()
        if route.policy is not None:
            bridge = Crossing(route.policy, address_of(client.socket)[0])
        recorded = route.recorded_address(connection.server_address)
        layered = LayeredConnection(self, bridge, connection, ends[0], ends[1], recorded)
        if self.faults is not None and self.may_match(connection.number):
            layered.add_faults(self.faults.make_layer(layered))
        self.open.add(layered)
        layered.begin()

    def upstream_broke_off(self, connection: Connection) -> None:
        """The upstream broke a connection off, and not just behind a close; many are one line."""
        client, server = connection.client, connection.server
        if is_closed(client.tail, server.tail):
            return
        if client.ended and not client.tail:
            return  # it has only looked whether somebody listens, as load balancers do
        now = time.monotonic()
        if now - self.vanished_at < ONE_LINE:
            self.vanished_too += 1
            return
        who = address_text(connection.client_address)
        more = f", and {self.vanished_too:,} others before" if self.vanished_too else ""
        self.vanished_at, self.vanished_too = now, 0
        self.vanished_from = connection.upstream
        self.tell(f"upstream {connection.upstream} has reset the connection of client {who}{more}")

    def tell_news(self) -> None:
        """Report what happened to the recording."""
        for line in self.recording.news:
            self.tell(line)
        self.recording.news.clear()
