"""What is known of exchanges and queues by their names, and by what was declared in view."""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.v0_9.connection import Connection
from dissectors.v0_9.values import Table, Value

RESERVED: Final = "amq."
STANDARD: Final = {
    # exchanges that brokers have from the start: their types
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.topic": "topic",
    "amq.headers": "headers",
    "amq.match": "headers",
    "amq.rabbitmq.trace": "topic",
    "amq.rabbitmq.log": "topic",
    "amq.rabbitmq.event": "topic",
}
REPLY_TO: Final = "amq.rabbitmq.reply-to"
"""RabbitMQ's queue that is none, for answers without a queue."""
LONGEST: Final = 127
_NAME: Final = re.compile(r"[A-Za-z0-9\-_.:]*")


def exchange_type(connection: Connection, name: str) -> str:
    """The type of an exchange; empty where that was not said in view."""
    known = connection.declared.exchanges.get(name)
    if known is not None and not known.passive:
        return known.type
    return STANDARD.get(name, "")


def is_legal_name(name: str) -> bool:
    """Whether a name has only characters that 0-9-1 allows."""
    return _NAME.fullmatch(name) is not None


def alike(one: Table | None, other: Table | None) -> bool:
    """Whether two tables say the same, in whatever order and width of numbers."""
    return values(one) == values(other)


def values(table: Table | None) -> dict[str, Value]:
    """What a table says, by name."""
    return {} if table is None else {name: value for name, value in table}  # noqa: C416


def before_0_9_1(connection: Connection) -> bool:
    """Whether the version is one before 0-9-1, with other rules for what exists already."""
    return not connection.dialect.name.startswith("0-9-1")
