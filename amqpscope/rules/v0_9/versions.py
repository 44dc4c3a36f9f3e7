"""Versions of the protocol that rules are of, and the version of the server's product."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.connection import Connection
from amqpscope.stream.types import SERVER

NEW: Final = "0-9-1"
OLD: Final = "10-3 0-8 0-9="
"""The dialects before 0-9-1."""
KNOWN: Final = "0-8 0-9="
"""Dialects before 0-9-1 whose fields are known; of 10-3 only the numbers of methods are."""


def rabbit_since(connection: Connection, major: int, minor: int) -> bool:
    """The server says that it is RabbitMQ, of this version or a later one."""
    server = connection.ends[SERVER]
    if server.product != "RabbitMQ":
        return False
    numbers = [int(part) for part in server.version.split(".")[:2] if part.isdigit()]
    return len(numbers) == 2 and (numbers[0], numbers[1]) >= (major, minor)
