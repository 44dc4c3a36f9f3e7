"""How much may be under way to a client: basic.qos (A09-BAS-16, 17, 19, 44; 1.1.6.1).

The scope of a limit differs. By the texts it is that of the channel, or with `global` that of the
connection. RabbitMQ's is that of each consumer made after it, or with `global` that of the channel.
For a server that is not known, only what breaks either reading is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.deliveries import Consumer, Delivery, Qos
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ADVISORY, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.channel.replies import ENDS, report_unanswered
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.message import ContentHeader

MANY: Final = 1000
"""Deliveries to a consumer that are not acknowledged, and nothing limits them."""
MUCH: Final = 64 * 1024 * 1024
"""Octets of them."""


class Limit:
    """One limit that holds for a delivery, and how much of it is used."""

    def __init__(self, qos: Qos, unacked: int, of: str, firm: bool) -> None:
        self.qos = qos
        self.unacked = unacked
        """Deliveries that count, without this one."""
        self.of = of
        self.firm = firm
        """It held before anything that counts was asked for."""


def limits(event: Event, channel: Channel, consumer: Consumer) -> Iterator[Limit]:
    """The limits that the server has to keep to for a consumer, under any reading."""
    shared = channel.deliveries.unacked
    for qos in channel.qos:
        if qos.ok_mark is None:
            continue
        firm = qos.mark.end < consumer.mark.end
        if not event.connection.rabbit:
            if firm or event.since(qos.ok_mark) > GRACE:
                yield Limit(qos, consumer.unacked, "the consumer", firm)
        elif qos.everywhere:
            if firm or event.since(qos.ok_mark) > GRACE:
                yield Limit(qos, shared, "the channel", firm and alone(channel, consumer))
        elif qos is consumer.qos:
            yield Limit(qos, consumer.unacked, "the consumer", firm)
    own = consumer.qos
    if own is not None and own not in channel.qos and event.connection.rabbit and own.ok_mark:
        yield Limit(own, consumer.unacked, "the consumer", True)


def alone(channel: Channel, consumer: Consumer) -> bool:
    """No older consumer of the channel is left, to whom deliveries were under way."""
    return all(each.mark.end >= consumer.mark.end for each in channel.consumers.values())


def streams(event: Event, consumer: Consumer) -> bool | None:
    """Whether the queue is a stream, which is sent in chunks; None where nobody said so."""
    arguments = consumer.arguments
    if arguments is not None and arguments.get("x-stream-offset") is not None:
        return True
    queue = event.connection.declared.queues.get(consumer.queue)
    if queue is None or queue.passive:
        return None
    kind = None if queue.arguments is None else queue.arguments.get("x-queue-type")
    return kind == "stream"


ALL_SEEN: Final = "server sure counted !ahead"
"""All that counts was seen, and all acknowledgements that the server has had."""


def countable(event: Event, consumer: Consumer) -> bool:
    """Deliveries to a consumer are acknowledged one by one, and counted for it alone."""
    if consumer.assumed or consumer.no_ack or consumer.again:
        # RabbitMQ counts what is acknowledged by tag, also that of an earlier consumer.
        return False
    return streams(event, consumer) is not True


@rule("A09-BAS-16", "amq_basic_18, qos", MUST, WARNING, on="full basic.deliver", needs=ALL_SEEN)
def prefetch_count_exceeded(
    event: Event, report: Reporter, channel: Channel, consumer: Consumer
) -> None:
    """A server has no more deliveries unacknowledged at a client than that has allowed.

    Bad (limited prefetch-count=1):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q" # <- A09-BAS-16

    Good (consuming):
        client: basic.qos[1] prefetch-count=1
        server: basic.qos-ok[1]
        client: basic.consume[1] queue="q" consumer-tag="u"
        server: basic.consume-ok[1] consumer-tag="u"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: basic.deliver[1] consumer-tag="u" delivery-tag=3 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=3
        server: basic.deliver[1] consumer-tag="u" delivery-tag=4 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    if not countable(event, consumer):
        return
    for limit in limits(event, channel, consumer):
        count = limit.qos.count
        if not count or limit.unacked < count or not report.once(consumer):
            continue
        words = f"{limit.unacked + 1} deliveries of {limit.of} are unacknowledged, {count} at most"
        related = ((limit.qos.mark, "the qos"), (consumer.mark, "the consume"))
        proven = limit.firm and streams(event, consumer) is False
        report.sure_if(proven, event, words, "", related)
        return


