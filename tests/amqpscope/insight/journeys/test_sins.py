"""What a broker does wrong, each in its own way: the rule that says so, and about whom.

Most nodes are plain addresses, of which no link says that they are queues.
"""

from __future__ import annotations

import pytest

from amqpscope.findings import ERROR, SUSPECT
from kit.broker_story import (
    Story,
    accepted,
    changed,
    competing,
    fanned_out,
    lines,
    old,
    once,
    posting,
    restarted,
    shared,
    through,
    two,
)  # fmt: skip
from kit.exchange_broker import play

CLOSED = "in a closed world alone"
SURE = "an error in a closed world"
DOUBT = "never certain"


BACK = "modified(delivery-failed=true)"
ABORT = "client: transfer[0] handle=0 more=false aborted=true"
UNFINISHED = "message-format=0 more=true"
LONG = 'data(b"a body that nobody else has")'
NO_LOCAL = "filter={:no-local=@:apache.org:no-local-filter:list []}"
GET = ('client: basic.get[1] queue="q"', "server: basic.get-empty[1]")
GOT = 'basic.get-ok[1] delivery-tag=1 redelivered=false routing-key="q" message-count=0'
EMPTY = (
    'client: queue.declare[1] queue="q"',
    'server: queue.declare-ok[1] queue="q" message-count=0 consumer-count=0',
)
SELECT = ("client: tx.select[1]", "server: tx.select-ok[1]")
NO_ROUTE = (
    'server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" routing-key="q"',
    'server: content-header[1] class=basic body-size=2 message-id="m1"',
    'server: content-body[1] "aa"',
)


