"""How messages are recognised and followed over connections, nodes and protocols."""

from __future__ import annotations

import pytest

from amqpscope.insight.journeys import Journeys
from amqpscope.insight.journeys.nodes import target_node
from amqpscope.insight.journeys.profile import profile
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import Envelope, Route, key_of
from amqpscope.model.broker.journey import EXACT, SAME_BODY, SAME_ID, UNMATCHED
from amqpscope.stream.marks import Marks
from kit.broker_story import Story
from kit.exchange_broker import play

OLD_PUBLISH = """
A.client: basic.publish[1] routing-key="q"
A.client: content-header[1] class=basic body-size=2 message-id="m1"
A.client: content-body[1] "aa"
A.server: basic.ack[1] delivery-tag=1
"""
OLD_DELIVER = """
B.server: basic.deliver[1] consumer-tag="t" delivery-tag={tag} routing-key="q" redelivered={again}
B.server: content-header[1] class=basic body-size=2 message-id="m1"
B.server: content-body[1] "aa"
"""


def rules_of(played):
    return [finding.rule for finding in played.findings]


@pytest.mark.parametrize(
    ("product", "address", "exchange", "name", "is_queue"),
    [
        ("RabbitMQ", "/queues/a%2Fb", "", "a/b", True),
        ("RabbitMQ", "/queue/q", "", "q", True),
        ("RabbitMQ", "/amq/queue/q", "", "q", True),
        ("RabbitMQ", "q", "", "q", True),
        ("RabbitMQ", "/exchanges/amq.topic/a.b", "", "exchange amq.topic/a.b", False),
        ("RabbitMQ", "/exchange/amq.default/q", "", "q", True),
        ("RabbitMQ", "/topic/a.b", "", "exchange amq.topic/a.b", False),
        ("RabbitMQ", "k", "amq.direct", "exchange amq.direct/k", False),
        ("", "address::queue", "", "queue", True),
        ("", "/queue/q", "", "/queue/q", False),
        ("", "somewhere", "", "somewhere", False),
    ],
)
def test_addresses_that_mean_one_node(product, address, exchange, name, is_queue):
    broker = Broker("b")
    broker.product = product
    route = Route(address)
    route.exchange = exchange
    node = target_node(broker, route, "")
    assert (node.name, node.is_queue) == (name, is_queue)


def envelope(octets, id="", body=b"", family="amqp-1.0"):
    made = Envelope(family, key_of(octets), id.encode(), octets)
    made.known_body = key_of(body or octets)
    return made


def test_a_message_is_recognised_by_octets_then_id_then_body():
    broker = Broker("b")
    published = broker.publish(envelope(b"one", "string m1", b"body"))
    published.published = 1
    assert broker.find(envelope(b"one", "string m1")) == (published, EXACT)
    assert broker.find(envelope(b"other", "string m1")) == (published, SAME_ID)
    assert broker.find(envelope(b"body", family="amqp-0-9-1")) == (published, SAME_BODY)
    assert broker.find(envelope(b"body"))[1] == UNMATCHED


def test_an_id_that_two_messages_have_recognises_neither():
    broker = Broker("b")
    for octets in (b"one", b"two"):
        broker.publish(envelope(octets, "string m1")).published = 1
    assert broker.find(envelope(b"three", "string m1"))[1] == UNMATCHED


def test_long_messages_are_known_by_a_digest():
    assert key_of(bytes(1000)) != key_of(bytes(1001))
    assert len(key_of(bytes(1_000_000))) < 64


def test_settled_messages_are_forgotten_and_still_counted():
    """Memory does not grow with the number of messages."""
    text = "".join(
        f"""
        A.client: transfer[0] handle=0 delivery-id={n} delivery-tag=b"{n}" settled=true
                  | properties(message-id="m{n}") data(b"x")
        B.server: transfer[0] handle=0 delivery-id={n} delivery-tag=b"{n}" settled=true
                  | properties(message-id="m{n}") data(b"x")
        """
        for n in range(10)
    )
    played = play(text, "through")
    [broker] = played.journeys.brokers.values()
    assert broker.facts["delivered"] == 10
    assert len(broker.exact) == 10
    broker.window = 3
    for journey in list(broker.exact.values()):
        journey.queued = False
        broker.finish(journey)
    assert len(broker.exact) <= 4
    assert broker.facts["delivered"] == 10


