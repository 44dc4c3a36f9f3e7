"""Messages that come back to the connection that published them (A09-FRM, A09-BAS, A09-TX).

A message is known again by its message-id and body. Nothing forbids two messages with the same of
both, from two publishers, so that nothing here is ever sure.
"""

from __future__ import annotations

from zlib import crc32

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.connection import Sample
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.values import Table


def published(event: Event) -> Sample | None:
    """What the client published under the message-id of what the server delivers."""
    content = event.content
    header = None if content is None else content.header
    if event.peer != SERVER or header is None or event.message is None:
        return None
    sample = event.connection.samples.get(str(header.get("message-id")))
    if sample is None or sample.again or not event.knew(sample.mark):
        return None
    return None if event.kinds & kinds.ENTANGLED else sample


def same(event: Event, sample: Sample) -> bool:
    """Whether the body is the one that was published."""
    body = event.message
    return body is not None and (sample.size, sample.digest) == (len(body), crc32(body))


def came_back(event: Event) -> Sample | None:
    """What the client published, if it is just this that is delivered."""
    sample = published(event)
    return sample if sample is not None and same(event, sample) else None


@rule("A09-FRM-52", "3.1.1", MUST, WARNING, on="identified")
def content_changed_by_server(event: Event, report: Reporter) -> None:
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
    sample = published(event)
    if sample is None or event.content is None or event.content.header is None:
        return
    if not same(event, sample):
        name = event.content.header.get("message-id")
        text = f"the body of message {name!r} is not the one that was published"
        report.suspect(event, text, "", ((sample.mark, f"published with {sample.size} octets"),))


@rule("A09-BAS-37", "4.7", MUST, WARNING, on="identified")
def path_order_broken(event: Event, report: Reporter) -> None:
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
    sample, delivery, content = came_back(event), event.delivery, event.content
    if sample is None or sample.ranked or delivery is None or delivery.redelivered:
        return
    publish, consumer = sample.publish, delivery.consumer
    if publish is None or consumer is None or content is None or content.header is None:
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


@rule("A09-BAS-38", "no-local", MUST, INFO, on="identified", default=False)
def no_local_ignored(event: Event, report: Reporter) -> None:
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
    sample, delivery = came_back(event), event.delivery
    consumer = None if delivery is None else delivery.consumer
    if sample is not None and consumer is not None and consumer.no_local:
        text = f"consumer {consumer.tag!r} has no-local and gets a message of its own connection"
        report.suspect(event, text, "", ((sample.mark, "its publish"), (consumer.mark, "no-local")))


@rule("A09-TX-07", "2.1.2.1", IMPLIED, WARNING, on="identified")
def tx_publish_delivered_early(event: Event, report: Reporter) -> None:
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
    sample = came_back(event)
    work = None if sample is None or sample.publish is None else sample.publish.work
    if sample is None or work is None:
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
