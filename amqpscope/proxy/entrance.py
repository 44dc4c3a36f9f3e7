"""How clients come in: accepted, connected to the upstream, or refused with a reason.

Connecting never blocks and never takes for ever. We take no more clients than we have descriptors
for; the others wait in the listener's queue, and the user is told why.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from amqpscope.proxy.address import shown
from amqpscope.proxy.clock import NEVER
from amqpscope.proxy.connection import EDGE, IN, OUT, close_at_once
from amqpscope.proxy.dial import Dial, Targets, prepared
from amqpscope.proxy.record import flows
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.proxy.relay import Relay

ACCEPTS: Final = 64
"""Connections taken in one turn."""
BACK_OFF: Final = 0.2
"""Seconds without accepting after we ran out of descriptors."""
RESERVE: Final = 16
"""Descriptors that no connection gets: files of the recording, certificates, the resolver."""
OUT_OF_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Entrance:
    """The listeners, and the clients that are not connected yet."""

    def __init__(
        self, relay: Relay, listeners: list[socket.socket], targets: Targets, seconds: float
    ) -> None:
        self.relay = relay
        self.listeners = listeners
        self.targets = targets
        self.seconds = seconds
        """For which an upstream may be silent when it is connected to; 0: for ever."""
        self.dialling: dict[Dial, float] = {}
        """When each must be connected; the first one first."""
        self.accepted = 0
        self.refused = 0
        self.unanswered = 0
        """Connections refused since the upstream last took one."""
        self.resume_at = 0.0
        """When to accept again after we ran out of descriptors."""
        self.short = False
        """The user knows that we are short of descriptors."""
        self.closed = False
        self.most = most_connections()
        for listener in listeners:
            relay.register(listener.fileno(), IN, partial(self.defer_accept, listener))

    def close(self) -> None:
        """Take nobody any more."""
        if not self.closed:
            self.closed = True
            self.resume_at = 0.0
            for listener in self.listeners:
                self.relay.handlers.pop(listener.fileno(), None)
                listener.close()

    def forget(self) -> None:
        """Close all that is not connected yet."""
        self.close()
        for dial in self.dialling:
            dial.client.close()
            if dial.upstream is not None:
                dial.upstream.close()
        self.dialling.clear()

    def defer_accept(self, listener: socket.socket, _: int) -> None:
        """Accept after the turn: a descriptor that was closed in it may come again."""
        self.relay.later.append(partial(self.accept, listener))

    def accept(self, listener: socket.socket) -> None:
        """Take the clients that wait."""
        for _ in range(0 if self.closed else ACCEPTS):
            if len(self.relay.open) + len(self.dialling) >= self.most - self.relay.reserved:
                limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
                self.back_off(f"no more fit into {limit:,} open files (ulimit -n)")
                return
            try:
                client, address = listener.accept()
            except OSError as error:
                if error.errno in OUT_OF_DESCRIPTORS:
                    self.back_off(reason_of(error))
                return
            self.accepted += 1
            dial = Dial(self.accepted, prepared(client), address[:2], self.targets.addresses)
            dial.tell = self.dialled
            self.dialling[dial] = time.monotonic() + self.seconds if self.seconds else NEVER
            self.relay.clock.set()
            self.dial(dial)

    def back_off(self, reason: str) -> None:
        """Leave clients waiting for a moment: we cannot take them now."""
        if not self.short:
            self.short = True
            self.relay.tell(f"cannot take more connections for now: {reason}; clients wait")
        self.resume_at = time.monotonic() + BACK_OFF
        self.relay.clock.set()
        for listener in self.listeners:
            self.relay.change(listener.fileno(), EDGE)

    def dial(self, dial: Dial) -> None:
        """Try the next address for a client."""
        upstream = dial.next()
        if upstream is None:
            self.refuse(dial)
        else:
            self.relay.register(upstream.fileno(), OUT, dial.event)

    def dialled(self, dial: Dial) -> None:
        """An attempt to connect has ended; go on after the turn."""
        self.unwatch(dial)
        self.relay.later.append(partial(self.go_on, dial))

    def unwatch(self, dial: Dial) -> None:
        """Hear no more of an attempt."""
        if dial.upstream is not None:
            self.relay.handlers.pop(dial.upstream.fileno(), None)
            self.relay.epoll.unregister(dial.upstream.fileno())

    def go_on(self, dial: Dial) -> None:
        """Let client and upstream talk, or try the next address."""
        if dial not in self.dialling:
            return
        if not dial.connected() or dial.upstream is None:
            self.dial(dial)
            return
        self.done(dial)
        if self.unanswered:
            self.relay.tell(f"upstream {self.targets.upstream} takes connections again")
            self.unanswered = 0
        self.relay.connection(dial, dial.upstream)

    def done(self, dial: Dial) -> None:
        """A client is connected, or has been refused."""
        self.dialling.pop(dial, None)
        self.relay.clock.idle_since = time.monotonic()
        self.relay.clock.set()

    def refuse(self, dial: Dial) -> None:
        """The client sees what it would see without us."""
        self.done(dial)
        self.refused += 1
        client, server = flows(dial.client_address, self.relay.recorded(dial.target), dial.number)
        self.relay.recording.refused(client, server)
        close_at_once(dial.client)
        if dial.own_fault:
            self.relay.repeats.say("no connection to the upstream", f"{dial.reason} (ulimit -n)")
            return
        self.unanswered += 1
        if self.unanswered == 1:
            name, address = str(self.targets.upstream), shown(dial.target)
            where = name if name == address else f"{name} ({address})"
            self.relay.tell(f"upstream {where}: {dial.reason}; clients get a reset")
        self.targets.refresh()

    # By the clock

    def due(self) -> float:
        """When there is something to do."""
        first = next(iter(self.dialling.values()), NEVER)
        return min(first, self.resume_at or NEVER)

    def look(self, now: float) -> None:
        """Accept again, and give up what takes too long."""
        if 0 < self.resume_at <= now:
            self.resume_at = 0.0
            for listener in self.listeners:
                self.relay.change(listener.fileno(), IN)
        while (dial := next(iter(self.dialling), None)) and self.dialling[dial] <= now:
            self.unwatch(dial)
            dial.give_up(f"no answer for {self.seconds:g} s (--connect-timeout)")
            # The next address gets as long.
            del self.dialling[dial]
            self.dialling[dial] = now + self.seconds
            self.dial(dial)


def raise_descriptor_limit() -> None:
    """As many connections as the system allows us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    """Connections for which there are descriptors, two each."""
    used = RESERVE
    with contextlib.suppress(OSError):
        used += len(os.listdir("/dev/fd"))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(1, (limit - used) // 2)
