"""What is counted of a broker's work, for its profile."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import PRESETTLED
from amqpscope.model.broker.journey import LEVELS, Journey, Leg
from amqpscope.model.broker.moment import REHEADED, Moment, hopped

FIELDS: Final = ("durable", "priority", "ttl")


def published(broker: Broker, journey: Journey, leg: Leg) -> None:
    """A message was published."""
    counts = broker.facts
    counts["published"] += 1
    if journey.published == 2:
        counts["published again"] += 1
    if leg.outcome:
        counts[f"publish {leg.outcome}"] += 1


def answered(broker: Broker, leg: Leg, journey: Journey | None) -> None:
    """A message has its outcome."""
    kind = "publish" if leg.is_publish else "delivery"
    broker.facts[f"{kind} {leg.outcome}"] += 1
    mark = leg.verdict.mark
    if mark is not None and mark.frame:
        broker.measure(f"{kind} settled after", mark.time - leg.last.time)
    if journey is not None and not leg.is_publish and leg.outcome == "accepted":
        journey.accepted += 1


def delivered(moment: Moment, kinds: int) -> None:
    """A message was delivered."""
    broker, leg = moment.broker, moment.leg
    counts = broker.facts
    counts["delivered"] += 1
    counts[f"recognised by {LEVELS[leg.level]}" if leg.level else LEVELS[0]] += 1
    if leg.outcome == PRESETTLED:
        counts[f"delivery {PRESETTLED}"] += 1
    publish = moment.publish
    if publish is not None:
        edge = (publish.node, leg.node)
        if leg.level == 1:
            broker.edges[edge] = broker.edges.get(edge, 0) + 1
        broker.measure("at the broker for", leg.mark.time - publish.last.time)
        if kinds & REHEADED:
            compare_heads(moment, publish)
    if leg.redelivered:
        counts["marked as redelivered"] += 1
    if moment.earlier is not None:
        counts["delivered again"] += 1
        if moment.earlier.outcome or moment.earlier.lost is not None:
            count_attempt(moment, moment.earlier)


def compare_heads(moment: Moment, publish: Leg) -> None:
    """Count what the broker changed of header and annotations."""
    broker, ours, theirs = moment.broker, moment.leg.envelope, publish.envelope
    if hopped(ours):
        broker.facts["moved to another node"] += 1
    after_all, before_all = ours.open(), theirs.open()
    for name in FIELDS:
        before, after = getattr(before_all, name), getattr(after_all, name)
        if before != after:
            change = "added" if before is None else "dropped" if after is None else "changed"
            broker.facts[f"{name} {change}"] += 1
    added, kept = after_all.annotations, before_all.annotations
    for key in added.keys() - kept.keys():
        broker.count_key("annotations added", key)
    for key in kept.keys() - added.keys():
        broker.count_key("annotations dropped", key)
    for key in kept.keys() & added.keys():
        if kept[key] != added[key]:
            broker.count_key("annotations changed", key)


def count_attempt(moment: Moment, earlier: Leg) -> None:
    """Count by how much the delivery-count rose, and whether the delivery was marked."""
    broker, leg = moment.broker, moment.leg
    word = earlier.outcome or "lost"
    if word == "modified":
        word = "modified, failed" if earlier.verdict.failed else "modified, not failed"
    content = leg.envelope.open()
    before, after = earlier.envelope.open().delivery_count, content.delivery_count
    if before is not None and after is not None:
        broker.count_key(f"delivery-count after {word}", f"{after - before:+d}")
    if not leg.envelope.has_header:
        mark = "marked" if leg.redelivered else "not marked"
        broker.count_key(f"redelivered after {word}", mark)
    if content.first_acquirer:
        broker.facts["first-acquirer true on a later delivery"] += 1
