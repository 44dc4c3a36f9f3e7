"""Messages that no rule asks for are not followed, and what is reported stays the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import amqpscope.rules.broker
from amqpscope.check.selection import Selection
from amqpscope.insight.journeys import Journeys
from amqpscope.rules.all import load
from amqpscope.rules.broker import CLAIMED
from amqpscope.runs.run import Run
from kit.broker_story import Story, once
from kit.exchange_broker import write

WITHOUT = Selection(ignore=("BRK",))


def unmarked() -> Story:
    """A consumer of 0-9-1 gives a message back, and the next one gets it without a mark."""
    story = Story(product="RabbitMQ").confirms("A").consume("B").basic_publish("A")
    story.ack("A", 1, "server").basic_deliver("B")
    story.add("B", "client: basic.nack[1] delivery-tag=1 requeue=true")
    return story.at(2).consume("C").basic_deliver("C")


def run(path: Path, selection: Selection) -> tuple[set[str], Journeys]:
    """What is found, and what followed the messages."""
    found: set[str] = set()
    with Run(str(path), selection) as running:
        for batch in running:
            found |= {each.rule for step in batch.steps for each in step.findings}
            found |= {each.rule for each in batch.findings}
        assert running.journeys is not None
        return found, running.journeys


def followed(journeys: Journeys) -> int:
    return sum(broker.facts["published"] for broker in journeys.brokers.values())


def test_without_the_rules_about_brokers_messages_of_1_0_are_not_followed(tmp_path: Path) -> None:
    write(once().text, "", tmp_path / "a.pcapng", "AB")
    assert followed(run(tmp_path / "a.pcapng", Selection())[1]) == 1
    assert followed(run(tmp_path / "a.pcapng", WITHOUT)[1]) == 0


def test_rules_of_0_9_look_at_messages_all_the_same(tmp_path: Path) -> None:
    write(unmarked().text, "", tmp_path / "a.pcapng", "ABC")
    found, journeys = run(tmp_path / "a.pcapng", WITHOUT)
    assert followed(journeys) == 1
    assert found == {"A09-BAS-28"} == run(tmp_path / "a.pcapng", Selection())[0]


def test_what_was_skipped_before_a_family_shows_up_is_a_hole(tmp_path: Path) -> None:
    story = Story(product="RabbitMQ").sender("A", "/queues/q").publish("A").answer("A")
    story.confirms("D").consume("B").basic_publish("D").ack("D", 1, "server").basic_deliver("B")
    story.add("B", "client: basic.nack[1] delivery-tag=1 requeue=true")
    story.at(2).consume("C").basic_deliver("C")
    write(story.text, "", tmp_path / "a.pcapng", "ABCD")
    assert "A09-BAS-28" not in run(tmp_path / "a.pcapng", WITHOUT)[0]


@pytest.mark.parametrize("rule", sorted(CLAIMED))
def test_a_rule_about_declarations_alone_is_enough(rule: str) -> None:
    journeys = Journeys(Selection(select=(rule,)).rules(), sparing=True)
    assert journeys.is_wanted


def test_rules_that_look_at_several_connections_are_known() -> None:
    folder = Path(amqpscope.rules.broker.__file__).parent
    texts = [file.read_text() for file in folder.rglob("*.py")]
    claimed = {id for text in texts for id in re.findall(r'claim\(\s*"([A-Z0-9-]+)"', text)}
    assert {id for id in claimed if not id.startswith("BRK")} == CLAIMED
    assert claimed <= load().keys()
