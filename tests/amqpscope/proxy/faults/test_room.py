"""What a fault puts in uses up credit that its sender was promised: what is too much waits."""

import json
import sys
import time

import pytest

import amqpscope as package
from amqpscope.proxy.faults import parse_fault, room
from dissectors.notation import write
from kit.benchmarks.proxy import messages
from kit.proxy.brokers import SCRIPTS, run
from kit.proxy.played import CLIENT, FLOW, SERVER, Played, transfer
from kit.proxy.wire import SENDING

CREDIT = f"{FLOW} handle=5 delivery-count={{}} link-credit=10"
DUPLICATE = "delivery-id == 0 => duplicate times=1"
INJECT = 'delivery-id == 0 => inject transfer | amqp-value("new") times=1'


def numbers(frames):
    """The delivery-ids of the transfers among frames."""
    said = [write(frame, 0, "") for frame in frames]
    return [int(each.split("delivery-id=")[1].split()[0]) for each in said if "transfer" in each]


def burst(it, *more, count=10):
    """A sender that uses all its credit at once, before it can hear of anything."""
    got, _ = it.say(CLIENT, *[transfer(number, 1) for number in range(count)], *more)
    return got


@pytest.mark.parametrize("rule", [DUPLICATE, INJECT])
def test_a_message_waits_where_another_has_its_credit(rule):
    it = Played(rule)
    assert numbers(burst(it)) == list(range(10))
    got, told = it.say(SERVER, CREDIT.format(10, 10))
    assert numbers(got) == [10]
    assert "delivery-count=9 link-credit=10" in write(told[-1], 0, "")
    assert it.outside.reports == []


def test_all_that_its_sender_sends_keeps_its_order_behind_it():
    it = Played(DUPLICATE)
    said = transfer(9, 1, more=True), 'transfer handle=3 | data(b"y")'
    got = burst(it, *said, count=9)
    assert numbers(got) == list(range(10))
    assert it.say(CLIENT, "detach handle=3 closed=true")[0] == []
    got, _ = it.say(SERVER, CREDIT.format(10, 10))
    assert [write(each, 0, "").partition("[")[0] for each in got] == [
        "transfer", "transfer", "detach",
    ]  # fmt: skip


def test_faults_act_on_what_waits_when_its_turn_comes():
    it = Played(DUPLICATE)
    faults = it.layer.faults
    faults.add(parse_fault("delivery-id == 9 => reject times=1"))
    burst(it)
    assert [fault.acted for fault in faults.faults] == [1, 1]
    got, told = it.say(SERVER, CREDIT.format(10, 10))
    assert got == []
    assert any("rejected" in write(each, 0, "") for each in told)


def test_windows_count_as_credit_does():
    narrow = SENDING.replace("incoming-window=100", "incoming-window=4")
    it = Played(DUPLICATE, narrow)
    assert numbers(burst(it, count=4)) == [0, 1, 2, 3]
    wider = CREDIT.format(4, 4).replace("incoming-window=100", "incoming-window=4")
    assert numbers(it.say(SERVER, wider)[0]) == [4]


def test_nothing_is_put_in_where_the_window_is_full():
    narrow = SENDING.replace("incoming-window=100", "incoming-window=1")
    it = Played(DUPLICATE, narrow)
    assert numbers(burst(it, count=1)) == [0]
    assert "window takes no more" in it.outside.reports[-1]


def test_a_sender_that_overruns_its_credit_itself_is_not_held():
    it = Played("delivery-id == 99 => duplicate")
    assert numbers(burst(it, count=12)) == list(range(12))
    it = Played(DUPLICATE)
    assert numbers(burst(it, count=12)) == list(range(10))  # the tenth waits, and they behind it
    assert numbers(it.say(SERVER, f"{CREDIT.format(10, 10)[:-2]}1")[0]) == [10, 11, 12]


def test_nothing_waits_for_a_receiver_that_ends_the_link():
    it = Played(DUPLICATE)
    burst(it)
    assert numbers(it.say(SERVER, "detach handle=5 closed=true")[0]) == [10]


def test_a_receiver_that_gives_no_room_is_not_waited_for_longer_than_said(monkeypatch):
    monkeypatch.setattr(room, "LONGEST", 0.05)
    it = Played(DUPLICATE)
    assert len(burst(it)) == 10
    time.sleep(0.06)
    assert it.layer.waiting
    it.layer.pump()
    assert numbers(it.cut(SERVER))[-1] == 10
    assert not it.layer.waiting
    assert "no room for 0.05 s" in it.outside.reports[-1]


def test_what_still_waits_at_the_end_of_a_connection_is_reported():
    it = Played(DUPLICATE)
    burst(it)
    it.layer.abandon()
    assert "were not passed on" in it.outside.reports[-1]


BOTH = ["duplicate every=3", 'inject transfer | amqp-value("new") every=3']


def errors(proxy):
    """Rules that were broken, also those that rest on what the proxy did."""
    return [found.message for found in proxy.findings if found.severity == "error"]


@pytest.mark.parametrize("rule", BOTH)
def test_a_broker_that_uses_all_credit_at_once_overruns_none(broker, rule):
    rule = f"transfer && from == server => {rule}"
    with package.proxied(f"amqp://127.0.0.1:{broker}", faults=[rule]) as proxy:
        command = (sys.executable, SCRIPTS / "outcomes.py", proxy.address, f"q{rule}", 30)
        done = json.loads(run(*command))
        acted = proxy.faults.list()[0]["acted"]
    assert acted > 5  # not where there is no credit for two: that is reported
    assert len(done["bodies"]) == 30 + acted
    assert set(done["bodies"]) - {"new"} == {f"m{number}" for number in range(30)}
    assert errors(proxy) == []


@pytest.mark.parametrize("rule", BOTH)
def test_a_client_that_uses_all_credit_at_once_overruns_none(broker, rule):
    rule = f"transfer && from == client => {rule}"
    with package.proxied(f"amqp://127.0.0.1:{broker}", faults=[rule]) as proxy:
        messages(int(proxy.address.rpartition(":")[2]), 60)
        assert proxy.faults.list()[0]["acted"] > 5
    assert errors(proxy) == []
