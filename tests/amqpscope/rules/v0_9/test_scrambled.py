"""Nobody is accused where the capture has the frames of the two peers in another order.

A segment that is lost, or captured late, keeps back what its sender wrote after it, while its
partner's frames go on: answers then come before what they answer. The mark `^n` on a unit means
that its sender had read so many units that are captured only later.
"""

import pytest

from amqpscope.findings import ERROR
from kit.exchange_v0_9 import play

LATE = {
    "the server's tune": (
        "header",
        """
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="en_US"
        client^1: connection.tune-ok channel-max=10 frame-max=4096
        client^1: connection.open virtual-host="/"
        server: connection.tune channel-max=10 frame-max=4096
        server: connection.open-ok
        """,
    ),
    "the client's tune-ok, by four seconds": (
        "header",
        """
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="en_US"
        server: connection.tune channel-max=10 frame-max=4096
        server^2: connection.open-ok
        @4s client: connection.tune-ok channel-max=10 frame-max=4096
        client: connection.open virtual-host="/"
        """,
    ),
    "all that a client asks on its channel": (
        "opened",
        """
        server^1: channel.open-ok[1]
        server^2: queue.declare-ok[1] queue="q"
        server^3: basic.get-ok[1] delivery-tag=1 routing-key="q"
        server^3: content-header[1] class=basic body-size=1
        client: channel.open[1]
        client: queue.declare[1] queue="q"
        client: basic.get[1] queue="q"
        server: content-body[1] "x"
        client: basic.ack[1] delivery-tag=1
        """,
    ),
    "a delivery": (
        "consuming",
        """
        client^3: basic.ack[1] delivery-tag=1
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=1
        server: content-body[1] "x"
        """,
    ),
}


@pytest.mark.parametrize("late", LATE)
def test_what_is_captured_late_is_no_violation(late):
    setup, text = LATE[late]
    wrong = [each for each in play(text, setup).findings if each.severity == ERROR]
    assert not wrong


def test_order_is_trusted_again_on_channels_that_are_opened_later():
    setup, text = LATE["a delivery"]
    later = """
        @9s client: channel.open[2]
        server: channel.open-ok[2]
        client: basic.ack[2] delivery-tag=5
    """
    found = play(text + later, setup).findings
    assert ("A09-BAS-10", ERROR) in {(each.rule, each.severity) for each in found}


def test_a_second_acknowledgement_is_suspect_where_the_start_was_not_seen():
    text = """
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        @5s server: basic.deliver[1] consumer-tag="t" delivery-tag=7 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=7
        client: basic.ack[1] delivery-tag=7
    """
    found = [each for each in play(text, complete=False).findings if each.rule == "A09-BAS-11"]
    assert [(each.frame, each.certainty) for each in found] == [(8, "suspect")]


@pytest.mark.parametrize("undone", ["tx.rollback[1]", "basic.recover[1] requeue=true"])
def test_what_may_have_been_undone_is_not_settled_twice(undone):
    text = f"""
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        @5s server: basic.deliver[1] consumer-tag="t" delivery-tag=7 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=7
        client: {undone}
        client: basic.ack[1] delivery-tag=7
    """
    assert not [f for f in play(text, complete=False).findings if f.rule == "A09-BAS-11"]


def test_a_version_that_was_only_found_by_trying_proves_no_arguments_wrong():
    # In 0-8 this is connection.close; RabbitMQ has connection.blocked under the same numbers.
    close = "frame-0-x type=1 channel=0 0x000a003c00c80362796500000000"
    settled = "".join(
        f"""
        server: basic.deliver[1] consumer-tag="t" delivery-tag={tag} routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag={tag}"""
        for tag in range(1, 20)
    )
    found = play(f"{settled}\n        client: {close}", complete=False).findings
    assert [(each.rule, each.certainty) for each in found if each.rule == "A09-FRM-25"] == [
        ("A09-FRM-25", "suspect")
    ]
