"""Real clients and real brokers with a fault between: both go on, and no rule is broken."""

import json
import sys
import threading

import pytest

import amqpscope as package
from kit.proxy.brokers import SCRIPTS, run

pytest.importorskip("proton")

ALL = ["m0", "m1", "m2", "m3", "m4"]
ACCEPTED = ["accepted"] * 5
LONG = 70_000
"""Octets of the third message, which is in several transfers."""


def send(port, queue, *faults):
    """What became of five messages; asserts that neither peer could complain."""
    with package.proxied(f"amqp://127.0.0.1:{port}", faults=faults, fail_on="error") as proxy:
        command = (sys.executable, SCRIPTS / "outcomes.py", proxy.address, queue, 5, LONG)
        done = json.loads(run(*command))
        acted = [proxy.faults.count(fault["name"]) for fault in proxy.faults.list()]
    # Neither a real peer nor the proxy in one's place has broken a rule.
    assert [f for f in proxy.findings if f.severity == "error"] == []
    return done, acted


@pytest.mark.parametrize(
    ("rule", "outcomes", "bodies"),
    [
        ("transfer && from == client => drop skip=9", ACCEPTED, ALL),
        (
            "transfer && from == client => reject skip=1 times=2",
            ["accepted", "rejected", "rejected", "accepted", "accepted"],
            ["m0", "m3", "m4"],
        ),
        (
            "transfer && from == client && !more => release every=2",
            ["accepted", "released", "accepted", "released", "accepted"],
            ["m0", "m2", "m4"],
        ),
        (
            "transfer && from == client => accept times=1",
            ACCEPTED,
            ["m1", "m2", "m3", "m4"],
        ),
        ("transfer && from == server => drop skip=1 times=1", ACCEPTED, ["m0", "m2", "m3", "m4"]),
        ("transfer && from == server => reject times=2", ACCEPTED, ["m2", "m3", "m4"]),
        ("@dup-delivery", ACCEPTED, ["m0", *ALL]),
        ("transfer && from == client => duplicate times=1", ACCEPTED, ["m0", *ALL]),
        ("transfer && from == server => delay 100ms", ACCEPTED, ALL),
        ("transfer => slice 700", ACCEPTED, ALL),
        (
            "disposition && from == server => set state=released times=1",
            ["released", *ACCEPTED[1:]],
            ALL,
        ),
        (
            'transfer && from == client => inject transfer | amqp-value("new") times=1',
            ACCEPTED,
            ["m0", "new", *ALL[1:]],
        ),
        ("transfer && from == client && more => duplicate times=1", ACCEPTED, [*ALL[:3], *ALL[2:]]),
        ("transfer && from == server && more => drop times=1", ACCEPTED, [*ALL[:2], *ALL[3:]]),
        (
            "transfer && from == client && !more => modify skip=2 times=1",
            [*ACCEPTED[:2], "modified", *ACCEPTED[3:]],
            [*ALL[:2], *ALL[3:]],
        ),
        (
            'transfer && from == client => replace transfer | amqp-value("new") skip=2 times=1',
            ACCEPTED,
            [*ALL[:2], "new", *ALL[3:]],
        ),
        (
            "@detach-after-transfer",
            ["amqp:link:detach-forced", *ACCEPTED[1:]],
            ALL,
        ),
    ],
)
def test_proton_and_a_broker_on_proton(broker, rule, outcomes, bodies):
    done, acted = send(broker, f"q{abs(hash(rule))}", rule)
    assert done == {"outcomes": outcomes, "bodies": bodies, "ended": "Timeout"}
    assert acted == [0] if "skip=9" in rule else acted > [0]


CONFIRMED = ["confirmed"] * 5
EDITED = 'transfer[0] handle=0 delivery-id=2 delivery-tag=b"3" | amqp-value("new")'