SINS = {
    # what goes wrong: what happens, the rules that say so, how certain that is
    "a property is changed": (
        changed({"properties": 'subject="a"'}, {"properties": 'subject="b"'}),
        "BRK-101",
        SURE,
    ),
    "a property is taken away": (changed({"properties": 'user-id=b"u"'}, {}), "BRK-101", SURE),
    "the address is rewritten": (
        changed({"properties": 'to="q"'}, {"properties": 'to="other"'}),
        "BRK-101",
        SURE,
    ),
    "an application property is changed": (
        changed({"application": '"a"=1'}, {"application": '"a"=2'}),
        "BRK-101",
        SURE,
    ),
    "the application properties are taken away": (
        changed({"application": '"a"=1'}, {}),
        "BRK-101",
        SURE,
    ),
    "the body is changed, the id is short": (
        changed({"body": 'data(b"hello")'}, {"body": 'data(b"jello")'}),
        "BRK-101",
        SURE,
    ),
    "a line end is added to the body": (
        changed({"body": 'data(b"a line of text")'}, {"body": 'data(b"a line of text\\n")'}),
        "BRK-101",
        SURE,
    ),
    "the body is changed for one who gets it from a queue that was empty": (
        lines(Story(product="RabbitMQ").confirms("A"), "A", EMPTY)
        .basic_publish("A", body="fetch me by get")
        .ack("A", 1, "server")
        .channel("B")
        .add("B", 'client: basic.get[1] queue="q"')
        .content("B", "server", GOT, "m1", body="fetch me by bet"),
        "BRK-101",
        SURE,
    ),
    "half of a body of 1.0 reaches a consumer of 0-9-1": (
        Story(product="RabbitMQ")
        .sender("A")
        .consume("B")
        .publish("A", body='data(b"from one family to the other")')
        .answer("A")
        .basic_deliver("B", body="from one family to"),
        "BRK-101",
        DOUBT,
    ),
    "the body is changed, the id is a number": (
        changed({"body": 'data(b"hello")'}, {"body": 'data(b"jello")'}, "message-id=ulong 7"),
        "BRK-101",
        SURE,
    ),
    "the body is changed, the id is a uuid": (
        changed(
            {"body": 'data(b"hello")'},
            {"body": 'data(b"jello")'},
            "message-id=uuid 00000000-0000-0000-0000-000000000001",
        ),
        "BRK-101",
        SURE,
    ),
    "the body is changed, and others were not": (
        shared()
        .publish("A", body=LONG)
        .answer("A")
        .deliver("B", body=LONG.replace("nobody", "nobodx")),
        "BRK-101",
        SURE,
    ),
    "a value is re-encoded": (
        changed({"body": "amqp-value(uint 1)"}, {"body": "amqp-value(uint 1'70)"}),
        "BRK-101",
        SURE,
    ),
    "the message-id is another one": (
        changed({"body": f'properties(message-id="m9") {LONG}'}, {"body": LONG}, ""),
        "BRK-101",
        f"{DOUBT} {CLOSED}",
    ),
    "a message is given back, and comes changed": (
        once().outcome("B", BACK).deliver("B", header="delivery-count=1", body='data(b"y")'),
        "BRK-101",
        SURE,
    ),
    "a body of 0-9-1 is changed for a consumer of 1.0": (
        Story(product="RabbitMQ")
        .confirms("A")
        .receiver("B", "/queues/q")
        .basic_publish("A", body="a body")
        .ack("A", 1, "server")
        .deliver("B", body='data(b"a bodx")'),
        "BRK-101",
        DOUBT,
    ),
    "a message annotation is dropped": (
        changed({"annotations": ":x-opt-a=1"}, {}),
        "BRK-104",
        DOUBT,
    ),
    "a header of 0-9-1 is dropped": (
        old('headers={tenant="a"}').basic_deliver("B"),
        "BRK-104",
        DOUBT,
    ),
    "a property of 0-9-1 is changed": (
        Story()
        .confirms("A")
        .consume("B")
        .basic_publish("A", properties='content-type="a"')
        .ack("A", 1, "server")
        .basic_deliver("B", properties='content-type="b"'),
        "BRK-101",
        SURE,
    ),
    "empty application properties are added": (
        changed({}, {"body": 'application-properties({}) data(b"x")'}),
        "BRK-102",
        SURE,
    ),
    "properties are added where there were none": (
        through()
        .publish("A", "", body=LONG)
        .answer("A")
        .deliver("B", "", body=f'properties(subject="z") {LONG}'),
        "BRK-102",
        DOUBT,
    ),
    "data becomes a value": (changed({}, {"body": 'amqp-value("x")'}), "BRK-103", SURE),
    "a value becomes data": (
        changed({"body": 'amqp-value("hello")'}, {"body": 'data(b"hello")'}),
        "BRK-103",
        SURE,
    ),
    "a sequence becomes a value": (
        changed({"body": "amqp-sequence([1 2])"}, {"body": "amqp-value([1 2])"}),
        "BRK-103",
        SURE,
    ),
    "data is split": (
        changed({"body": 'data(b"ab")'}, {"body": 'data(b"a") data(b"b")'}),
        "BRK-103",
        SURE,
    ),
    "data is put together": (
        changed({"body": 'data(b"a") data(b"b")'}, {"body": 'data(b"ab")'}),
        "BRK-103",
        SURE,
    ),
    "delivery annotations are passed on": (
        changed({"delivery_annotations": ":x-opt-a=1"}, {"delivery_annotations": ":x-opt-a=1"}),
        "BRK-105",
        DOUBT,
    ),
    "a durable message is not durable any more": (
        changed({"header": "durable=true"}, {}),
        "BRK-106",
        DOUBT,
    ),
    "a message becomes durable": (changed({}, {"header": "durable=true"}), "BRK-106", DOUBT),
    "a persistent message of 0-9-1 is transient": (
        Story()
        .confirms("A")
        .consume("B")
        .basic_publish("A", properties="delivery-mode=2")
        .ack("A", 1, "server")
        .basic_deliver("B", properties="delivery-mode=1"),
        "BRK-106",
        DOUBT,
    ),
    "the priority is changed": (
        changed({"header": "priority=7"}, {"header": "priority=4"}),
        "BRK-107",
        DOUBT,
    ),
    "the ttl is dropped": (changed({"header": "ttl=60000"}, {}), "BRK-108", DOUBT),
    "the ttl is not reduced": (
        Story()
        .sender("A")
        .publish("A", header="ttl=60000")
        .answer("A")
        .at(10)
        .receiver("B")
        .deliver("B", header="ttl=60000"),
        "BRK-108",
        DOUBT,
    ),
    "the ttl grows": (changed({"header": "ttl=1000"}, {"header": "ttl=2000"}), "BRK-109", DOUBT),
    "an expired message is delivered": (
        through().publish("A", header="ttl=1000").answer("A").at(5).deliver("B", header="ttl=0"),
        "BRK-110",
        DOUBT,
    ),
    "an expired message is delivered to one who comes later": (
        Story()
        .sender("A")
        .publish("A", header="ttl=1000")
        .answer("A")
        .at(5)
        .receiver("B")
        .deliver("B", header="ttl=10"),
        "BRK-110",
        DOUBT,
    ),
    "an expired message is delivered when credit is given": (
        Story()
        .sender("A")
        .receiver("B", credit=0)
        .publish("A", header="ttl=1000")
        .answer("A")
        .at(5)
        .flow("B", "r", 5)
        .deliver("B", header="ttl=10"),
        "BRK-110",
        DOUBT,
    ),
    "an expired message is delivered again": (
        through()
        .publish("A", header="ttl=5000")
        .answer("A")
        .deliver("B", header="ttl=5000")
        .outcome("B", "released()")
        .at(20)
        .deliver("B", header="ttl=1"),
        "BRK-110",
        DOUBT,
    ),
    "an expired message of 0-9-1 is delivered": (
        Story()
        .confirms("A")
        .basic_publish("A", properties='expiration="1000"')
        .ack("A", 1, "server")
        .at(5)
        .consume("B")
        .basic_deliver("B", properties='expiration="1000"'),
        "BRK-110",
        DOUBT,
    ),
    "a message is delivered after its absolute-expiry-time": (
        through()
        .publish("A", properties="absolute-expiry-time=1700000001000")
        .answer("A")
        .at(90)
        .deliver("B", properties="absolute-expiry-time=1700000001000"),
        "BRK-111",
        DOUBT,
    ),
    "the first delivery counts as the second": (
        changed({}, {"header": "delivery-count=1"}),
        "BRK-112",
        CLOSED,
    ),
    "a failed attempt does not count": (once().outcome("B", BACK).deliver("B"), "BRK-113", SURE),
    "a rejected attempt does not count": (
        once().outcome("B", "rejected()").deliver("B"),
        "BRK-113",
        SURE,
    ),
    "a failed attempt does not count for another consumer": (
        shared().publish("A").answer("A").deliver("B").outcome("B", BACK).deliver("C"),
        "BRK-113",
        SURE,
    ),
    "a released attempt counts": (
        once().outcome("B", "released()").deliver("B", header="delivery-count=1"),
        "BRK-113",
        CLOSED,
    ),
    "a modified attempt counts that did not fail": (
        once().outcome("B", "modified()").deliver("B", header="delivery-count=1"),
        "BRK-113",
        CLOSED,
    ),
    "a failed attempt does not count for one of two subscribers": (
        fanned_out()
        .publish("A")
        .answer("A")
        .deliver("B")
        .deliver("C")
        .outcome("C")
        .outcome("B", BACK)
        .deliver("B"),
        "BRK-113",
        SURE,
    ),
    "a message is gone whose consumer has closed its link": (
        once().detach("B").at(3).receiver("B", name="r2").drain("B", "r2", count=0),
        "BRK-020",
        f"{DOUBT} {CLOSED}",
    ),
    "a failed attempt counts twice": (
        once().outcome("B", BACK).deliver("B", header="delivery-count=2"),
        "BRK-113",
        CLOSED,
    ),
    "the delivery-count falls": (
        once()
        .outcome("B", BACK)
        .deliver("B", header="delivery-count=1")
        .outcome("B", "released()")
        .deliver("B"),
        "BRK-114",
        SURE,
    ),
    "a second link is the first acquirer": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B", header="first-acquirer=true")
        .outcome("B", "released()")
        .deliver("C", header="first-acquirer=true"),
        "BRK-115",
        SURE,
    ),
    "two consumers of a queue have one message": (
        competing(queue=True).publish("A").answer("A").deliver("B").deliver("C"),
        "BRK-116",
        DOUBT,
    ),
    "two consumers that share a node have one message": (
        shared().publish("A").answer("A").deliver("B").deliver("C"),
        "BRK-116",
        DOUBT,
    ),
    "two consumers to whom a broker moves messages have one": (
        Story()
        .sender("A")
        .receiver("B", source="distribution-mode=:move")
        .receiver("C", source="distribution-mode=:move")
        .publish("A")
        .answer("A")
        .deliver("B")
        .deliver("C"),
        "BRK-116",
        DOUBT,
    ),
    "an accepted message comes again": (accepted(once()).at(1).deliver("B"), "BRK-117", SURE),
    "an accepted message comes again at once": (
        once().outcome("B").at(1).deliver("B"),
        "BRK-117",
        DOUBT,
    ),
    "an accepted message comes again to one who browses": (
        through(browsing=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", settled=False)
        .confirm("B")
        .deliver("B"),
        "BRK-117",
        SURE,
    ),
    "an acknowledged message of 0-9-1 comes again at once": (
        old().basic_deliver("B").ack("B", 1).basic_deliver("B"),
        "BRK-117",
        DOUBT,
    ),
    "an accepted message comes again to one who comes later": (
        accepted(once()).at(1).receiver("C").deliver("C"),
        "BRK-117",
        SURE,
    ),
    "an accepted message comes again after its link is closed": (
        once().outcome("B").detach("B").at(1).receiver("C").deliver("C"),
        "BRK-117",
        SURE,
    ),
    "an accepted message comes again to one who shares the node": (
        accepted(shared().publish("A").answer("A").deliver("B")).at(3).deliver("C"),
        "BRK-117",
        DOUBT,
    ),
    "an acknowledged message of 0-9-1 comes again": (
        old()
        .basic_deliver("B")
        .ack("B", 1)
        .add("B", 'client: basic.cancel[1] consumer-tag="t"')
        .add("B", 'server: basic.cancel-ok[1] consumer-tag="t"')
        .at(1)
        .consume("C")
        .basic_deliver("C", redelivered="true"),
        "BRK-117",
        SURE,
    ),
    "a message of 0-9-1 that a consumer of 1.0 accepted comes again": (
        accepted(
            Story(product="RabbitMQ")
            .confirms("A")
            .queue("B")
            .basic_publish("A", body="aa")
            .ack("A", 1, "server")
            .deliver("B", body='data(b"aa")')
        )
        .at(1)
        .deliver("B", body='data(b"aa")'),
        "BRK-117",
        SURE,
    ),
    "a released message is gone": (
        once().outcome("B", "released()").at(3).drain("B", count=1),
        "BRK-118",
        CLOSED,
    ),
    "a modified message is gone": (
        once(queue=True).outcome("B", BACK).at(3).drain("B", count=1),
        "BRK-118",
        CLOSED,
    ),
    "a message of 0-9-1 that was given back is gone": (
        old()
        .basic_deliver("B")
        .add("B", "client: basic.nack[1] delivery-tag=1 requeue=true")
        .add("B", 'client: basic.cancel[1] consumer-tag="t"')
        .add("B", 'server: basic.cancel-ok[1] consumer-tag="t"')
        .at(3)
        .add("B", GET[0])
        .add("B", GET[1]),
        "BRK-118",
        CLOSED,
    ),
    "annotations of modified are missing": (
        once().outcome("B", "modified(message-annotations={:x-opt-w=1})").deliver("B"),
        "BRK-120",
        DOUBT,
    ),
    "two messages change places": (
        two().receiver("B").deliver("B", "m2").deliver("B", "m1"),
        "BRK-121",
        DOUBT,
    ),
    "two messages of one producer change places, among others": (
        two()
        .sender("C")
        .publish("C", "m3")
        .answer("C")
        .receiver("B")
        .deliver("B", "m3")
        .deliver("B", "m2")
        .deliver("B", "m1"),
        "BRK-121",
        DOUBT,
    ),
    "less priority comes first": (
        Story()
        .sender("A")
        .publish("A", "m1", header="priority=9")
        .publish("A", "m2", header="priority=1")
        .answer("A", first=0)
        .answer("A", first=1)
        .at(1)
        .receiver("B")
        .deliver("B", "m2", header="priority=1")
        .deliver("B", "m1", header="priority=9"),
        "BRK-122",
        DOUBT,
    ),
    "less priority comes first in 0-9-1": (
        Story()
        .confirms("A")
        .basic_publish("A", "m1", properties="priority=9")
        .basic_publish("A", "m2", properties="priority=1")
        .ack("A", 1, "server")
        .ack("A", 2, "server")
        .at(1)
        .consume("B")
        .basic_deliver("B", "m2", properties="priority=1")
        .basic_deliver("B", "m1", properties="priority=9"),
        "BRK-122",
        DOUBT,
    ),
    "one of three messages is lost that waited": (
        two()
        .publish("A", "m3")
        .answer("A")
        .at(1)
        .receiver("B")
        .deliver("B", "m1")
        .outcome("B")
        .deliver("B", "m3")
        .outcome("B")
        .at(3)
        .drain("B", count=2, credit=8),
        "BRK-123",
        f"{DOUBT} {CLOSED}",
    ),
    "two messages change places on the way from 1.0 to 0-9-1": (
        Story(product="RabbitMQ")
        .sender("A", "/queues/q")
        .consume("B")
        .publish("A", "m1", body=LONG)
        .answer("A")
        .publish("A", "m2", body=LONG)
        .answer("A")
        .basic_deliver("B", "m2", body=LONG[7:-2])
        .basic_deliver("B", "m1", body=LONG[7:-2]),
        "BRK-121",
        DOUBT,
    ),
    "a message that was nacked in 0-9-1 is delivered": (
        Story()
        .confirms("A")
        .consume("B")
        .basic_publish("A")
        .ack("A", 1, "server", "nack")
        .basic_deliver("B"),
        "BRK-124",
        DOUBT,
    ),
    "two equal messages come three times to one consumer": (
        through()
        .publish("A")
        .answer("A")
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B")
        .deliver("B")
        .outcome("B")
        .deliver("B")
        .outcome("B"),
        "BRK-125",
        f"{DOUBT} {CLOSED}",
    ),
    "a message is delivered whose transaction ended with its control link": (
        posting().detach("A", "ctrl").deliver("B"),
        "BRK-129",
        SURE,
    ),
    "one of two messages is lost": (
        two()
        .receiver("B")
        .publish("A", "m3")
        .answer("A")
        .deliver("B", "m1")
        .deliver("B", "m2")
        .outcome("B", first=0)
        .outcome("B", first=1)
        .at(3)
        .drain("B", count=2, credit=8),
        "BRK-123",
        CLOSED,
    ),
    "the only message is lost": (
        through().publish("A").answer("A").at(3).drain("B", count=0, credit=10),
        "BRK-123",
        CLOSED,
    ),
    "a confirmed message of 0-9-1 is lost": (
        lines(
            Story().confirms("A").channel("B").basic_publish("A").ack("A", 1, "server").at(3),
            "B",
            GET,
        ),
        "BRK-123",
        CLOSED,
    ),
    "a message of 0-9-1 is lost for a consumer of 1.0": (
        Story(product="RabbitMQ")
        .confirms("A")
        .queue("B")
        .basic_publish("A")
        .ack("A", 1, "server")
        .at(3)
        .drain("B", count=0, credit=10),
        "BRK-123",
        CLOSED,
    ),
    "a rejected message is delivered": (
        through().publish("A").answer("A", "rejected()").deliver("B"),
        "BRK-124",
        DOUBT,
    ),
    "a released message is delivered": (
        through().publish("A").answer("A", "released()").at(1).deliver("B"),
        "BRK-124",
        DOUBT,
    ),
    "a message of a queue is refused and delivered": (
        through(queue=True).publish("A").answer("A", "modified()").deliver("B"),
        "BRK-124",
        DOUBT,
    ),
    "a returned message of 0-9-1 is delivered": (
        lines(
            Story().confirms("A").consume("B").basic_publish("A", more="mandatory=true"),
            "A",
            NO_ROUTE,
        )
        .ack("A", 1, "server")
        .basic_deliver("B"),
        "BRK-124",
        DOUBT,
    ),
    "one message comes twice": (once().deliver("B"), "BRK-125", DOUBT),
    "one message comes twice, settled": (
        through()
        .publish("A")
        .answer("A")
        .deliver("B", more="settled=true")
        .deliver("B", more="settled=true"),
        "BRK-125",
        DOUBT,
    ),
    "two equal messages come three times": (
        through(queue=True)
        .publish("A", "")
        .answer("A")
        .publish("A", "")
        .answer("A")
        .deliver("B", "")
        .outcome("B")
        .deliver("B", "")
        .outcome("B")
        .deliver("B", ""),
        "BRK-125",
        CLOSED,
    ),
    "an aborted message is delivered": (
        through().publish("A", more=UNFINISHED).add("A", ABORT).deliver("B"),
        "BRK-127",
        SURE,
    ),
    "a message is delivered before its transaction is discharged": (
        posting().deliver("B"),
        "BRK-128",
        SURE,
    ),
    "a message is delivered after its transaction was rolled back": (
        posting().discharge("A", "true").answer("A").deliver("B"),
        "BRK-129",
        SURE,
    ),
    "a message of 0-9-1 is delivered in 1.0 after its transaction was rolled back": (
        lines(Story(product="RabbitMQ").channel("A"), "A", SELECT)
        .receiver("B", "/queues/q")
        .basic_publish("A", body="posted in a transaction")
        .add("A", "client: tx.rollback[1]")
        .add("A", "server: tx.rollback-ok[1]")
        .deliver("B", body='data(b"posted in a transaction")'),
        "A09-TX-07",
        DOUBT,
    ),
    "a message is delivered whose connection was lost": (
        through().publish("A", more=UNFINISHED).add("A", "client: RST").deliver("B"),
        "BRK-130",
        SURE,
    ),
    "half a message is delivered, and cannot be read": (
        through()
        .transfer(
            "A",
            "client",
            "raw 0x005373c00501a1026d31 raw 0x005375b0000000ff raw 0x616263646566676869",
            "s",
            UNFINISHED,
        )
        .add("A", "client: RST")
        .transfer(
            "B",
            "server",
            "raw 0x005373c00501a1026d31 raw 0x005375b0000000ff raw 0x616263646566676869",
            "r",
        ),
        "BRK-130",
        SURE,
    ),
    "a durable message is lost in a restart": (
        restarted(through().publish("A", header="durable=true").answer("A"))
        .receiver("C")
        .at(6)
        .drain("C", count=0, credit=10),
        "BRK-131",
        CLOSED,
    ),
    "a message is cut": (
        changed(
            {"body": 'data(b"hello world")'},
            {"body": 'data(b"hello")'},
            "an id that is long enough",
        ),
        "BRK-101 BRK-132",
        SURE,
    ),
    "a long message is cut": (
        changed({"body": f'data(b"{"ab" * 2000}")'}, {"body": f'data(b"{"ab" * 1000}")'}),
        "BRK-101 BRK-132",
        SURE,
    ),
    "the message-format is changed": (
        changed({"more": "message-format=0"}, {"more": "message-format=1"}),
        "BRK-132",
        SURE,
    ),
    "a subscriber misses a message": (
        fanned_out()
        .publish("A")
        .answer("A")
        .deliver("B")
        .publish("A", "m2")
        .answer("A")
        .deliver("B", "m2")
        .deliver("C", "m2"),
        "BRK-133",
        DOUBT,
    ),
    "a consumer gets what it publishes": (
        Story().sender("A").receiver("A", source=NO_LOCAL).publish("A").answer("A").deliver("A"),
        "BRK-135",
        DOUBT,
    ),
    "two messages of a group change places": (
        two(properties='group-id="g"')
        .receiver("B")
        .deliver("B", "m2", properties='group-id="g"')
        .deliver("B", "m1", properties='group-id="g"'),
        "BRK-136",
        DOUBT,
    ),
}


