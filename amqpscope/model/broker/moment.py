"""What the rules about brokers look at: something that happened to one message."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import ACCEPTED, Envelope
from amqpscope.model.broker.journey import EXACT, SAME_BODY, SAME_ID, Journey, Leg, Node
from amqpscope.model.broker.sharing import is_shared, is_stored_for
from amqpscope.model.mark import Mark

# fmt: off
KINDS: Final = (
    "delivered",      # a broker has delivered a message
    "matched",        # ... of which the one publish was captured, in the same protocol
    "changed",        # ... with other immutable octets than it was published with
    "reheaded",       # ... with another header or other annotations
    "again",          # ... that it had delivered from the same node before
    "refused",        # ... that it had refused
    "posted",         # ... that was published in a transaction
    "disordered",     # ... after one that was published later, the same way
    "aged",           # ... long after it was published
    "hinted",         # ... with delivery annotations
    "drained",        # a broker says that a node has nothing more for a consumer
)
# fmt: on
KIND: Final = {name: 1 << place for place, name in enumerate(KINDS)}
# fmt: off
DELIVERED: Final = 1 << 0
MATCHED:   Final = 1 << 1
CHANGED:   Final = 1 << 2
REHEADED:  Final = 1 << 3
AGAIN:     Final = 1 << 4
REFUSED:   Final = 1 << 5
POSTED:    Final = 1 << 6
DISORDERED: Final = 1 << 7
AGED:      Final = 1 << 8
HINTED:    Final = 1 << 9
DRAINED:   Final = 1 << 10
# fmt: on
LEARNED: Final = 3
"""Messages that went from one node to another with the same octets show that this is a way."""


class Moment:
    """A delivery, or the end of what a node has."""

    def __init__(self, broker: Broker, journey: Journey, leg: Leg, closed: bool) -> None:
        self.broker = broker
        self.journey = journey
        self.leg = leg
        self.closed = closed
        """All connections to the broker are in view, by the user's word, and whole."""
        self.earlier: Leg | None = None
        """The newest delivery of the same message from the same node."""
        self.publish: Leg | None = None
        """The one publish of the message, where that is known."""

    @property
    def identified(self) -> bool:
        """No other message can be taken for this one: it has an id, or all are in view."""
        return bool(self.leg.envelope.message_id) or self.closed

    @property
    def holed(self) -> bool:
        """Something may have happened to the message in octets that are missing."""
        journey = self.journey
        return any(leg.lane.holed for leg in (*journey.publishes, *journey.deliveries))

    @property
    def certain(self) -> bool:
        """What was recognised by its octets or by its id, with all in view."""
        return self.closed and self.leg.level in (EXACT, SAME_ID)

    @property
    def way(self) -> str:
        """From where to where the message went at the broker."""
        source = "" if self.publish is None else self.publish.node.name
        return f"{source} -> {self.leg.node.name}"

    @property
    def is_queue(self) -> bool:
        """The message came from a queue, by all that is known of it, and not as a copy."""
        lane = self.leg.lane
        if lane.route.copy:
            return False
        return is_shared(self.leg.node) or is_stored_for(lane, self.journey)


def is_way(broker: Broker, source: Node, target: Node) -> bool:
    """Whether messages that are published to one node are known to come from another."""
    return source is target or broker.edges.get((source, target), 0) >= LEARNED


def kinds_of(moment: Moment) -> int:
    """What there is to look at in a delivery."""
    leg, publish = moment.leg, moment.publish
    kinds = DELIVERED
    if moment.earlier is not None:
        kinds |= AGAIN
    if publish is None:
        return kinds
    kinds |= MATCHED
    if leg.level == SAME_ID:
        kinds |= CHANGED
    if leg.envelope.head != publish.envelope.head:
        kinds |= REHEADED
    if b"\x71" in leg.envelope.sections:
        kinds |= HINTED
    if publish.outcome and publish.outcome != ACCEPTED:
        kinds |= REFUSED
    if publish.commitment.state:
        kinds |= POSTED
    if aged(publish, leg):
        kinds |= AGED
    return kinds


def aged(publish: Leg, leg: Leg) -> bool:
    """A message may have been at the broker for a while: a millisecond at least."""
    return leg.mark.time - publish.last.time > 1_000_000


def residence(publish: Leg, leg: Leg) -> int:
    """Nanoseconds that a message was at the broker, at least; 0 where nothing proves it.

    It had arrived when the broker answered the publish, and could not be sent before the consumer
    asked for it.
    """
    arrived: Mark | None = publish.verdict.mark if publish.outcome == ACCEPTED else None
    if arrived is None or leg.cause is None or publish.lane.capture != leg.lane.capture:
        return 0
    return max(0, leg.cause.time - arrived.time)


def pair_of(broker: Broker, journey: Journey, leg: Leg) -> Leg | None:
    """The publish of a message that is delivered, where it is surely just that."""
    publish = journey.publish
    if publish is None or journey.doubtful or leg.level == SAME_BODY:
        return None
    ours, theirs = leg.envelope, publish.envelope
    if ours.family != theirs.family or publish.last.time > leg.mark.time:
        return None
    if leg.level == SAME_ID:
        alike = ours.body_key == theirs.body_key or ours.has_strong_id
        if not alike or not is_way(broker, publish.node, leg.node):
            return None
    return publish


def hopped(envelope: Envelope) -> bool:
    """A message was dead-lettered, forwarded or went through a router on its way."""
    names = envelope.open().annotations
    return any(name in HOPS or name.startswith("x-opt-qd.") for name in names)


HOPS: Final = frozenset((
    "x-opt-deaths", "x-death", "x-first-death-queue", "x-opt-ORIG-ADDRESS", "x-opt-ORIG-QUEUE",
    "x-opt-deadletter-source", "x-received-from", "x-opt-amq-bkr-id", "x-stream-offset",
))  # fmt: skip
"""Annotations and headers that a broker adds when it moves a message to another node, or reads it
from a stream, where it stays."""
