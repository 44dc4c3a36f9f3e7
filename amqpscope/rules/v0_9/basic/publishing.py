"""Publishing, and what comes back of it (A09-BAS-22 to 26, 42; 1.1.6.5, 1.1.6.6)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.publishes import MAX_RETURNABLE, Publish
from amqpscope.rules.v0_9 import IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v0_9.basic.cancelling import blames
from amqpscope.rules.v0_9.versions import rabbit_since
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method
from dissectors.v0_9.message import ContentHeader

NOT_FOUND: Final = 404
NO_ROUTE: Final = 312
NO_CONSUMERS: Final = 313
PUBLISH: Final = "basic.publish"


def last_publish(event: Event) -> Mark | None:
    """The newest publish of the client on the channel of an event."""
    channel, plan = event.channel, event.connection.dialect.by_name.get(PUBLISH)
    return None if channel is None or plan is None else channel.sent[CLIENT].get(plan.code)


@rule("A09-BAS-22", "must-exist", MUST, WARNING, on="channel.close", needs="server")
def publish_to_missing_exchange(event: Event, report: Reporter, method: Method) -> None:
    """A client publishes to exchanges that exist.

    The server says so by closing the channel with 404. All that the client has sent on it in the
    meantime is lost.

    Bad (channel):
        client: basic.publish[1] exchange="x" routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND - no exchange 'x'"
                class-id=60 method-id=40   # <- A09-BAS-22

    Good (channel):
        client: basic.publish[1] exchange="amq.topic" routing-key="q"
        client: content-header[1] class=basic body-size=0
    """
    if number(method, "reply-code") != NOT_FOUND:
        return
    if blames(event, PUBLISH):
        words = f"a publish is refused: {text(method, 'reply-text')}"
        related = ((last_publish(event), "the newest publish on the channel"),)
        report.sure(event, words, "", related, peer=CLIENT)


@rule("A09-BAS-23", "mandatory", SHOULD, WARNING, on="basic.return", dialects="0-9 0-8")
def mandatory_message_not_returned(
    event: Event, report: Reporter, method: Method, publish: Publish
) -> None:
    """A mandatory message that has no queue to go to comes back with 312, no-route.

    That a message had no queue to go to is not on the wire, so what is looked at is the code.
    Brokers of 0-8 have codes of their own.

    Bad (mandatory):
        server: basic.return[1] reply-code=313 reply-text="NO_CONSUMERS" exchange="amq.topic"
                routing-key="a"   # <- A09-BAS-23

    Good (mandatory):
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"
        server: content-header[1] class=basic body-size=0
    """
    if not publish.mandatory or publish.immediate:
        return
    code = number(method, "reply-code")
    strict = event.connection.dialect.name.startswith("0-9")
    if code == NO_CONSUMERS or (strict and code != NO_ROUTE and code < NOT_FOUND):
        words = f"a mandatory message comes back with {code}, not {NO_ROUTE}"
        report.sure(event, words, "basic.return.reply-code", ((publish.mark, "the publish"),))


@rule("A09-BAS-24", "immediate", SHOULD, INFO, on="basic.return | odd-publish basic.publish")
def immediate_message_not_returned(
    event: Event, report: Reporter, method: Method, publish: Publish
) -> None:
    """An immediate message that no consumer takes at once comes back with 313, no-consumers.

    RabbitMQ, from 3.0 on, does not have that: it closes the connection with 540.

    Bad (channel):
        client: basic.publish[1] routing-key="q" immediate=true   # <- A09-BAS-24

    Good (plain):
        client: basic.publish[1] routing-key="q" immediate=true
        client: content-header[1] class=basic body-size=0
        server: basic.return[1] reply-code=313 reply-text="NO_CONSUMERS" routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    if not publish.immediate:
        return
    if event.name == PUBLISH:
        if event.peer == CLIENT and rabbit_since(event.connection, 3, 0):
            words = "RabbitMQ closes the connection at a publish with immediate"
            report.suspect(event, words, "basic.publish.immediate")
        return
    code = number(method, "reply-code")
    strict = event.connection.dialect.name.startswith("0-9")
    odd = strict and code != NO_CONSUMERS and code < NOT_FOUND
    if not publish.mandatory and (code == NO_ROUTE or odd):
        words = f"an immediate message comes back with {code}, not {NO_CONSUMERS}"
        report.sure(event, words, "basic.return.reply-code", ((publish.mark, "the publish"),))


@rule("A09-BAS-25", "1.1.6.6", MUST, WARNING, on="basic.return", needs="server sure !ahead")
def return_of_unasked_message(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A server gives back only messages that were published as mandatory or immediate.

    Bad (channel):
        client: basic.publish[1] exchange="amq.topic" routing-key="a"
        client: content-header[1] class=basic body-size=0
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"   # <- A09-BAS-25

    Good (mandatory):
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"
        server: content-header[1] class=basic body-size=0
    """
    if event.publish is not None:
        return
    if channel.publishes > MAX_RETURNABLE:
        return
    exchange, key = text(method, "exchange"), text(method, "routing-key")
    words = f"returns a message to {exchange!r}, key {key!r}: no mandatory one is under way"
    if channel.returnable:
        report.suspect(event, words)
    else:
        report.sure(event, words, "", ((last_publish(event), "the newest publish"),))


@rule("A09-BAS-26", "1.1.6.6", IMPLIED, WARNING, on="odd-header", needs="server sure !faulty")
def returned_content_differs(
    event: Event, report: Reporter, header: ContentHeader, channel: Channel, publish: Publish
) -> None:
    """What comes back is what was published.

    Headers may have been added on the way, so it is the size of the body that is compared.

    Bad (mandatory body-size=5):
        client: content-body[1] "12345"
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"
        server: content-header[1] class=basic body-size=3   # <- A09-BAS-26

    Good (mandatory body-size=5):
        client: content-body[1] "12345"
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"
        server: content-header[1] class=basic body-size=5
        server: content-body[1] "12345"
    """
    if publish.size < 0:
        return
    route = (publish.exchange, publish.routing_key)
    sizes = [each.size for each in channel.returnable if (each.exchange, each.routing_key) == route]
    if header.body_size != publish.size and header.body_size not in sizes and -1 not in sizes:
        words = f"{header.body_size} octets come back, {publish.size} were published"
        related = ((publish.mark, "the publish"),)
        report.sure(event, words, "content-header.body-size", related)


@rule(
    "A09-BAS-42",
    "publish exchange 02",
    MUST,
    WARNING,
    on="odd-publish basic.publish",
    needs="client",
)
def publish_to_internal_exchange(event: Event, report: Reporter, publish: Publish) -> None:
    """A client does not publish to an exchange that is for other exchanges only.

    The broker closes the channel with 403. Others may have declared it anew, unseen here.

    Bad (exchange type="fanout" internal=true):
        client: basic.publish[1] exchange="x" routing-key="a"   # <- A09-BAS-42

    Good (exchange type="fanout"):
        client: basic.publish[1] exchange="x" routing-key="a"
        client: content-header[1] class=basic body-size=0
    """
    exchange = event.connection.declared.exchanges.get(publish.exchange)
    if exchange is None or not exchange.internal or exchange.passive or not exchange.confirmed:
        return
    words = f"a publish to {publish.exchange!r}, which was declared as internal"
    report.suspect(event, words, "basic.publish.exchange", ((exchange.mark, "its declare"),))
