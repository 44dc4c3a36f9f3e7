"""Where messages are, by all that is known of them: what a list or a table of messages says."""

from __future__ import annotations

from typing import Final

from amqpscope.insight.message_states import (
    DISCARDED,
    DONE,
    EXPIRED,
    HELD,
    LOST,
    REFUSED,
    UNANSWERED,
    UNKNOWN,
    UNSETTLED,
    WAITING,
)
from amqpscope.model.broker.envelope import (
    ACCEPTED,
    DEFAULT_PRIORITY,
    PRESETTLED,
    PROVISIONAL,
    REFUSALS,
    REJECTED,
    SETTLED,
)
from amqpscope.model.broker.journey import Journey, Lane, Leg, Node, precedes

MILLISECOND: Final = 1_000_000
MAX_WAYS: Final = 65536
"""Ways of which the newest message is remembered; of others, none counts as overtaken."""
KEEPING: Final = frozenset((ACCEPTED, PRESETTLED, PROVISIONAL, SETTLED, REJECTED))
"""What a consumer says so that the broker does not have the message any more."""

Way = tuple[Lane, Node, int]
"""A publisher, where it publishes to, and a priority."""


def way_of(publish: Leg) -> Way:
    """What messages share that a broker delivers in the order in which they were published."""
    envelope = publish.envelope
    priority = envelope.open().priority if envelope.head or not envelope.has_header else None
    return publish.lane, publish.node, DEFAULT_PRIORITY if priority is None else priority


def expiry_of(publish: Leg) -> int:
    """When a message expires, by its own word, in nanoseconds since the epoch; 0: never."""
    content = publish.envelope.open()
    times: list[int] = []
    if content.ttl is not None:
        times.append(publish.last.time + content.ttl * MILLISECOND)
    if content.expiry is not None:
        times.append(content.expiry * MILLISECOND)
    return min(times) if times else 0


def publish_before(journey: Journey, leg: Leg) -> Leg | None:
    """The publish that a delivery is of; None where none came before it, or more than one."""
    first = journey.first_publish
    if first is None or not journey.published or is_later(first, leg):
        return None
    if journey.published > 1:
        before = [each for each in journey.publishes if not is_later(each, leg)]
        return first if len(before) == 1 else None
    return first


def is_later(publish: Leg, leg: Leg) -> bool:
    """Whether a publish was complete only after a delivery was."""
    return precedes(leg.last, leg.lane, publish.last, publish.lane)


class Whereabouts:
    """Decides where messages are, once no more is to come of them."""

    def __init__(self) -> None:
        self.unended: set[Lane] = set()
        """Links and consumers that only the end of the capture has ended."""
        self.newest: dict[Way, int] = {}
        """Of the messages that took a way, the newest that was delivered: the publish's frame."""

    def is_open(self, leg: Leg) -> bool:
        """Whether a delivery has no outcome, and its consumer may still give it one."""
        return not leg.outcome and (leg.lost is None or leg.lane in self.unended)

    def note(self, journey: Journey) -> None:
        """Take into account that a message overtakes those that were published before it."""
        for leg in journey.deliveries:
            publish = publish_before(journey, leg)
            route = leg.lane.route
            if publish is None or route.copy or route.filtered:
                continue
            if publish.last.time <= leg.mark.time:
                way = way_of(publish)
                newest = max(self.newest.pop(way, 0), publish.mark.frame)
                self.newest[way] = newest  # behind all others, which were used less lately
                if len(self.newest) > MAX_WAYS:
                    del self.newest[next(iter(self.newest))]

    def state(self, journey: Journey, now: int) -> str:
        """Where a message is."""
        state = self.own_state(journey)
        if journey.over and state in UNSETTLED:
            return UNKNOWN
        publishes = journey.publishes
        if state != WAITING or not publishes or any(is_taken(leg) for leg in journey.deliveries):
            return state
        publish = publishes[-1]
        if 0 < expiry_of(publish) < now:
            return EXPIRED
        return LOST if publish.mark.frame < self.newest.get(way_of(publish), 0) else WAITING

    def own_state(self, journey: Journey) -> str:
        """Where a message is, by its own frames alone."""
        deliveries = journey.deliveries
        taken = [leg for leg in deliveries if is_taken(leg)]
        if any(self.is_open(leg) for leg in taken):
            return HELD
        if taken and has_again(taken):
            return WAITING
        looked_at = len(deliveries) - len(taken)
        if not taken or journey.published > journey.delivered - looked_at:
            publishes = journey.publishes
            word = publishes[-1].outcome if publishes else ""
            if word in REFUSALS:
                return REFUSED
            return WAITING if word else UNANSWERED
        return DISCARDED if last_outcome(journey) == REJECTED else DONE


def is_taken(leg: Leg) -> bool:
    """Whether a delivery took a message from its node, and did not only look at it."""
    return not leg.lane.route.copy


def has_again(legs: list[Leg]) -> bool:
    """Whether a broker has a message again after it has delivered it so often."""
    if len(legs) == 1:
        return legs[0].outcome not in KEEPING
    events: list[tuple[int, int, bool, Leg]] = []
    for leg in legs:
        events.append((leg.mark.time, leg.mark.frame, False, leg))
        mark = leg.verdict.mark if leg.outcome else leg.lost
        if leg.outcome not in KEEPING and mark is not None:
            events.append((mark.time, mark.frame, True, leg))
    events.sort(key=_moment)
    nodes: set[str] = set()
    for _, _, back, leg in events:
        if back:
            nodes.add(leg.node.name)
        else:
            nodes.discard(leg.node.name)
    return bool(nodes)


def _moment(event: tuple[int, int, bool, Leg]) -> tuple[int, int, bool]:
    return event[:3]


def last_outcome(journey: Journey) -> str:
    """What a consumer said last of a message; empty where none has said anything."""
    word, newest = "", (0, 0)
    for leg in journey.deliveries:
        mark = leg.verdict.mark
        if mark is not None and leg.outcome != PRESETTLED and (mark.time, mark.frame) >= newest:
            word, newest = leg.outcome, (mark.time, mark.frame)
    return word
