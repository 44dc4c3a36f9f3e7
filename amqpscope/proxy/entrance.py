"""How clients come in: accepted, connected to the upstream, or refused with a reason.

Connecting never blocks and never takes for ever: the PROXY header of a client, the lookup, TCP and
the way through another proxy have so long each. We take no more clients than we have descriptors
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
from typing import TYPE_CHECKING, Any, Final

from amqpscope.proxy.address import UNIX_HOST, Target, address_text, unix_port
from amqpscope.proxy.clock import NEVER
from amqpscope.proxy.connection import EDGE, IN, OUT, close_at_once
from amqpscope.proxy.dial import Dial, make_socket
from amqpscope.proxy.listening import remove_paths
from amqpscope.proxy.proxy_header import HeaderError, take_header, write_header
from amqpscope.proxy.record import flows
from amqpscope.proxy.resolver import Resolver
from amqpscope.proxy.route import Route
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
        self, relay: Relay, seconds: float, *, accept_proxy: bool = False, send_proxy: str = ""
    ) -> None:
        self.relay = relay
        self.listeners = [each for route in relay.routes for each in route.listeners]
        self.seconds = seconds
        """For which an upstream may be silent when it is connected to; 0: for ever."""
        self.accept_proxy = accept_proxy
        """Clients begin with a PROXY header."""
        self.send_proxy = send_proxy
        """The version of the PROXY header that the upstream gets; empty: none."""
        self.resolver = Resolver(relay)
        self.dialling: dict[Dial, float] = {}
        """When each must be connected; the first one first."""
        self.accepted = 0
        self.refused = 0
        self.resume_at = 0.0
        """When to accept again after we ran out of descriptors."""
        self.short = False
        """The user knows that we are short of descriptors."""
        self.closed = False
        self.most = most_connections()
        for route in relay.routes:
            for listener in route.listeners:
                handler = partial(self.defer_accept, route, listener)
                relay.register(listener.fileno(), IN, handler)

    def close(self) -> None:
        """Take nobody any more."""
        remove_paths(self.listeners)
        self.close_listeners()

    def close_listeners(self) -> None:
        """Close the listeners, but leave Unix sockets to who listens there still."""
        if not self.closed:
            self.closed = True
            self.resume_at = 0.0
            for listener in self.listeners:
                self.relay.handlers.pop(listener.fileno(), None)
                listener.close()

    def forget(self) -> None:
        """Close all that is not connected yet."""
        self.close_listeners()
        for dial in self.dialling:
            dial.client.close()
            if dial.upstream is not None:
                dial.upstream.close()
        self.dialling.clear()
        self.resolver.close()

    def defer_accept(self, route: Route, listener: socket.socket, _: int) -> None:
        """Accept after the turn: a descriptor that was closed in it may come again."""
        self.relay.later.append(partial(self.accept, route, listener))

    def accept(self, route: Route, listener: socket.socket) -> None:
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
            self.admit(route, make_socket(client), address)

    def admit(self, route: Route, client: socket.socket, address: Any) -> None:
        """Begin to lead a client to its upstream."""
        number = self.accepted
        unix = client.family == socket.AF_UNIX
        source = (UNIX_HOST, unix_port(number)) if unix else address[:2]
        dial = Dial(number, client, source, route)
        dial.tell = self.attempt_ended
        self.wait(dial)
        if self.accept_proxy:
            dial.waits_for_client = True
            # By edges: what is only looked at would be reported over and over.
            self.relay.register(client.fileno(), IN | EDGE, partial(self.hear_client, dial))
        else:
            self.look_up(dial)

    def wait(self, dial: Dial) -> None:
        """Let the next stage of a client have its time."""
        self.dialling.pop(dial, None)
        self.dialling[dial] = time.monotonic() + self.seconds if self.seconds else NEVER
        self.relay.clock.set()

    def hear_client(self, dial: Dial, _: int) -> None:
        """A client says where it comes from; go on after the turn."""
        self.relay.later.append(partial(self.take_header, dial))

    def take_header(self, dial: Dial) -> None:
        """Take the PROXY header of a client, or close its connection."""
        if dial not in self.dialling or not dial.waits_for_client:
            return
        try:
            header = take_header(dial.client)
        except HeaderError as error:
            self.turn_away(dial, str(error))
            return
        except OSError as error:
            self.turn_away(dial, reason_of(error))
            return
        if header is None:
            return
        self.leave_client(dial)
        dial.client_address = header.source or dial.client_address
        dial.listen_address = header.target or dial.listen_address
        self.wait(dial)
        self.look_up(dial)

    def leave_client(self, dial: Dial) -> None:
        """Hear no more of a client that waits."""
        dial.waits_for_client = False
        self.relay.handlers.pop(dial.client.fileno(), None)
        self.relay.epoll.unregister(dial.client.fileno())

    def turn_away(self, dial: Dial, reason: str) -> None:
        """Close the connection of a client that does not begin as it should."""
        self.leave_client(dial)
        self.done(dial)
        self.relay.repeats.say(f"client {address_text(dial.client_address)}", reason)
        close_at_once(dial.client)

    def look_up(self, dial: Dial) -> None:
        """Look up where the upstream of a client is by now."""
        self.resolver.look_up(dial.route.targets, partial(self.connect_to, dial))

    def connect_to(self, dial: Dial, targets: list[Target]) -> None:
        """Connect to the addresses of the upstream."""
        if dial in self.dialling:
            dial.targets = targets
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

    def attempt_ended(self, dial: Dial) -> None:
        """An attempt to connect has ended; go on after the turn."""
        self.unwatch(dial)
        self.relay.later.append(partial(self.go_on, dial))

    def unwatch(self, dial: Dial) -> None:
        """Hear no more of an attempt."""
        if dial.upstream is not None and dial.upstream.fileno() in self.relay.handlers:
            self.relay.handlers.pop(dial.upstream.fileno())
            self.relay.epoll.unregister(dial.upstream.fileno())

    def go_on(self, dial: Dial) -> None:
        """Let client and upstream talk, go on with the way there, or try the next address."""
        if dial not in self.dialling:
            return
        if dial.tunnel is None and not self.begin(dial):
            self.dial(dial)
            return
        if dial.tunnel is not None and not dial.open_tunnel():
            if dial.upstream is None:
                self.dial(dial)
            else:
                self.relay.register(dial.upstream.fileno(), IN | EDGE, dial.event)
            return
        if dial.upstream is None or not self.introduce(dial):
            self.dial(dial)
            return
        self.done(dial)
        route = dial.route
        if route.unanswered:
            self.relay.tell(f"upstream {route.upstream} takes connections again")
            route.unanswered = 0
        self.relay.connection(dial, dial.upstream)

    def begin(self, dial: Dial) -> bool:
        """See whether TCP is connected, and begin the way through another proxy."""
        if not dial.is_connected():
            return False
        via = dial.route.via
        if via is None:
            return True
        self.wait(dial)
        dial.tunnel = via.tunnel(dial.route.upstream)
        return dial.send_first(dial.tunnel.begin())

    def introduce(self, dial: Dial) -> bool:
        """Say to the upstream who connects, if it wants to know."""
        if not self.send_proxy:
            return True
        addresses = dial.client_address, dial.listen_address
        return dial.send_first(write_header(self.send_proxy, *addresses))

    def done(self, dial: Dial) -> None:
        """A client is connected, or has been refused."""
        self.dialling.pop(dial, None)
        self.relay.clock.idle_since = time.monotonic()
        self.relay.clock.set()

    def refuse(self, dial: Dial) -> None:
        """The client sees what it would see without us."""
        self.done(dial)
        self.refused += 1
        route, recording = dial.route, self.relay.recording
        recording.write_refused(
            *flows(dial.client_address, route.recorded_address(dial.target), dial.number)
        )
        close_at_once(dial.client)
        if dial.own_fault:
            self.relay.repeats.say("no connection to the upstream", f"{dial.reason} (ulimit -n)")
            return
        route.unanswered += 1
        if route.unanswered == 1:
            name = route.name(dial.target)
            self.relay.tell(f"upstream {name}: {dial.reason}; clients get a reset")

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
            if dial.waits_for_client:
                self.turn_away(dial, f"no PROXY header for {self.seconds:g} s (--connect-timeout)")
                continue
            self.unwatch(dial)
            dial.give_up(f"no answer for {self.seconds:g} s (--connect-timeout)")
            # The next address gets as long.
            self.wait(dial)
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
