"""What looks like a broker's fault and is none, over many kinds of nodes, consumers and brokers."""

from __future__ import annotations

import pytest

from kit.broker_story import Story, changed, competing, lines, once, shared, through, two
from kit.exchange_broker import play

BACK = "modified(delivery-failed=true)"
OWN_QUEUE = (
    'client: queue.declare[1] queue="q" exclusive=true',
    'server: queue.declare-ok[1] queue="q"',
)
HUB = "hub/ConsumerGroups/$Default/Partitions/0"
LEFT_OVER = (
    'client: queue.declare[1] queue="q"',
    'server: queue.declare-ok[1] queue="q" message-count=1',
)
CANCEL = (
    'client: basic.cancel[1] consumer-tag="t"',
    'server: basic.cancel-ok[1] consumer-tag="t"',
)
CLOSE = (
    'client: connection.close reply-code=200 reply-text="" class-id=0 method-id=0',
    "server: connection.close-ok",
)


def confirming() -> Story:
    """A publishes with confirms to RabbitMQ, B consumes from q."""
    return Story(product="RabbitMQ").confirms("A").consume("B")


STORIES = {
    "a program that runs again, and counts as in its last run, which left a message": (
        lines(Story(product="RabbitMQ").confirms("A"), "A", LEFT_OVER)
        .basic_publish("A")
        .ack("A", 1, "server")
        .consume("B")
        .basic_deliver("B")
        .ack("B", 1)
        .basic_deliver("B")
        .ack("B", 2)
    ),
    "a program that runs again, and gets all that is there before it answers": (
        lines(Story(product="RabbitMQ").confirms("A"), "A", LEFT_OVER)
        .basic_publish("A")
        .ack("A", 1, "server")
        .consume("B")
        .basic_deliver("B", redelivered="true")
        .basic_deliver("B")
        .ack("B", 1)
        .ack("B", 2)
    ),
    "a producer that sends again after its connection was lost": (
        Story()
        .sender("A")
        .queue("B")
        .publish("A")
        .add("A", "server: RST")
        .at(1)
        .sender("C")
        .publish("C")
        .answer("C")
        .deliver("B")
        .outcome("B")
        .deliver("B")
        .outcome("B")
    ),
    "a producer that sends again what was released": (
        through(queue=True)
        .publish("A")
        .answer("A", "released()")
        .at(1)
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B")
    ),
    "released, and back to the same consumer": (
        once(queue=True).outcome("B", "released()").deliver("B").outcome("B")
    ),
    "failed, and counted, at another consumer": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", "modified(delivery-failed=true)")
        .deliver("C", header="delivery-count=1")
        .outcome("C")
    ),
    "a lost link that counts as an attempt": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .detach("B")
        .deliver("C", header="delivery-count=1")
    ),
    "a lost link that does not count": (
        competing(queue=True).publish("A").answer("A").deliver("B").detach("B").deliver("C")
    ),
    "rejected, and on a dead-letter queue": (
        Story()
        .sender("A")
        .queue("B")
        .queue("C", "dlq")
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", "rejected()")
        .deliver("C", header="delivery-count=1", annotations=":x-opt-deaths=1")
    ),
    "rejected, and on another queue without a word": (
        Story()
        .sender("A")
        .queue("B")
        .queue("C", "dlq")
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", "rejected()")
        .deliver("C", header="delivery-count=1")
    ),
    "expired, and on another queue without a word": (
        Story()
        .sender("A")
        .queue("C", "dlq")
        .publish("A", header="ttl=100")
        .answer("A")
        .at(5)
        .deliver("C")
    ),
    "forwarded to another queue": (
        Story().sender("A").queue("B", "other").publish("A").answer("A").deliver("B").outcome("B")
    ),
    "a topic that serves one subscriber after the other": (
        competing()
        .publish("A", "m1")
        .answer("A")
        .publish("A", "m2")
        .answer("A")
        .publish("A", "m3")
        .answer("A")
        .deliver("B", "m1")
        .deliver("B", "m2")
        .deliver("B", "m3")
        .outcome("B", first=0)
        .outcome("B", first=1)
        .outcome("B", first=2)
        .deliver("C", "m1")
        .deliver("C", "m2")
        .deliver("C", "m3")
    ),
    "a topic that has its newest message for those who come": (
        two()
        .at(2)
        .receiver("B", source="capabilities=[:topic]")
        .deliver("B", "m2")
        .outcome("B")
        .at(5)
        .drain("B", count=1)
    ),
    "a topic with two subscribers": (
        competing()
        .publish("A", "m1")
        .answer("A")
        .deliver("B", "m1")
        .deliver("C", "m1")
        .publish("A", "m2")
        .answer("A")
        .deliver("B", "m2")
        .deliver("C", "m2")
        .outcome("B", first=0)
    ),
    "a durable subscriber that comes back": (
        Story()
        .sender("A")
        .receiver("B", source="durable=2 expiry-policy=:never", name="sub1")
        .receiver("C", source="durable=2 expiry-policy=:never", name="sub2")
        .detach("C", "sub2")
        .publish("A")
        .answer("A")
        .deliver("B", name="sub1")
        .outcome("B", settled=False)
        .confirm("B")
        .at(3)
        .receiver("D", source="durable=2 expiry-policy=:never", name="sub2")
        .deliver("D", name="sub2")
    ),
    "browsed, then consumed": (
        Story()
        .sender("A")
        .receiver("C", source="distribution-mode=:copy", name="br")
        .publish("A")
        .answer("A")
        .deliver("C", name="br")
        .outcome("C")
        .at(1)
        .queue("B")
        .deliver("B")
        .outcome("B")
    ),
    "browsed twice": (
        Story()
        .sender("A")
        .receiver("C", source="distribution-mode=:copy", name="br")
        .publish("A")
        .answer("A")
        .deliver("C", name="br")
        .outcome("C")
        .detach("C", "br")
        .receiver("C", source="distribution-mode=:copy", name="br2")
        .deliver("C", name="br2")
        .outcome("C")
    ),
    "equal messages without ids, one more from before": (
        Story()
        .sender("A")
        .publish("A", "")
        .answer("A")
        .publish("A", "")
        .answer("A")
        .at(1)
        .queue("B")
        .deliver("B", "")
        .outcome("B")
        .deliver("B", "")
        .outcome("B")
        .deliver("B", "")
        .outcome("B")
    ),
    "a message from before with the id of one that is published": (
        Story()
        .sender("A")
        .publish("A", body='data(b"new")')
        .answer("A")
        .queue("B")
        .deliver("B", body='data(b"old")')
        .outcome("B")
        .deliver("B", body='data(b"new")')
        .outcome("B")
    ),
    "more messages than were asked for with drain": (
        two()
        .publish("A", "m3")
        .answer("A")
        .at(1)
        .queue("B", credit=0)
        .flow("B", "r", 2, more="drain=true")
        .deliver("B", "m1")
        .outcome("B")
        .deliver("B", "m2")
        .outcome("B")
        .at(4)
        .flow("B", "r", 0, count=2, by="server", more="drain=true")
    ),
    "nothing left, it has failed too often": (
        once(queue=True)
        .outcome("B", BACK)
        .deliver("B", header="delivery-count=1")
        .outcome("B", BACK)
        .at(3)
        .drain("B", count=2, credit=8)
    ),
    "a message that comes again when its consumer ends the session": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .add("B", "client: end[0]")
        .deliver("C", header="delivery-count=1")
        .add("B", "server: end[0]")
    ),
    "a message that comes again when its consumer closes": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .add("B", "client: close")
        .deliver("C", header="delivery-count=1")
        .add("B", "server: close")
    ),
    "a consumer that is cancelled, and acknowledges then": (
        lines(confirming().basic_publish("A").ack("A", 1, "server").basic_deliver("B"), "B", CANCEL)
        .ack("B", 1)
        .at(3)
        .add("B", 'client: basic.get[1] queue="q"')
        .add("B", "server: basic.get-empty[1]")
    ),
    "nothing left on an exclusive queue that was made again": (
        lines(
            lines(Story().confirms("A").channel("B"), "B", OWN_QUEUE)
            .basic_publish("A")
            .ack("A", 1, "server")
            .add("B", "client: RST")
            .at(3)
            .channel("C"),
            "C",
            (*OWN_QUEUE, 'client: basic.get[1] queue="q"', "server: basic.get-empty[1]"),
        )
    ),
    "an exclusive queue whose connection is closed": (
        lines(
            lines(Story().channel("A").channel("B"), "A", OWN_QUEUE + CLOSE),
            "B",
            OWN_QUEUE,
        )
    ),
    "equal messages without ids": (
        through(queue=True)
        .publish("A", "")
        .answer("A")
        .publish("A", "")
        .answer("A")
        .deliver("B", "")
        .outcome("B")
        .deliver("B", "")
        .outcome("B")
    ),
    "equal messages without ids, one of them released": (
        through(queue=True)
        .publish("A", "")
        .answer("A")
        .publish("A", "")
        .answer("A")
        .deliver("B", "")
        .outcome("B", "released()")
        .deliver("B", "")
        .outcome("B")
        .deliver("B", "")
        .outcome("B")
    ),
    "equal messages without ids on a topic": (
        competing()
        .publish("A", "")
        .answer("A")
        .publish("A", "")
        .answer("A")
        .deliver("B", "")
        .deliver("B", "")
        .deliver("C", "")
        .deliver("C", "")
    ),
    "a message from before like the one that is published": (
        Story()
        .sender("A")
        .publish("A", "")
        .answer("A")
        .at(1)
        .queue("B")
        .deliver("B", "")
        .outcome("B", settled=False)
        .confirm("B")
        .deliver("B", "")
        .outcome("B")
    ),
    "messages from before, then a new one": (
        Story()
        .sender("A")
        .queue("B")
        .deliver("B", "old1")
        .outcome("B")
        .deliver("B", "old2")
        .publish("A")
        .answer("A")
        .deliver("B")
    ),
    "a message from before that fails": (
        Story()
        .queue("B")
        .deliver("B", "old1", header="delivery-count=3")
        .outcome("B", "modified(delivery-failed=true)")
        .deliver("B", "old1", header="delivery-count=4")
    ),
    "more priority overtakes": (
        Story()
        .sender("A")
        .publish("A", "m1")
        .publish("A", "m2", header="priority=9")
        .answer("A", first=0)
        .answer("A", first=1)
        .at(1)
        .queue("B")
        .deliver("B", "m2", header="priority=9")
        .deliver("B", "m1")
    ),
    "more priority comes too late": (
        through(queue=True)
        .publish("A", "m1", header="priority=1")
        .answer("A")
        .deliver("B", "m1", header="priority=1")
        .publish("A", "m2", header="priority=9")
        .answer("A")
        .deliver("B", "m2", header="priority=9")
    ),
    "less priority before the broker had the other": (
        through(queue=True)
        .publish("A", "m1", header="priority=9")
        .publish("A", "m2", header="priority=1")
        .deliver("B", "m2", header="priority=1")
        .deliver("B", "m1", header="priority=9")
        .answer("A", first=0)
        .answer("A", first=1)
    ),
    "nothing left, another consumer had it": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("C")
        .outcome("C")
        .at(3)
        .drain("B", count=0, credit=10)
    ),
    "nothing left, another consumer has it": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("C")
        .at(3)
        .drain("B", count=0, credit=10)
    ),
    "nothing left, it has expired": (
        through(queue=True)
        .publish("A", header="ttl=100")
        .answer("A")
        .at(3)
        .drain("B", count=0, credit=10)
    ),
    "nothing yet, it comes later": (
        through(queue=True)
        .publish("A")
        .answer("A")
        .at(3)
        .drain("B", count=0, credit=10)
        .flow("B", "r", 5, count=10)
        .at(4)
        .deliver("B")
    ),
    "nothing that fits the filter": (
        Story()
        .sender("A")
        .receiver("B", source='filter={:sel=@:apache.org:selector-filter:string "a=1"}')
        .publish("A")
        .answer("A")
        .at(3)
        .drain("B", count=0, credit=10)
    ),
    "nothing left, it was published without an answer": (
        through(queue=True).publish("A", more="settled=true").at(3).drain("B", count=0, credit=10)
    ),
    "nothing left, it was refused": (
        through(queue=True)
        .publish("A")
        .answer("A", "rejected()")
        .at(3)
        .drain("B", count=0, credit=10)
    ),
    "nothing left, it was released and went to another": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", "released()")
        .deliver("C")
        .outcome("C")
        .at(3)
        .drain("B", count=1)
    ),
    "nothing left for whom it cannot be delivered to": (
        once(queue=True).outcome("B", "modified(undeliverable-here=true)").at(3).drain("B", count=1)
    ),
    "nothing left, it was rejected": (
        once(queue=True).outcome("B", "rejected()").at(3).drain("B", count=1)
    ),
    "nothing left, it was moved after it failed": (
        Story()
        .sender("A")
        .queue("B")
        .queue("C", "dlq")
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", "modified(delivery-failed=true)")
        .at(1)
        .deliver("C", annotations=":x-opt-deaths=1")
        .at(3)
        .drain("B", count=1)
    ),
    "nothing on another node": (
        Story()
        .sender("A")
        .queue("B", "z")
        .publish("A")
        .answer("A")
        .at(3)
        .drain("B", count=0, credit=10)
    ),
    "nothing left, its transaction was rolled back": (
        Story()
        .transact("A")
        .sender("A")
        .queue("B")
        .publish("A", more='state=transactional-state(txn-id=b"t")')
        .discharge("A", "true")
        .answer("A")
        .at(3)
        .drain("B", count=0, credit=10)
    ),
    "a topic that nobody had subscribed to": (
        Story()
        .sender("A", "t")
        .publish("A")
        .answer("A")
        .at(3)
        .receiver("B", "t")
        .at(6)
        .drain("B", count=0, credit=10)
    ),
    "a router that hands on what its consumer says": (
        through().publish("A").deliver("B").outcome("B", "rejected()").answer("A", "rejected()")
    ),
    "a router that hands on a release": (
        through(queue=True)
        .publish("A")
        .deliver("B")
        .outcome("B", "released()")
        .answer("A", "released()")
    ),
    "one of two subscribers rejects": (
        competing()
        .publish("A")
        .deliver("B")
        .deliver("C")
        .outcome("B", "rejected()")
        .outcome("C")
        .answer("A", "rejected()")
    ),
    "committed": (
        Story()
        .transact("A")
        .sender("A")
        .queue("B")
        .publish("A", more='state=transactional-state(txn-id=b"t")')
        .discharge("A")
        .answer("A")
        .deliver("B")
        .outcome("B")
    ),
    "committed, and the answer comes later": (
        Story()
        .transact("A")
        .sender("A")
        .queue("B")
        .publish("A", more='state=transactional-state(txn-id=b"t")')
        .discharge("A")
        .deliver("B")
        .answer("A")
        .outcome("B")
    ),
    "rolled back, and published again": (
        Story()
        .transact("A")
        .sender("A")
        .queue("B")
        .publish("A", more='state=transactional-state(txn-id=b"t")')
        .discharge("A", "true")
        .answer("A")
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B")
    ),
    "aborted, and sent again": (
        through()
        .publish("A", more="more=true")
        .add("A", "client: transfer[0] handle=0 more=false aborted=true")
        .publish("A")
        .answer("A")
        .deliver("B")
    ),
    "cut off, and sent again": (
        through()
        .publish("A", more="more=true")
        .add("A", "client: RST")
        .at(1)
        .sender("C")
        .publish("C")
        .answer("C")
        .deliver("B")
    ),
    "aborted, and sent again on another connection": (
        through()
        .publish("A", more="more=true")
        .add("A", "client: transfer[0] handle=0 more=false aborted=true")
        .sender("C")
        .publish("C")
        .answer("C")
        .deliver("B")
    ),
    "a ttl that is what is left": (
        Story()
        .sender("A")
        .publish("A", header="ttl=60000")
        .answer("A")
        .at(10)
        .queue("B")
        .deliver("B", header="ttl=49990")
    ),
    "a ttl where there was none": (changed({}, {"header": "ttl=1000"})),
    "an annotation more": (changed({}, {"annotations": ":x-opt-z=1"})),
    "a header with the defaults": (
        changed({}, {"header": "durable=false priority=4 delivery-count=0 first-acquirer=true"})
    ),
    "two producers that count alike": (
        Story()
        .sender("A")
        .sender("C")
        .queue("B")
        .publish("A", "1")
        .answer("A")
        .publish("C", "1", body='data(b"other")')
        .answer("C")
        .deliver("B", "1")
        .deliver("B", "1", body='data(b"other")')
    ),
    "an answer to its request": (
        Story()
        .sender("A")
        .receiver("A", "answers")
        .publish("A", properties='reply-to="answers"')
        .answer("A")
        .receiver("B")
        .sender("B", "answers")
        .deliver("B", properties='reply-to="answers"')
        .publish("B", "r1", properties='correlation-id="m1"')
        .answer("B")
        .deliver("A", "r1", properties='correlation-id="m1"')
    ),
    "an answer with the correlation-id of its request": (
        Story()
        .sender("A")
        .publish("A", properties='reply-to="answers" correlation-id="c9"')
        .answer("A")
        .sender("B", "answers")
        .publish("B", "r1", properties='correlation-id="c9"')
        .answer("B")
    ),
    "a no-local filter that the broker does not have": (
        Story()
        .sender("A")
        .receiver(
            "A",
            source="filter={:no-local=@:apache.org:no-local-filter:list []}",
            reply='address="q"',
        )
        .publish("A")
        .answer("A")
        .deliver("A")
    ),
    "a group that two consumers share": (
        competing(queue=True)
        .publish("A", "m1", properties='group-id="g"')
        .publish("A", "m2", properties='group-id="g"')
        .answer("A", first=0)
        .answer("A", first=1)
        .deliver("B", "m1", properties='group-id="g"')
        .deliver("C", "m2", properties='group-id="g"')
    ),
    "a restart after which a message is gone that was not durable": (
        through(queue=True)
        .publish("A")
        .at(0.5)
        .answer("A")
        .at(1)
        .add("A", "server: RST")
        .add("B", "server: RST")
        .at(4)
        .queue("C")
        .at(6)
        .drain("C", count=0, credit=10)
    ),
    "a restart after which a durable message is there": (
        through(queue=True)
        .publish("A", header="durable=true")
        .answer("A")
        .at(1)
        .add("A", "server: RST")
        .add("B", "server: RST")
        .at(4)
        .queue("C")
        .deliver("C", header="durable=true")
        .outcome("C")
        .at(6)
        .drain("C", count=1)
    ),
    "a restart before the broker has read the outcome": (
        through(queue=True)
        .publish("A", header="durable=true")
        .answer("A")
        .deliver("B", header="durable=true")
        .outcome("B")
        .at(1)
        .add("A", "server: RST")
        .add("B", "server: RST")
        .at(4)
        .queue("C")
        .deliver("C", header="durable=true delivery-count=1")
        .outcome("C")
    ),
    "a lock that is over": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .at(31)
        .deliver("C", header="delivery-count=1")
    ),
    "a shared node of which one consumer goes": (
        shared()
        .publish("A")
        .answer("A")
        .deliver("B")
        .detach("B")
        .deliver("C", header="delivery-count=1")
    ),
    "an outcome that the broker has not read": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", settled=False)
        .add("B", "client: FIN")
        .at(1)
        .deliver("C", header="delivery-count=1")
    ),
    "a stream that is read twice, from an offset": (
        Story()
        .sender("A")
        .publish("A")
        .answer("A")
        .at(1)
        .receiver("B", source='filter={:off=@:rabbitmq:stream-offset-spec "first"}')
        .deliver("B", annotations=":x-stream-offset=0")
        .outcome("B", settled=False)
        .confirm("B")
        .at(2)
        .receiver("C", source='filter={:off=@:rabbitmq:stream-offset-spec "first"}')
        .deliver("C", annotations=":x-stream-offset=0")
    ),
    "a log that is read twice": (
        Story()
        .sender("A")
        .publish("A")
        .answer("A")
        .at(1)
        .receiver("B")
        .deliver("B", annotations=':x-opt-offset="0"')
        .outcome("B", settled=False)
        .confirm("B")
        .at(2)
        .receiver("C")
        .deliver("C", annotations=':x-opt-offset="0"')
    ),
    "0-9 nack requeue marked": (
        confirming()
        .basic_publish("A")
        .ack("A", 1, "server")
        .basic_deliver("B")
        .add("B", "client: basic.nack[1] delivery-tag=1 requeue=true")
        .basic_deliver("B", redelivered="true")
        .ack("B", 2)
    ),
    "0-9 conn lost marked": (
        confirming()
        .basic_publish("A")
        .ack("A", 1, "server")
        .basic_deliver("B")
        .add("B", "client: RST")
        .at(1)
        .consume("C")
        .basic_deliver("C", redelivered="true")
        .ack("C", 1)
    ),
    "0-9 dead letter": (
        confirming()
        .basic_publish("A")
        .ack("A", 1, "server")
        .basic_deliver("B")
        .add("B", "client: basic.reject[1] delivery-tag=1 requeue=false")
        .consume("C", "dlq")
        .basic_deliver("C", key="dlq", properties="headers={x-death=[]}")
    ),
    "0-9 fanout": (
        Story(product="RabbitMQ")
        .confirms("A")
        .consume("B", "q1")
        .consume("C", "q2")
        .basic_publish("A", exchange="amq.fanout", key="k")
        .ack("A", 1, "server")
        .basic_deliver("B", key="k")
        .basic_deliver("C", key="k")
        .ack("B", 1)
        .ack("C", 1)
    ),
    "0-9 priority overtakes": (
        Story(product="RabbitMQ")
        .confirms("A")
        .basic_publish("A", "m1")
        .basic_publish("A", "m2", properties="priority=9")
        .ack("A", 1, "server")
        .ack("A", 2, "server")
        .consume("B")
        .basic_deliver("B", "m2", properties="priority=9")
        .basic_deliver("B", "m1")
    ),
    "0-9 get-empty after consumed": (
        confirming()
        .basic_publish("A")
        .ack("A", 1, "server")
        .basic_deliver("B")
        .ack("B", 1)
        .at(3)
        .channel("C")
        .add("C", 'client: basic.get[1] queue="q"')
        .add("C", "server: basic.get-empty[1]")
    ),
    "0-9 get-empty after purge": (
        Story(product="RabbitMQ")
        .confirms("A")
        .basic_publish("A")
        .ack("A", 1, "server")
        .channel("B")
        .add("B", 'client: queue.purge[1] queue="q"')
        .add("B", "server: queue.purge-ok[1] message-count=1")
        .at(3)
        .add("B", 'client: basic.get[1] queue="q"')
        .add("B", "server: basic.get-empty[1]")
    ),
    "0-9 get-empty max-length": (
        Story(product="RabbitMQ")
        .confirms("A")
        .add("A", 'client: queue.declare[1] queue="q" arguments={x-max-length=1}')
        .add("A", 'server: queue.declare-ok[1] queue="q"')
        .basic_publish("A")
        .ack("A", 1, "server")
        .basic_publish("A", "m2")
        .ack("A", 2, "server")
        .channel("B")
        .at(3)
        .add("B", 'client: basic.get[1] queue="q"')
        .add("B", "server: basic.get-empty[1]")
    ),
    "0-9 returned, not delivered": (
        Story(product="RabbitMQ")
        .confirms("A")
        .basic_publish("A", more="mandatory=true")
        .add("A", 'server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" routing-key="q"')
        .add("A", 'server: content-header[1] class=basic body-size=2 message-id="m1"')
        .add("A", 'server: content-body[1] "aa"')
        .ack("A", 1, "server")
    ),
    "0-9 reply-to direct": (
        confirming()
        .basic_publish("A", properties='reply-to="amq.rabbitmq.reply-to"')
        .ack("A", 1, "server")
        .basic_deliver("B", properties='reply-to="amq.rabbitmq.reply-to.g1"')
    ),
    "0-9 tx commit": (
        Story(product="RabbitMQ")
        .channel("A", "client: tx.select[1]\nserver: tx.select-ok[1]\n")
        .consume("B")
        .basic_publish("A")
        .add("A", "client: tx.commit[1]")
        .add("A", "server: tx.commit-ok[1]")
        .basic_deliver("B")
    ),
    "cross: 0-9 pub, 1.0 consumer drained": (
        Story(product="RabbitMQ")
        .confirms("A")
        .queue("B")
        .basic_publish("A", body="hello")
        .ack("A", 1, "server")
        .deliver("B", body='data(b"hello")')
        .outcome("B")
        .at(3)
        .drain("B", count=1)
    ),
    "cross no id": (
        Story(product="RabbitMQ")
        .confirms("A")
        .queue("B")
        .basic_publish("A", "", body="hello")
        .ack("A", 1, "server")
        .basic_publish("A", "", body="hello")
        .ack("A", 2, "server")
        .deliver("B", "", body='data(b"hello")')
        .outcome("B")
        .deliver("B", "", body='data(b"hello")')
        .outcome("B")
        .at(3)
        .drain("B", count=2, credit=8)
    ),
    "cross 1.0 pub ids, same body, 0-9 consumer": (
        Story(product="RabbitMQ")
        .sender("A")
        .consume("B")
        .publish("A", "m1", body='data(b"aa")')
        .answer("A")
        .publish("A", "m2", body='data(b"aa")')
        .answer("A")
        .basic_deliver("B", "m1")
        .ack("B", 1)
        .basic_deliver("B", "m2")
        .ack("B", 2)
        .at(3)
        .channel("C")
        .add("C", 'client: basic.get[1] queue="q"')
        .add("C", "server: basic.get-empty[1]")
    ),
    "cross 1.0 uuid ids differ, same body, 0-9 consumer get-empty": (
        Story(product="RabbitMQ")
        .sender("A")
        .consume("B")
        .publish("A", "message-id=ulong 1", body='data(b"aa")')
        .answer("A")
        .publish("A", "message-id=ulong 2", body='data(b"aa")')
        .answer("A")
        .basic_deliver("B", "")
        .ack("B", 1)
        .basic_deliver("B", "")
        .ack("B", 2)
        .at(3)
        .channel("C")
        .add("C", 'client: basic.get[1] queue="q"')
        .add("C", "server: basic.get-empty[1]")
    ),
    "an outcome that came while the broker ended the session, for a fault in it": (
        competing(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B")
        .add("B", "server: end[0] error=error(condition=:amqp:invalid-field)")
        .add("B", "client: end[0]")
        .add("B", "client: close")
        .add("B", "server: close")
        .at(3)
        .deliver("C", header="delivery-count=1")
        .outcome("C")
    ),
    "an acknowledgement that came while the broker closed the channel, for a fault in it": (
        confirming()
        .consume("C")
        .basic_publish("A")
        .ack("A", 1, "server")
        .basic_deliver("B")
        .ack("B", 1)
        .add(
            "B", 'server: channel.close[1] reply-code=406 reply-text="no" class-id=60 method-id=80'
        )
        .add("B", "client: channel.close-ok[1]")
        .add("B", 'client: connection.close reply-code=200 reply-text="bye"')
        .add("B", "server: connection.close-ok")
        .at(3)
        .basic_deliver("C", redelivered="true")
        .ack("C", 1)
    ),
    "a partition of an event hub that is read again, from where its consumer was": (
        Story()
        .sender("A", HUB)
        .receiver("B", HUB)
        .publish("A")
        .answer("A")
        .deliver("B")
        .outcome("B", settled=False)
        .confirm("B")
        .detach("B")
        .at(2)
        .receiver("B", HUB, name="again")
        .deliver("B", name="again")
        .outcome("B")
    ),
    "nothing left, it was delivered in a format that is not followed": (
        through(queue=True)
        .publish("A")
        .answer("A")
        .deliver("B", more="message-format=2147563264")
        .outcome("B")
        .at(4)
        .drain("B", count=1)
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
@pytest.mark.parametrize("closed_world", [False, True])
def test_nobody_is_accused(story: Story, closed_world: bool) -> None:
    assert play(story.text, closed_world=closed_world).findings == []


def with_hole(text: str, place: int) -> str:
    """The exchange with a hole after one of its lines."""
    lines = text.split("\n")
    where = lines[place].split(":", 1)[0]
    return "\n".join([*lines[: place + 1], f"{where}: GAP", *lines[place + 1 :]])


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_hole_accuses_nobody(story: Story) -> None:
    """A hole after the last thing that each connection said, where a message or an outcome was."""
    last = len(story.lines) - 1
    for place in range(max(0, last - 3), last):
        if not story.lines[place].endswith(("RST", "FIN")):
            text = with_hole(story.text, place)
            assert play(text, closed_world=True).findings == [], text
