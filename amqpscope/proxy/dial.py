"""A client that waits while its connection to the upstream is made, and what happens if it is not.

Connecting never blocks: one dead upstream address must not hold up the other connections.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Final

from amqpscope.proxy.address import AddressError, Target, Upstream, resolve, shown
from amqpscope.proxy.record import Address
from amqpscope.wording import reason_of

_UNDER_WAY: Final = (0, 115, 36)
"""Connected, or EINPROGRESS of Linux and BSD."""


class Targets:
    """The addresses of the upstream; looked up again, aside, when none of them answers."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.addresses = resolve(upstream.host, upstream.port)
        self._looking: threading.Thread | None = None

    def refresh(self) -> None:
        """Ask the resolver once more: the upstream may have moved."""
        if self._looking is None or not self._looking.is_alive():
            self._looking = threading.Thread(target=self._look, daemon=True)
            self._looking.start()

    def _look(self) -> None:
        with contextlib.suppress(AddressError):
            self.addresses = resolve(self.upstream.host, self.upstream.port) or self.addresses


class Dial:
    """One client, and the attempts to reach the upstream for it."""

    def __init__(
        self,
        number: int,
        client: socket.socket,
        address: Address,
        targets: list[Target],
    ) -> None:
        self.number = number
        self.client = client
        self.client_address = address
        self.targets = targets
        self.attempt = 0
        self.upstream: socket.socket | None = None
        self.reason = "no address"
        """Why the last attempt failed."""
        self.own_fault = False
        """It is not the upstream that is to blame."""
        self.tell: Callable[[Dial], None] = lambda dial: None
        """Called when the attempt under way has ended, either way."""

    @property
    def target(self) -> Address:
        """The address that is tried, or was the last."""
        host, port = self.targets[self.attempt - 1][1][:2]
        return str(host), int(port)

    def next(self) -> socket.socket | None:
        """Begin to connect to the next address; None when there is none left."""
        while self.attempt < len(self.targets):
            family, address = self.targets[self.attempt]
            self.attempt += 1
            try:
                self.upstream = prepared(socket.socket(family, socket.SOCK_STREAM))
            except OSError as error:
                self.reason = reason_of(error)
                self.own_fault = True
                continue
            self.own_fault = False
            code = self.upstream.connect_ex(address)
            if code in _UNDER_WAY:
                return self.upstream
            self.failed(code)
        return None

    def event(self, events: int) -> None:
        """The attempt has ended."""
        self.tell(self)

    def connected(self) -> bool:
        """Whether it has ended well."""
        if self.upstream is None:
            return False
        code = self.upstream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self.failed(code)
        return not code

    def failed(self, code: int) -> None:
        """This address does not do."""
        self.give_up(os.strerror(code).lower())

    def give_up(self, reason: str) -> None:
        """Close an attempt that failed, or takes too long."""
        self.reason = reason
        if self.upstream is not None:
            self.upstream.close()
            self.upstream = None


def prepared(endpoint: socket.socket) -> socket.socket:
    """A socket as the relay wants it: never waiting, neither for us nor for more octets."""
    endpoint.setblocking(False)
    endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return endpoint


def listen_on(host: str, port: int) -> list[socket.socket]:
    """Listeners on every address of a host, all on the same port."""
    listeners: list[socket.socket] = []
    try:
        for family, address in resolve(host, port, passive=True):
            listener = socket.socket(family, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # Port 0 means any, but the same for all.
            chosen = port or (listeners[0].getsockname()[1] if len(listeners) > 1 else 0)
            listener.bind((address[0], chosen, *address[2:]))
            listener.listen(1024)
            listener.setblocking(False)
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise AddressError(f"cannot listen on {shown((host, port))}: {reason_of(error)}") from error
    return listeners
