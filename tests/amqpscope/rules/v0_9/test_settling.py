"""Acknowledgements: who is accused, and who is not."""

import pytest

from amqpscope.findings import ERROR, WARNING
from amqpscope.rules.all import load
from kit.exchange_v0_9 import play

THREE = "".join(
    f"""
    server: basic.deliver[1] consumer-tag="t" delivery-tag={tag} routing-key="q"
    server: content-header[1] class=basic body-size=0"""
    for tag in (1, 2, 3)
)


def told(text, setup="consuming"):
    """What the rules that are on find after three deliveries, in order."""
    found = play(THREE + text, setup).findings
    return [(each.rule, each.severity) for each in found if load()[each.rule].default]


@pytest.mark.parametrize(
    "acks",
    [
        ["ack[1] delivery-tag=3 multiple=true"],
        ["ack[1] delivery-tag=2", "nack[1] delivery-tag=3 multiple=true"],
        ["reject[1] delivery-tag=3", "ack[1] delivery-tag=0 multiple=true"],
        ["ack[1] delivery-tag=0 multiple=true", "ack[1] delivery-tag=0 multiple=true"],
    ],
)
def test_any_order_is_right_as_long_as_each_is_named_once(acks):
    assert told("".join(f"\nclient: basic.{ack}" for ack in acks)) == []


@pytest.mark.parametrize(
    ("setup", "severity"), [("consuming", ERROR), ("plain_consuming", WARNING)]
)
def test_naming_a_settled_one_with_multiple_is_an_error_where_the_broker_says_so(setup, severity):
    again = """
        client: basic.ack[1] delivery-tag=2
        client: basic.ack[1] delivery-tag=2 multiple=true
    """
    assert told(again, setup) == [("A09-BAS-11", severity)]


@pytest.mark.parametrize(
    ("setup", "severity"), [("consuming", ERROR), ("plain_consuming", WARNING)]
)
def test_an_old_tag_after_a_recover_is_an_error_where_the_broker_says_so(setup, severity):
    again = """
        client: basic.recover[1] requeue=true
        server: basic.recover-ok[1]
        client: basic.ack[1] delivery-tag=2
    """
    assert told(again, setup) == [("A09-BAS-10", severity)]


def test_the_frame_that_settled_it_before_is_shown():
    again = """
        client: basic.nack[1] delivery-tag=3 multiple=true
        client: basic.ack[1] delivery-tag=2
    """
    found = play(THREE + again, "consuming").findings
    finding = next(each for each in found if each.rule == "A09-BAS-11")
    assert "given back by a nack" in finding.message
    assert [why for _, why in finding.related] == ["where it was settled"]
    assert finding.related[0][0] == finding.frame - 1


def test_a_tag_of_the_channel_before_it_was_opened_again_is_unknown():
    again = """
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
        client: basic.ack[1] delivery-tag=1
    """
    assert ("A09-BAS-10", ERROR) in told(again)


def test_after_a_rollback_that_is_under_way_all_can_be_acknowledged_again():
    again = """
        client: basic.ack[1] delivery-tag=1
        client: tx.rollback[1]
        client: basic.ack[1] delivery-tag=1
        client: tx.commit[1]
        server: tx.rollback-ok[1]
        server: tx.commit-ok[1]
    """
    assert told(again, "transaction") == []


def test_what_a_server_tolerates_is_told_once_for_a_channel():
    again = """
        client: basic.ack[1] delivery-tag=9
        client: queue.declare[1] queue="r"
        server: queue.declare-ok[1] queue="r"
        client: queue.declare[1] queue="s"
        server: queue.declare-ok[1] queue="s"
    """
    assert told(again) == [("A09-BAS-10", ERROR), ("A09-BAS-15", WARNING)]


def test_a_reply_that_was_under_way_before_the_wrong_one_tolerates_nothing():
    again = """
        client: queue.declare[1] queue="r"
        client: basic.ack[1] delivery-tag=9
        server: queue.declare-ok[1] queue="r"
    """
    assert told(again) == [("A09-BAS-10", ERROR)]


def test_nobody_is_accused_once_frames_of_either_were_lost():
    for peer in ("client", "server"):
        again = f"\n{peer}: GAP\nclient: basic.ack[1] delivery-tag=9\n"
        assert [rule for rule, _ in told(again) if rule.startswith("A09-BAS")] == []


def test_a_delivery_that_could_not_be_read_may_be_the_one_that_is_meant():
    # The fourth delivery has an octet too many.
    again = """
        server: frame-0-x type=1 channel=1 0x003c003c0174000000000000000400000171ff
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=4
    """
    assert [rule for rule, _ in told(again) if rule.startswith("A09-BAS")] == []
