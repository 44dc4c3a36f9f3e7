"""Accepted messages that come again: a log that is read again does that rightly, a queue does not.

Nothing on the wire needs to say which of them a node is.
"""

from __future__ import annotations

import pytest

from amqpscope.findings import ERROR, SURE, SUSPECT
from kit.broker_story import Story, accepted, restarted
from kit.exchange_broker import play

MIGHT = "the node may be a log that is read again"
FAILED = "modified(delivery-failed=true)"


def read(count: int = 5) -> Story:
    """A publishes to q, B gets and accepts all of it."""
    story = Story().sender("A").receiver("B")
    for number in range(count):
        accepted(story.publish("A", f"m{number}").answer("A").deliver("B", f"m{number}"))
    return story


def again(story: Story, numbers: str, letter: str = "C", name: str = "r") -> Story:
    for number in numbers:
        story.deliver(letter, f"m{number}", name).outcome(letter)
    return story


def later(story: Story) -> Story:
    return story.at(1).receiver("C")


DOUBTS = {
    "all of a log, by another consumer": again(later(read()), "01234"),
    "a log from an earlier place": again(later(read()), "234"),
    "a log from an earlier place, and then what is new": (
        again(later(read()), "234").publish("A", "m5").answer("A").deliver("C", "m5")
    ),
    "a log of which a filter or a compaction leaves some": again(later(read()), "024"),
    "a log by one who has left and comes again": again(
        read().detach("B").at(1).receiver("B", name="new"), "012", "B", "new"
    ),
    "a log that goes back under a consumer, as where partitions are given out anew": again(
        read().at(1), "012", "B"
    ),
    "a log that is read a third time, from before where the second began": again(
        again(later(read()), "234").at(2).receiver("D"), "01234", "D"
    ),
    "a broker that has lost outcomes in a restart": again(
        restarted(read()).receiver("D"), "01234", "D"
    ),
}


@pytest.mark.parametrize("story", DOUBTS.values(), ids=DOUBTS)
def test_a_run_in_the_first_order_proves_nothing(story: Story) -> None:
    closed = play(story.text, closed_world=True).findings
    assert {(each.rule, each.certainty) for each in closed} == {("BRK-117", SUSPECT)}
    assert all(each.message.count(MIGHT) == 1 and each.severity != ERROR for each in closed)
    found = play(story.text).findings
    assert {(each.rule, each.certainty) for each in found} == {("BRK-117", SUSPECT)}
    assert any(MIGHT in each.message for each in found)


PROOFS = {
    "one": again(later(read()), "3"),
    "two": again(later(read()), "34"),
    "three in the opposite order": again(later(read()), "210"),
    "each at once": again(again(again(read().at(1), "3", "B"), "3", "B"), "1", "B"),
    "three between which new ones come": (
        again(later(read()), "0")
        .publish("A", "n1")
        .answer("A")
        .deliver("C", "n1")
        .deliver("C", "m1")
        .publish("A", "n2")
        .answer("A")
        .deliver("C", "n2")
        .deliver("C", "m2")
    ),
    "one each to three consumers": again(
        again(again(later(read()).receiver("D").receiver("E"), "0"), "1", "D"), "2", "E"
    ),
}


@pytest.mark.parametrize("story", PROOFS.values(), ids=PROOFS)
def test_few_or_in_another_order_are_certain(story: Story) -> None:
    closed = play(story.text, closed_world=True).findings
    assert {(each.rule, each.certainty) for each in closed} == {("BRK-117", SURE)}
    assert not any(MIGHT in each.message for each in closed)
    assert {each.certainty for each in play(story.text).findings} == {SUSPECT}


def test_a_queue_of_0_9_is_no_log() -> None:
    """What is read from a stream says where it was in that."""
    story = Story().confirms("A").consume("B")
    for number in range(1, 4):
        story.basic_publish("A", f"m{number}").ack("A", number, "server")
        story.basic_deliver("B", f"m{number}").ack("B", number)
    story.add("B", 'client: basic.cancel[1] consumer-tag="t"')
    story.add("B", 'server: basic.cancel-ok[1] consumer-tag="t"').at(1).consume("C")
    for number in range(1, 4):
        story.basic_deliver("C", f"m{number}", redelivered="true")
    closed = play(story.text, closed_world=True).findings
    assert [(each.rule, each.certainty) for each in closed] == [("BRK-117", SURE)] * 3


def test_what_a_log_does_not_count_is_no_fault_either() -> None:
    """Between others that are read again is one of which a consumer said that it had failed."""
    story = Story().sender("A").receiver("B")
    for number in range(5):
        story.publish("A", f"m{number}").answer("A").deliver("B", f"m{number}")
        story.outcome("B", FAILED) if number == 1 else accepted(story)
    closed = play(again(later(story), "01234").text, closed_world=True).findings
    assert {each.rule for each in closed} == {"BRK-113", "BRK-117"}
    assert {each.certainty for each in closed} == {SUSPECT}
