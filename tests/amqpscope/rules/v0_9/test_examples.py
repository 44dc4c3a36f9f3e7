"""Every rule's own examples: Bad breaks it where it says and nothing else, Good breaks nothing."""

from __future__ import annotations

import pytest

from amqpscope.findings import ERROR
from amqpscope.rules.all import load
from amqpscope.rules.documents import Exchange, documents
from amqpscope.rules.v0_9 import FAMILY
from kit.exchange_v0_9 import play

RULES = [id for id, rule in load().items() if rule.family.name == FAMILY]
CASES = [
    pytest.param(id, exchange, id=f"{id}-{'good' if exchange.good else 'bad'}-{place}")
    for id in RULES
    for place, exchange in enumerate(documents()[id].exchanges)
]


@pytest.mark.parametrize(("id", "exchange"), CASES)
def test_example_is_judged_as_it_says(id: str, exchange: Exchange) -> None:
    played = play(exchange.text, exchange.scene)
    found = [(finding.frame, finding.rule) for finding in played.findings]
    if exchange.good:
        assert [each for each in played.findings if each.rule not in OFF] == []
        return
    expected = [(frame, rule) for frame, rules in played.marked.items() for rule in rules]
    assert expected, "a Bad exchange marks the line that breaks the rule: # <- ID"
    assert id in {rule for _, rule in expected}
    for each in expected:
        assert each in found, played.findings
    others = [
        f for f in played.findings if f.severity == ERROR and (f.frame, f.rule) not in expected
    ]
    assert others == []


OFF = [id for id in RULES if not load()[id].default]
"""Rules that run only when they are asked for: legal exchanges may break them."""


def test_every_rule_has_a_bad_and_a_good_exchange() -> None:
    for id in RULES:
        exchanges = documents()[id].exchanges
        assert {exchange.good for exchange in exchanges} == {True, False}, id
        assert documents()[id].summary.endswith("."), id
