"""Messages without a good end in view, and the answer to who misses one."""

from __future__ import annotations

import pytest

from amqpscope.insight.journeys.ledger import fate, ledgers
from amqpscope.model.broker.broker import Broker
from kit.broker_story import Story, accepted, fanned_out, once, through, two
from kit.exchange_broker import play

OVERTAKEN = two().publish("A", "m3").answer("A").receiver("B").deliver("B", "m2").outcome("B")


def broker_of(story: Story) -> Broker:
    [broker] = set(play(story.text).journeys.brokers.values())
    return broker


def listed(story: Story) -> dict[str, list[str]]:
    return {each.kind: [m.id for m in each.messages] for each in ledgers(broker_of(story))}


def test_what_was_passed_over_is_told_from_what_waits() -> None:
    assert listed(OVERTAKEN) == {
        "taken by the broker, not delivered in view though later ones were": ["m1"],
        "taken by the broker, not delivered in view": ["m3"],
    }


def test_what_has_expired_is_told_from_what_waits() -> None:
    story = through().publish("A", "m1", header="ttl=100").answer("A").at(3)
    story.publish("A", "m2").answer("A")
    assert listed(story) == {
        "taken by the broker, not delivered in view before their time to live was over": ["m1"],
        "taken by the broker, not delivered in view": ["m2"],
    }


def test_what_every_subscriber_has_accepted_is_no_repetition() -> None:
    assert listed(fanned_out()) == {}
    again = accepted(accepted(once()).deliver("B"))
    assert listed(again) == {"accepted more often than published, from one node": ["m1"]}


@pytest.mark.parametrize(
    ("story", "answer"),
    [
        (once(), "nothing looks lost"),
        (
            OVERTAKEN,
            "message m1 looks lost: later ones were delivered; 1 that the broker took may wait"
            " there",
        ),
        (
            two().publish("A", "m3").answer("A").receiver("B").deliver("B", "m3").outcome("B"),
            "message m1 and 1 more look lost: later ones were delivered",
        ),
    ],
)
def test_whether_a_message_is_missing_is_said_first(story: Story, answer: str) -> None:
    broker = broker_of(story)
    assert fate(broker, ledgers(broker)) == {"missing": answer}


def test_nothing_is_said_where_nothing_was_delivered_or_too_much_was_forgotten() -> None:
    broker = broker_of(through().publish("A").answer("A"))
    assert fate(broker, ledgers(broker)) == {}
    broker = broker_of(once())
    broker.forgotten = 1
    assert fate(broker, ledgers(broker)) == {}