def published(broker, number):
    made = envelope(b"%06d" % number, f"string m{number}")
    journey = broker.publish(made)
    journey.published = 1
    return made


def test_of_too_many_messages_that_nobody_gets_the_oldest_are_forgotten():
    broker = Broker("b", backlog=100)
    made = [published(broker, number) for number in range(1000)]
    assert 70 <= len(broker.exact) <= 100
    assert broker.forgotten == 1000 - len(broker.exact)
    assert broker.find(made[-1])[1] == EXACT
    assert broker.find(made[0])[1] == UNMATCHED
    for number in range(1000, 2000):
        published(broker, number)
    assert len(broker.ids) <= len(broker.exact)


LONG = """
A.client: transfer[0] handle=0 delivery-id={n} delivery-tag=b"{n}"
          | header(durable=true) properties(message-id="m{n}") data(b"{body}")
A.server: disposition[0] role=receiver first={n} settled=true state=accepted()
"""
GOT = """
B.server: transfer[0] handle=0 delivery-id={n} delivery-tag=b"{n}"
          | header(durable=true delivery-count=1) properties(message-id="m{n}") data(b"{body}")
B.client: disposition[0] role=receiver first={n} settled=true state=accepted()
"""


def test_of_messages_that_are_over_no_application_data_is_kept():
    body = "x" * 1500
    played = play("".join(each.format(n=n, body=body) for n in range(3) for each in (LONG, GOT)),
                  "through")  # fmt: skip
    [broker] = played.journeys.brokers.values()
    for journey in broker.exact.values():
        assert journey.octets < 200
        for leg in journey.legs:
            assert leg.envelope.sections == b"\x70\x73\x75"
            assert leg.envelope.open().durable
            assert leg.envelope.body_key == journey.envelope.body_key
    assert broker.held == sum(journey.octets for journey in broker.exact.values())
    assert broker.find(journey.envelope) == (journey, EXACT)


def test_what_a_broker_does_to_all_headers_is_counted_for_each():
    text = "".join(each.format(n=n, body=n) for n in range(12) for each in (LONG, GOT))
    [broker] = play(text, "through").journeys.brokers.values()
    assert broker.facts["published"] == broker.facts["delivered"] == 12
    assert len(broker.changes) == 1


def test_every_message_with_a_wrong_count_is_reported():
    text = "".join(each.format(n=n, body=n) for n in range(12) for each in (LONG, GOT))
    assert rules_of(play(text, "through", closed_world=True)) == ["BRK-112"] * 12


def test_a_connection_that_is_over_leaves_none_of_its_model_behind():
    text = (
        LONG.format(n=0, body="x")
        + """
    A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" | data(b"y")
    A.client: FIN
    A.server: FIN
    """
    )
    [broker] = (played := play(text, "through")).journeys.brokers.values()
    assert len(broker.exact) == 2
    legs = [leg for journey in broker.exact.values() for leg in journey.legs]
    assert [leg.lane.anchor.holder for leg in legs] == [None, None]
    assert len(played.journeys.parties) == len(played.journeys.witnesses.known) == 2


def test_a_queue_of_0_9_1_is_followed_from_confirm_to_ack():
    played = play(OLD_PUBLISH + OLD_DELIVER.format(tag=1, again="false") + """
    B.client: basic.ack[1] delivery-tag=1
    """, "confirming")  # fmt: skip
    assert rules_of(played) == []
    [broker] = played.journeys.brokers.values()
    found = profile(broker)
    assert found.counts["publish accepted"] == 1
    assert found.counts["delivery accepted"] == 1
    assert [(way.source, way.target) for way in found.ways] == [("q", "q")]
    assert found.ledgers == []
    assert found.modes == {"publisher confirms -> on": 1}


