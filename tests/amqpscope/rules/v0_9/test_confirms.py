"""Confirms and transactions as real brokers do them."""

import pytest

from amqpscope.findings import ERROR
from amqpscope.rules.all import load
from kit.exchange_v0_9 import play


def told(text, setup="confirming"):
    """The rules that are on and find something, in order."""
    return [each.rule for each in play(text, setup).findings if load()[each.rule].default]


def publish(key="a", mandatory="true", size=0):
    return f"""
        client: basic.publish[1] exchange="amq.direct" routing-key="{key}" mandatory={mandatory}
        client: content-header[1] class=basic body-size={size}
        client: content-body[1] "{"x" * size}"
    """ if size else f"""
        client: basic.publish[1] exchange="amq.direct" routing-key="{key}" mandatory={mandatory}
        client: content-header[1] class=basic body-size=0
    """  # fmt: skip


RETURN = """
    server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.direct"
            routing-key="a"
    server: content-header[1] class=basic body-size=0
"""


def test_a_return_is_of_the_publish_that_is_not_confirmed_yet():
    # The first found its queue; then the queue was unbound.
    text = publish() + "\nserver: basic.ack[1] delivery-tag=1\n" + publish() + RETURN
    assert told(text + "\nserver: basic.ack[1] delivery-tag=2\n") == []


def test_a_return_of_what_all_is_confirmed_comes_too_late():
    text = publish() + publish() + "\nserver: basic.ack[1] delivery-tag=2 multiple=true\n" + RETURN
    assert told(text) == ["A09-CNF-06"]


@pytest.mark.parametrize(
    "confirms",
    [
        ["ack[1] delivery-tag=2", "ack[1] delivery-tag=1", "nack[1] delivery-tag=3"],
        ["nack[1] delivery-tag=2", "ack[1] delivery-tag=3 multiple=true"],
        ["ack[1] delivery-tag=3", "ack[1] delivery-tag=3 multiple=true"],
        ["ack[1] delivery-tag=3 multiple=true"],
    ],
)
def test_confirms_may_come_in_any_order_and_together(confirms):
    text = publish(mandatory="false") * 3
    assert told(text + "".join(f"\nserver: basic.{each}" for each in confirms)) == []


def test_a_confirm_of_what_is_under_way_is_no_wonder():
    text = publish() + "\nserver~1: basic.ack[1] delivery-tag=1\n"
    assert ERROR not in [f.severity for f in play(text, "confirming").findings]


def test_publishes_count_from_the_select_on_also_before_its_answer():
    text = """
        client: confirm.select[1]
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: confirm.select-ok[1]
        server: basic.ack[1] delivery-tag=1
    """
    assert told(text, "channel") == []


def test_a_capture_that_ends_early_leaves_nothing_unconfirmed():
    text = publish(mandatory="false") + "\n@3s client: END\nserver: END\n"
    assert told(text) == []


def test_a_transaction_that_the_capture_cuts_off_is_not_lost():
    text = """
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: END
        server: END
    """
    assert told(text, "transaction") == []


@pytest.mark.parametrize("method", ["commit", "rollback"])
def test_each_transaction_begins_where_the_last_has_ended(method):
    text = f"""
        client: tx.{method}[1]
        client: tx.{method}[1]
        server: tx.{method}-ok[1]
        client: tx.{method}[1]
        server: tx.{method}-ok[1]
        server: tx.{method}-ok[1]
    """
    assert told(text, "transaction") == []


def test_a_channel_whose_select_was_not_seen_may_have_had_one():
    played = play("client: tx.commit[1]\nserver: tx.commit-ok[1]\n", complete=False)
    assert [f.severity for f in played.findings if f.severity == ERROR] == []
