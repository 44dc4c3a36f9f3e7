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
from amqpscope.rules.broker.nodes import dynamic

MAX_KEPT: Final = 4096
"""Queues and exchanges that are remembered."""
FRAMES: Final = frozenset((
    "queue.declare", "queue.declare-ok", "queue.delete", "exchange.declare", "exchange.declare-ok",
    "exchange.delete", "basic.consume-ok", "queue.delete-ok", "queue.purge", "basic.get-empty",
    "basic.return",
))  # fmt: skip
"""Frames that are looked at."""

Owner = tuple[int, int]
"""The number of a connection, and that of its capture."""


class Declarations:
    """Queues and exchanges of one broker."""

    def __init__(self) -> None:
        self.made: dict[str, Declaration] = {}
        self.consumers: dict[str, list[Declaration]] = {}
        """By what they consume from."""
        self.owned: dict[Owner, dict[str, None]] = {}
        """What each connection has for itself, or consumes from."""
        self.closed: dict[str, Declaration] = {}
        """Nodes that brokers made for links, and that should be gone with them."""
        self.generated: Declaration | None = None
        """The newest node that a broker made for a link."""

    def earlier(self, said: Declaration, suffix: str) -> Declaration | None:
        """What was said before of what something is said of now."""
        key = f"{said.kind} {said.name}{suffix}"
        return self.made.get(key) or self.closed.get(key)

    def forget(self, known: Declaration, suffix: str) -> None:
        """Nothing is concluded any more from what was said before."""
        key = f"{known.kind} {known.name}{suffix}"
        self.made.pop(key, None)
        self.closed.pop(key, None)

    def take(self, said: Declaration, suffix: str, reporter: Reporter) -> None:
        """Take what a client or the broker says; the suffix tells virtual hosts apart."""
        key = f"{said.kind} {said.name}{suffix}"
        known = self.made.get(key)
        if said.kind == "node":
            self.take_node(key, known, said, reporter)
            return
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
                if said.exclusive:
                    self.own(key, said)
        elif said.action == USED and said.name:
            if known is not None and is_elsewhere(known, said):
                rules.taken_from_owner(known, said, reporter)
            others = self.consumers.setdefault(key, [])
            for other in others:
                if is_elsewhere(other, said):
                    rules.consumed_by_two(other, said, reporter)
            if len(others) < MAX_KEPT:
                others.append(said)
                self.own(key, said)

    def take_node(
        self, key: str, known: Declaration | None, said: Declaration, reporter: Reporter
    ) -> None:
        """Take what is said of a node that may be made for a link."""
        if said.action == MADE:
            before = self.generated
            if before is not None and dynamic.is_next(before.name, said.name):
                dynamic.generated_name_guessable((before, said), reporter)
            self.generated = said
            self.closed.pop(key, None)
            if len(self.made) < MAX_KEPT:
                self.made[key] = said
                if said.exclusive:
                    self.own(key, said)
        elif said.action == GONE:
            if self.made.pop(key, None) is not None and len(self.closed) < MAX_KEPT:
                self.closed[key] = said
        elif said.action == UNBOUND and known is not None:
            dynamic.address_meaning_differs((known, said), reporter)
        elif said.action == USED and key in self.closed:
            dynamic.dynamic_node_alive_after_close((self.closed.pop(key), said), reporter)

    def own(self, key: str, said: Declaration) -> None:
        """Remember what a connection has for itself, or consumes from."""
        self.owned.setdefault(owner(said), {})[key] = None

    def end_consumers(self, connection: int, capture: int, channel: int) -> None:
        """A channel has no consumers any more, or a consumer of it is gone."""
        for key in self.owned.get((connection, capture), ()):
            self.drop_consumers(key, connection, capture, channel)

    def drop_consumers(
        self, key: str, connection: int, capture: int, channel: int | None = None
    ) -> None:
        """Forget the consumers of a queue on a connection, or on one of its channels."""
        kept = [
            each
            for each in self.consumers.get(key, ())
            if owner(each) != (connection, capture) or channel not in (None, each.channel)
        ]
        if kept:
            self.consumers[key] = kept
        else:
            self.consumers.pop(key, None)

    def end(self, connection: int, capture: int) -> None:
        """A connection is over, and what it had for itself is gone."""
        for key in self.owned.pop((connection, capture), ()):
            said = self.made.get(key)
            if said is not None and said.exclusive and owner(said) == (connection, capture):
                del self.made[key]
            self.drop_consumers(key, connection, capture)


def is_elsewhere(known: Declaration, said: Declaration) -> bool:
    """Whether two connections said it: what one does is judged where it happens."""
    return owner(known) != owner(said)


def owner(said: Declaration) -> Owner:
    """The connection on which something was said."""
    return said.connection, said.capture
