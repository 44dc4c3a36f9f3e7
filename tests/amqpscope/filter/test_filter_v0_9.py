"""Filters on units of AMQP 0-9."""

import pytest

from amqpscope.filter import compile_filter, complete
from kit.talks_v0_9 import TALK

FILTERS = {
    # filter: the names of the frames that it lets pass
    "basic.publish": ["basic.publish"],
    'basic.publish.routing-key contains "orders"': ["basic.publish"],
    'routing-key == "orders.new" and method': [
        "basic.publish",
        "basic.ack",
        "basic.deliver",
        "basic.ack",
    ],
    "queue.declare.durable": ["queue.declare"],
    "queue.declare.passive": [],
    "has queue.declare.passive": ["queue.declare"],
    'queue == "q" and content-body': ["content-body"],
    'exchange == "amq.topic" and content-body': ["content-body", "content-body"],
    "name == basic.ack": ["basic.ack", "basic.ack"],
    "name in {channel.open channel.open-ok}": ["channel.open", "channel.open-ok"],
    "connection.tune.heartbeat > 10": ["connection.tune"],
    'content-type == "text/plain"': ["content-header"],
    "content-header.delivery-mode == 2": ["content-header"],
    "headers.color == red": ["content-header"],
    'body contains "ell"': ["content-body"],
    "body == ff:01": ["content-body"],
    "channel == 0 and from == server": [
        "connection.start",
        "connection.tune",
        "connection.open-ok",
    ],
    "delivery == 1 and from == client": ["basic.ack"],
    "payload > 3": ["content-body"],
    "confirm": ["confirm.select", "confirm.select-ok"],
    "kind == header": ["header"],
    'protocol == "amqp-0-9-1" and mechanism': ["connection.start-ok"],
    "arguments.x-max-length == 10": ["queue.declare"],
    "transfer || settled || sasl": [],
}


@pytest.mark.parametrize(("text", "names"), FILTERS.items())
def test_filter_finds(recorded, show, text, names):
    shown = show(recorded(TALK), where=compile_filter(text)).lines[1:]
    assert [line[51:].split()[0] for line in shown] == names


def test_names_are_completed():
    assert "basic.publish" in complete("basic.p", 7)
    assert "basic.publish.routing-key" in complete("basic.publish.r", 15)
    assert "content-header.priority" in complete("content-header.pri", 18)
