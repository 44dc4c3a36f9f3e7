"""The live side of a replayed conversation of 0-9: tags, prefetch and what is unanswered."""

from __future__ import annotations

from amqpscope.protocols.v0_9.replay_script import Channel, Message
from dissectors.v0_9.framing import Unit


class Consumer:
    """A live consumer."""

    __slots__ = ("limit", "no_ack", "unanswered")

    def __init__(self, limit: int, *, no_ack: bool) -> None:
        self.limit = limit
        """Messages that may be unanswered; 0: any number."""
        self.no_ack = no_ack
        self.unanswered: set[int] = set()


class Coming:
    """A message of the live peer, of which not all has come."""

    __slots__ = ("header", "left", "parts", "raw", "unit")

    def __init__(self, raw: bytes, unit: Unit) -> None:
        self.raw = raw
        self.unit = unit
        self.header: Unit | None = None
        self.parts: list[bytes] = []
        self.left = -1

    @property
    def body(self) -> bytes:
        """What has come of the body."""
        return b"".join(self.parts)


class LiveChannel:
    """A channel that is open."""

    def __init__(self, number: int, script: Channel | None) -> None:
        self.number = number
        self.script = script
        self.closed = [False, False]
        """Which peers have sent a channel.close: we, and the live one."""
        self.confirms = False
        self.next_tag = 1
        """Of deliveries of ours."""
        self.published = 0
        """Publishes that are confirmed, of either peer."""
        self.limit = 0
        """The prefetch of consumers to come."""
        self.shared_limit = 0
        """The prefetch of the whole channel."""
        self.stopped = False
        """The live peer has stopped messages by channel.flow."""
        self.consumers: dict[str, Consumer] = {}
        """By the live tag."""
        self.asked: list[Consumer] = []
        """Consumers whose tag is not known yet."""
        self.coming: Coming | None = None
        self.sent: dict[int, Message] = {}
        """Messages of ours that are not answered, by the live tag."""
        self.received: dict[int, Message | None] = {}
        """Messages of the live peer that we have not answered, by the live tag."""

    @property
    def usable(self) -> bool:
        """Both peers use it."""
        return not any(self.closed)

    @property
    def unanswered(self) -> int:
        """Deliveries of ours that the live peer has not answered."""
        return sum(len(consumer.unanswered) for consumer in self.consumers.values())

    def settle(self, tag: int) -> None:
        """A delivery of ours is answered."""
        for consumer in self.consumers.values():
            consumer.unanswered.discard(tag)
