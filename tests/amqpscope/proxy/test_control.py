"""What the relay and its watcher say to each other, and how each fares without the other."""

import socket

import pytest

from amqpscope.proxy.control import Channel, Watch


@pytest.fixture
def pair():
    """The relay's end, the watcher's, and what was said while nobody watched."""
    ours, theirs = socket.socketpair()
    alone = []
    channel, watch = Channel(ours, alone.append), Watch(theirs)
    yield channel, watch, alone
    channel.close()
    watch.close()


def test_lines_arrive_in_their_order(pair):
    channel, watch, alone = pair
    channel.tell("one")
    channel.tell("two\nstill two")
    assert watch.new_lines() == ["one", "two\nstill two"]
    assert watch.new_lines() == []
    assert alone == []


def test_a_watcher_that_does_not_listen_costs_lines_and_no_time(pair):
    channel, watch, _ = pair
    for _ in range(10_000):
        channel.tell("x" * 100)
    assert channel.dropped > 0
    heard = 0
    while lines := watch.new_lines():
        heard += len(lines)
    channel.tell("last")
    lost, last = watch.new_lines()
    assert lost == f"{10_000 - heard} messages of the relay were lost"
    assert last == "last"


def test_the_end_of_the_relay_is_seen(pair):
    channel, watch, _ = pair
    channel.tell("bye")
    channel.close()
    assert watch.new_lines() == ["bye"]
    assert watch.new_lines() == []
    assert watch.ended
    assert not watch.in_order
    assert watch.status() is None


def test_without_a_watcher_lines_go_elsewhere(pair):
    channel, _, alone = pair
    channel.watched = False
    channel.tell("alone")
    assert alone == ["alone"]


def test_a_status_is_asked_for_and_answered(relay, server):
    relay = relay(server())
    assert relay.watch.latest is None
    relay.watch.ask()
    status = relay.watch.status()
    assert status == relay.watch.latest
    assert status.accepted == 0
    relay.stop()
    assert relay.watch.in_order
    assert relay.watch.latest.problem is None
    assert relay.watch.status() is None
