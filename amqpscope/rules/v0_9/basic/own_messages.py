"""Messages that come back to the connection that published them (A09-FRM, A09-BAS, A09-TX).

A message is known again by its message-id and body. Nothing forbids two messages with the same of
both, from two publishers, so that nothing here is ever sure.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from amqpscope.model.v0_9.connection import Sample
from amqpscope.model.v0_9.content import Content
from amqpscope.model.v0_9.deliveries import Delivery
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import IMPLIED, INFO, MUST, WARNING, Reporter, parameter, rule
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.values import Table

DELIVERED: Final = "server !entangled"


@parameter("published")
def find_published(event: Event) -> Sample | None:
    """What the client published under the message-id of what the server delivers."""
    content = event.content
    header = None if content is None else content.header
    if header is None or event.message is None:
        return None
    sample = event.connection.samples.get(str(header.get("message-id")))
    return None if sample is None or sample.again or not event.knew(sample.mark) else sample


def same(event: Event, sample: Sample) -> bool:
    """Whether the body is the one that was published."""
    body = event.message
    return body is not None and (sample.size, sample.digest) == (len(body), crc32(body))


@parameter("sample")
def find_sample(event: Event) -> Sample | None:
    """What the client published, if it is just this that is delivered."""
    sample = find_published(event)
    return sample if sample is not None and same(event, sample) else None


@rule("A09-FRM-52", "3.1.1", MUST, WARNING, on="identified", needs=DELIVERED)
def content_changed_by_server(
    event: Event, report: Reporter, content: Content, published: Sample
) -> None:
    """A server hands bodies on as they are.

    A message is known again by its message-id, where the client that published it also gets it. If
    two messages have the same one, which nothing forbids, this is wrong.

    Bad (own_message):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=3 message-id="m1"
        server: content-body[1] "bbb"   # <- A09-FRM-52

    Good (own_message):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=2 message-id="m1"
        server: content-body[1] "aa"
    """
    if content.header is not None and not same(event, published):
        name = content.header.get("message-id")
        text = f"the body of message {name!r} is not the one that was published"
        related = ((published.mark, f"published with {published.size} octets"),)
        report.suspect(event, text, "", related)


@rule("A09-BAS-37", "4.7", MUST, WARNING, on="identified", needs=DELIVERED)
def path_order_broken(
    event: Event, report: Reporter, content: Content, delivery: Delivery, sample: Sample
) -> None:
    """Messages of one channel, exchange and key reach a consumer in the order of publishing.

    Those with a priority or a lifetime, those that are redelivered, and those that came through a
    dead-letter or delaying exchange may change places.

    Bad (consuming):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=1 message-id="m1"
        client: content-body[1] "1"
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=1 message-id="m2"
        client: content-body[1] "2"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=1 message-id="m2"
        server: content-body[1] "2"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=1 message-id="m1"
        server: content-body[1] "1"   # <- A09-BAS-37

    Good (consuming):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=1 message-id="m1"
        client: content-body[1] "1"
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=1 message-id="m2"
        client: content-body[1] "2"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=1 message-id="m2"
        server: content-body[1] "2"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 redelivered=true routing-key="q"
        server: content-header[1] class=basic body-size=1 message-id="m1"
        server: content-body[1] "1"
    """
    publish, consumer = sample.publish, delivery.consumer
    if publish is None or consumer is None or content.header is None:
        return
    if sample.ranked or delivery.redelivered:
        return
    if (publish.exchange, publish.routing_key) != (delivery.exchange, delivery.routing_key):
        return
    headers = content.header.get("headers")
    if isinstance(headers, Table) and any(str(name).startswith("x-") for name, _ in headers):
        return
    later = consumer.passed.get(sample.way)
    if later is not None and later.end > sample.mark.end:
        text = "delivered after a message that was published later, by the same way"
        related = ((sample.mark, "its publish"), (later, "the publish of the other"))
        report.suspect(event, text, "", related)


@rule("A09-BAS-38", "no-local", MUST, INFO, on="identified", needs=DELIVERED, default=False)
def no_local_ignored(event: Event, report: Reporter, delivery: Delivery, sample: Sample) -> None:
    """A consumer with no-local does not get what its own connection has published.

    RabbitMQ ignores the bit, so this runs only when it is asked for.

    Bad (own_message no-local=true):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=2 message-id="m1"
        server: content-body[1] "aa"   # <- A09-BAS-38

    Good (own_message no-local=true):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=2 message-id="m2"
        server: content-body[1] "aa"
    """
    consumer = delivery.consumer
    if consumer is not None and consumer.no_local:
        text = f"consumer {consumer.tag!r} has no-local and gets a message of its own connection"
        report.suspect(event, text, "", ((sample.mark, "its publish"), (consumer.mark, "no-local")))


@rule("A09-TX-07", "2.1.2.1", IMPLIED, WARNING, on="identified", needs=DELIVERED)
def tx_publish_delivered_early(event: Event, report: Reporter, sample: Sample) -> None:
    """What is published in a transaction is delivered after its commit, and not at all otherwise.

    Bad (transaction_message):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=2 message-id="m1"
        server: content-body[1] "aa"   # <- A09-TX-07
        client: tx.commit[1]

    Good (transaction_message):
        client: tx.commit[1]
        server: tx.commit-ok[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=2 message-id="m1"
        server: content-body[1] "aa"

    Bad (transaction_message):
        client: tx.rollback[1]
        server: tx.rollback-ok[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=2 message-id="m1"
        server: content-body[1] "aa"   # <- A09-TX-07

    Good (transaction_message):
        client: tx.commit[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=2 message-id="m1"
        server: content-body[1] "aa"
        server: tx.commit-ok[1]
    """
    work = None if sample.publish is None else sample.publish.work
    if work is None:
        return
    # A commit that was missed would excuse it.
    channel = event.connection.channels.get(sample.channel)
    if channel is None or channel.generation != sample.generation or not channel.whole[CLIENT]:
        return
    if work.end is None:
        text = "delivered although the transaction in which it was published is not committed"
        report.suspect(event, text, "", ((sample.mark, "its publish"),))
    elif work.rollback:
        text = "delivered although the transaction in which it was published was rolled back"
        report.suspect(event, text, "", ((sample.mark, "its publish"), (work.end, "the rollback")))
