"""What a node turns out to be: a queue that consumers share, or a topic of which each has a copy.

Nothing on the wire needs to say so. Consumers share a queue where one of them gets a message that
was published after another one's, which it did not get; a topic is shown by messages that two
consumers have at the same time.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.envelope import ACCEPTED, OPEN, PRESETTLED
from amqpscope.model.broker.journey import SAME_BODY, UNMATCHED, Journey, Lane, Leg, Node, precedes

ENOUGH: Final = 2
"""Messages that went to one consumer and passed over another show that a node is shared."""


def is_shared(node: Node) -> bool:
    """Whether a node is a queue: by what is said of it, or by what its consumers get."""
    if node.is_queue:
        return True
    return not node.is_topic and node.shares >= ENOUGH and node.shares > ENOUGH * node.overlaps


def is_fanned_out(node: Node) -> bool:
    """Whether every consumer of a node gets every message."""
    if node.is_queue or node.overlaps < ENOUGH:
        return False
    return node.is_topic or node.overlaps > node.shares


def learn(node: Node, journey: Journey, leg: Leg, earlier: Leg | None) -> None:
    """Take a delivery into account."""
    lane = leg.lane
    vague = leg.level in (UNMATCHED, SAME_BODY)
    if vague and node.family not in ("", leg.envelope.family):
        node.blurred = True
    if leg.level == UNMATCHED:
        node.strangers += 1
    elif node.fresh is None and leg.envelope.message_id and journey.publish is not None:
        node.fresh = leg.mark.time
    if not vague and not node.keeps and not node.is_topic and is_stored_for(lane, journey):
        node.keeps = True
    if lane.route.copy or lane.route.filtered:
        return
    if earlier is None:
        newest, publish = node.newest, journey.publish
        if newest is not None and publish is not None and passes_over(newest, lane, publish):
            node.shares += 1
        node.newest = leg
    elif earlier.lane is not lane and earlier.lane.ended is None and is_kept(earlier):
        node.overlaps += 1


def is_kept(leg: Leg) -> bool:
    """Whether a consumer has a message, or has dealt with it: it did not give it back."""
    return leg.lost is None and leg.outcome in (OPEN, ACCEPTED, PRESETTLED)


def passes_over(newest: Leg, lane: Lane, publish: Leg) -> bool:
    """Whether a consumer gets a message after one that it did not get, and could have."""
    before, since = newest.journey, lane.route.since
    if newest.lane is lane or since is None or before is None or before.publish is None:
        return False
    theirs = before.publish
    if theirs.mark.time < since.time or precedes(
        publish.mark, publish.lane, theirs.mark, theirs.lane
    ):
        return False
    return all(each.lane is not lane for each in before.deliveries)


def is_stored_for(lane: Lane, journey: Journey) -> bool:
    """Whether a consumer gets what was published before it came, so that the node keeps messages.

    A subscription that outlives its link would have it too, so that must not be one.
    """
    route, publish = lane.route, journey.publish
    if route.since is None or publish is None or route.filtered or route.durable:
        return False
    return precedes(publish.last, publish.lane, route.since, lane)


def is_missed(journey: Journey, publish: Leg, leg: Leg) -> bool:
    """Whether a subscriber did not get a message that another one got.

    It had asked for messages before that was published, and got a later one.
    """
    lane, cause = leg.lane, leg.cause
    if cause is None or not precedes(cause, lane, publish.mark, publish.lane):
        return False
    if lane.route.copy or lane.route.filtered or not lane.counted:
        return False
    return bool(journey.deliveries) and all(
        each.lane is not lane and each.node is leg.node for each in journey.deliveries
    )
