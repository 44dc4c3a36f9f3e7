"""What clients have declared at a broker, each on its connection, and what does not go together."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.declaration import (
    ASKED,
    DELETED,
    GONE,
    MADE,
    UNBOUND,
    USED,
    Declaration,
)  # fmt: skip
from amqpscope.rules.broker import Reporter
from amqpscope.rules.broker import declarations as rules

MAX_KEPT: Final = 4096
"""Queues and exchanges that are remembered."""
FRAMES: Final = frozenset((
    "queue.declare", "queue.declare-ok", "queue.delete", "exchange.declare", "exchange.declare-ok",
    "exchange.delete", "basic.consume-ok", "queue.delete-ok", "queue.purge", "basic.get-empty",
    "basic.return",
))  # fmt: skip
"""Frames that are looked at."""


class Declarations:
    """Queues and exchanges of one broker."""

    def __init__(self) -> None:
        self.made: dict[str, Declaration] = {}
        self.consumers: dict[str, list[Declaration]] = {}

    def take(self, said: Declaration, suffix: str, reporter: Reporter) -> None:
        """Take what a client or the broker says; the suffix tells virtual hosts apart."""
        key = f"{said.kind} {said.name}{suffix}"
        known = self.made.get(key)
        if said.action == DELETED:
            self.made.pop(key, None)
        elif said.action == GONE:
            for other in self.consumers.pop(key, []):
                if is_elsewhere(other, said):
                    rules.deleted_in_use(other, said, reporter)
        elif said.action == UNBOUND:
            if known is not None and is_elsewhere(known, said):
                rules.unreachable(known, said, reporter)
        elif said.action == ASKED:
            if known is not None and is_elsewhere(known, said):
                rules.redeclared(known, said, reporter)
        elif said.action == MADE:
            if known is not None and is_elsewhere(known, said):
                rules.taken_from_owner(known, said, reporter)
                rules.named_twice(known, said, reporter)
            if len(self.made) < MAX_KEPT:
                self.made[key] = said
        elif said.action == USED and said.name:
            if known is not None and is_elsewhere(known, said):
                rules.taken_from_owner(known, said, reporter)
            others = self.consumers.setdefault(key, [])
            for other in others:
                if is_elsewhere(other, said):
                    rules.consumed_by_two(other, said, reporter)
            if len(others) < MAX_KEPT:
                others.append(said)

    def end_consumers(self, connection: int, capture: int, channel: int) -> None:
        """A channel has no consumers any more, or a consumer of it is gone."""
        for key, consumers in list(self.consumers.items()):
            self.consumers[key] = [
                each
                for each in consumers
                if (each.connection, each.capture, each.channel) != (connection, capture, channel)
            ]

    def end(self, connection: int, capture: int) -> None:
        """A connection is over, and what it had for itself is gone."""
        for key, said in list(self.made.items()):
            if said.exclusive and (said.connection, said.capture) == (connection, capture):
                del self.made[key]
        for key, consumers in list(self.consumers.items()):
            self.consumers[key] = [
                each
                for each in consumers
                if (each.connection, each.capture) != (connection, capture)
            ]


def is_elsewhere(known: Declaration, said: Declaration) -> bool:
    """Whether two connections said it: what one does is judged where it happens."""
    return (known.connection, known.capture) != (said.connection, said.capture)
