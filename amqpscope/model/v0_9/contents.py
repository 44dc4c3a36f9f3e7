"""Placing and applying the frames of contents: headers and bodies."""

from __future__ import annotations

from typing import Final
from zlib import crc32

from amqpscope.model.v0_9 import content as waits
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import Sample
from amqpscope.model.v0_9.content import Assembly, Content
from amqpscope.model.v0_9.deliveries import Delivery
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.odd_tables import LATEST
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.message import ContentHeader

BASIC: Final = 60
STRUCTURED: Final = frozenset(("10-3", "0-8", "0-8-qpid"))
"""Dialects in which a content can have others within it."""
DELIVERY_MODE: Final = 3
PRIORITY: Final = 4
TIMESTAMP: Final = 9
MESSAGE_ID: Final = 0x0080
"""The flag of that property of basic contents."""
RANKING: Final = 0x0900
"""The flags of priority and expiration: by these, one message may pass another."""
ODD_FLAGS: Final = 0x0116
"""Flags of basic properties that rules look at: expiration, user-id, cluster-id, undefined ones."""


def place_header(event: Event, channel: Channel, header: ContentHeader) -> None:
    """Find the content that a header belongs to."""
    assembly = event.assembly = channel.assemblies[event.peer]
    target = assembly.header_goes_to()
    if target is None:
        place_unwanted(event, channel, assembly)
    else:
        if target is not assembly.content or assembly.aside:
            event.kinds |= kinds.ENTANGLED
        join(event, target)
        if not header.body_size:
            event.kinds |= kinds.COMPLETES
            event.message = b""
            if header.flags & MESSAGE_ID and event.connection.samples:
                event.kinds |= kinds.IDENTIFIED
            untangle(event, assembly, target, 0)
        if target.delivery is not None and channel.deliveries.recovered:
            event.kinds |= kinds.ODD_HEADER
        if target.delivery is not None and channel.qos:
            for qos in channel.qos:
                if qos.size:
                    event.kinds |= kinds.FULL
    if odd_header(header, target):
        event.kinds |= kinds.ODD_HEADER


def odd_header(header: ContentHeader, target: Content | None) -> bool:
    """A header of which something is out of the ordinary."""
    if header.class_id != BASIC or header.weight or header.words > 1 or header.flags & ODD_FLAGS:
        return True
    if target is None or target.method is None or target.method.plan.class_id != BASIC:
        return True
    if target.publish is not None and target.publish.returned is not None:
        return True
    values = header.values
    if len(values) <= TIMESTAMP:
        return True
    mode, priority, time = values[DELIVERY_MODE], values[PRIORITY], values[TIMESTAMP]
    if mode is not None and mode != 1 and mode != 2:
        return True
    if time is not None and time > LATEST:
        return True
    return priority is not None and priority > 9


def place_body(event: Event, channel: Channel, size: int) -> None:
    """Find the content that a body frame belongs to."""
    assembly = event.assembly = channel.assemblies[event.peer]
    target = assembly.body_goes_to(size)
    if target is None:
        place_unwanted(event, channel, assembly)
        return
    if target is not assembly.content or assembly.aside:
        event.kinds |= kinds.ENTANGLED
    join(event, target)
    if size > target.rest:
        event.kinds |= kinds.SURPLUS
    if size >= target.rest:
        event.kinds |= kinds.COMPLETES
        event.message = whole(target, piece(event, size), size)
        if target.bodies > 1:
            event.kinds |= kinds.IN_PIECES
        if event.connection.samples and target.delivery is not None:
            event.kinds |= kinds.IDENTIFIED
        if assembly.tangle is not None:
            untangle(event, assembly, target, size)


def place_unwanted(event: Event, channel: Channel, assembly: Assembly) -> None:
    """A content frame that no content waits for."""
    if assembly.unsure or not channel.whole[event.peer]:
        return
    if assembly.content is not None:
        event.content = assembly.content
        event.kinds |= kinds.INTERRUPTS
    elif not event.kinds & (kinds.UNOPENED | kinds.OWN_CLOSED):
        event.kinds |= kinds.STRAY