def test_the_profile_has_the_modes_that_clients_asked_for_and_got():
    story = Story().attach(
        "A", "receiver", "r", 'address="q" distribution-mode=:copy', "", reply='address="q"'
    )
    story.attach("A", "sender", "s", "", 'address="q"', more="rcv-settle-mode=second")
    [broker] = play(story.text).journeys.brokers.values()
    assert profile(broker).modes == {
        "distribution-mode copy -> not stated": 1,
        "rcv-settle-mode first -> first": 1,
        "rcv-settle-mode second -> second": 1,
        "snd-settle-mode mixed -> mixed": 2,
    }


@pytest.mark.parametrize(("again", "expected"), [("false", ["A09-BAS-28"]), ("true", [])])
def test_what_was_requeued_is_marked_as_redelivered(again, expected):
    played = play(OLD_PUBLISH + OLD_DELIVER.format(tag=1, again="false") + """
    B.client: basic.nack[1] delivery-tag=1 requeue=true
    """ + OLD_DELIVER.format(tag=2, again=again), "confirming")  # fmt: skip
    assert rules_of(played) == expected


def test_the_order_of_one_channel_is_kept_on_the_way_to_another_connection():
    def publish(id):
        return f"""
        A.client: basic.publish[1] routing-key="q"
        A.client: content-header[1] class=basic body-size=1 message-id="{id}"
        A.client: content-body[1] "a"
        """

    def deliver(tag, id):
        return f"""
        B.server: basic.deliver[1] consumer-tag="t" delivery-tag={tag} routing-key="q"
        B.server: content-header[1] class=basic body-size=1 message-id="{id}"
        B.server: content-body[1] "a"
        """

    kept = publish("m1") + publish("m2") + deliver(1, "m1") + deliver(2, "m2")
    broken = publish("m1") + publish("m2") + deliver(1, "m2") + deliver(2, "m1")
    assert rules_of(play(kept, "confirming")) == []
    assert rules_of(play(broken, "confirming")) == ["A09-BAS-37"]


def test_what_is_published_in_a_transaction_waits_for_its_commit():
    def talk(commit):
        return f"""
        A.client: tx.select[1]
        A.server: tx.select-ok[1]
        A.client: basic.publish[1] routing-key="q"
        A.client: content-header[1] class=basic body-size=2 message-id="m1"
        A.client: content-body[1] "aa"
        {commit}
        """ + OLD_DELIVER.format(tag=1, again="false")

    scene = "publishing"
    assert rules_of(play(talk("A.client: tx.commit[1]"), scene)) == []
    assert rules_of(play(talk(""), scene)) == ["A09-TX-07"]
    assert rules_of(play(talk("A.client: tx.rollback[1]"), scene)) == ["A09-TX-07"]


def test_a_message_is_followed_from_1_0_to_0_9_1():
    played = play("""
    A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" | data(b"aa")
    A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
    B.server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
    B.server: content-header[1] class=basic body-size=2
    B.server: content-body[1] "aa"
    """, "mixed")  # fmt: skip
    assert rules_of(played) == []
    [broker] = played.journeys.brokers.values()
    assert broker.facts["recognised by the same body"] == 1


def test_one_name_on_two_virtual_hosts_is_two_queues():
    other = """
    C.client: basic.consume[1] queue="q" consumer-tag="t"
    C.server: basic.consume-ok[1] consumer-tag="t"
    C.server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
    C.server: content-header[1] class=basic body-size=2 message-id="m1"
    C.server: content-body[1] "aa"
    """
    text = OLD_PUBLISH + OLD_DELIVER.format(tag=1, again="false") + other
    assert rules_of(play(text, "confirming")) == ["BRK-116"]
    assert rules_of(play(text, "hosts")) == []


DECLARED = """
B.client: queue.declare[1] queue="orders" durable=true exclusive={exclusive}
          arguments={{x-max-length=5}}
B.server: queue.declare-ok[1] queue="orders"
{between}
C.client: queue.declare[1] queue="orders" durable={durable} arguments={{x-max-length=5}}
C.server: queue.declare-ok[1] queue="orders"
"""


