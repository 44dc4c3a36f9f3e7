"""The relay: one thread, one epoll loop, all connections.

A turn of the loop receives from every socket that has something, appends all of it to the
recording with one write, and only then passes it on: nothing is ever forwarded that the file does
not have. Slow things (accepting, connecting, TLS, questions about our state) come after the turn.
"""

from __future__ import annotations

import errno
import resource
import select
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from amqpscope.proxy.address import shown
from amqpscope.proxy.connection import EDGE, IN, OUT, Connection, Side, close_at_once
from amqpscope.proxy.crossed import Crossed, End
from amqpscope.proxy.crossing import Crossing
from amqpscope.proxy.dial import Dial, Targets, prepared, reason_of
from amqpscope.proxy.opening import MAX_HELLO, Kind, sniff
from amqpscope.proxy.record import FULL, Recording, flows
from amqpscope.proxy.secrets import KeyLog
from amqpscope.proxy.tls_policy import TlsPolicy

ACCEPTS: Final = 64
"""Connections taken in one turn."""
BACK_OFF: Final = 0.2
"""Seconds without accepting after we ran out of descriptors."""
ONE_LINE: Final = 1.0
"""Seconds in which connections that the upstream breaks off are worth one line."""
TICK: Final = 0.1
"""Seconds between two looks at the clock, while there is a reason to look."""
FOR_EVER: Final = -1.0
_OUT_OF_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

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
    """Why nothing is recorded any more."""


