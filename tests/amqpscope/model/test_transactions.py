"""What became of transactions, in the words that both families share."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.insight.refusals import refusal
from amqpscope.insight.stuck import StuckWatch
from amqpscope.model.transactions import TransactionCounts
from kit.talks_v0_9 import OPENED

SELECTED = f"""{OPENED}
client: tx.select[1]
server: tx.select-ok[1]
"""
PUBLISH = """
client: basic.publish[1] exchange="" routing-key="q"
client: content-header[1] class=basic body-size=1
client: content-body[1] "x"
"""
CLOSED = """
client: channel.close[1] reply-code=200 reply-text="" class-id=0 method-id=0
server: channel.close-ok[1]
"""
COMMIT = f"{PUBLISH}client: tx.commit[1]\n"
ROLLBACK = f"{PUBLISH}client: tx.rollback[1]\nserver: tx.rollback-ok[1]\n"
COORDINATOR = """
client: attach name="t" handle=0 role=sender source=source() target=coordinator()
        initial-delivery-count=0
server: attach name="t" handle=0 role=receiver source=source() target=coordinator()
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=20
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | amqp-value(declare())
server: disposition role=receiver first=0 settled=true state=declared(txn-id=0x07)
"""
DISCHARGE = """
client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
        | amqp-value(discharge(txn-id=0x07 fail={fail}))
"""
ACCEPTED = "server: disposition role=receiver first=1 settled=true state=accepted()\n"
DETACHED = "client: detach handle=0 closed=true\n"


def followed(path):
    """What each frame does, what is refused, what is held, and the counts at the end."""
    analyzer, watch = Analyzer(), StuckWatch()
    steps, refused = [], []
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    watch.take(step)
                    steps += [step.event.transacts] * bool(step.event.transacts)
                    found = refusal(step)
                    refused += [] if found is None else [found.full]
    [talk] = watch.talks.values()
    return steps, refused, watch.held_places(), talk.current.transactions()


@pytest.mark.parametrize(
    ("rest", "counts"),
    [
        ("", TransactionCounts()),
        (PUBLISH, TransactionCounts(open=1)),
        (COMMIT, TransactionCounts(open=1)),
        (f"{COMMIT}server: tx.commit-ok[1]\n", TransactionCounts(committed=1)),
        (ROLLBACK + ROLLBACK, TransactionCounts(rolled_back=2)),
        (PUBLISH + CLOSED, TransactionCounts(rolled_back=1)),
        (COMMIT + CLOSED, TransactionCounts(in_doubt=1)),
        (COMMIT + CLOSED + "client: channel.open[1]\n", TransactionCounts(in_doubt=1)),
    ],
)
def test_work_on_a_channel_in_transaction_mode_is_counted(recorded, rest, counts):
    assert followed(recorded(SELECTED + rest))[3] == counts


@pytest.mark.parametrize(
    ("rest", "counts"),
    [
        ("", TransactionCounts(open=1)),
        (DISCHARGE.format(fail="false"), TransactionCounts(open=1)),
        (DISCHARGE.format(fail="false") + ACCEPTED, TransactionCounts(committed=1)),
        (DISCHARGE.format(fail="true") + ACCEPTED, TransactionCounts(rolled_back=1)),
        (DISCHARGE.format(fail="false") + ACCEPTED.replace("accepted", "rejected"),
         TransactionCounts(rolled_back=1)),
        (DETACHED, TransactionCounts(rolled_back=1)),
        (DISCHARGE.format(fail="false") + DETACHED, TransactionCounts(in_doubt=1)),
    ],
)  # fmt: skip
def test_declared_transactions_are_counted(opened, rest, counts):
    assert followed(opened(COORDINATOR + rest))[3] == counts


def test_a_rollback_is_marked_like_a_refusal_in_both_families(recorded, opened):
    old = followed(recorded(SELECTED + ROLLBACK, name="old.pcapng"))
    assert old[:2] == (["rollback", "rolled back"], ["rolled back"])
    new = followed(opened(COORDINATOR + DISCHARGE.format(fail="true") + ACCEPTED))
    assert new[0] == ["declare", "declared", "rollback", "rolled back"]
    assert new[1] == ["rolled back: transaction 07"]
    for found in (old, new):
        [held] = [each for each in found[2] if each.refused is not None]
        assert held.refused.brief == "1 rolled back"


def test_counts_in_words():
    assert TransactionCounts().words() == ""
    words = "2 committed, 1 rolled back, 3 in doubt, 1 open"
    assert TransactionCounts(2, 1, 3, 1).words() == words
