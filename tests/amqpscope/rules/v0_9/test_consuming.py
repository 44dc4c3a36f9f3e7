"""Consumers: what brokers really do around consume and cancel is told as it is."""

import pytest

from amqpscope.findings import ERROR, WARNING
from amqpscope.rules.all import load
from kit.exchange_v0_9 import play


def told(text, setup="queue"):
    """What the rules that are on find, in order."""
    found = play(text, setup).findings
    return [(each.rule, each.severity) for each in found if load()[each.rule].default]


def test_answers_in_another_order_belong_to_the_tags_that_they_name():
    # Taken by order alone, the consumer "b" would be the one without acknowledgements.
    exchange = """
        client: basic.consume[1] queue="q" consumer-tag="a" no-ack=true
        client: basic.consume[1] queue="q" consumer-tag="b"
        server: basic.consume-ok[1] consumer-tag="b"
        server: basic.consume-ok[1] consumer-tag="a"
        server: basic.deliver[1] consumer-tag="b" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
    """
    assert told(exchange) == []


def test_consumes_that_later_requests_have_passed_keep_their_tags():
    # As RabbitMQ answers it: a queue says consume-ok, the channel all else.
    exchange = """
        client: basic.qos[1] prefetch-count=2
        client: basic.consume[1] queue="q" consumer-tag="a"
        client: basic.qos[1] prefetch-count=1
        client: basic.consume[1] queue="q" consumer-tag="b"
        server: basic.qos-ok[1]
        server: basic.qos-ok[1]
        server: basic.consume-ok[1] consumer-tag="a"
        server: basic.deliver[1] consumer-tag="a" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: basic.deliver[1] consumer-tag="a" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: basic.consume-ok[1] consumer-tag="b"
        server: basic.deliver[1] consumer-tag="b" delivery-tag=3 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    assert told(exchange) == []


def test_an_unknown_consumer_is_cancelled_faster_than_a_known_one():
    exchange = """
        client: basic.cancel[1] consumer-tag="t"
        client: basic.cancel[1] consumer-tag="nobody"
        server: basic.cancel-ok[1] consumer-tag="nobody"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: basic.cancel-ok[1] consumer-tag="t"
    """
    assert told(exchange, "consuming") == []


EARLY = """
    client: queue.declare[1] queue="q"
    server: queue.declare-ok[1] queue="q"
    client: basic.consume[1] queue="q" consumer-tag="%s"
    server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
    server: content-header[1] class=basic body-size=0
    server: basic.consume-ok[1] consumer-tag="t"
"""


@pytest.mark.parametrize("asked", ["t", ""])
@pytest.mark.parametrize(("setup", "severity"), [("channel", WARNING), ("plain", ERROR)])
def test_a_delivery_before_the_consume_ok_is_milder_where_streams_do_it(setup, severity, asked):
    assert told(EARLY % asked, setup)[0] == ("A09-BAS-07", severity)


def test_a_delivery_after_the_servers_own_cancel_is_outside_the_consumers_life():
    exchange = """
        server: basic.cancel[1] consumer-tag="t" no-wait=true
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    assert told(exchange, "consuming") == [("A09-BAS-07", ERROR)]


def test_a_tag_may_be_free_again_once_a_queue_was_deleted():
    exchange = """
        client: queue.delete[1] queue="other"
        server: queue.delete-ok[1]
        client: basic.consume[1] queue="q" consumer-tag="t"
    """
    assert ("A09-BAS-03", ERROR) not in told(exchange, "consuming")


def test_a_tag_is_free_on_every_other_channel():
    exchange = """
        client: channel.open[2]
        server: channel.open-ok[2]
        client: basic.consume[2] queue="q" consumer-tag="t"
        server: basic.consume-ok[2] consumer-tag="t"
    """
    assert told(exchange, "consuming") == []


def test_a_consumer_that_is_gone_makes_room_for_an_exclusive_one():
    exchange = """
        client: basic.cancel[1] consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="t"
        client: basic.consume[1] queue="q" consumer-tag="u" exclusive=true
        server: basic.consume-ok[1] consumer-tag="u"
    """
    assert told(exchange, "consuming") == []


def test_of_the_oldest_draft_only_what_can_be_read_is_judged():
    # consume, consume-ok, deliver and ack with arguments that no list of fields fits.
    exchange = """
        client: header 1 1.10.3
        server: connection.start version-major=10 version-minor=3 server-properties={product="b"}
                mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok client-properties={product="c"} mechanism="PLAIN"
                response="\\0guest\\0guest" locale="en_US"
        server: connection.tune channel-max=100 frame-max=65536 heartbeat=60
        client: connection.tune-ok channel-max=100 frame-max=65536 heartbeat=60
        client: connection.open virtual-host="/"
        server: connection.open-ok
        client: channel.open[1]
        server: channel.open-ok[1]
        client: frame-0-x type=1 channel=1 0x003c000aff
        server: frame-0-x type=1 channel=1 0x003c0014ffff
        server: frame-0-x type=1 channel=1 0x003c0046ff
        server: content-header[1] class=basic body-size=0
        client: frame-0-x type=1 channel=1 0x003c006eff
    """
    assert [rule for rule, _ in told(exchange, "") if rule.startswith("A09-BAS")] == []
