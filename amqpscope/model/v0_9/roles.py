"""What the model does with each method of a dialect, worked out once from its rows."""

from __future__ import annotations

from functools import cache
from typing import Final

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.connection import AFTER
from amqpscope.stream.types import PEERS
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v0_9.plans import Plan
from dissectors.v0_9.rows import SHORTSTR, TABLE

CONNECTION_CLASS: Final = 10
NO_WAIT: Final = ("no-wait", "nowait")
EITHER: Final = frozenset(("tunnel.request",))
"""What the grammar lets both send, though the lists of the class name one."""

# What happens most goes by number: asking a number costs nothing.
REST: Final = 0
PUBLISH: Final = 1
DELIVER: Final = 2
SETTLE: Final = 3
"""Ack, nack or reject: of deliveries by the client, of publishes by the server."""
GET_OK: Final = 4
RETURN: Final = 5
OPEN: Final = 6
CLOSE: Final = 7
CLOSE_OK: Final = 8

ACTS: Final = {
    "basic.publish": PUBLISH,
    "basic.deliver": DELIVER,
    "basic.ack": SETTLE,
    "basic.nack": SETTLE,
    "basic.reject": SETTLE,
    "basic.get-ok": GET_OK,
    "basic.return": RETURN,
    "file.publish": PUBLISH,
    "file.deliver": DELIVER,
    "file.ack": SETTLE,
    "file.reject": SETTLE,
    "file.return": RETURN,
    "stream.publish": PUBLISH,
    "stream.deliver": DELIVER,
    "stream.return": RETURN,
    "channel.open": OPEN,
    "channel.close": CLOSE,
    "channel.close-ok": CLOSE_OK,
}


class Role:
    """One method's part in the model."""

    def __init__(self, plan: Plan, answer: bool, either: bool) -> None:
        """`answer`: it is a reply to some method; `either`: both peers may send it, if not here."""
        row = plan.row
        self.plan = plan
        self.name = plan.name
        self.of_connection = row.class_id == CONNECTION_CLASS
        self.act = ACTS.get(plan.name, REST)
        self.wrong = -1 if row.sender == "both" or either else 1 - PEERS.index(row.sender)
        """The peer that may not send it; -1 where both may."""
        self.no_wait = next((plan.place[name] for name in NO_WAIT if name in plan.place), -1)
        """Where its no-wait bit is; -1 where it has none."""
        self.replies = row.replies
        self.texts = bytes(place for place, kind in enumerate(plan.types) if kind == SHORTSTR)
        """Where short strings are."""
        self.tables = bytes(place for place, kind in enumerate(plan.types) if kind == TABLE)
        self.kinds = kinds.METHOD
        if answer:
            self.kinds |= kinds.ANSWERS
        if row.content:
            self.kinds |= kinds.CARRIES
        if plan.name in AFTER:
            self.kinds |= kinds.HANDSHAKE
        if self.act == DELIVER or self.act == GET_OK:
            self.kinds |= kinds.DELIVERS


@cache
def roles(name: str) -> dict[str, Role]:
    """The parts of all methods of a dialect, by their names."""
    spoken = dialect(name)
    replies = {reply for plan in spoken.by_name.values() for reply in plan.row.replies}
    # A server of 0-9-1 that goes by another name may have taken over RabbitMQ's extensions.
    newest = dialect(DEFAULT).by_name if name.startswith("0-9-1") else {}
    either = EITHER.union(plan.name for plan in newest.values() if plan.row.sender == "both")
    return {
        plan.name: Role(plan, plan.name in replies, plan.name in either)
        for plan in spoken.by_name.values()
    }
