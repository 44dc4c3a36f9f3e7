"""Channels: what is legal though it looks odd, and what is said of it when it is not."""

from __future__ import annotations

import pytest

from kit.exchange_v0_9 import play


def rules(text: str, setup: str = "channel") -> list[str]:
    """The rules of channels that an exchange breaks, in order."""
    found = play(text, setup).findings
    return [finding.rule for finding in found if finding.rule.startswith("A09-CHN")]


def test_channel_max_of_zero_is_no_limit():
    text = """
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="en_US"
        server: connection.tune channel-max=0
        client: connection.tune-ok channel-max=0
        client: connection.open virtual-host="/"
        server: connection.open-ok
        client: channel.open[65535]
    """
    assert rules(text, "header") == []


def test_before_0_9_1_channel_max_counts_channels():
    assert rules("client: channel.open[2000]", "v0_9") == []


def test_frames_on_a_channel_that_both_have_closed():
    text = """
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: channel.close-ok[1]
        client: basic.get[1] queue="q"
    """
    assert rules(text) == ["A09-CHN-02"]


def test_a_channel_that_is_used_unopened_is_told_once():
    text = """
        client: queue.declare[5] queue="a"
        client: queue.declare[5] queue="b"
    """
    assert rules(text) == ["A09-CHN-02"]


def test_resume_opens_a_channel_in_0_9():
    text = """
        client: channel.resume[2] channel-id="c"
        server: channel.ok[2]
        client: queue.declare[2] queue="q"
    """
    assert rules(text, "v0_9") == []


def test_publishes_that_cross_a_close_are_no_fault():
    text = """
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client~1: basic.publish[1] routing-key="q"
        client~1: content-header[1] class=basic body-size=0
        client: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    assert rules(text) == []


def test_closes_that_cross_are_each_answered():
    text = """
        client: channel.close[1] reply-code=200 reply-text="bye"
        server~1: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: channel.close-ok[1]
        server: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    assert rules(text) == []


def test_before_0_9_1_a_client_that_has_closed_does_not_answer_a_close():
    text = """
        client: channel.close[1] reply-code=200 reply-text="bye"
        server~1: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        server: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
        @10s client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    assert rules(text, "v0_9") == []


def test_a_second_close_of_the_same_peer():
    text = """
        client: channel.close[1] reply-code=200 reply-text="bye"
        client: channel.close[1] reply-code=200 reply-text="bye"
    """
    assert rules(text) == ["A09-CHN-10"]


def test_what_a_server_had_under_way_when_the_client_closed_is_legal():
    text = """
        client: channel.close[1] reply-code=200 reply-text="bye"
        server~1: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server~1: content-header[1] class=basic body-size=0
        server: channel.close-ok[1]
    """
    assert rules(text, "consuming") == []


def test_a_reply_too_many():
    text = 'server: queue.declare-ok[1] queue="q"'
    assert rules(text, "queue") == ["A09-CHN-05"]


@pytest.mark.parametrize("reply", ["basic.get-empty[1]", "confirm.select-ok[1]", "basic.qos-ok[1]"])
def test_replies_to_nothing(reply):
    assert "A09-CHN-05" in rules(f"server: {reply}")


def test_a_late_consume_ok_makes_a_consumer():
    text = """
        client: basic.consume[1] queue="q" consumer-tag="t"
        client: queue.declare[1] queue="r"
        server: queue.declare-ok[1] queue="r"
        server: basic.consume-ok[1] consumer-tag="t"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
    """
    played = play(text, "queue")
    assert rules(text, "queue") == []
    consumer = played.events[-1].channel.consumers["t"]
    assert (consumer.state, consumer.deliveries) == ("active", 1)


def test_a_close_ok_to_nothing_closes_nothing():
    text = """
        client: channel.open[2]
        client: channel.close-ok[2]
        server: channel.open-ok[2]
    """
    assert rules(text) == ["A09-CHN-05"]


def test_closes_that_cross_lose_nothing_that_matters():
    text = """
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        server: channel.close-ok[1]
        client: channel.close-ok[1]
    """
    assert rules(text) == []


def test_open_ok_left_out():
    text = """
        client: channel.open[2]
        client: queue.declare[2] queue="q"
        server: queue.declare-ok[2] queue="q"
    """
    assert rules(text) == ["A09-CHN-04"]


def test_a_busy_broker_is_given_time():
    text = """
        client: queue.declare[1] queue="q"
        @0.9s client: channel.close[1] reply-code=200 reply-text="bye"
    """
    assert rules(text) == []


def test_a_close_ok_comes_after_the_other_answers():
    text = """
        client: queue.declare[1] queue="q"
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    assert rules(text) == ["A09-CHN-06"]
    assert rules(text.replace("queue.declare", "basic.consume")) == []


def test_a_blocked_connection_answers_nothing():
    text = """
        server: connection.blocked reason="low on memory"
        client: queue.declare[1] queue="q"
        @60s client: connection.close reply-code=200 reply-text="bye"
    """
    assert rules(text) == []


def test_what_waits_when_the_socket_closes_is_told_of_the_one_that_owed_it():
    played = play(
        """
        client: queue.declare[1] queue="q"
        @20s server: heartbeat
        @20s server: FIN
        @20s client: FIN
        """,
        "channel",
    )
    (found,) = [finding for finding in played.findings if finding.rule == "A09-CHN-06"]
    assert found.peer == "server"
    assert found.message == "queue.declare on channel 1 is not answered by the server in 20.0 s"


def test_a_get_is_answered_though_the_flow_is_stopped():
    text = """
        client: channel.flow[1] active=false
        server: channel.flow-ok[1] active=false
        client: basic.get[1] queue="q"
        server: basic.get-ok[1] delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    assert rules(text, "plain") == []


def test_stopped_deliveries_are_told_once():
    deliver = """
        server: basic.deliver[1] consumer-tag="t" delivery-tag={} routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    text = """
        client: channel.flow[1] active=false
        server: channel.flow-ok[1] active=false
    """
    assert rules(text + deliver.format(1) + deliver.format(2), "plain_consuming") == ["A09-CHN-15"]


def test_a_code_of_zero_is_noted_once():
    text = """
        client: channel.close[1] reply-code=0 reply-text=""
        server: channel.close-ok[1]
        client: channel.open[1]
        server: channel.open-ok[1]
        client: channel.close[1] reply-code=0 reply-text=""
        server: channel.close-ok[1]
    """
    found = [f for f in play(text, "channel").findings if f.rule == "A09-CHN-12"]
    assert [finding.severity for finding in found] == ["info"]


def test_before_0_9_1_a_channel_may_be_closed_with_540():
    text = 'server: channel.close[1] reply-code=540 reply-text="NOT_IMPLEMENTED"'
    assert rules(text, "v0_9") == []
    assert rules(text, "channel") == ["A09-CHN-13"]


@pytest.mark.parametrize(("code", "severity"), [(0, "info"), (404, "warning")])
def test_a_connection_closed_with_no_code_at_all_is_noted(code, severity):
    text = f"""
        client: connection.close reply-code={code} reply-text="bye"
        server: connection.close-ok
    """
    found = [f for f in play(text, "channel").findings if f.rule == "A09-CON-29"]
    assert [f.severity for f in found] == [severity]
