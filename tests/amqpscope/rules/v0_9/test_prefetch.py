"""Prefetch limits: their scope is the broker's, and what it may not know of does not count."""

import pytest

from amqpscope.rules.all import load
from kit.exchange_v0_9 import play


def deliver(tag, first, last, size=0):
    body = f'\nserver: content-body[1] "{"x" * size}"' if size else ""
    return "".join(
        f"""
        server: basic.deliver[1] consumer-tag="{tag}" delivery-tag={n} routing-key="q"
        server: content-header[1] class=basic body-size={size}{body}"""
        for n in range(first, last + 1)
    )


def consume(tag, more=""):
    return f"""
        client: basic.consume[1] queue="q" consumer-tag="{tag}" {more}
        server: basic.consume-ok[1] consumer-tag="{tag}"
    """


def qos(words):
    return f"\nclient: basic.qos[1] {words}\nserver: basic.qos-ok[1]\n"


def told(text, setup="queue"):
    """The rules that are on and find something, in order."""
    return [each.rule for each in play(text, setup).findings if load()[each.rule].default]


OVER = ["A09-BAS-16"]


@pytest.mark.parametrize(
    ("setup", "text", "found"),
    [
        # each consumer has its own
        ("queue", qos("prefetch-count=2") + consume("t") + consume("u")
         + deliver("t", 1, 2) + deliver("u", 3, 4), []),
        # all of the channel share it
        ("queue", qos("prefetch-count=2 global=true") + consume("t") + consume("u")
         + deliver("t", 1, 2) + deliver("u", 3, 4), OVER),
        # a later one is for later consumers
        ("queue", qos("prefetch-count=3") + consume("t") + qos("prefetch-count=1")
         + deliver("t", 1, 3), []),
        ("queue", qos("prefetch-count=1") + consume("t") + qos("prefetch-count=3") + consume("u")
         + deliver("u", 1, 4), OVER),
        # none at all, by 0
        ("queue", qos("prefetch-count=0") + consume("t") + deliver("t", 1, 5), []),
        # acknowledgements make room
        ("queue", qos("prefetch-count=2") + consume("t") + deliver("t", 1, 2)
         + "\nclient: basic.ack[1] delivery-tag=2 multiple=true\n" + deliver("t", 3, 4), []),
        # without acknowledgements there is no limit
        ("queue", qos("prefetch-count=1") + consume("t", "no-ack=true") + deliver("t", 1, 3), []),
        # RabbitMQ counts what an earlier consumer of the tag had, too
        ("queue", qos("prefetch-count=1") + consume("t") + deliver("t", 1, 1)
         + '\nclient: basic.cancel[1] consumer-tag="t"\nserver: basic.cancel-ok[1] consumer-tag="t"'
         + consume("t") + deliver("t", 2, 2)
         + "\nclient: basic.ack[1] delivery-tag=2 multiple=true\n" + deliver("t", 3, 4), []),
        # an unknown server may mean the channel or the consumer
        ("plain_consuming", qos("prefetch-count=2") + consume("u") + consume("v")
         + deliver("u", 1, 2) + deliver("v", 3, 4), []),
        ("plain_consuming", qos("prefetch-count=2") + consume("u") + deliver("u", 1, 3), OVER),
    ],
)  # fmt: skip
def test_a_count_is_held_against_what_the_broker_counts(setup, text, found):
    assert told(text, setup) == found


def test_a_stream_sends_whole_chunks_whatever_the_limit():
    declare = """
        client: queue.declare[1] queue="q" durable=true arguments={x-queue-type="stream"}
        server: queue.declare-ok[1] queue="q"
    """
    text = declare + qos("prefetch-count=1") + consume("t") + deliver("t", 1, 5)
    assert "A09-BAS-16" not in told(text, "channel")


def test_answers_to_get_do_not_count():
    gets = """
        client: basic.get[1] queue="q"
        server: basic.get-ok[1] delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    text = qos("prefetch-count=1 global=true") + consume("t") + gets + deliver("t", 2, 2)
    assert told(text) == []


def test_one_message_may_be_larger_than_the_size():
    text = qos("prefetch-size=10") + consume("u")
    assert told(text + deliver("u", 1, 1, size=12), "plain_consuming") == []
    assert told(text + deliver("u", 1, 2, size=12), "plain_consuming") == ["A09-BAS-17"]
