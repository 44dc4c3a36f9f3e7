"""Whether a rule only reads: what it has reported is in ledgers, which only reporters write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from amqpscope.model.event import Event
from amqpscope.rules import v1_0
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.documents import documents
from amqpscope.rules.registry import Rule
from kit import exchange, exchange_v0_9
from kit.fingerprint import fingerprint


def assert_only_reads(id: str, writes: Callable[[Event], object] = lambda event: None) -> None:
    """Play a rule's examples; the model is the same before and after each time that it is run.

    `writes` is done along with the rule, to see that it would be noticed.
    """
    calls: list[str] = []
    rule = load()[id]
    others = [each for each in load().values() if each is not rule]
    rules = RuleSet([*others, compared(rule, calls, writes)])
    play = exchange.play if rule.family.name == v1_0.FAMILY else exchange_v0_9.play
    for example in documents()[id].exchanges:
        play(example.text, example.scene, rules=rules)
    assert calls


def compared(rule: Rule, calls: list[str], writes: Callable[[Event], object]) -> Rule:
    """A rule that compares the model before and after it looks at an event."""

    def check(event, report, *others):
        before = fingerprint(event)
        rule.check(event, report, *others)
        writes(event)
        calls.append(rule.id)
        after = fingerprint(event)
        assert after == before, difference(before, after)

    return replace(rule, check=check)


def difference(before: list[object], after: list[object]) -> str:
    """The first place in which two fingerprints differ."""
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new:
            return f"{before[max(place - 8, 0) : place]}: {old} became {new}"
    return "one is longer"
