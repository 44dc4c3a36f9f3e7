"""Which product, and which version of it, the server is."""

from __future__ import annotations

from amqpscope.model.v0_9.connection import Connection
from amqpscope.stream.types import SERVER


def rabbit_since(connection: Connection, major: int, minor: int) -> bool:
    """The server says that it is RabbitMQ, of this version or a later one."""
    server = connection.ends[SERVER]
    if server.product != "RabbitMQ":
        return False
    numbers = [int(part) for part in server.version.split(".")[:2] if part.isdigit()]
    return len(numbers) == 2 and (numbers[0], numbers[1]) >= (major, minor)
