"""Consumers: their tags, and what is delivered to them (A09-BAS-01 to 07; 1.1.6.1, 1.1.6.7)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import deliveries as states
from amqpscope.model.v0_9.channel import MAX_GONE, Channel, Request
from amqpscope.model.v0_9.deliveries import Consumer
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import text
from amqpscope.model.v0_9.methods import waits
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method

TAG: Final = "consumer-tag"
CONSUME: Final = "basic.consume"
CONSUME_OK: Final = "basic.consume-ok"
IN_USE: Final = (states.ACTIVE, states.PENDING)
"""States of a consumer whose tag no other can have."""


def asked_tags(channel: Channel) -> list[str]:
    """The tags of consumes that wait for their answers; empty ones are the server's to choose."""
    waiting = [*channel.pending[CLIENT], *channel.unanswered]
    return [text(request.method, TAG) for request in waiting if request.name == CONSUME]


@rule("A09-BAS-01", "1.1.6.2", IMPLIED, WARNING, on="basic.consume-ok", needs="sure")
def consumer_tag_changed(
    event: Event, report: Reporter, method: Method, channel: Channel, request: Request
) -> None:
    """The server takes the consumer tag that the client has chosen.

    The client looks for its consumer under the name that it gave, and drops what comes to another.

    Bad (queue):
        client: basic.consume[1] queue="q" consumer-tag="t"
        server: basic.consume-ok[1] consumer-tag="ctag-1"   # <- A09-BAS-01

    Good (queue):
        client: basic.consume[1] queue="q"
        server: basic.consume-ok[1] consumer-tag="ctag-1"
    """
    said, wanted = text(method, TAG), text(request.method, TAG)
    if said == wanted or not wanted or method.get(TAG) is None:
        return
    # Several consumes may be under way: it may be the answer to another.
    asked = asked_tags(channel)
    if said not in asked and "" not in asked:
        related = ((request.mark, "the consume"),)
        words = f"consume-ok names the consumer {said!r}, the consume asked for {wanted!r}"
        report.sure(event, words, "basic.consume-ok.consumer-tag", related)


@rule("A09-BAS-02", "consume", IMPLIED, WARNING, on="basic.consume-ok")
def generated_consumer_tag_wrong(
    event: Event, report: Reporter, method: Method, channel: Channel, request: Request
) -> None:
    """A tag that the server chooses is not empty, and no other consumer of the channel has it.

    Bad (consuming):
        client: basic.consume[1] queue="q"
        server: basic.consume-ok[1] consumer-tag="t"   # <- A09-BAS-02

    Good (consuming):
        client: basic.consume[1] queue="q"
        server: basic.consume-ok[1] consumer-tag="ctag-1"
    """
    if text(request.method, TAG) or method.get(TAG) is None:
        return
    said, path = text(method, TAG), "basic.consume-ok.consumer-tag"
    if not said:
        report.sure(event, "the server chooses an empty consumer tag", path)
        return
    other = channel.consumers.get(said)
    if other is not None and other.state == states.ACTIVE and channel.sure:
        related = ((other.mark, "the consumer that has it"),)
        report.sure(event, f"the server chooses the tag {said!r}, which is in use", path, related)


@rule(
    "A09-BAS-03", "1.1.6.1, consumer-tag 01", MUST, ERROR, on="basic.consume", needs="client clear"
)
def consumer_tag_in_use(event: Event, report: Reporter, method: Method, channel: Channel) -> None:
    """A new consumer has a tag that no other consumer of the channel has.

    The broker closes the connection with 530. Once a cancel is on its way the tag is free again,
    and so it may be once the client has deleted a queue.

    Bad (consuming):
        client: basic.consume[1] queue="q" consumer-tag="t"   # <- A09-BAS-03

    Good (consuming):
        client: basic.cancel[1] consumer-tag="t"
        client: basic.consume[1] queue="q" consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="t"
        server: basic.consume-ok[1] consumer-tag="t"
    """
    consumer = channel.consumers.get(text(method, TAG))
    if consumer is None or consumer.assumed or consumer.state not in IN_USE:
        return
    words = f"the consumer tag {consumer.tag!r} is in use on this channel"
    related = ((consumer.mark, "the consumer that has it"),)
    proven = not deleted_since(event, consumer)
    report.sure_if(proven, event, words, "basic.consume.consumer-tag", related)


def deleted_since(event: Event, consumer: Consumer) -> bool:
    """The client has deleted a queue since: a consumer of it went without a word."""
    plan = event.connection.dialect.by_name.get("queue.delete")
    mark = None if plan is None else event.connection.ends[CLIENT].sent.get(plan.code)
    return mark is not None and mark.end > consumer.mark.end


