"""Listeners, the upstream behind them, and the way there: one process can have several."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from amqpscope.proxy.address import Upstream, is_literal, name_of
from amqpscope.proxy.record import Address
from amqpscope.proxy.resolver import Targets

if TYPE_CHECKING:
    from amqpscope.proxy.tls_policy import TlsPolicy
    from amqpscope.proxy.tunnel import Via


class Route:
    """Where clients come in, and where they are led."""

    def __init__(
        self,
        listeners: list[socket.socket],
        upstream: Upstream,
        scheme: str = "amqp",
        policy: TlsPolicy | None = None,
        via: Via | None = None,
    ) -> None:
        """AddressError when the upstream, or the proxy before it, is not known."""
        self.listeners = listeners
        self.names = [name_of(listener) for listener in listeners]
        self.upstream = upstream
        self.websocket = scheme in ("ws", "wss")
        self.policy = policy
        """Who speaks TLS to whom; None: it is passed on like anything else."""
        self.via = via
        """The proxy between us and the upstream."""
        self.targets = Targets(upstream if via is None else via.upstream)
        self.unanswered = 0
        """Connections refused since the upstream last took one."""

    @property
    def scheme(self) -> str:
        """What clients should speak to us: TLS only where we pass it on, or show a certificate."""
        policy = self.policy
        tls = self.upstream.tls if policy is None else policy.options.cert is not None
        return ("wss" if tls else "ws") if self.websocket else ("amqps" if tls else "amqp")

    @property
    def url(self) -> str:
        """Where clients connect."""
        unix = self.listeners[0].family == socket.AF_UNIX
        return self.names[0] if unix else f"{self.scheme}://{self.names[0]}"

    @property
    def recorded_port(self) -> int:
        """The port of the upstream as the recording has it.

        What was inside TLS stands there in the clear, and Wireshark goes by the port.
        """
        if self.policy is None or not self.policy.options.encrypted:
            return self.upstream.port
        return 80 if self.websocket else 5672

    def recorded_address(self, address: Address) -> Address:
        """The upstream as the recording has it, where we are connected to an address.

        Behind another proxy that is its own address if we know it, else that of the proxy.
        """
        known = self.via is not None and is_literal(self.upstream.host)
        return self.upstream.host if known else address[0], self.recorded_port

    def name(self, address: Address) -> str:
        """The upstream, and the address at which it was tried, as messages name them."""
        if self.via is not None:
            return f"{self.upstream} via {self.via}"
        return self.upstream.name_at(address)
