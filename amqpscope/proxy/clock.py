"""The relay's clock: what may not take for ever, and what happens later.

The loop asks the clock only while there is something to wait for; with connections that are open
and in order there is not, unless idle ones are to be closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.proxy.address import address_text
from amqpscope.proxy.record import END

if TYPE_CHECKING:
    from amqpscope.proxy.connection import Connection
    from amqpscope.proxy.relay import Relay

TICK: Final = 0.05
"""Seconds between two looks at connections that are to end."""
FOR_EVER: Final = -1.0
NEVER: Final = float("inf")


class Limits(NamedTuple):
    """How long things may take, in seconds; 0: for ever."""

    connect: float = 10.0
    """Until the upstream takes a connection."""
    handshake: float = 30.0
    """Until TLS has begun, on both sides."""
    idle: float = 0.0
    """Without an octet in either direction. AMQP allows silence, so there is no limit unasked."""


class Clock:
    """Everything that the relay does by the clock."""

    def __init__(self, relay: Relay, idle_seconds: float) -> None:
        self.relay = relay
        self.idle_seconds = idle_seconds
        """End when no connection was open for so long, after the first; 0: never."""
        self.idle_since = 0.0
        self.stop_at = 0.0
        """When to end, at the latest; 0: when asked to."""
        self.quiet_seconds = 0.0
        """... and end as soon as nothing passed for so long; 0: when the last one has closed."""
        self.quiet_since = 0.0
        self.passed = 0
        """Packets at the last look."""
        self.waiting: dict[Connection, float] = {}
        """Connections whose TLS has not begun, and when it must have."""
        self.looks: dict[Connection, tuple[int, float]] = {}
        """With a limit for idle connections: what had passed on each when, at the last look."""
        self.look_idle_at = NEVER
        self.alarms: list[tuple[float, Callable[[], None]]] = []
        self.next_look = NEVER

    def call_later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something after a while."""
        self.alarms.append((time.monotonic() + seconds, action))
        self.set()

    def end(self, seconds: float, quiet: float) -> None:
        """Let the relay end when all have closed, or it is quiet, or after so many seconds."""
        now = time.monotonic()
        self.stop_at = now + seconds
        self.quiet_seconds, self.quiet_since = quiet, now
        self.set()

    def connection_opened(self) -> None:
        """A connection is open."""
        if self.relay.limits.idle and self.look_idle_at == NEVER:
            self.look_idle_at = time.monotonic() + self.relay.limits.idle / 4
            self.set()

    def connection_over(self, connection: Connection) -> None:
        """A connection is over."""
        self.waiting.pop(connection, None)
        self.looks.pop(connection, None)
        self.idle_since = time.monotonic()
        if self.idle_seconds or self.stop_at:
            self.set()

    def shaking(self, connection: Connection, seconds: float) -> None:
        """A connection has so long to begin TLS."""
        self.waiting.pop(connection, None)
        if seconds:
            self.waiting[connection] = time.monotonic() + seconds
        self.set()

    def shaken(self, connection: Connection) -> None:
        """TLS has begun on a connection, or there is none."""
        if self.waiting.pop(connection, None) is not None:
            self.set()

    def set(self) -> None:
        """See when to look next, if at all."""
        relay = self.relay
        due = min(
            relay.entrance.due(),
            min(self.waiting.values(), default=NEVER),
            min((when for when, _ in self.alarms), default=NEVER),
            self.look_idle_at,
        )
        if self.stop_at:
            due = min(due, time.monotonic() + TICK)
        if self.idle_seconds and relay.entrance.accepted and not relay.busy:
            due = min(due, self.idle_since + self.idle_seconds)
        self.next_look = due
        relay.timeout = FOR_EVER if due == NEVER else max(0.0, due - time.monotonic())

    def tick(self) -> None:
        """Look whether something is due."""
        now, relay = time.monotonic(), self.relay
        if now < self.next_look:
            relay.timeout = self.next_look - now
            return
        relay.entrance.look(now)
        for connection in [each for each, when in self.waiting.items() if when <= now]:
            self.waiting.pop(connection, None)
            connection.late()
        for alarm in [each for each in self.alarms if each[0] <= now]:
            self.alarms.remove(alarm)
            alarm[1]()
        if now >= self.look_idle_at:
            self.look_for_idle(now)
        if self.idle_seconds and relay.entrance.accepted and not relay.busy:
            relay.running = relay.running and now - self.idle_since < self.idle_seconds
        if self.stop_at:
            self.look_for_the_end(now)
        relay.recording.flush()
        self.set()

    def look_for_the_end(self, now: float) -> None:
        """End if nothing is under way any more, or it takes too long."""
        recording = self.relay.recording
        passed = recording.packets + recording.lost
        if passed != self.passed or any(each.waiting for each in self.relay.open):
            self.passed, self.quiet_since = passed, now
        quiet = 0 < self.quiet_seconds <= now - self.quiet_since
        if not self.relay.busy or quiet or now >= self.stop_at:
            self.relay.stop()

    def look_for_idle(self, now: float) -> None:
        """Close connections on which nothing has passed for too long."""
        limit = self.relay.limits.idle
        for connection in list(self.relay.open):
            passed = connection.passed
            before, since = self.looks.get(connection, (-1, now))
            if passed != before:
                self.looks[connection] = (passed, now)
            elif now - since >= limit:
                self.close_idle(connection, limit)
        self.look_idle_at = now + limit / 4 if self.relay.open else NEVER

    def close_idle(self, connection: Connection, limit: float) -> None:
        """Close a connection in order, and say so."""
        client = address_text(connection.client_address)
        text = f"idle for {limit:g} s, closed (--idle-timeout)"
        self.relay.repeats.say(f"client {client}", text)
        for side in (connection.client, connection.server):
            if not side.ended:
                self.relay.recording.add(side.flow, 0, 1, END)
        self.relay.leave(connection)
