"""Messages that consumers accept in transactions: what holds once the broker has committed it."""

from __future__ import annotations

import pytest

from kit.broker_story import Story, lines, posting
from kit.exchange_broker import play

PROVISIONAL = 'transactional-state(txn-id=b"t" outcome={})'
SELECT = "client: tx.select[1]\nserver: tx.select-ok[1]\n"
COMMIT = ("client: tx.commit[1]", "server: tx.commit-ok[1]")
ROLLBACK = ("client: tx.rollback[1]", "server: tx.rollback-ok[1]")


def retired(outcome: str = "accepted()", *, id: str = "m1", settled: bool = True) -> Story:
    """A publishes to q, B gives an outcome in transaction t."""
    story = Story().sender("A").transact("B").queue("B")
    story.publish("A", id).answer("A").deliver("B", id)
    return story.outcome("B", PROVISIONAL.format(outcome), settled=settled)


def acked(word: str = "ack", id: str = "m1") -> Story:
    """A publishes to q in 0-9-1, B acknowledges in a transaction."""
    story = Story(product="RabbitMQ").confirms("A").channel("B", SELECT).consume("B")
    story.basic_publish("A", id).ack("A", 1, "server").basic_deliver("B", id)
    more = "" if word == "ack" else " requeue=true"
    return story.add("B", f"client: basic.{word}[1] delivery-tag=1{more}")


def committed(story: Story) -> Story:
    """... and the broker commits it."""
    return story.discharge("B").answer("B")


SINS = {
    "accepted, committed, and delivered again to the same": committed(retired()).deliver("B"),
    "accepted without settling, committed, settled, delivered again": (
        committed(retired(settled=False)).confirm("B").deliver("B")
    ),
    "accepted, committed, and delivered to another who comes later": (
        committed(retired()).at(2).queue("C").deliver("C")
    ),
    "accepted, committed, its consumer leaves, and the next one gets it": (
        committed(retired()).detach("B").at(2).queue("C").deliver("C", header="delivery-count=1")
    ),
    "rolled back, accepted once more, committed, delivered again": (
        retired(settled=False)
        .discharge("B", "true").answer("B")
        .outcome("B", settled=False).confirm("B")
        .deliver("B")
    ),
    "acknowledged, committed, and delivered again to the same": (
        lines(acked(), "B", COMMIT).basic_deliver("B", redelivered="true")
    ),
    "acknowledged, committed, and delivered to another who comes later": (
        lines(acked(), "B", COMMIT).at(2).consume("C").basic_deliver("C", redelivered="true")
    ),
    "rolled back, acknowledged again, committed, delivered again": (
        lines(lines(acked(), "B", ROLLBACK).ack("B", 1), "B", COMMIT)
        .basic_deliver("B", redelivered="true")
    ),
    "acknowledged, committed, and delivered in AMQP 1.0": (
        lines(acked(), "B", COMMIT).at(2).queue("C", "/queues/q").deliver("C", body='data(b"aa")')
    ),
}  # fmt: skip

TWINS = {
    "it is rolled back": retired().discharge("B", "true").answer("B").deliver("B"),
    "it is rolled back, and another gets it": (
        retired().discharge("B", "true").answer("B").at(2).queue("C").deliver("C")
    ),
    "its consumer closes the control link instead": (
        retired().detach("B", "ctrl").at(2).queue("C").deliver("C", header="delivery-count=1")
    ),
    "the commit is refused": (
        retired().discharge("B").answer("B", "rejected()").at(2).queue("C").deliver("C")
    ),
    "the connection dies before the commit": (
        retired().add("B", "client: RST").at(2).queue("C").deliver("C")
    ),
    "the connection dies before the commit is answered": (
        retired().discharge("B").add("B", "client: RST").at(2).queue("C").deliver("C")
    ),
    "the commit is answered after the delivery": (
        retired().queue("C").discharge("B").deliver("C").answer("B")
    ),
    "the broker settles with accepted, and rolls back": (
        retired(settled=False).confirm("B").discharge("B", "true").answer("B")
        .at(2).queue("C").deliver("C")
    ),
    "it is released, and committed": committed(retired("released()")).deliver("B"),
    "it is modified, and committed": (
        committed(retired("modified(delivery-failed=true)"))
        .deliver("B", header="delivery-count=1")
    ),
    "another one without an id is alike": (
        committed(retired(id="")).publish("A", "").answer("A").at(2).queue("C").deliver("C", "")
    ),
    "it is published again": (
        committed(retired()).publish("A").answer("A").deliver("B")
    ),
    "an acknowledgement is rolled back, and its channel closed": (
        lines(acked(), "B", ROLLBACK).add("B", "client: RST").at(2)
        .consume("C").basic_deliver("C", redelivered="true")
    ),
    "the connection dies before the acknowledgement is committed": (
        acked().add("B", "client: RST").at(2).consume("C").basic_deliver("C", redelivered="true")
    ),
    "the connection dies before the commit-ok": (
        acked().add("B", COMMIT[0]).add("B", "server: RST").at(2)
        .consume("C").basic_deliver("C", redelivered="true")
    ),
    "it is requeued, and committed": (
        lines(acked("nack"), "B", COMMIT).basic_deliver("B", redelivered="true")
    ),
    "another one without an id is alike, in 0-9-1": (
        lines(acked(id=""), "B", COMMIT).basic_publish("A", "").ack("A", 2, "server")
        .at(2).consume("C").basic_deliver("C", "")
    ),
}  # fmt: skip


@pytest.mark.parametrize("story", SINS.values(), ids=SINS)
def test_what_was_accepted_and_committed_is_not_delivered_again(story: Story) -> None:
    assert {each.rule for each in play(story.text).findings} == {"BRK-117"}
    [finding] = play(story.text, closed_world=True).findings
    assert (finding.rule, finding.peer) == ("BRK-117", "server")


@pytest.mark.parametrize("closed_world", [False, True])
@pytest.mark.parametrize("story", TWINS.values(), ids=TWINS)
def test_what_is_not_committed_may_come_again(story: Story, closed_world: bool) -> None:
    assert play(story.text, closed_world=closed_world).findings == []


@pytest.mark.parametrize(
    "story",
    [
        committed(retired(id="")).at(2).queue("C").deliver("C", ""),
        lines(acked(id=""), "B", COMMIT).at(2).consume("C").basic_deliver("C", ""),
    ],
)
def test_without_an_id_somebody_unseen_may_have_published_another(story: Story) -> None:
    assert play(story.text).findings == []
    assert [each.rule for each in play(story.text, closed_world=True).findings] == ["BRK-117"]


def test_the_profile_counts_an_outcome_once() -> None:
    [broker] = set(play(committed(retired()).text).journeys.brokers.values())
    assert broker.facts["delivery accepted"] == 1
    assert not broker.facts["delivery accepted in a transaction"]
    [broker] = set(play(retired().text).journeys.brokers.values())
    assert not broker.facts["delivery accepted"]
    assert broker.facts["delivery accepted in a transaction"] == 1


@pytest.mark.parametrize(
    ("fail", "rules"), [("false", set()), ("true", {"BRK-129"})], ids=["committed", "rolled back"]
)
def test_a_transaction_that_is_over_stays_so_when_its_publisher_has_left(
    fail: str, rules: set[str]
) -> None:
    story = posting().discharge("A", fail).answer("A")
    story.add("A", "client: FIN").add("A", "server: FIN").deliver("B")
    found = play(story.text).findings
    assert {each.rule for each in found} == rules