def join(event: Event, content: Content) -> None:
    """The frame belongs to this content."""
    event.content = content
    event.delivery = content.delivery
    event.publish = content.publish


def untangle(event: Event, assembly: Assembly, content: Content, size: int) -> None:
    """See whether this frame is the last of a tangle."""
    if assembly.untangles(content, size):
        event.kinds |= kinds.UNTANGLES
        event.tangle = assembly.tangle


def piece(event: Event, size: int) -> bytes:
    """What the capture has of a body frame's octets."""
    start = event.unit.payload
    return event.frame.raw[start : start + size]


def whole(content: Content, last: bytes, size: int) -> bytes | None:
    """The body that is complete with this frame; None where not all of it was kept."""
    if len(last) != size:
        return None
    if not content.bodies:
        return last
    body = b"".join(content.pieces) + last
    return body if len(body) == content.received + size else None


def apply_header(event: Event, channel: Channel, header: ContentHeader) -> None:
    """Let a content header take effect."""
    assembly = channel.assemblies[event.peer]
    content = event.content
    if content is None or content.wants != waits.HEADER:
        assembly.interrupt(event.mark)
        if assembly.unsure:
            if assembly.weight:
                assembly.children += 1
                assembly.weight += header.weight
            return
        # A content of which the method is missing: its bodies belong to it.
        content = Content(None, event.mark)
        assembly.begin(content)
    content.take_header(header, event.mark)
    if header.weight and event.connection.dialect.name in STRUCTURED:
        # Contents within it come before its own body; nobody sends them, so they are only counted.
        assembly.lose()
        assembly.weight = header.weight
        return
    delivery, publish = content.delivery, content.publish
    if content.complete:
        finish(event, channel, content)
    if delivery is not None:
        channel.deliveries.set_size(delivery, header.body_size)
        if header.flags & MESSAGE_ID and not delivery.no_ack:
            name = header.get("message-id")
            if isinstance(name, str):
                delivery.message_id = name
                if channel.deliveries.recovered:
                    channel.deliveries.recovered.pop(name, None)
    if publish is not None and content.method is not None and publish.size < 0:
        publish.size = header.body_size
        channel.published_bytes += header.body_size
    assembly.follow(content, "content-header", event.mark)


def finish(event: Event, channel: Channel, content: Content) -> None:
    """All of a content has passed."""
    carried = content.carried
    if carried is not None:
        carried.complete = True
    if event.connection.consuming:
        identify(event, channel, content)


def identify(event: Event, channel: Channel, content: Content) -> None:
    """Remember what was published under a message-id, to compare what is delivered under it."""
    header, body = content.header, event.message
    if header is None or body is None or not header.flags & MESSAGE_ID or header.words > 1:
        return
    name = header.get("message-id")
    if not isinstance(name, str):
        return
    if event.peer != CLIENT:
        deliver_own(event.connection.samples.get(name), content.delivery)
        return
    sample = Sample(len(body), crc32(body), event.mark)
    sample.publish = content.publish
    sample.channel, sample.generation = channel.number, channel.generation
    sample.ranked = bool(header.flags & RANKING)
    event.connection.publish(name, sample)


def deliver_own(sample: Sample | None, delivery: Delivery | None) -> None:
    """A message that the client published comes back to it: others of its way come after it."""
    consumer = None if delivery is None else delivery.consumer
    if sample is None or delivery is None or consumer is None or delivery.redelivered:
        return
    if not sample.again and not sample.ranked:
        consumer.take(sample.way, sample.mark)


def apply_body(event: Event, channel: Channel, size: int) -> None:
    """Let a body frame take effect."""
    assembly = channel.assemblies[event.peer]
    content = event.content
    if content is None or content.wants != waits.BODY:
        # Nobody waits for it; a content that waits for its header goes on waiting.
        return
    content.take_body(piece(event, size), size)
    content.body_mark = event.mark
    carried = content.carried
    if carried is not None:
        carried.transfers += 1
    if content.complete:
        finish(event, channel, content)
    assembly.follow(content, "content-body", event.mark)