@pytest.mark.parametrize(
    ("rule", "outcomes", "bodies", "left"),
    [
        (
            "basic.publish => nack skip=1 times=2",
            ["confirmed", "nacked", "nacked", "confirmed", "confirmed"],
            ["m0", "m3", "m4"],
            0,
        ),
        (
            "basic.publish => return skip=1 times=1",
            ["confirmed", "returned", *CONFIRMED[2:]],
            ["m0", *ALL[2:]],
            0,
        ),
        ("basic.publish => accept times=1", CONFIRMED, ALL[1:], 0),
        ("basic.publish => duplicate every=3", CONFIRMED, [*ALL[:3], *ALL[2:]], 0),
        ("basic.publish => duplicate times=1", CONFIRMED, ["m0", *ALL], 0),
        (
            "basic.publish => channel.close skip=1 times=1",
            ["confirmed", 406, *CONFIRMED[2:]],
            ALL,
            0,
        ),
        ("basic.deliver => duplicate times=1", CONFIRMED, ["m0", *ALL], 0),
        ("basic.deliver => release times=1", CONFIRMED, [*ALL[1:], "m0"], 0),
        ("basic.deliver => reject times=1", CONFIRMED, ALL[1:], 0),
        ("basic.deliver => drop skip=1 times=1", CONFIRMED, ["m0", *ALL[2:]], 0),
        ("basic.deliver => cancel skip=1 times=1", CONFIRMED, ALL[:2], 3),
        ("content-body => delay 50ms", CONFIRMED, ALL, 0),
        ('basic.deliver => set exchange="x"', CONFIRMED, ALL, 0),
    ],
)
def test_pika_and_rabbitmq(rabbitmq, rule, outcomes, bodies, left):
    upstream = f"amqp://127.0.0.1:{rabbitmq.port}"
    with package.proxied(upstream, faults=[rule], fail_on="error") as proxy:
        command = (sys.executable, SCRIPTS / "confirms.py", "127.0.0.1", proxy.port)
        done = json.loads(run(*command, f"q{abs(hash(rule))}", 5))
        assert proxy.faults.list()[0]["acted"] > 0
    assert [f for f in proxy.findings if f.severity == "error"] == []
    assert done["outcomes"] == outcomes
    assert done["bodies"] == bodies
    assert done["left"] == left


def deciding(faults, decisions, done):
    """Decide on frames as they are held, by their numbers; the others are resumed."""
    while not done.wait(0.01):
        for held in faults.held():
            action, *frame = decisions.get(held["number"], ["resume"])
            faults.decide(held["number"], action, *frame)


@pytest.mark.parametrize(
    ("upstream", "script", "where", "decisions", "outcomes", "bodies"),
    [
        (
            "broker", "outcomes.py", "transfer && from == client",
            {2: ["reject"], 3: ["edit", EDITED], 4: ["duplicate"], 5: ["delay 50ms"]},
            ["accepted", "rejected", "accepted", "accepted", "accepted"],
            ["m0", "new", "m3", "m3", "m4"],
        ),
        (
            "rabbitmq", "confirms.py", "basic.publish", {2: ["nack"], 3: ["duplicate"]},
            ["confirmed", "nacked", *CONFIRMED[2:]],
            ["m0", "m2", "m2", "m3", "m4"],
        ),
    ],
    ids=["proton", "pika"],
)  # fmt: skip
def test_a_person_between_a_client_and_its_broker(
    request, upstream, script, where, decisions, outcomes, bodies
):
    found = request.getfixturevalue(upstream)
    port = getattr(found, "port", found)
    rule = f"{where} => hold"
    with package.proxied(f"amqp://127.0.0.1:{port}", faults=[rule], fail_on="error") as proxy:
        done = threading.Event()
        person = threading.Thread(target=deciding, args=(proxy.faults, decisions, done))
        person.start()
        try:
            place = (proxy.address,) if upstream == "broker" else (proxy.host, proxy.port)
            said = json.loads(run(sys.executable, SCRIPTS / script, *place, "held", 5))
        finally:
            done.set()
            person.join()
    assert (said["outcomes"], said["bodies"]) == (outcomes, bodies)
    # An edit may break rules, which is nobody's fault.
    assert {f.fault for f in proxy.findings if f.severity == "error"} <= {"fault-1"}
