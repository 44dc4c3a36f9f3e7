"""A client that waits while its connection to the upstream is made, and what happens if it is not.

Connecting never blocks: one dead upstream address must not hold up the other connections. The
stages are: the client's PROXY header, the lookup, TCP, the tunnel through another proxy.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Final

from amqpscope.proxy.address import UNIX_HOST, Target, address_of
from amqpscope.proxy.record import Address
from amqpscope.proxy.route import Route
from amqpscope.proxy.tunnel import Tunnel, TunnelError
from amqpscope.wording import reason_of

_UNDER_WAY: Final = (0, 115, 36)
"""Connected, or EINPROGRESS of Linux and BSD."""
NOWHERE: Final = ("0.0.0.0", 0)
"""Where a client was led whose upstream was never looked up."""


class Dial:
    """One client, and the attempts to reach the upstream for it."""

    def __init__(
        self,
        number: int,
        client: socket.socket,
        address: Address,
        route: Route,
    ) -> None:
        self.number = number
        self.client = client
        self.client_address = address
        self.listen_address = address_of(client, number)
        """What the client has connected to."""
        self.route = route
        self.targets: list[Target] = []
        """Known when the name of the upstream was looked up."""
        self.attempt = 0
        self.upstream: socket.socket | None = None
        self.reason = "no address"
        """Why the last attempt failed."""
        self.own_fault = False
        """It is not the upstream that is to blame."""
        self.tell: Callable[[Dial], None] = lambda dial: None
        """Called when the attempt under way has ended, either way."""
        self.tunnel: Tunnel | None = None
        """What is said to another proxy on the way."""
        self.waits_for_client = False
        """The client has not said yet where it comes from."""

    @property
    def target(self) -> Address:
        """The address that is tried, or was the last."""
        if not self.targets:
            return NOWHERE
        family, address = self.targets[self.attempt - 1]
        if family == socket.AF_UNIX:
            return UNIX_HOST, self.route.upstream.port
        return str(address[0]), int(address[1])

    def next(self) -> socket.socket | None:
        """Begin to connect to the next address; None when there is none left."""
        while self.attempt < len(self.targets):
            family, address = self.targets[self.attempt]
            self.attempt += 1
            try:
                self.upstream = make_socket(socket.socket(family, socket.SOCK_STREAM))
            except OSError as error:
                self.reason = reason_of(error)
                self.own_fault = True
                continue
            self.own_fault = False
            self.tunnel = None
            unix = family == socket.AF_UNIX
            code = self.upstream.connect_ex(str(address[0]) if unix else address)
            if code in _UNDER_WAY:
                return self.upstream
            self.address_failed(code)
        return None

    def event(self, events: int) -> None:
        """The attempt has ended."""
        self.tell(self)

    def is_connected(self) -> bool:
        """Whether it has ended well."""
        if self.upstream is None:
            return False
        code = self.upstream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self.address_failed(code)
        return not code

    def send_first(self, octets: bytes) -> bool:
        """Send what stands before the client's octets: a fresh connection takes it at once."""
        try:
            sent = 0 if self.upstream is None else self.upstream.send(octets)
        except OSError as error:
            self.give_up(reason_of(error))
            return False
        if sent < len(octets):
            self.give_up("it takes no octets")
        return sent == len(octets)

    def open_tunnel(self) -> bool:
        """Go on with the way through another proxy; whether it is open, or `upstream` is None."""
        upstream, tunnel = self.upstream, self.tunnel
        if upstream is None or tunnel is None:
            return False
        try:
            return tunnel.work(upstream)
        except TunnelError as error:
            self.give_up(str(error))
        except OSError as error:
            self.give_up(reason_of(error))
        return False

    def address_failed(self, code: int) -> None:
        """This address does not do."""
        self.give_up(os.strerror(code).lower())

    def give_up(self, reason: str) -> None:
        """Close an attempt that failed, or takes too long."""
        self.reason = reason
        if self.upstream is not None:
            self.upstream.close()
            self.upstream = None


def make_socket(endpoint: socket.socket) -> socket.socket:
    """A socket as the relay wants it: never waiting, neither for us nor for more octets."""
    endpoint.setblocking(False)
    if endpoint.family != socket.AF_UNIX:
        endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return endpoint
