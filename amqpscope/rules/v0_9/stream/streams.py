"""The stream class (A09-STR; 1.1.8): messages that nobody acknowledges."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9 import deliveries as states
from amqpscope.model.v0_9.channel import MAX_GONE, Channel
from amqpscope.model.v0_9.deliveries import Consumer, Qos
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import text
from amqpscope.rules.v0_9 import ADVISORY, ERROR, IMPLIED, INFO, MUST, Reporter, rule
from amqpscope.rules.v0_9.basic.consuming import TAG
from amqpscope.rules.v0_9.file.consuming import CLOSE, report_exclusive_code, report_tag_in_use
from amqpscope.rules.v0_9.versions import KNOWN, OLD
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method

DELIVERS: Final = "odd-deliver stream.deliver"
STREAM: Final = 80
METHODS: Final = "consume, cancel, publish, return, deliver and qos"
RATE_TIME: Final = 5_000_000_000
"""Nanoseconds of a stream after which its rate can be judged."""


@rule("A09-STR-01", "1.1.8 grammar", MUST, ERROR, on="unknown-method", dialects=OLD, needs="intact")
def stream_method_not_allowed(event: Event, report: Reporter) -> None:
    """The stream class has no acknowledgements, and no get.

    It is for what may be lost: consume, cancel, publish, return, deliver and qos are all it has.

    Bad (v0_9):
        client: frame-0-x type=1 channel=1 0x0050005a   # <- A09-STR-01, A09-FRM-22

    Good (stream_consuming):
        server: stream.deliver[1] consumer-tag="t" delivery-tag=1 queue="q"
        server: content-header[1] class=stream body-size=0
        client: stream.publish[1] exchange="x" routing-key="k"
        client: content-header[1] class=stream body-size=0
    """
    unit = event.unit
    if unit.class_id == STREAM:
        words = f"the stream class has no method {unit.method_id}: {METHODS} are all"
        report.sure(event, words, "method-id")


@rule(
    "A09-STR-02", "1.1.8.1", MUST, ERROR, on="stream.consume", dialects=KNOWN, needs="client clear"
)
def stream_consumer_tag_in_use(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A new consumer of a stream has a tag that no other consumer of the channel has.

    The server closes the connection with 530.

    Bad (stream_consuming):
        client: stream.consume[1] queue="r" consumer-tag="t"   # <- A09-STR-02

    Good (stream_consuming):
        client: stream.consume[1] queue="r" consumer-tag="u"
        server: stream.consume-ok[1] consumer-tag="u"
    """
    report_tag_in_use(event, report, method, channel)


@rule("A09-STR-03", "1.1.8.1", MUST, INFO, on=CLOSE, dialects=KNOWN, needs="server")
def stream_exclusive_code_wrong(event: Event, report: Reporter, method: Method) -> None:
    """Who may not be the only consumer of a stream is refused with 405.

    With basic it is 403, which here means that the right to read is missing.

    Bad (v0_8):
        client: stream.consume[1] queue="q" consumer-tag="t" exclusive=true
        server: channel.close[1] reply-code=403 reply-text="ACCESS_REFUSED" class-id=80
                method-id=20   # <- A09-STR-03

    Good (v0_8):
        client: stream.consume[1] queue="q" consumer-tag="t" exclusive=true
        server: channel.close[1] reply-code=405 reply-text="RESOURCE_LOCKED" class-id=80
                method-id=20
        client: channel.close-ok[1]
    """
    report_exclusive_code(event, report, method, "stream.consume")