@rule("A09-BAS-17", "amq_basic_17, 18", MUST, WARNING, on="full content-header", needs=ALL_SEEN)
def prefetch_size_exceeded(
    event: Event, report: Reporter, header: ContentHeader, channel: Channel, delivery: Delivery
) -> None:
    """What is unacknowledged at a client is no larger than it has allowed, but for one message.

    A single message may be larger than the limit, if it is the only one. RabbitMQ refuses a
    qos with a size.

    Bad (plain_limited prefetch-size=10):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=6
        server: content-body[1] "123456"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=6   # <- A09-BAS-17

    Good (plain_limited prefetch-size=10):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=12
        server: content-body[1] "123456789012"
        client: basic.ack[1] delivery-tag=1
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=6
        server: content-body[1] "123456"
    """
    consumer = delivery.consumer
    if consumer is None or event.unit.faults or consumer.unacked < 2:
        return
    if not countable(event, consumer):
        return
    size = consumer.unacked_bytes + header.body_size
    for limit in limits(event, channel, consumer):
        if limit.qos.size and size > limit.qos.size:
            words = f"{size} octets are unacknowledged, {limit.qos.size} at most"
            related = ((limit.qos.mark, "the qos"), (consumer.mark, "the consume"))
            report.sure_if(limit.firm, event, words, "content-header.body-size", related)
            return


@rule("A09-BAS-19", "qos", IMPLIED, WARNING, on=f"{ENDS} | answers basic.*")
def qos_unanswered(event: Event, report: Reporter) -> None:
    """A qos is answered by qos-ok.

    Bad (queue):
        client: basic.qos[1] prefetch-count=10
        client: basic.consume[1] queue="q" consumer-tag="t"
        server: basic.consume-ok[1] consumer-tag="t"   # <- A09-BAS-19

    Good (queue):
        client: basic.qos[1] prefetch-count=10
        client: basic.consume[1] queue="q" consumer-tag="t"
        server: basic.qos-ok[1]
        server: basic.consume-ok[1] consumer-tag="t"

    Bad (queue):
        client: basic.qos[1] prefetch-count=10   # <- A09-BAS-19
        @60s client: channel.close[1] reply-code=200 reply-text="bye"

    Good (queue):
        client: basic.qos[1] prefetch-count=10
        server: basic.qos-ok[1]
        @60s client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    report_unanswered(event, report, "basic.qos")


@rule("A09-BAS-44", "[RMQ]", ADVISORY, INFO, on="tick frame | finished")
def consumer_without_prefetch(event: Event, report: Reporter) -> None:
    """A client that acknowledges limits how much is sent to it in advance.

    Without a limit a server sends all that it has. A client that is slower than that fills its
    memory, and nobody else gets any of it.

    Bad (delivered body-size=90000000):
        @2s server: heartbeat   # <- A09-BAS-44

    Good (limited):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=90000000
        @2s server: heartbeat
    """
    for channel in event.connection.channels.values():
        if not channel.sure or channel.closing or any(qos.count or qos.size for qos in channel.qos):
            continue
        for consumer in channel.consumers.values():
            count, size = consumer.unacked, consumer.unacked_bytes
            many = not consumer.no_ack and (count >= MANY or size >= MUCH)
            if many and report.once(consumer):
                words = f"no prefetch limit; unacknowledged deliveries: {count}, {size} octets"
                related = ((consumer.mark, "the consume"),)
                report.suspect(event, words, "", related, peer=CLIENT, about=channel.number)
