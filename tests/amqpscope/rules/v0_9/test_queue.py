"""Exchanges and queues: what is legal though it looks odd, and who is to blame."""

from __future__ import annotations

import pytest

from amqpscope.rules.all import load
from kit.exchange_v0_9 import play


def rules(text: str, setup: str = "channel") -> list[str]:
    """The rules of exchanges and queues that an exchange breaks, in order."""
    groups = ("A09-EXC", "A09-QUE")
    found = [f.rule for f in play(text, setup).findings if f.rule.startswith(groups)]
    return [rule for rule in found if load()[rule].default]


@pytest.mark.parametrize("name", ["amq.direct", "amq.fanout", "amq.topic", "amq.headers"])
def test_standard_exchanges_may_be_declared_as_they_are(name):
    type = name.removeprefix("amq.")
    text = f"""
        client: exchange.declare[1] exchange="{name}" type="{type}" durable=true
        server: exchange.declare-ok[1]
    """
    assert rules(text) == []
    assert rules(text, "v0_9") == []


def test_an_exchange_that_was_deleted_may_be_made_with_another_type():
    text = """
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
        client: exchange.delete[1] exchange="x"
        server: exchange.delete-ok[1]
        client: exchange.declare[1] exchange="x" type="direct"
        server: exchange.declare-ok[1]
    """
    assert rules(text) == []


def test_before_0_9_1_a_declare_may_differ():
    text = """
        client: queue.declare[1] queue="q" durable=true
        server: queue.declare-ok[1] queue="q"
        client: exchange.declare[1] exchange="x" type="topic" durable=true
        server: exchange.declare-ok[1]
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
    """
    assert rules(text, "v0_9_consuming") == []


def test_arguments_are_alike_in_any_order_and_width():
    text = """
        client: queue.declare[1] queue="r" arguments={a=1 b=2'l}
        server: queue.declare-ok[1] queue="r"
        client: queue.declare[1] queue="r" arguments={b=2 a=1's}
        server: queue.declare-ok[1] queue="r"
    """
    assert rules(text) == []
    assert rules(text.replace("{b=2 ", "{b=3 ")) == ["A09-QUE-06"]


def test_before_0_9_1_a_bind_may_name_the_default_exchange():
    assert rules('client: queue.bind[1] queue="q" exchange=""', "v0_9_consuming") == []


def test_replies_are_counted_when_requests_with_and_without_no_wait_mix():
    text = """
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="a" no-wait=true
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="b"
        client: queue.bind[1] queue="q" exchange="amq.topic" routing-key="c" no-wait=true
        server: queue.bind-ok[1]
    """
    assert rules(text, "queue") == []
    assert rules(text + "server: queue.bind-ok[1]", "queue") == ["A09-QUE-13"]


def test_an_unknown_type_is_told_at_the_declare_that_was_refused():
    played = play(
        """
        client: exchange.declare[1] exchange="x" type="x-nosuch"
        server: connection.close reply-code=503 class-id=40 method-id=10 reply-text="no such type"
        client: connection.close-ok
        """,
        "channel",
    )
    (found,) = [f for f in played.findings if f.rule == "A09-EXC-04"]
    assert (found.peer, found.message) == (
        "client",
        "the server has no exchanges of type 'x-nosuch'",
    )
    assert played.events[found.frame - 1].name == "exchange.declare"


def test_a_binding_that_went_with_its_queue_does_not_count():
    text = """
        client: exchange.declare[1] exchange="x" type="topic"
        server: exchange.declare-ok[1]
        client: queue.bind[1] queue="q" exchange="x" routing-key="a"
        server: queue.bind-ok[1]
        client: queue.delete[1] queue="q"
        server: queue.delete-ok[1]
        client: exchange.delete[1] exchange="x" if-unused=true
        server: exchange.delete-ok[1]
    """
    assert rules(text, "queue") == []


def test_direct_reply_to_is_no_reserved_name():
    text = """
        client: queue.declare[1] queue="amq.rabbitmq.reply-to"
        server: queue.declare-ok[1] queue="amq.rabbitmq.reply-to"
    """
    assert rules(text) == []


def test_an_empty_name_after_a_declare_on_another_channel():
    text = """
        client: channel.open[2]
        server: channel.open-ok[2]
        client: queue.bind[2] queue="" exchange="amq.topic"
    """
    assert rules(text, "queue") == ["A09-QUE-07"]


def test_an_empty_name_after_a_declare_that_waits_for_its_answer():
    text = """
        client: queue.declare[1] exclusive=true
        client: queue.bind[1] queue="" exchange="amq.topic"
        client: basic.get[1] queue=""
    """
    assert rules(text) == []


def test_a_generated_name_that_is_taken():
    text = """
        client: queue.declare[1]
        server: queue.declare-ok[1] queue="amq.gen-1"
        client: queue.declare[1]
        server: queue.declare-ok[1] queue="amq.gen-1"
    """
    assert rules(text) == ["A09-QUE-02"]


def test_consumers_keep_a_queue_that_is_deleted_only_if_unused():
    text = """
        client: queue.delete[1] queue="q" if-unused=true
        server: queue.delete-ok[1]
    """
    assert rules(text, "consuming") == ["A09-QUE-12"]
    cancelled = """
        client: basic.cancel[1] consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="t"
    """
    assert rules(cancelled + text, "consuming") == []


def test_a_tag_may_be_used_again_when_its_queue_is_gone():
    text = """
        client: queue.delete[1] queue="q"
        server: queue.delete-ok[1]
        client: queue.declare[1] queue="q"
        server: queue.declare-ok[1] queue="q"
        client: basic.consume[1] queue="q" consumer-tag="t" no-wait=true
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    assert rules(text, "consuming") == []


def test_an_exclusive_auto_delete_queue_needs_no_consumer():
    text = """
        client: queue.declare[1] queue="r" auto-delete=true exclusive=true
        server: queue.declare-ok[1] queue="r"
        client: connection.close reply-code=200 reply-text="bye"
    """
    assert rules(text) == []
