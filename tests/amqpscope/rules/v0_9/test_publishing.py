"""Publishes and returns: what is matched with what, and whose rules hold for whom."""

import pytest

from amqpscope.rules.all import load
from kit.exchange_v0_9 import play


def told(text, setup="channel"):
    """The rules that are on and find something, with how sure they are, in order."""
    found = play(text, setup).findings
    return [(each.rule, each.certainty) for each in found if load()[each.rule].default]


def publish(size, key="a", more="mandatory=true"):
    return f"""
        client: basic.publish[1] exchange="amq.direct" routing-key="{key}" {more}
        client: content-header[1] class=basic body-size={size}
        client: content-body[1] "{"x" * size}"
    """


def returned(size, key="a", code=312):
    return f"""
        server: basic.return[1] reply-code={code} reply-text="x" exchange="amq.direct"
                routing-key="{key}"
        server: content-header[1] class=basic body-size={size}
        server: content-body[1] "{"x" * size}"
    """


def test_any_of_those_that_went_the_same_way_may_come_back():
    # Between the first and the second the queue was unbound.
    assert told(publish(1) + publish(2) + publish(3) + returned(2) + returned(3)) == []


def test_what_comes_back_with_another_key_is_doubted_only():
    assert told(publish(1) + returned(1, key="b")) == [("A09-BAS-25", "suspect")]


def test_what_comes_back_though_nothing_was_mandatory_is_sure():
    assert told(publish(1, more="") + returned(1)) == [("A09-BAS-25", "sure")]


def test_one_publish_comes_back_once():
    assert told(publish(1) + returned(1) + returned(1)) == [("A09-BAS-25", "sure")]


@pytest.mark.parametrize("code", [312, 313])
def test_both_mandatory_and_immediate_may_come_back_for_either_reason(code):
    text = publish(1, more="mandatory=true immediate=true") + returned(1, code=code)
    assert told(text, "plain") == []


@pytest.mark.parametrize(
    "properties", ['expiration="tomorrow"', 'user-id="somebody"', 'expiration="-1"']
)
def test_what_only_rabbitmq_refuses_is_not_held_against_others(properties):
    text = f"""
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 {properties}
    """
    assert told(text, "plain") == []
    assert len(told(text)) == 1


def test_properties_of_what_is_delivered_are_not_the_receivers_fault():
    text = """
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0 delivery-mode=3 user-id="somebody"
    """
    assert told(text, "consuming") == []
