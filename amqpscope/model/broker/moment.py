"""What the rules about brokers look at: something that happened to one message."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import ACCEPTED, Envelope
from amqpscope.model.broker.journey import (
    EXACT,
    SAME_BODY,
    SAME_ID,
    Journey,
    Leg,
    Node,
    Rereading,
    is_awaited,
)  # fmt: skip
from amqpscope.model.broker.sharing import is_kept, is_shared, is_stored_for
from amqpscope.model.mark import Mark
from dissectors.native import mypyc_attr

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
    "aged",           # ... that has a ttl or an expiry, some time after it was published
    "hinted",         # ... with delivery annotations
    "drained",        # a broker says that a node has nothing more for a consumer
    "outranked",      # a delivery after one with less priority that was published later
    "scrapped",       # a delivery of a message that its producer aborted or did not complete
    "missed",         # a message that one subscriber did not get and others did
    "replied",        # a message is published where answers are to go
    "excluded",       # a delivery to a consumer that wants nothing of its own connection (no-local)
    "named",          # no moment: a node is made, used or not found
    "crossed",        # a delivery in another protocol, recognised by its id
    "yielding",       # a delivery after one with more priority that was published later
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
OUTRANKED: Final = 1 << 11
SCRAPPED:  Final = 1 << 12
MISSED:    Final = 1 << 13
REPLIED:   Final = 1 << 14
EXCLUDED:  Final = 1 << 15
CROSSED:   Final = 1 << 17
YIELDING:  Final = 1 << 18
# fmt: on
LEARNED: Final = 3
"""Messages that went from one node to another with the same octets show that this is a way."""
SOME: Final = 2
"""Messages that came as they were published show that nothing older is waiting."""


@mypyc_attr(free_list_len=1)
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
        self.rereading: Rereading | None = None
        """The run of messages that come again to which this one belongs."""

    @property
    def identified(self) -> bool:
        """No other message can be taken for this one: it has an id, or all are in view and none is
        older."""
        if self.leg.envelope.message_id:
            return True
        publish, journey = self.publish, self.journey
        return self.closed and publish is not None and is_awaited(journey.deliveries[0], publish)

    @property
    def is_alike(self) -> bool:
        """The same was published several times: a delivery need not be of what was delivered
        before, and only where all is in view can they be counted."""
        return self.journey.published > 1 and not self.closed

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
    def on_one_clock(self) -> bool:
        """Publish and delivery are in one capture, which has them in their order for sure."""
        publish = self.publish
        return publish is not None and publish.lane.capture == self.leg.lane.capture

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


def is_direct(moment: Moment) -> bool:
    """Whether a message comes from where it was published, or where an exchange put it.

    From elsewhere it may have been moved, as one that had expired.
    """
    publish, node = moment.publish, moment.leg.node
    return publish is not None and (publish.node is node or publish.node.is_exchange)


def is_way(broker: Broker, source: Node, target: Node) -> bool:
    """Whether messages that are published to one node are known to come from another."""
    return source is target or broker.traffic(source, target) >= LEARNED


def kinds_of(moment: Moment) -> int:
    """What there is to look at in a delivery."""
    leg, publish = moment.leg, moment.publish
    kinds = DELIVERED
    if moment.earlier is not None and not moment.is_alike:
        kinds |= AGAIN
    if publish is None:
        return kinds
    ours, theirs = leg.envelope, publish.envelope
    if ours.family == theirs.family:
        kinds |= MATCHED
        if leg.level != EXACT or ours.format != theirs.format:
            kinds |= CHANGED
        if not ours.has_head_of(theirs):
            kinds |= REHEADED
        if ours.hinted:
            kinds |= HINTED
    elif leg.level == SAME_ID:
        kinds |= CROSSED
    if leg.lane.route.no_local:
        kinds |= EXCLUDED
    if publish.outcome and publish.outcome != ACCEPTED:
        kinds |= REFUSED
    if publish.commitment.state:
        kinds |= POSTED
    if may_have_aged(publish, leg):
        kinds |= AGED
    return kinds


def may_have_aged(publish: Leg, leg: Leg) -> bool:
    """A message that does not live for ever may have been at the broker for a millisecond."""
    if not publish.envelope.perishable and not leg.envelope.perishable:
        return False
    return leg.mark.time - publish.last.time > 1_000_000


def residence(publish: Leg, leg: Leg) -> int:
    """Nanoseconds that a message was at the broker, at least; 0 where nothing proves it.

    It had arrived when the broker answered the publish, and could not be sent before the consumer
    asked for it.
    """
    arrived: Mark | None = publish.verdict.mark if publish.outcome == ACCEPTED else None
    if arrived is None or leg.cause is None:
        return 0
    return max(0, leg.cause.time - arrived.time)


def pair_of(broker: Broker, journey: Journey, leg: Leg, closed: bool) -> Leg | None:
    """The publish of a message that is delivered, where it is surely just that."""
    publish = journey.publish
    if publish is None or journey.doubtful or publish.last.time > leg.mark.time:
        return None
    ours, theirs = leg.envelope, publish.envelope
    if leg.level == SAME_BODY:
        return publish if ours.family == theirs.family and publish.node is leg.node else None
    if leg.level != SAME_ID:
        return publish
    if not is_way(broker, publish.node, leg.node):
        return None
    if ours.body_key == theirs.body_key or ours.has_strong_id:
        return publish
    # The id alone is weak: somebody else may count from one, too.
    if is_taken(journey) or leg.node.strangers:
        return None
    known = broker.traffic(publish.node, leg.node)
    if not is_awaited(leg, publish):
        return publish if known >= LEARNED and is_alike(theirs, ours) else None
    return publish if closed or known >= SOME or is_alike(theirs, ours) else None


def is_anothers(journey: Journey, leg: Leg) -> bool:
    """Whether a delivery has no more than the id of a message, and that is short."""
    ours, publish = leg.envelope, journey.publish
    if leg.level != SAME_ID or publish is None or ours.has_strong_id:
        return False
    return ours.body_key != publish.envelope.body_key


def is_taken(journey: Journey) -> bool:
    """Whether a consumer has a message as it was published, so that what has its id is another."""
    return any(each.level == EXACT and is_kept(each) for each in journey.deliveries)


def is_alike(published: Envelope, delivered: Envelope) -> bool:
    """Whether two messages have most of their octets in common, or of their application data."""
    theirs, ours = published.octets[len(published.head) :], delivered.octets[len(delivered.head) :]
    if published.family != delivered.family:
        least = min(len(theirs), len(ours))
        theirs, ours = theirs[-least:], ours[-least:]  # application data is last in all of them
    if has_most_of(theirs, ours):
        return True
    # One octet more, and the sizes that are written before the data differ too.
    before, after = published.data()[0], delivered.data()[0]
    return bool(before and after) and has_most_of(before, after)


def has_most_of(theirs: bytes, ours: bytes) -> bool:
    """Whether two texts have at least half of the longer one in common, at their ends."""
    least = min(len(theirs), len(ours))
    head = 0
    while head < least and theirs[head] == ours[head]:
        head += 1
    tail = 0
    while tail < least - head and theirs[-1 - tail] == ours[-1 - tail]:
        tail += 1
    return 2 * (head + tail) >= max(len(theirs), len(ours))


def was_forwarded(envelope: Envelope) -> bool:
    """A message was dead-lettered, forwarded or went through a router on its way."""
    names = envelope.open().annotations
    return any(name in HOPS or name.startswith("x-opt-qd.") for name in names)


HOPS: Final = frozenset((
    "x-opt-deaths", "x-death", "x-first-death-queue", "x-opt-ORIG-ADDRESS", "x-opt-ORIG-QUEUE",
    "x-opt-deadletter-source", "x-received-from", "x-opt-amq-bkr-id", "x-stream-offset",
    "x-opt-offset",
))  # fmt: skip
"""Annotations and headers that a broker adds when it moves a message to another node, or reads it
from a stream, where it stays."""
