"""Numbers of exchanges and queues in AMQP 0-9."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.insight.statistics import Statistics
from amqpscope.report.stats import connection_lines, stats_object
from kit.talks_v0_9 import TALK


@pytest.fixture
def numbers(recorded):
    """The numbers of a conversation."""

    def gather(text):
        analyzer, gathered = Analyzer(), Statistics()
        with Pieces(str(recorded(text))) as pieces:
            for batch in pieces:
                for piece in batch:
                    for step in analyzer.feed(piece):
                        gathered.take(step)
        return gathered.finish()

    return gather


def test_publishes_are_counted_by_exchange_and_deliveries_by_queue(numbers):
    (connection,) = numbers(TALK)
    found = {link.name: link for link in connection.links}
    exchange, queue = found["exchange amq.topic"], found["queue q"]
    assert (exchange.sender, exchange.deliveries, exchange.bytes) == ("client", 1, 5)
    assert (queue.sender, queue.deliveries, queue.bytes) == ("server", 1, 2)
    assert dict(exchange.outcomes) == {"confirmed": 1}
    assert dict(queue.outcomes) == {"acked": 1}
    assert exchange.latency.largest == 500_000_000
    assert queue.latency.largest == 1_000_000_000


def test_a_reached_prefetch_is_a_stall_until_the_ack(numbers):
    (connection,) = numbers(TALK)
    queue = next(link for link in connection.links if link.kind == "queue")
    assert (queue.credit.count, queue.credit.total) == (1, 1_000_000_000)


def test_the_default_exchange_is_counted_by_queue(numbers):
    text = f"""{TALK}
    client: basic.publish[1] routing-key="jobs" mandatory=true
    client: content-header[1] class=basic body-size=0
    server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" routing-key="jobs"
    server: content-header[1] class=basic body-size=0
    server: basic.ack[1] delivery-tag=2
    """
    (connection,) = numbers(text)
    jobs = next(link for link in connection.links if link.address == "jobs")
    assert (jobs.kind, jobs.deliveries, jobs.bytes) == ("queue", 1, 0)
    assert dict(jobs.outcomes) == {"returned": 1, "confirmed": 1}


def test_blocking_stalls_what_is_published(numbers):
    text = f"""{TALK}
    @4s server: connection.blocked reason="disk"
    @7s server: connection.unblocked
    """
    (connection,) = numbers(text)
    exchange = next(link for link in connection.links if link.kind == "exchange")
    assert exchange.credit.longest == 3_000_000_000


def test_the_text_speaks_of_messages_acks_and_prefetch(numbers):
    told = "\n".join(connection_lines(numbers(TALK)[0], 0))
    assert "containers c 1 -> RabbitMQ 3.13.0" in told
    assert "1 message, 1 body frame, 5 B, 1 confirmed" in told
    assert "acked after p50" in told
    assert "prefetch reached once, 1 s in all" in told


def test_objects_say_what_kind_of_place_it_is(numbers):
    links = stats_object("a.pcap", numbers(TALK))["connections"][0]["links"]
    assert [(link["kind"], link["address"]) for link in links] == [
        ("exchange", "amq.topic"),
        ("queue", "q"),
    ]
