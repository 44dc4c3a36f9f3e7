"""Every rule's own examples: Bad breaks it where it says and nothing else, Good breaks nothing."""

from __future__ import annotations

import pytest

from amqpscope.findings import ERROR
from amqpscope.rules.all import load
from amqpscope.rules.documents import Exchange, documents
from amqpscope.rules.registry import RULES
from kit.exchange import play

FAMILY = "amqp-1.0"
"""Rules of AMQP 0-9 and those about several connections have tests of their own."""
CASES = [
    pytest.param(id, exchange, id=f"{id}-{'good' if exchange.good else 'bad'}-{place}")
    for id, document in documents().items()
    if load()[id].family.name == FAMILY
    for place, exchange in enumerate(document.exchanges)
]


@pytest.mark.parametrize(("id", "exchange"), CASES)
def test_example_is_judged_as_it_says(id: str, exchange: Exchange) -> None:
    played = play(exchange.text, exchange.scene)
    found = [(finding.frame, finding.rule) for finding in played.findings]
    if exchange.good:
        assert found == [], played.findings
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


def test_every_rule_has_a_bad_and_a_good_exchange() -> None:
    load()
    for id in RULES:
        exchanges = documents()[id].exchanges
        assert {exchange.good for exchange in exchanges} == {True, False}, id
        assert documents()[id].summary.endswith("."), id
