"""Names are looked up for each connection, aside: the resolver may take its time, the loop may not.

Connections that come while a name is looked up share the answer. When the resolver fails, the
addresses that it named last still count.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from amqpscope.proxy.address import AddressError, Target, Upstream, is_literal, resolve_upstream
from amqpscope.proxy.connection import IN

if TYPE_CHECKING:
    from amqpscope.proxy.relay import Relay

Answer = Callable[[list[Target]], None]


class Targets:
    """The addresses of an upstream, or of the proxy before it."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.addresses = resolve_upstream(upstream)
        self.fixed = bool(upstream.path) or is_literal(upstream.host)
        """There is nothing to look up."""


class Resolver:
    """Looks names up in threads, and answers from the loop."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.waiting: dict[Targets, list[Answer]] = {}
        self.found: deque[tuple[Targets, str]] = deque()
        """Lookups that have ended, and why they failed."""
        self.heard, self.said = socket.socketpair()
        for end in (self.heard, self.said):
            end.setblocking(False)
        relay.register(self.heard.fileno(), IN, self.event)

    def look_up(self, targets: Targets, answer: Answer) -> None:
        """Call back with the addresses of now: at once where there is nothing to look up."""
        if targets.fixed:
            answer(targets.addresses)
            return
        if targets in self.waiting:
            self.waiting[targets].append(answer)
            return
        self.waiting[targets] = [answer]
        threading.Thread(target=self.run, args=(targets,), daemon=True).start()

    def run(self, targets: Targets) -> None:
        """Ask the resolver of the system; in a thread."""
        failed = ""
        try:
            targets.addresses = resolve_upstream(targets.upstream) or targets.addresses
        except AddressError as error:
            failed = str(error)
        self.found.append((targets, failed))
        try:
            self.said.send(b"!")
        except OSError:
            return  # the relay has ended, or is awake already

    def event(self, _: int) -> None:
        """Lookups have ended: answer after the turn."""
        self.heard.recv(4096)
        while self.found:
            self.relay.later.append(partial(self.finish, *self.found.popleft()))

    def finish(self, targets: Targets, failed: str) -> None:
        """Answer all who waited for a lookup."""
        if failed:
            self.relay.repeats.say("upstream", f"{failed}; going by its last addresses")
        for answer in self.waiting.pop(targets, []):
            answer(targets.addresses)

    def close(self) -> None:
        """Answer nobody any more."""
        self.heard.close()
        self.said.close()
