"""Contents: the frames that follow a method which carries one (A09-FRM-40 to 48, 51; 4.2.6).

What is open on a channel in one direction decides what may come there next. After a violation the
model lays the interrupted content aside, so that what follows of it is not reported again;
`sharing` reports the two sequences together.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import content as waits
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.content import Content
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import (
    ADVISORY,
    ERROR,
    IMPLIED,
    INFO,
    MUST,
    SHOULD,
    WARNING,
    Reporter,
    rule,
)
from amqpscope.rules.v0_9.versions import OLD
from amqpscope.stream.types import PEERS

ABORTING: Final = ("10-3", "0-8", "0-8-qpid", "0-9", "0-9-qpid")
"""Dialects whose text lets any other frame end a content early."""


def severity(event: Event) -> str:
    """In the older texts a content may be given up, which is odd but no error."""
    return WARNING if event.connection.dialect.name in ABORTING else ERROR


def of(content: Content) -> str:
    """A content by its method."""
    return "a content" if content.method is None else content.method.plan.name


def interrupted_content(event: Event) -> Content | None:
    """The content that should go on where this frame comes."""
    assembly = event.assembly
    content = None if assembly is None else assembly.content
    if content is None or event.frame.cut or not event.own.sound:
        return None
    # Who answers a close need not finish what nobody wants any more.
    return None if event.name == "channel.close-ok" else content


@rule("A09-FRM-40", "4.2.6, 2.3.5.2", MUST, ERROR, on="interrupts")
def content_header_missing(event: Event, report: Reporter) -> None:
    """A method that carries a content is followed, on its channel, by its content header.

    Frames of other channels and heartbeats may come between. Something else on the same channel
    nearly always means that two threads write to it without a lock: the broker closes the
    connection with 505.

    Bad (channel):
        client: basic.publish[1] routing-key="a"
        client: basic.publish[1] routing-key="b"   # <- A09-FRM-40
        client: content-header[1] class=basic body-size=0
        client: content-header[1] class=basic body-size=0

    Good (channel):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: basic.publish[1] routing-key="a"
        client: basic.publish[2] routing-key="b"
        client: heartbeat
        client: content-header[2] class=basic body-size=0
        client: content-header[1] class=basic body-size=0
    """
    content = interrupted_content(event)
    if content is not None and content.wants == waits.HEADER and not content.optional:
        text = f"{event.name} where the content header of {of(content)} should come"
        related = ((content.mark, f"the {of(content)}"),)
        report.sure(event, text, "", related, severity=severity(event))


@rule("A09-FRM-41", "4.2.6", MUST, ERROR, on="interrupts")
def content_interrupted(event: Event, report: Reporter) -> None:
    """Until the body of a content is complete, nothing else comes on its channel.

    The texts before 0-9-1 let a method end a content early; there it is a warning.

    Bad (publishing):
        client: content-body[1] "12345"
        client: basic.get[1] queue="q"   # <- A09-FRM-41
        client: content-body[1] "67890"

    Good (publishing):
        client: content-body[1] "12345"
        client: heartbeat
        server: channel.flow[1] active=false
        client: content-body[1] "67890"
        client: channel.flow-ok[1] active=false
    """
    content = interrupted_content(event)
    if content is None or content.wants != waits.BODY or event.name == "channel.close":
        return
    if content.ended and severity(event) == WARNING:
        return  # An empty body ended it, as those texts want.
    text = f"{event.name} where {content.rest} octets of the body of {of(content)} should come"
    related = ((content.mark, f"the {of(content)}"), (content.header_mark, "its header"))
    report.sure(event, text, "", related, severity=severity(event))


@rule("A09-FRM-42", "4.2.6.1", MUST, ERROR, on="channel.close connection.close | finished")
def content_body_too_short(event: Event, report: Reporter) -> None:
    """The body frames of a content have as many octets as its header says.

    Here the sender closes the channel or the connection before it has sent them all.

    Bad (publishing):
        client: content-body[1] "12345"
        client: channel.close[1] reply-code=200 reply-text="bye"   # <- A09-FRM-42

    Good (publishing):
        client: content-body[1] "1234567890"
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    connection, peer = event.connection, event.peer
    if event.name == "channel.close":
        closing = [] if event.channel is None else [event.channel]
    elif event.name == "finished" and event.own.finished != "fin":
        return
    else:
        closing = list(connection.channels.values())
    if event.partner.close is not None or event.own.close is not None:
        return
    for channel in closing:
        report_too_short(event, report, channel, peer)


def report_too_short(event: Event, report: Reporter, channel: Channel, peer: int) -> None:
    """Report the content that is open on a channel its sender gives up."""
    content = channel.assemblies[peer].content
    if content is None or content.wants != waits.BODY or not channel.whole[peer]:
        return
    if channel.closes[1 - peer] is not None:
        return
    text = (
        f"the {PEERS[peer]} closes with {content.rest} octets of the body of {of(content)} unsent"
    )
    related = ((content.mark, f"the {of(content)}"), (content.header_mark, "its header"))
    report.sure(event, text, "", related, severity=severity(event), about=channel.number)


