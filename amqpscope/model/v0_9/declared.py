"""What was declared in view: exchanges, queues and bindings, as far as one connection shows (4.7).

Others declare and delete as well, so all of this is "was so then", never "is so now".
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from dissectors.v0_9.values import Table

MAX_NAMES: Final = 4096
"""Exchanges, queues or bindings of a connection that are remembered."""


class Exchange:
    """One exchange as it was declared and not refused."""

    def __init__(self, name: str, type: str, mark: Mark) -> None:
        self.name = name
        self.type = type
        self.mark = mark
        self.durable = False
        self.auto_delete = False
        self.internal = False
        self.passive = False
        """Only asked for: its other properties are not known."""
        self.arguments: Table | None = None
        self.confirmed = False
        """The server has said ok."""


class Queue:
    """One queue as it was declared and not refused."""

    def __init__(self, name: str, mark: Mark) -> None:
        self.name = name
        self.mark = mark
        self.durable = False
        self.exclusive = False
        self.auto_delete = False
        self.passive = False
        self.arguments: Table | None = None
        self.confirmed = False
        self.consumed = False
        """A consumer was made for it in view."""


class Binding:
    """A binding as it was declared: from where, to where, by which key."""

    def __init__(self, source: str, target: str, key: str, queue: bool, mark: Mark) -> None:
        self.source = source
        self.target = target
        self.key = key
        self.queue = queue
        """The target is a queue, not an exchange."""
        self.mark = mark
        self.confirmed = False


class Declared:
    """All of a connection."""

    def __init__(self) -> None:
        self.exchanges: dict[str, Exchange] = {}
        self.internal: dict[str, Exchange] = {}
        """Those of them that take no messages from clients."""
        self.queues: dict[str, Queue] = {}
        self.bindings: dict[tuple[bool, str, str, str], Binding] = {}
        self.deleted_exchanges: dict[str, Mark] = {}
        """Those that were deleted and not declared again, with the server's delete-ok."""
        self.deleted_queues: dict[str, Mark] = {}

    def exchange(self, exchange: Exchange) -> None:
        """One more; one that is only asked for adds nothing new."""
        known = self.exchanges.get(exchange.name)
        if known is not None and exchange.passive:
            return
        self.exchanges[exchange.name] = exchange
        if exchange.internal:
            self.internal[exchange.name] = exchange
        else:
            self.internal.pop(exchange.name, None)
        if not exchange.passive:
            self.deleted_exchanges.pop(exchange.name, None)
        if len(self.exchanges) > MAX_NAMES:
            del self.exchanges[next(iter(self.exchanges))]

    def queue(self, queue: Queue) -> None:
        """One more."""
        known = self.queues.get(queue.name)
        if known is not None and queue.passive:
            return
        self.queues[queue.name] = queue
        if not queue.passive:
            self.deleted_queues.pop(queue.name, None)
        if len(self.queues) > MAX_NAMES:
            del self.queues[next(iter(self.queues))]

    def bind(self, binding: Binding) -> None:
        """One more; one that is asked for again stays confirmed."""
        key = (binding.queue, binding.source, binding.target, binding.key)
        known = self.bindings.get(key)
        if known is not None and known.confirmed and not binding.confirmed:
            return
        self.bindings[key] = binding
        if len(self.bindings) > MAX_NAMES:
            del self.bindings[next(iter(self.bindings))]

    def delete(self, names: dict[str, Mark], name: str, mark: Mark) -> None:
        """One of the exchanges or queues is deleted."""
        names.pop(name, None)
        names[name] = mark
        if len(names) > MAX_NAMES:
            del names[next(iter(names))]
