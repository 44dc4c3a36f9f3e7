"""What people ask of a broker first, answered by what it did."""

from __future__ import annotations

import pytest

from amqpscope.insight.journeys.answers import answers
from kit.broker_story import Story, changed, fanned_out, old, once, through, two
from kit.exchange_broker import play


def asked(story: Story) -> dict[str, str]:
    [broker] = set(play(story.text).journeys.brokers.values())
    return answers(broker)


@pytest.mark.parametrize(
    ("story", "question", "answer"),
    [
        (fanned_out(), "bare message", "kept, octet by octet, in all 6 deliveries"),
        (
            changed({"properties": 'subject="a"'}, {"properties": 'subject="b"'}),
            "bare message",
            "kept in 0 of 1 deliveries, changed in 1",
        ),
        (
            changed({"body": "amqp-value(int 5)"}, {"body": "amqp-value(int 5'71)"}),
            "bare message",
            "kept in 0 of 1 deliveries, re-encoded with the same values in 1",
        ),
        (once(), "header", "kept: durable, priority and ttl as they were published"),
        (changed({"header": "durable=true"}, {}), "header", "durable dropped in 1"),
        (
            changed({}, {"header": "durable=false priority=4"}),
            "header",
            "durable default added in 1, priority default added in 1",
        ),
        (changed({"header": "priority=4"}, {}), "header", "priority default dropped in 1"),
        (changed({}, {"annotations": ":x-opt-a=1"}), "annotations", "added: x-opt-a"),
        (once().outcome("B", "released()").deliver("B"), "given back", "1 came again next"),
        (
            two().receiver("B").deliver("B", "m1").outcome("B", "released()")
            .deliver("B", "m2").deliver("B", "m1"),
            "given back",
            "1 came again after others",
        ),
        (
            once().outcome("B", "released()").deliver("B", header="first-acquirer=true"),
            "first-acquirer",
            "true in 1 deliveries that were not the first",
        ),
        (
            once().outcome("B", "released()").deliver("B", header="delivery-count=1"),
            "delivery-count",
            "+1 after released",
        ),
        (
            old()
            .basic_deliver("B")
            .add("B", "client: basic.nack[1] delivery-tag=1 requeue=true")
            .basic_deliver("B", redelivered="true"),
            "redelivered",
            "marked after released",
        ),
        (
            two().receiver("B").deliver("B", "m2").deliver("B", "m1"),
            "order",
            "1 of 2 deliveries came after a message that was published later",
        ),
        (
            through()
            .publish("A", "m1", header="priority=1")
            .publish("A", "m2", header="priority=9")
            .deliver("B", "m2", header="priority=9")
            .deliver("B", "m1", header="priority=1"),
            "priority",
            "1 messages waited for others with more, published later",
        ),
        (
            through().publish("A", header="ttl=1").at(2).deliver("B", header="ttl=1"),
            "expiry",
            "1 of 1 messages with a ttl were delivered after it",
        ),
        (two().receiver("B").deliver("B"), "settling",
         "each publish is answered by a frame of its own"),
    ],
)  # fmt: skip
def test_an_answer_says_what_was_seen(story: Story, question: str, answer: str) -> None:
    assert asked(story)[question] == answer


def test_what_was_not_seen_is_not_answered() -> None:
    assert asked(through().publish("A")) == {}