@rule("A09-STR-04", "1.1.8.3", IMPLIED, INFO, on=DELIVERS, dialects=KNOWN, needs="clear")
def stream_late_delivery_legal(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """Messages of a stream may come for a short while after its consumer was cancelled.

    That is legal, and surprises clients that have forgotten the consumer: they may drop them.

    Bad (stream_cancelled):
        server: stream.deliver[1] consumer-tag="t" delivery-tag=1 queue="q" # <- A09-STR-04

    Good (stream_consuming):
        client: stream.cancel[1] consumer-tag="t"
        server: stream.deliver[1] consumer-tag="t" delivery-tag=1 queue="q"
        server: content-header[1] class=stream body-size=0
        server: stream.cancel-ok[1] consumer-tag="t"
    """
    consumer = channel.gone.get(text(method, TAG)) if event.consumer is None else None
    if consumer is not None and event.since(consumer.gone_mark) <= GRACE:
        words = f"a delivery to the consumer {consumer.tag!r}, which was cancelled just before"
        report.sure(event, words, "stream.deliver.consumer-tag", ((consumer.gone_mark, "its end"),))


@rule("A09-STR-05", "1.1.8.7", MUST, ERROR, on=DELIVERS, dialects=KNOWN, needs="clear")
def stream_deliver_to_unknown_consumer(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A message of a stream is delivered to a consumer that there is.

    For a short while after a cancel messages may still come; more than a second is suspicious.

    Bad (stream_consuming):
        server: stream.deliver[1] consumer-tag="u" delivery-tag=1 queue="q" # <- A09-STR-05

    Good (stream_consuming):
        server: stream.deliver[1] consumer-tag="t" delivery-tag=1 queue="q"
        server: content-header[1] class=stream body-size=0

    Bad (stream_cancelled):
        @9s server: stream.deliver[1] consumer-tag="t" delivery-tag=1 queue="q" # <- A09-STR-05
    """
    if event.consumer is not None:
        return
    path, gone = "stream.deliver.consumer-tag", channel.gone.get(text(method, TAG))
    if gone is not None:
        seconds = event.since(gone.gone_mark) / 1e9
        if event.since(gone.gone_mark) > GRACE:
            words = f"a delivery to the consumer {gone.tag!r} {seconds:.1f} s after its end"
            report.suspect(event, words, path, ((gone.gone_mark, "its end"),))
        return
    if not unnamed(channel) and len(channel.gone) < MAX_GONE:
        report.sure(event, f"there is no consumer {text(method, TAG)!r} on this channel", path)


def unnamed(channel: Channel) -> bool:
    """A consumer whose tag the server chooses was asked for, and the tag was not told."""
    if "stream.consume-ok" in channel.unawaited:
        return True
    waiting = [*channel.pending[CLIENT], *channel.unanswered]
    return any(
        request.name == "stream.consume" and not text(request.method, TAG) for request in waiting
    )


@rule("A09-STR-06", "consume-rate", ADVISORY, INFO, on="tick stream.deliver", dialects=KNOWN)
def stream_rate_not_kept(
    event: Event, report: Reporter, channel: Channel, consumer: Consumer
) -> None:
    """A stream comes about as fast as the client said that it wants it.

    A server may ignore the rate. Reported where it is more than twice as fast, over five seconds.

    Bad (v0_9):
        client: stream.qos[1] consume-rate=10
        server: stream.qos-ok[1]
        client: stream.consume[1] queue="q" consumer-tag="t"
        server: stream.consume-ok[1] consumer-tag="t"
        server: stream.deliver[1] consumer-tag="t" delivery-tag=1 queue="q"
        server: content-header[1] class=stream body-size=1000
        server: content-body[1] 0x00*1000
        @6s server: stream.deliver[1] consumer-tag="t" delivery-tag=2 queue="q" # <- A09-STR-06

    Good (v0_9):
        client: stream.qos[1] consume-rate=1000
        server: stream.qos-ok[1]
        client: stream.consume[1] queue="q" consumer-tag="t"
        server: stream.consume-ok[1] consumer-tag="t"
        server: stream.deliver[1] consumer-tag="t" delivery-tag=1 queue="q"
        server: content-header[1] class=stream body-size=1000
        server: content-body[1] 0x00*1000
        @6s server: stream.deliver[1] consumer-tag="t" delivery-tag=2 queue="q"
        server: content-header[1] class=stream body-size=0
    """
    if consumer.state != states.ACTIVE:
        return
    limit, passed = rate(channel, consumer), event.since(consumer.ok_mark)
    if limit is None or passed < RATE_TIME:
        return
    octets = consumer.bytes * 1_000_000_000 // passed
    if octets > 2 * limit.rate and report.once(event.own):
        words = f"the stream brings {octets} octets a second, the client allows {limit.rate}"
        report.suspect(event, words, "", ((limit.mark, "the limit"),))


def rate(channel: Channel, consumer: Consumer) -> Qos | None:
    """The rate that holds for a consumer, if it was there all the time."""
    limits = [qos for qos in channel.qos if qos.class_name == "stream"]
    if len(limits) != 1 or not limits[0].rate or limits[0].mark.end > consumer.mark.end:
        return None
    return limits[0]
