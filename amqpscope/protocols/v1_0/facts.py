"""What filters and columns ask of a frame of 1.0 by a name of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.names import Fact, FrameView, Getter, one_or_all, part
from amqpscope.protocols.shapes import BOOLEAN, Shape, one_of
from amqpscope.protocols.v1_0.filter_names import OUTCOMES, PERFORMATIVES, bodies
from amqpscope.protocols.v1_0.shapes import composite
from dissectors.v1_0.tables import RESTRICTED_TYPE
from dissectors.v1_0.values import Value

ERRORS: Final = frozenset(("error",))
_PERFORMATIVE: Final = one_of(*(row.name for row in PERFORMATIVES))
_ROLE: Final = Shape(BOOLEAN.holds, RESTRICTED_TYPE["role"].choices)
_OUTCOME: Final = composite(*sorted(OUTCOMES))
_ERROR: Final = composite("error")


class Read(Getter):
    """What a function reads from a frame of 1.0."""

    def __init__(self, read: Callable[[Event], Value]) -> None:
        self.read = read

    def get(self, view: FrameView) -> Value:
        """Ask the function; None for a frame of another family."""
        return self.read(view.event) if isinstance(view.event, Event) else None


def performative(event: Event) -> Value:
    """The performative's name."""
    body = event.unit.body
    return None if body is None else body.row.name


def frame_type(event: Event) -> Value:
    """The frame's type octet."""
    unit = event.unit
    return unit.type if unit.doff else None


def channel(event: Event) -> Value:
    """The channel, where the frame has one."""
    unit = event.unit
    return unit.channel if unit.doff and unit.type == 0 else None


def payload(event: Event) -> Value:
    """Octets behind the performative of a transfer."""
    body = event.unit.body
    if body is None or body.row.name != "transfer":
        return None
    return event.carried_octets


def link_address(event: Event) -> Value:
    """The node at the far end."""
    return None if event.link is None else event.link.node() or None


def delivery_id(event: Event) -> Value:
    """The transfer's delivery, or all deliveries of a disposition."""
    body = event.unit.body
    if body is None or body.row.name != "disposition":
        return None if event.delivery is None else event.delivery.delivery_id
    first, last = part(body, "first"), part(body, "last")
    if not isinstance(first, int):
        return None
    if not isinstance(last, int):
        return first
    if first <= last:
        return range(first, last + 1)
    if first < 1 << 32 and last >= 0:  # 2.8.10: ids are serial numbers, so they wrap
        return [range(first, 1 << 32), range(last + 1)]
    return [first, last]


def role(event: Event) -> Value:
    """The sending peer's role on the frame's link."""
    return None if event.link is None else event.link.role


def error(event: Event) -> Value:
    """Errors anywhere in the frame."""
    found: list[Value] = []
    bodies(event.unit.body, ERRORS, found)
    return one_or_all(found)


def outcome(event: Event) -> Value:
    """The frame's delivery state when that is an outcome, also inside a transaction."""
    body = event.unit.body
    if body is None:
        return None
    found: list[Value] = []
    bodies(part(body, "state"), OUTCOMES, found)
    return one_or_all(found)


# fmt: off
FACTS: Final[dict[str, Callable[[Event], Value]]] = {
    "frame.type":         frame_type,
    "frame.doff":         lambda event: event.unit.doff or None,
    "channel":            channel,
    "payload":            payload,
    "link.name":          lambda event: None if event.link is None else event.link.name,
    "link.address":       link_address,
    "link.handle":        lambda event: None if event.link is None else event.link.handle,
    "delivery.id":        delivery_id,
    "delivery.tag":       lambda event: None if event.delivery is None else event.delivery.tag,
    "delivery.size":      lambda event: None if event.delivery is None else event.octets,
    "delivery.transfers": lambda event: None if event.delivery is None else event.transfers,
}
# fmt: on
"""What every family is asked for, as 1.0 answers it."""

OWN_FACTS: Final = [
    Fact("performative", "its name", _PERFORMATIVE, Read(performative)),
    Fact("link.role", "the sending peer's role on it", _ROLE, Read(role)),
    Fact("outcome", "the state if it is one, also in a transaction", _OUTCOME, Read(outcome)),
    Fact("error", "errors anywhere in the frame", _ERROR, Read(error)),
]
"""What only 1.0 has."""