class Relay:
    """Listens, connects, passes on and records, until it is stopped."""

    def __init__(
        self,
        listeners: list[socket.socket],
        targets: Targets,
        recording: Recording,
        tell: Callable[[str], None],
        idle_seconds: float = 0.0,
        policy: TlsPolicy | None = None,
        keylog: KeyLog | None = None,
    ) -> None:
        self.listeners = listeners
        self.names = [shown(listener.getsockname()) for listener in listeners]
        self.targets = targets
        self.upstream = targets.upstream
        self.recording = recording
        self.tell = tell
        """Says one line to the user; must not wait."""
        self.policy = policy
        """Who speaks TLS to whom; None: it is passed on like anything else."""
        self.keylog = keylog
        """Where a peer writes the secrets of TLS that is passed on."""
        self.epoll = select.epoll()
        self.handlers: dict[int, Handler] = {}
        self.queue: list[tuple[Side, memoryview | None]] = []
        self.broken: list[Side] = []
        self.later: list[Callable[[], None]] = []
        """What waits for the end of the turn."""
        self.open: set[Connection | Crossed] = set()
        self.dialling: set[Dial] = set()
        self.accepted = 0
        self.refused = 0
        self.unanswered = 0
        """Connections refused since the upstream last took one."""
        self.vanished_at = 0.0
        self.vanished_too = 0
        """Connections that the upstream broke off and nobody was told of yet."""
        self.running = True
        self.told_problem = False
        self.idle_seconds = idle_seconds
        """End when no connection was open for so long, after the first; 0: never."""
        self.timeout = TICK if idle_seconds else FOR_EVER
        self.idle_since = 0.0
        self.stop_at = 0.0
        self.resume_at = 0.0
        """When to accept again after we ran out of descriptors."""
        for listener in listeners:
            self.register(listener.fileno(), IN, partial(self.defer_accept, listener))

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
            if self.timeout > 0:
                self.tick()

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
                side.reset()
            self.broken.clear()
            recording.flush()
        if recording.problem is not None:
            self.tell_problem()

    def do_later(self) -> None:
        """The slow part of a turn; what it records is written before the next."""
        waiting, self.later = self.later, []
        for action in waiting:
            action()
        self.recording.flush()

    def stop(self) -> None:
        """End after this turn."""
        self.running = False

    def drain(self, seconds: float) -> None:
        """End when the last connection has closed, or after so many seconds."""
        self.stop_at = time.monotonic() + seconds
        self.timeout = TICK

    def close(self) -> None:
        """Close everything; the recording is complete after that."""
        if self.vanished_too:
            self.tell(f"upstream {self.upstream} has reset {self.vanished_too:,} more connections")
        self.recording.close()
        for connection in list(self.open):
            self.leave(connection)
        for dial in self.dialling:
            dial.client.close()
            if dial.upstream is not None:
                dial.upstream.close()
        self.forget()

    def forget(self) -> None:
        """Close listeners, epoll and file, in a process that does not relay."""
        for listener in self.listeners:
            listener.close()
        self.epoll.close()
        self.recording.forget()

    def status(self) -> Status:
        """How it goes."""
        recording = self.recording
        return Status(
            self.names,
            str(self.upstream),
            recording.files.path,
            recording.files.first,
            recording.octets,
            recording.packets,
            len(self.open),
            self.accepted,
            self.refused,
            recording.problem,
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

    def leave(self, connection: Connection | Crossed) -> None:
        """A connection is over: forget its sockets and close them."""
        for side in (connection.client, connection.server):
            side.alive = False
            self.handlers.pop(side.fd, None)
            side.socket.close()
        self.open.discard(connection)
        self.idle_since = time.monotonic()

    # New connections.

    def defer_accept(self, listener: socket.socket, _: int) -> None:
        """Accept after the turn: a descriptor that was closed in it may come again."""
        self.later.append(partial(self.accept, listener))

    def accept(self, listener: socket.socket) -> None:
        """Take the clients that wait."""
        for _ in range(ACCEPTS):
            try:
                client, address = listener.accept()
            except OSError as error:
                if error.errno in _OUT_OF_DESCRIPTORS:
                    self.back_off(reason_of(error))
                return
            self.accepted += 1
            dial = Dial(self.accepted, prepared(client), address[:2], self.targets.addresses)
            dial.tell = self.dialled
            self.dialling.add(dial)
            self.dial(dial)

    def dial(self, dial: Dial) -> None:
        """Try the next address for a client."""
        upstream = dial.next()
        if upstream is None:
            self.refuse(dial)
        else:
            self.register(upstream.fileno(), OUT, dial.event)

    def dialled(self, dial: Dial) -> None:
        """An attempt to connect has ended; go on after the turn."""
        if dial.upstream is not None:
            self.handlers.pop(dial.upstream.fileno(), None)
            self.epoll.unregister(dial.upstream.fileno())
        self.later.append(partial(self.go_on, dial))

    def go_on(self, dial: Dial) -> None:
        """Let client and upstream talk, or try the next address."""
        if not dial.connected() or dial.upstream is None:
            self.dial(dial)
            return
        self.dialling.discard(dial)
        if self.unanswered:
            self.tell(f"upstream {self.upstream} takes connections again")
            self.unanswered = 0
        self.connection(dial, dial.upstream)

    def connection(self, dial: Dial, upstream: socket.socket) -> None:
        """Let a client and its upstream talk, in the right way."""
        sockets = (dial.client, upstream)
        connection = Connection(self, dial.number, sockets, dial.client_address, dial.target)
        self.open.add(connection)
        if self.policy is not None:
            if self.policy.options.encrypted:
                # At once: not an octet may go upstream in the clear.
                self.cross(connection)
            else:
                # The first octets of the client tell; after them nothing of this is left.
                self.handlers[connection.client.fd] = partial(self.sniff, connection)

    def sniff(self, connection: Connection, events: int) -> None:
        """The client speaks for the first time: TLS, or anything else."""
        client = connection.client
        try:
            first = client.socket.recv(MAX_HELLO, socket.MSG_PEEK)
        except OSError:
            first = b"?"
        opening = sniff(first)
        if first and (opening is None or opening.kind in (Kind.TLS, Kind.IN_BAND_TLS)):
            self.later.append(partial(self.cross, connection))
        else:
            self.handlers[client.fd] = client.event
            client.event(events)

    def cross(self, connection: Connection) -> None:
        """Let a connection go on with TLS on one side, or both."""
        client, server = connection.client, connection.server
        if self.policy is None or not client.alive or connection not in self.open:
            return
        self.open.discard(connection)
        ends = []
        for side, address in (
            (client, connection.client_address),
            (server, connection.server_address),
        ):
            side.alive = False
            self.epoll.unregister(side.fd)
            end = End(side.socket, address, side.flow)
            end.pending, end.ended = side.pending, side.ended
            ends.append(end)
        local = client.socket.getsockname()[0]
        crossed = Crossed(self, Crossing(self.policy, local), *ends)
        self.open.add(crossed)
        crossed.begin()

    def refuse(self, dial: Dial) -> None:
        """The client sees what it would see without us."""
        self.dialling.discard(dial)
        self.refused += 1
        self.unanswered += 1
        self.idle_since = time.monotonic()
        client, server = flows(dial.client_address, dial.target, dial.number)
        self.recording.refused(client, server)
        if self.unanswered == 1:
            name, address = str(self.upstream), shown(dial.target)
            where = name if name == address else f"{name} ({address})"
            self.tell(f"upstream {where}: {dial.reason}; clients get a reset")
        close_at_once(dial.client)
        self.targets.refresh()

    def vanished(self, connection: Connection | Crossed) -> None:
        """The upstream broke a connection off; many at once are one line."""
        now = time.monotonic()
        if now - self.vanished_at < ONE_LINE:
            self.vanished_too += 1
            return
        client = shown(connection.client_address)
        more = f", and {self.vanished_too:,} others before" if self.vanished_too else ""
        self.vanished_at, self.vanished_too = now, 0
        self.tell(f"upstream {self.upstream} has reset the connection of client {client}{more}")

    # What happens by the clock.

    def tick(self) -> None:
        """Look at the clock."""
        now = time.monotonic()
        if 0 < self.resume_at <= now:
            self.resume_at = 0.0
            for listener in self.listeners:
                self.epoll.modify(listener.fileno(), IN)
            self.timeout = TICK if self.idle_seconds or self.stop_at else FOR_EVER
        busy = bool(self.open or self.dialling)
        if self.idle_seconds and self.accepted and not busy:
            self.running = self.running and now - self.idle_since < self.idle_seconds
        if self.stop_at and (not busy or now >= self.stop_at):
            self.stop()

    def back_off(self, reason: str) -> None:
        """Leave clients waiting for a moment: we cannot take them now."""
        if not self.resume_at:
            self.tell(f"cannot take more connections for now: {reason}")
        self.resume_at = time.monotonic() + BACK_OFF
        self.timeout = TICK
        for listener in self.listeners:
            self.epoll.modify(listener.fileno(), EDGE)

    def tell_problem(self) -> None:
        """Say once that nothing is recorded any more."""
        if not self.told_problem:
            self.told_problem = True
            problem = self.recording.problem
            self.tell(f"recording stopped: {problem}; traffic goes on, not recorded")


def raise_descriptor_limit() -> None:
    """As many connections as the system allows us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
