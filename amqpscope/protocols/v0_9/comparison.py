"""How two conversations of 0-8, 0-9 and 0-9-1 are compared."""

from __future__ import annotations

from typing import Any, Final, cast

from amqpscope.model import event as shared
from amqpscope.model.v0_9.event import Event
from amqpscope.protocols import comparison
from amqpscope.protocols.comparison import CONNECTION, Counter, Facts, Lane
from amqpscope.protocols.v0_9.json import TAGS
from amqpscope.stream.types import CLIENT

DELIVERING: Final = frozenset(("basic.deliver", "file.deliver", "stream.deliver"))
CARRYING: Final = DELIVERING | {"basic.get-ok", "basic.return", "file.return", "stream.return"}
CONTENT: Final = frozenset(("content-header", "content-body"))
SETTLING: Final = frozenset(("basic.ack", "basic.nack", "basic.reject"))
OPENING: Final = "channel.open"
CLOSING: Final = frozenset(("channel.close", "channel.close-ok"))
CONSTANT_LOGINS: Final = ("PLAIN", "AMQPLAIN", "EXTERNAL")


class Lanes(comparison.Lanes):
    """Finds the lane of each frame of one connection."""

    def __init__(self) -> None:
        super().__init__()
        self.channels = Counter()
        self.contents: dict[tuple[int, int], Lane] = {}
        """Where the content goes that a peer sends on a channel."""

    def lane(self, event: shared.Event) -> Lane:
        """The consumer, the publishing, the channel or the connection that a frame belongs to."""
        own = cast(Event, event)
        unit, name = own.unit, own.method_name
        channel = unit.channel
        if unit.header is not None or not channel:
            return Lane(CONNECTION)
        key = (event.peer, channel)
        begun = self.channels.use(key, name == OPENING, name in CLOSING)
        if name in CONTENT and event.peer == CLIENT:
            return Lane("publishing", channel, begun)
        if name in CONTENT:
            return self.contents.get(key, Lane("channel", channel, begun))
        lane = Lane("channel", channel, begun)
        if name in DELIVERING and unit.method is not None:
            lane = Lane("consumer", channel, begun, str(unit.method.get("consumer-tag")))
        elif name.endswith(".publish"):
            lane = Lane("publishing", channel, begun)
        elif name in SETTLING:
            return Lane("settlement", channel, begun)
        if name in CARRYING:
            self.contents[key] = lane
        return lane


class Comparison(comparison.Comparison):
    """What may differ between two conversations of 0-9."""

    volatile = frozenset(
        f"{method}.{field}"
        for field, methods in {
            "delivery-tag": "basic.deliver basic.get-ok basic.ack basic.nack basic.reject",
            "multiple": "basic.ack basic.nack",
            "response": "connection.secure-ok",
            "challenge": "connection.secure",
            "request-id": "request",
            "response-id": "response",
        }.items()
        for method in methods.split()
    )
    names = frozenset(("connection.start-ok.client-properties.connection_name",))
    chosen = frozenset(
        f"basic.{method}.consumer-tag"
        for method in ("consume", "consume-ok", "cancel", "cancel-ok", "deliver")
    )
    settling = SETTLING
    sizes = frozenset(("content-header.body-size",))

    def lanes(self) -> Lanes:
        """What finds the lanes of one connection."""
        return Lanes()

    def facts(self, name: str, document: dict[str, Any]) -> Facts:
        """Arguments or properties, and the body of the content that is complete."""
        found: Facts = {}
        _put(found, name, document.get("fields"))
        for part in ("body", "malformed", "missing"):
            if part in document:
                found[part if part == "body" else f"{name}.{part}"] = document[part]
        return {path: value for path, value in found.items() if ".reserved-" not in path}

    def is_volatile(self, path: str, facts: Facts) -> bool:
        """Tags and numbers; a login where its mechanism makes a new one each time."""
        if path == "connection.start-ok.response":
            return facts.get("connection.start-ok.mechanism") not in CONSTANT_LOGINS
        return path in self.volatile

    def cadence(self, name: str, facts: Facts) -> bool:
        """Whether frames of this name come by the clock, as heartbeats do."""
        return name == "heartbeat"


def _put(found: Facts, path: str, value: Any) -> None:
    """Put in a value, and what is in a table by its names."""
    if isinstance(value, dict) and not (len(value) == 1 and next(iter(value)) in TAGS):
        for name, item in value.items():
            _put(found, f"{path}.{name}", item)
    elif value is not None:
        found[path] = value
