"""Every rule's own examples over several connections: in a closed world, and with others unseen."""

from __future__ import annotations

import pytest

from amqpscope.findings import ERROR, SUSPECT
from amqpscope.rules.all import load
from amqpscope.rules.broker import FAMILY
from amqpscope.rules.documents import Exchange, documents
from kit.exchange_broker import play

RULES = [id for id, rule in load().items() if rule.family.name == FAMILY]
CASES = [
    pytest.param(id, exchange, id=f"{id}-{'good' if exchange.good else 'bad'}-{place}")
    for id in RULES
    for place, exchange in enumerate(documents()[id].exchanges)
]


@pytest.mark.parametrize(("id", "exchange"), CASES)
def test_example_is_judged_as_it_says(id: str, exchange: Exchange) -> None:
    played = play(exchange.text, exchange.scene, closed_world=True)
    found = {(finding.frame, finding.rule) for finding in played.findings}
    expected = {(frame, rule) for frame, rules in played.marked.items() for rule in rules}
    assert found == expected, played.findings
    assert [each for each in played.others if each.severity == ERROR] == []
    assert exchange.good or id in {rule for _, rule in expected}


@pytest.mark.parametrize(("id", "exchange"), CASES)
def test_nobody_is_accused_for_sure_while_others_may_be_unseen(id: str, exchange: Exchange) -> None:
    played = play(exchange.text, exchange.scene)
    assert all(each.certainty == SUSPECT and each.severity != ERROR for each in played.findings)
    expected = {(frame, rule) for frame, rules in played.marked.items() for rule in rules}
    assert {(finding.frame, finding.rule) for finding in played.findings} <= expected


def test_every_rule_has_a_bad_and_a_good_exchange() -> None:
    for id in RULES:
        exchanges = documents()[id].exchanges
        assert {exchange.good for exchange in exchanges} == {True, False}, id
        assert documents()[id].summary.endswith("."), id
