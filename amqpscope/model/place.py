"""Where messages go on one connection, and how much of them may still go there.

A `Place` is what a family moves messages over or counts them by: a link or a session (1.0), an
exchange, a queue, a consumer or a channel (0-9). Sinks know a place by its `kind` alone, and have
usual words for kinds that they do not know.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.model.ending import Ending

# fmt: off
LINK:     Final = "link"
SESSION:  Final = "session"
EXCHANGE: Final = "exchange"
QUEUE:    Final = "queue"
CONSUMER: Final = "consumer"
CHANNEL:  Final = "channel"
# fmt: on
UNCHANGED: Final = -(1 << 40)
"""Of a level: a frame does not change it."""


class Place:
    """One peer's way of sending messages to the other, or where it sends them."""

    def __init__(self, kind: str, name: str, address: str, sender: int, channel: int) -> None:
        self.kind = kind
        self.name = name
        self.address = address
        """The node, queue or exchange behind it; it may become known later than its name."""
        self.sender = sender
        """Who sends: 0 the client, 1 the server."""
        self.channel = channel
        self.key = f"{kind} {sender} {name}"
        """What it is known by on its connection, also where it is made again."""
        self.parent: Place | None = None
        """What limits it together with others: the session of a link."""


class Level:
    """How much may be sent over a place, and how much of it is open, after a frame."""

    def __init__(
        self, place: Place, left: int | None, unsettled: int, counted: Place, limit: int = 0
    ) -> None:
        self.place = place
        self.left = left
        """Messages that may still begin, or transfers of a session; None: no limit, or unknown."""
        self.unsettled = unsettled
        """Messages that are not settled."""
        self.counted = counted
        """What statistics count it by: the queue of a consumer, else the place itself."""
        self.limit = limit
        """The prefetch that limits a consumer; 0 for none."""


class Ended:
    """A place over which nothing more is sent."""

    def __init__(self, place: Place, ending: Ending | None, final: bool) -> None:
        self.place = place
        self.ending = ending
        self.final = final
        """Nothing more comes of it, so that its state may be dropped; else an answer is owed."""


class Identity(NamedTuple):
    """Who a peer says it is."""

    name: str | None
    """Its container-id, or its product with the version."""
    product: str | None
    version: str | None = None
    """That of the product."""


class Login(NamedTuple):
    """As whom a client uses a server, and which part of it."""

    user: str | None = None
    """The name that the client logs in with, where its mechanism shows it."""
    host: str | None = None
    """The hostname or virtual host that it asks for."""
