"""Which messages came to a consumer before others that were published earlier."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.envelope import ACCEPTED
from amqpscope.model.broker.journey import Lane, Leg, Way, precedes
from amqpscope.model.broker.moment import DISORDERED, OUTRANKED, YIELDING

MIN_FOR_GROUP: Final = 11
"""How many properties a message has at least that has a group-id."""
MAX_WAYS: Final = 256
"""Ways to a consumer of which the newest message is remembered."""
MIN_BODY: Final = 4
"""Octets of application data by which messages without an id are told apart."""
MAX_PRIORITY: Final = 9
"""The highest priority that is told apart."""


def overtaken(leg: Leg, publish: Leg) -> int:
    """Whether a message that was published later came to this consumer before: as kinds.

    Keeps, for each way, the newest message that has come.
    """
    envelope, lane = publish.envelope, leg.lane
    if not envelope.message_id and len(envelope.body_key) < MIN_BODY:
        return 0
    priority, group = min(envelope.rank(), MAX_PRIORITY), ""
    if envelope.properties >= MIN_FOR_GROUP:
        group = envelope.open().group
    kinds = OUTRANKED if is_outranked(lane, publish, priority) else 0
    if lane.priorities >> (priority + 1) and is_yielding(lane, publish, priority):
        kinds |= YIELDING
    lane.priorities |= 1 << priority
    way = way_to(lane, publish, priority, group)
    if way is None:
        if len(lane.ways) < MAX_WAYS:
            lane.way = Way(publish, leg, priority, group)
            lane.ways[publish.lane, publish.node, priority, group] = lane.way
    elif way.publish.last.frame < publish.last.frame:
        way.publish, way.leg = publish, leg
    elif way.publish is not publish:
        kinds |= DISORDERED
    return kinds


def way_to(lane: Lane, publish: Leg, priority: int, group: str) -> Way | None:
    """The way that a message has come; None where it is the first."""
    way = lane.way
    if (
        way is not None
        and way.lane is publish.lane
        and way.node is publish.node
        and way.priority == priority
        and way.group == group
    ):
        return way
    way = lane.ways.get((publish.lane, publish.node, priority, group))
    if way is not None:
        lane.way = way
    return way


def is_outranked(lane: Lane, publish: Leg, priority: int) -> bool:
    """Whether a consumer got a message before this one that has less priority, and is newer."""
    lower = lane.priorities & ((1 << priority) - 1)
    for each in range(priority):
        if lower & (1 << each):
            newest = lane.ways.get((publish.lane, publish.node, each, ""))
            if newest is None or newest.publish.last.frame < publish.last.frame:
                continue
            if is_ready(publish, newest.leg):
                return True
    return False


def is_yielding(lane: Lane, publish: Leg, priority: int) -> bool:
    """Whether a consumer got a message before this one that has more priority, and is newer."""
    for each in range(priority + 1, MAX_PRIORITY + 1):
        newest = lane.ways.get((publish.lane, publish.node, each, ""))
        if newest is not None and newest.publish.last.frame > publish.last.frame:
            return True
    return False


def is_ready(publish: Leg, other: Leg) -> bool:
    """Whether the broker had a message when a consumer asked for what it got instead."""
    accepted, cause = publish.verdict.mark, other.cause
    if accepted is None or cause is None or publish.outcome != ACCEPTED:
        return False
    return precedes(accepted, publish.lane, cause, other.lane)
