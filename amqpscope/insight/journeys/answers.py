"""What people ask of a broker first, answered in a line each by what was counted."""

from __future__ import annotations

from collections import Counter
from typing import Final

from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.journey import EXACT, LEVELS, SAME_BODY, SAME_ID

FIELDS: Final = ("durable", "durable default", "priority", "priority default", "ttl")
CHANGES: Final = ("added", "dropped", "changed")
COUNT: Final = "delivery-count after "
MARK: Final = "redelivered after "
MAX_NAMED: Final = 3
"""Annotations that are named in one answer."""


def answers(broker: Broker) -> dict[str, str]:
    """The answers by what is asked; without those for which nothing was seen."""
    facts = broker.facts
    found = {
        "bare message": bare_message(facts),
        "header": header(facts),
        "annotations": message_annotations(broker),
        "delivery-count": law(broker, COUNT),
        "redelivered": law(broker, MARK),
        "given back": given_back(broker),
        "first-acquirer": first_acquirer(facts),
        "order": order(facts),
        "priority": priority(facts),
        "expiry": expiry(facts),
        "settling": settling(facts),
    }
    return {question: answer for question, answer in found.items() if answer}


def matched_deliveries(facts: Counter[str]) -> int:
    """Deliveries whose publish was seen."""
    return sum(facts[f"recognised by {LEVELS[level]}"] for level in (EXACT, SAME_ID, SAME_BODY))


def bare_message(facts: Counter[str]) -> str:
    """Whether the immutable part of messages arrives as it was published."""
    total, same = matched_deliveries(facts), facts[f"recognised by {LEVELS[EXACT]}"]
    if not total:
        return ""
    crossed = facts["in another protocol"]
    if same == total:
        return f"kept, octet by octet, in all {total:,} deliveries"
    words = [f"kept in {same:,} of {total:,} deliveries"]
    if crossed:
        words.append(f"{crossed:,} came in another protocol")
    encoded = facts["re-encoded"]
    if encoded:
        words.append(f"re-encoded with the same values in {encoded:,}")
    changed = total - same - crossed - encoded
    if changed > 0:
        words.append(f"changed in {changed:,}")
    return ", ".join(words)


def header(facts: Counter[str]) -> str:
    """What becomes of the header."""
    if not matched_deliveries(facts):
        return ""
    found = [
        f"{field} {change} in {facts[f'{field} {change}']:,}"
        for field in FIELDS
        for change in CHANGES
        if facts[f"{field} {change}"]
    ]
    return ", ".join(found) or "kept: durable, priority and ttl as they were published"


def message_annotations(broker: Broker) -> str:
    """What becomes of message annotations, or headers of 0-9."""
    if not matched_deliveries(broker.facts):
        return ""
    found = []
    for change in CHANGES:
        names = list(broker.keys.get(f"annotations {change}", ()))
        if names:
            more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
            found.append(f"{change}: {', '.join(names[:MAX_NAMED])}{more}")
    return "; ".join(found) or "kept, none added"


def law(broker: Broker, start: str) -> str:
    """How attempts are counted or marked, by what became of the one before."""
    found = []
    for title, counted in sorted(broker.keys.items()):
        if title.startswith(start):
            ways = " or ".join(sorted(counted))
            found.append(f"{ways} after {title.removeprefix(start)}")
    return "; ".join(found)


def given_back(broker: Broker) -> str:
    """Whether what a consumer gives back comes again before others do."""
    counted = broker.keys.get("what was given back came again", Counter())
    return ", ".join(f"{count:,} came again {place}" for place, count in sorted(counted.items()))


def first_acquirer(facts: Counter[str]) -> str:
    """Whether it is claimed of messages that somebody had before."""
    untrue = facts["first-acquirer true on a later delivery"]
    return f"true in {untrue:,} deliveries that were not the first" if untrue else ""


def order(facts: Counter[str]) -> str:
    """Whether messages come in the order in which they were published."""
    total, overtaken = matched_deliveries(facts), facts["overtaken"]
    if not total:
        return ""
    if overtaken:
        return (
            f"{overtaken:,} of {total:,} deliveries came after a message that was published later"
        )
    return "kept: none came after one of the same producer and priority that was published later"


def priority(facts: Counter[str]) -> str:
    """Whether more priority comes first."""
    ahead, behind = facts["ahead by priority"], facts["behind less priority"]
    if not ahead and not behind:
        return ""
    found = [f"{ahead:,} messages waited for others with more, published later"] if ahead else []
    if behind:
        found.append(f"{behind:,} came after others with less, published later")
    return ", ".join(found)


def expiry(facts: Counter[str]) -> str:
    """Whether messages are delivered after their time to live."""
    total, late = facts["delivered with a ttl"], facts["delivered after the ttl"]
    if not total:
        return ""
    if late:
        return f"{late:,} of {total:,} messages with a ttl were delivered after it"
    return f"none of {total:,} messages with a ttl was delivered after it"


def settling(facts: Counter[str]) -> str:
    """How publishes are answered."""
    total, frames = facts["publishes answered"], facts["answers to publishes"]
    if not total:
        return ""
    if frames == total:
        return "each publish is answered by a frame of its own"
    return f"{total:,} publishes are answered by {frames:,} frames"