@pytest.mark.parametrize(
    ("exclusive", "durable", "between", "expected"),
    [
        ("false", "true", "", []),
        ("false", "false", "", ["A09-QUE-06"]),
        ("true", "true", "", ["A09-QUE-05"]),
        ("true", "true", "B.client: FIN", []),
        ("false", "false", 'B.client: queue.delete[1] queue="orders"', []),
    ],
)
def test_two_connections_agree_on_a_queue(exclusive, durable, between, expected):
    text = DECLARED.format(exclusive=exclusive, durable=durable, between=between)
    assert rules_of(play(text, "confirming")) == expected
    assert rules_of(play(text, "hosts")) == []


def test_two_connections_agree_on_the_type_of_an_exchange():
    text = """
    B.client: exchange.declare[1] exchange="x" type="topic"
    B.server: exchange.declare-ok[1]
    C.client: exchange.declare[1] exchange="x" type="direct"
    """
    [finding] = play(text, "confirming").findings
    assert (finding.rule, finding.peer, finding.certainty) == ("A09-EXC-03", "client", "suspect")
    assert finding.related_connections == (2,)


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("", ["A09-BAS-34"]),
        ("B.client: FIN", []),
        ("""B.client: basic.cancel[1] consumer-tag="u"
        B.server: basic.cancel-ok[1] consumer-tag="u" """, []),
    ],
)  # fmt: skip
def test_an_only_consumer_is_the_only_one_on_all_connections(between, expected):
    text = f"""
    B.client: basic.consume[1] queue="p" consumer-tag="u" exclusive=true
    B.server: basic.consume-ok[1] consumer-tag="u"
    {between}
    C.client: basic.consume[1] queue="p" consumer-tag="t"
    C.server: basic.consume-ok[1] consumer-tag="t"
    """
    assert rules_of(play(text, "confirming")) == expected


def test_what_a_fault_of_a_proxy_made_is_not_followed():
    def mark(connection):
        connection.marks = Marks()

    text = OLD_PUBLISH + OLD_DELIVER.format(tag=1, again="false")
    played = play(text, "confirming", prepare=mark)
    [broker] = played.journeys.brokers.values()
    assert broker.facts["not followed"] == 2
    assert broker.facts["published"] == 0


def test_a_refusal_that_comes_after_the_delivery_is_noticed_too():
    text = """
    A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
              | properties(message-id="m1") data(b"x")
    B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
              | properties(message-id="m1") data(b"x")
    A.server: disposition[0] role=receiver first=0 settled=true state=rejected()
    """
    [finding] = play(text, "through").findings
    assert (finding.rule, finding.connection) == ("BRK-124", 2)


def test_steps_without_messages_leave_nothing_behind():
    journeys = Journeys()
    assert journeys.finish() == []
    assert journeys.brokers == {}


GENERATED = """
A.client: queue.declare[1] exclusive=true
A.server: queue.declare-ok[1] queue="amq.gen-1"
C.client: queue.declare[1] exclusive=true
C.server: queue.declare-ok[1] queue="amq.gen-{0}"
"""
DELETED = """
C.client: queue.delete[1] queue="q" if-unused={0}
C.server: {1}
"""
UNBOUND = """
A.client: basic.publish[1] routing-key="{0}" mandatory=true
A.client: content-header[1] class=basic body-size=0
A.server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" routing-key="{0}"
A.server: content-header[1] class=basic body-size=0
A.server: basic.ack[1] delivery-tag=1
"""
REFUSED = 'channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED"'


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (GENERATED.format(1), ["A09-QUE-02"]),
        (GENERATED.format(2), []),
        (DELETED.format("true", "queue.delete-ok[1]"), ["A09-QUE-12"]),
        (DELETED.format("false", "queue.delete-ok[1]"), []),
        (DELETED.format("true", REFUSED), []),
        (UNBOUND.format("q"), ["A09-QUE-18"]),
        (UNBOUND.format("other"), []),
        (DELETED.format("false", "queue.delete-ok[1]") + UNBOUND.format("q"), []),
    ],
)
def test_queues_of_other_connections_count(text, rules):
    """B consumes from q, which it has declared."""
    played = play(text, "confirming")
    assert rules_of(played) == rules
    assert {finding.severity for finding in played.findings} <= {"warning"}
    assert {finding.peer for finding in played.findings} <= {"server"}