@rule("A09-FRM-43", "4.2.6.1", MUST, ERROR, on="surplus", needs="!entangled")
def content_body_too_long(event: Event, report: Reporter, content: Content) -> None:
    """A body frame has no more octets than are missing of its content.

    Bad (publishing body-size=3):
        client: content-body[1] "12345"   # <- A09-FRM-43

    Good (publishing body-size=5):
        client: content-body[1] "123"
        client: content-body[1] "45"
    """
    if not event.own.sound:
        return
    text = f"content-body of {event.unit.size} octets, where {of(content)} lacks {content.rest}"
    related = ((content.mark, f"the {of(content)}"), (content.header_mark, "its header"))
    report.sure(event, text, "size", related)


@rule("A09-FRM-47", "4.2.6.1", IMPLIED, WARNING, on="stray content-body")
def body_frame_for_empty_content(event: Event, report: Reporter) -> None:
    """An empty content has no body frame.

    Some clients send an empty one; RabbitMQ then expects a method and closes with 505.

    Bad (publishing body-size=0):
        client: content-body[1] ""   # <- A09-FRM-47

    Good (channel):
        client: basic.publish[1] routing-key="a"
        client: content-header[1] class=basic body-size=0
    """
    content = surplus_of(event)
    if content is not None:
        related = ((content.header_mark, "the header, with a body-size of 0"),)
        report.sure(
            event, f"an empty content-body for {of(content)}, whose body-size is 0", "", related
        )


def surplus_of(event: Event) -> Content | None:
    """The empty content right before an empty body frame."""
    last = None if event.assembly is None else event.assembly.last
    if last is None or last.size or last.bodies or event.unit.size:
        return None
    return last


@rule("A09-FRM-48", "4.2.1", IMPLIED, ERROR, on="stray", needs="trusted")
def content_frame_unexpected(event: Event, report: Reporter) -> None:
    """A content header or body comes only while a content is open on its channel.

    Bad (channel):
        client: content-header[1] class=basic body-size=5   # <- A09-FRM-48
        client: content-body[1] "12345"

    Good (publishing body-size=5):
        client: content-body[1] "12345"
    """
    if not event.kinds & kinds.CONTENT_BODY or surplus_of(event) is None:
        channel = event.unit.channel
        report.sure(event, f"{event.name} on channel {channel}, where no content is open")


@rule("A09-FRM-51", "1.1.6.12", SHOULD, INFO, on="interrupts", dialects=OLD)
def cancelled_content_not_ended(event: Event, report: Reporter) -> None:
    """A content that the client rejects half way is ended by an empty body frame.

    Bad (v0_9_consuming):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=10
        server: content-body[1] "12345"
        client: basic.reject[1] delivery-tag=1
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q" # <- A09-FRM-51

    Good (v0_9_consuming):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=10
        server: content-body[1] "12345"
        client: basic.reject[1] delivery-tag=1
        server: content-body[1] ""
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    content = interrupted_content(event)
    delivery = None if content is None else content.delivery
    if content is None or delivery is None or content.ended or content.wants != waits.BODY:
        return
    if delivery.outcome == "reject" and event.knew(delivery.settled):
        related = ((delivery.settled, "the reject"), (content.mark, "the deliver"))
        report.suspect(event, "a rejected content is not ended by an empty body", "", related)


@rule("A09-FRM-54", "4.2.6", ADVISORY, INFO, on="in-pieces", needs="!entangled")
def body_cut_in_tiny_frames(event: Event, report: Reporter, content: Content) -> None:
    """A body is cut in frames that are about as large as they may be.

    Each frame costs eight octets and a turn of both peers' loops.

    Bad (publishing):
        client: content-body[1] "12"
        client: content-body[1] "34"
        client: content-body[1] "56"
        client: content-body[1] "7890"   # <- A09-FRM-54

    Good (publishing):
        client: content-body[1] "1234567890"
    """
    limit = event.connection.limit("frame_max")
    small = 0 <= content.smallest < max(limit, 4096) // 8
    if content.bodies >= 2 and small and report.once(event.own):
        count = content.bodies + 1
        text = f"a body of {content.size} octets comes in {count} frames, frame-max is {limit}"
        report.suspect(event, text, "", ((content.mark, f"the {of(content)}"),))


@rule("A09-FRM-53", "4.3", SHOULD, INFO, on="alone content-body")
def channel_starved(event: Event, report: Reporter, content: Content) -> None:
    """No channel keeps the others waiting for long.

    Here bodies of one channel go on while a request on another has waited for seconds.

    Bad (channel):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: queue.declare[2] queue="q"
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" routing-key="z"
        server: content-header[1] class=basic body-size=9
        @2s server: content-body[1] "123"
        @4s server: content-body[1] "456"
        @6s server: content-body[1] "789"   # <- A09-FRM-53

    Good (channel):
        client: channel.open[2]
        server: channel.open-ok[2]
        client: queue.declare[2] queue="q"
        server: queue.declare-ok[2] queue="q"
    """
    if content.bodies < 2:
        return
    for channel in event.connection.channels.values():
        pending = channel.pending[1 - event.peer]
        if channel is event.channel or not pending or not channel.sure:
            continue
        waits = event.since(pending[0].mark)
        starved = waits > PATIENCE and content.mark.frame > pending[0].mark.frame
        if starved and report.once(event.own):
            seconds = waits / 1e9
            text = f"{pending[0].name} on channel {channel.number} has waited for {seconds:.1f} s"
            related = ((pending[0].mark, "the request"), (content.mark, f"the {of(content)}"))
            report.suspect(event, f"{text} while a body goes on", "", related)
            return


PATIENCE: Final = 5_000_000_000
"""Nanoseconds that a request may well take."""
