"""What is counted of a broker's work, for its profile."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.broker import Broker, Change
from amqpscope.model.broker.envelope import (
    ACCEPTED,
    DEFAULT_PRIORITY,
    MODIFIED,
    PRESETTLED,
    PROVISIONAL,
    RELEASED,
    Envelope,
)
from amqpscope.model.broker.journey import EXACT, LEVELS, Journey, Leg
from amqpscope.model.broker.moment import DISORDERED, OUTRANKED, YIELDING, Moment, was_forwarded

FIELDS: Final = ("durable", "priority", "ttl")
DEFAULTS: Final = {"durable": False, "priority": DEFAULT_PRIORITY}
"""What a header says that does not say it (3.2.1)."""
GIVEN_BACK: Final = (RELEASED, MODIFIED)
MAX_RETURNED: Final = 1024
"""Messages of a node that consumers gave back, of which it is counted when they come again."""
MILLISECOND: Final = 1_000_000


def count_publish(broker: Broker, journey: Journey, leg: Leg) -> None:
    """A message was published."""
    broker.tally.published += 1
    if journey.published > 1:
        broker.tally.published_again += 1
    if leg.outcome == PRESETTLED:
        broker.tally.publish_presettled += 1
    elif leg.outcome:
        broker.counts[f"publish {leg.outcome}"] += 1


def count_answer(broker: Broker, leg: Leg, journey: Journey | None) -> None:
    """A message has its outcome."""
    verdict = leg.verdict
    span = broker.publish_settled if leg.is_publish else broker.delivery_settled
    count_outcome(broker, leg, journey)
    mark = verdict.mark
    if leg.is_publish and mark is not None:
        broker.tally.answered += 1
        if mark.frame != broker.answered:
            broker.answered = mark.frame
            broker.tally.answers += 1
    if mark is not None and mark.frame:
        span.add(mark.time - leg.last.time)


def count_outcome(broker: Broker, leg: Leg, journey: Journey | None) -> None:
    """Count an outcome by its name."""
    word = leg.outcome
    if word != ACCEPTED:
        broker.counts[f"{'publish' if leg.is_publish else 'delivery'} {word}"] += 1
        if word in GIVEN_BACK and not leg.is_publish and journey is not None:
            if len(leg.node.returned) >= MAX_RETURNED:
                leg.node.returned.clear()
            leg.node.returned[journey] = leg.node.delivered
    elif leg.is_publish:
        broker.tally.publish_accepted += 1
    else:
        broker.tally.delivery_accepted += 1
        if journey is not None:
            journey.accepted += 1


def count_commit(broker: Broker, leg: Leg, journey: Journey | None) -> None:
    """Count an outcome that was given in a transaction, once that is committed."""
    broker.counts[f"{'publish' if leg.is_publish else 'delivery'} {PROVISIONAL}"] -= 1
    count_outcome(broker, leg, journey)


def count_delivery(moment: Moment) -> None:
    """A message was delivered."""
    broker, leg = moment.broker, moment.leg
    tally = broker.tally
    tally.delivered += 1
    if leg.level == EXACT:
        tally.exact += 1
    else:
        broker.counts[f"recognised by {LEVELS[leg.level]}" if leg.level else LEVELS[0]] += 1
    if leg.outcome == PRESETTLED:
        tally.delivery_presettled += 1
    publish = moment.publish
    if publish is not None:
        if leg.level == EXACT:
            broker.connect(publish.node, leg)
        broker.resident.add(leg.mark.time - publish.last.time)
        if publish.envelope.perishable:
            count_expiry(broker, publish, leg)
        if publish.envelope.family != leg.envelope.family:
            broker.counts["in another protocol"] += 1
        elif leg.level != EXACT and leg.envelope.says_the_same(publish.envelope):
            broker.counts["re-encoded"] += 1
    if leg.redelivered:
        broker.counts["marked as redelivered"] += 1
    earlier, journey = moment.earlier, moment.journey
    if earlier is not None and journey.delivered > journey.published:
        broker.counts["delivered again"] += 1
        if earlier.outcome or earlier.lost is not None:
            count_attempt(moment, earlier)


def count_expiry(broker: Broker, publish: Leg, leg: Leg) -> None:
    """Count a message that has a time to live, and whether it was over."""
    ttl = publish.envelope.open().ttl
    if ttl is not None:
        broker.counts["delivered with a ttl"] += 1
        if leg.mark.time - publish.last.time > ttl * MILLISECOND and not was_forwarded(
            leg.envelope
        ):
            broker.counts["delivered after the ttl"] += 1


def overtaken(broker: Broker, kinds: int) -> None:
    """A message came after others that were published later."""
    if kinds & DISORDERED:
        broker.counts["overtaken"] += 1
    if kinds & YIELDING:
        broker.counts["ahead by priority"] += 1
    if kinds & OUTRANKED:
        broker.counts["behind less priority"] += 1


def change_of(moment: Moment, publish: Leg) -> Change:
    """What the broker did to header and annotations; looked up where it did the same before."""
    broker, leg = moment.broker, moment.leg
    ours, theirs = leg.envelope, publish.envelope
    if not ours.head and not theirs.head:
        found = compare_heads(ours, theirs)
        found.count = 1
        broker.count_change(found)
        return found
    key = (theirs.head, ours.head, publish.node, leg.node)
    known = broker.changes.get(key)
    if known is None:
        known = compare_heads(ours, theirs)
        broker.keep_change(key, known)
    known.count += 1
    return known


def compare_heads(ours: Envelope, theirs: Envelope) -> Change:
    """What the broker changed of header and annotations."""
    found = Change()
    if was_forwarded(ours):
        found.facts.append("moved to another node")
    after_all, before_all = ours.open(), theirs.open()
    for name in FIELDS:
        before, after = getattr(before_all, name), getattr(after_all, name)
        if before != after:
            change = "added" if before is None else "dropped" if after is None else "changed"
            default = DEFAULTS.get(name)
            stated = default is not None and {before, after} == {None, default}
            found.facts.append(f"{name} default {change}" if stated else f"{name} {change}")
    added, kept = after_all.annotations, before_all.annotations
    found.names += [("annotations added", key) for key in added if key not in kept]
    found.names += [("annotations dropped", key) for key in kept if key not in added]
    for key, value in kept.items():
        if key in added and added[key] != value:
            found.names.append(("annotations changed", key))
    return found


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
    returned = leg.node.returned.pop(moment.journey, None)
    if returned is not None and not leg.lane.route.copy:
        place = "next" if leg.node.delivered == returned + 1 else "after others"
        broker.count_key("what was given back came again", place)
    if content.first_acquirer:
        broker.counts["first-acquirer true on a later delivery"] += 1
