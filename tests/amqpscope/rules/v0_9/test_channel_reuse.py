"""Channels that are closed and opened while much is under way: nobody innocent is accused."""

from __future__ import annotations

import pytest

from amqpscope.findings import ERROR
from kit.exchange_v0_9 import play

AGAIN = """
client: channel.close[1] reply-code=200 reply-text="bye"
client: channel.open[1]
"""
ANSWERS = """
server: channel.close-ok[1]
server: channel.open-ok[1]
"""
DELIVERY = """
server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
server: content-header[1] class=basic body-size=0
"""
WORK = """
client: queue.declare[1] queue="r"
server: queue.declare-ok[1] queue="r"
client: basic.consume[1] queue="r" consumer-tag="u"
server: basic.consume-ok[1] consumer-tag="u"
"""


def errors(text: str, setup: str) -> list[str]:
    findings = play(text, setup).findings
    return [each.rule for each in findings if each.severity == ERROR]


@pytest.mark.parametrize("setup", ["consuming", "plain_consuming", "v0_9_consuming"])
@pytest.mark.parametrize("leftover", ["", DELIVERY])
def test_the_server_answers_the_old_channel_first(setup, leftover):
    assert errors(AGAIN + leftover + ANSWERS + WORK, setup) == []


def test_the_new_channel_is_there_after_the_old_one_was_answered():
    played = play(AGAIN + ANSWERS + WORK, "consuming")
    channel = played.events[-1].connection.channels[1]
    assert channel.generation == 1
    assert list(channel.consumers) == ["u"]


def test_a_client_that_opens_before_it_answers_is_told_once():
    text = """
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"
        client: channel.open[1]
        client: channel.close-ok[1]
        server: channel.open-ok[1]
    """
    assert errors(text + WORK, "channel") == ["A09-CHN-08"]


def test_who_answers_a_close_may_leave_a_content_unfinished():
    text = """
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=4
        server: content-body[1] "ab"
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    assert errors(text, "consuming") == []