@rule("A09-BAS-04", "consume no-wait", IMPLIED, WARNING, on="basic.consume")
def no_wait_consume_without_tag(event: Event, report: Reporter, method: Method) -> None:
    """A consume that wants no answer names its consumer.

    The server says the tag that it has chosen only in its answer, so the client can neither tell
    whose deliveries come nor cancel the consumer.

    Bad (queue):
        client: basic.consume[1] queue="q" no-wait=true   # <- A09-BAS-04

    Good (queue):
        client: basic.consume[1] queue="q" consumer-tag="t" no-wait=true
    """
    if not text(method, TAG) and not waits(method):
        words = "a consume with no-wait and without a tag: the client never learns the tag"
        report.sure(event, words, "basic.consume.consumer-tag")


@rule("A09-BAS-05", "consumer-tag 02", MUST, WARNING, on="basic.cancel", needs="client sure")
def consumer_tag_on_other_channel(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A consumer is cancelled on the channel on which it was made.

    Anywhere else its tag names nothing: the server says cancel-ok, and goes on delivering.

    Bad (consuming):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: basic.cancel[2] consumer-tag="t"   # <- A09-BAS-05

    Good (consuming):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: basic.cancel[1] consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="t"
    """
    tag = text(method, TAG)
    if tag in channel.consumers or tag in channel.gone or len(channel.gone) >= MAX_GONE:
        return
    for number, other in event.connection.channels.items():
        consumer = other.consumers.get(tag)
        if other is not channel and consumer is not None and consumer.state == states.ACTIVE:
            words = f"the consumer {tag!r} belongs to channel {number}, not to this one"
            related = ((consumer.mark, "its consume"),)
            report.sure(event, words, "basic.cancel.consumer-tag", related)
            return


@rule("A09-BAS-06", "1.1.6.7", MUST, ERROR, on="odd-deliver basic.deliver", needs="clear !ahead")
def deliver_to_unknown_consumer(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A message is delivered to a consumer that was made on its channel.

    Bad (consuming):
        server: basic.deliver[1] consumer-tag="u" delivery-tag=1 routing-key="q" # <- A09-BAS-06
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1

    Good (delivered):
        client: basic.ack[1] delivery-tag=1
    """
    tag = text(method, TAG)
    if event.consumer is not None or tag in channel.gone or "" in asked_tags(channel):
        return
    if not readable(event, method):
        return
    words, path = f"there is no consumer {tag!r} on this channel", "basic.deliver.consumer-tag"
    # The client may not know the tag, or it was one of many that are not remembered.
    known = CONSUME_OK not in channel.unawaited and len(channel.gone) < MAX_GONE
    report.sure_if(known, event, words, path)


def readable(event: Event, method: Method) -> bool:
    """The tag, which the oldest draft does not always show, and all of the client were read."""
    return method.get(TAG) is not None and event.partner.damaged is None


@rule("A09-BAS-07", "4.6", MUST, ERROR, on="odd-deliver basic.deliver", needs="clear !ahead")
def deliver_outside_consumer_life(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """Deliveries come after the consume-ok of their consumer, and before its cancel-ok.

    RabbitMQ's streams may deliver before the consume-ok if other requests were under way, so
    that is no error there.

    Bad (consuming):
        client: basic.cancel[1] consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="t"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q" # <- A09-BAS-07
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1

    Good (consuming):
        client: basic.cancel[1] consumer-tag="t"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        server: basic.cancel-ok[1] consumer-tag="t"
        client: basic.ack[1] delivery-tag=1

    Bad (queue):
        client: basic.consume[1] queue="q" consumer-tag="t"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q" # <- A09-BAS-07

    Good (queue):
        client: basic.consume[1] queue="q" consumer-tag="t" no-wait=true
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    consumer = event.consumer
    if not readable(event, method):
        return
    tag, path = text(method, TAG), "basic.deliver.consumer-tag"
    gone = channel.gone.get(tag)
    if consumer is None and gone is not None:
        words = f"a delivery to the consumer {tag!r}, which is gone"
        report.sure(event, words, path, ((gone.gone_mark, "its end"),))
        return
    early = WARNING if event.connection.rabbit else ERROR
    if consumer is not None:
        if consumer.state == states.PENDING and report.once(consumer):
            words = f"a delivery to the consumer {tag!r} before its consume-ok"
            related = ((consumer.mark, "its consume"),)
            report.sure(event, words, path, related, severity=early)
    elif "" in asked_tags(channel):
        words = f"a delivery to the consumer {tag!r} before any consume-ok"
        report.sure(event, words, path, severity=early)
