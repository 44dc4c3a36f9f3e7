"""The exchanges, queues and consumers of a channel, as places that messages go to or come from."""

from __future__ import annotations

from typing import Final

from amqpscope.model.place import CHANNEL, CONSUMER, EXCHANGE, QUEUE, Place
from amqpscope.stream.types import CLIENT, SERVER

MAX_KEPT: Final = 64
"""Places of a channel that are kept: some clients make a queue for each reply."""


class ChannelPlaces:
    """Makes the places of one channel, and keeps those that come again."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.sources: dict[str, Place] = {}
        """Queues that the server delivers from, by name."""
        self.targets: dict[str, Place] = {}
        """Exchanges that the client publishes to, by name."""
        self.queues: dict[str, Place] = {}
        """Queues that the client publishes to by the default exchange."""
        self.publisher: Place | None = None

    def source(self, queue: str) -> Place:
        """The queue that a delivery comes from."""
        return self.find_or_make(self.sources, QUEUE, queue, SERVER)

    def target(self, exchange: str, routing_key: str) -> Place:
        """Where a publish goes; the default exchange routes by the name of a queue."""
        if exchange:
            return self.find_or_make(self.targets, EXCHANGE, exchange, CLIENT)
        return self.find_or_make(self.queues, QUEUE, routing_key, CLIENT)

    def find_or_make(self, known: dict[str, Place], kind: str, name: str, sender: int) -> Place:
        """A place of a kind, made when it is not known."""
        found = known.get(name)
        if found is None:
            if len(known) >= MAX_KEPT:
                known.clear()
            found = known[name] = Place(kind, f"{kind} {name}", name, sender, self.channel)
        return found

    def publishing(self) -> Place:
        """The channel itself, for what is published on it."""
        if self.publisher is None:
            name = f"channel {self.channel}"
            self.publisher = Place(CHANNEL, name, "", CLIENT, self.channel)
        return self.publisher

    def consuming(self, tag: str, queue: str, begun: int) -> Place:
        """A consumer; each has one of its own, also where another has or had its tag."""
        made = Place(CONSUMER, tag, queue, SERVER, self.channel)
        made.key = f"{made.key} {self.channel} {begun}"
        return made