@pytest.mark.parametrize(("story", "rules", "how"), SINS.values(), ids=SINS)
def test_a_sin_is_named_and_nothing_else(story: Story, rules: str, how: str) -> None:
    found = play(story.text).findings
    assert {each.rule for each in found} == (set() if CLOSED in how else set(rules.split()))
    assert all(each.certainty == SUSPECT and each.severity != ERROR for each in found)
    closed = play(story.text, closed_world=True).findings
    assert {each.rule for each in closed} == set(rules.split())
    assert {each.severity == ERROR for each in closed} == {SURE in how}
    assert {each.peer for each in closed} == {"server"}


@pytest.mark.parametrize(("story", "rules", "how"), SINS.values(), ids=SINS)
def test_a_finding_shows_the_history_of_its_message(story: Story, rules: str, how: str) -> None:
    for finding in play(story.text, closed_world=True).findings:
        whys = [why for _, why in finding.related]
        assert whys[0].startswith("published to q on connection 1")
        assert len(finding.related_connections) == len(whys)
        assert all(frame for frame, _ in finding.related)


def test_an_answer_with_an_id_of_another_type_is_the_responders() -> None:
    story = Story().sender("A").publish("A", "message-id=ulong 5", properties='reply-to="answers"')
    story.answer("A").sender("B", "answers").publish("B", "r1", properties='correlation-id="5"')
    [finding] = play(story.text).findings
    assert (finding.rule, finding.peer, finding.connection) == ("BRK-139", "client", 2)
    assert "as string; the request of frame" in finding.message


def test_an_answer_to_nothing_is_found_in_a_closed_world() -> None:
    story = Story().sender("A").publish("A", properties='reply-to="answers"').answer("A")
    story.sender("B", "answers").publish("B", "r1", properties='correlation-id="m2"')
    assert play(story.text).findings == []
    [finding] = play(story.text, closed_world=True).findings
    assert (finding.rule, finding.peer) == ("BRK-139", "client")
