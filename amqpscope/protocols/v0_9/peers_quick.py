"""AMQP 0-9-1 frames that come by the thousand, counted as they pass without being decoded."""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.v0_9.framer import USUAL_HEAD, DialectGuess
from amqpscope.protocols.v0_9.peers import CONNECTION, Peers
from amqpscope.protocols.v0_9.peers_channels import Channel, Content, owner_of_answer
from amqpscope.stream.framer import Frame
from dissectors.v0_9.framing import BODY, FRAME_END, HEADER, METHOD, Unit, decode_unit
from dissectors.wire import MAX_FRAME_SIZE

PUBLISH, DELIVER, ACK = "basic.publish", "basic.deliver", "basic.ack"
METHODS: Final = {0x3C0028: PUBLISH, 0x3C003C: DELIVER, 0x3C0050: ACK}
"""By the numbers of class and method."""
CONTENTS: Final = {HEADER: "content-header", BODY: "content-body"}
ARGUMENTS: Final = 11
"""Where they begin in a frame with a method; in a content header, the size of the body."""
TAG: Final = 8
"""Octets of a delivery-tag, and of the size of a body."""


class QuickPeers(Peers):
    """Both peers of one connection, with a short way for what is frequent."""

    quick: tuple[str, ...] = (PUBLISH, DELIVER, ACK, *CONTENTS.values())

    def __init__(self, spoken: DialectGuess) -> None:
        super().__init__(spoken)
        self.undecoded = Unit("method", CONNECTION, METHOD, USUAL_HEAD, spoken.dialect)
        """In the place of the method of a message that no fault has decided on."""

    def measure(self, octets: bytearray, at: int) -> tuple[int, str]:
        """The size of the frame that begins somewhere, and its name if it is a quick one."""
        left = len(octets) - at
        kind = octets[at] if left else METHOD
        if not METHOD <= kind <= BODY or len(self.spoken.dialect.heads) > 1:
            return -1, ""
        if left < USUAL_HEAD:
            return 0, ""
        size = int.from_bytes(octets[at + 3 : at + USUAL_HEAD], "big") + USUAL_HEAD + 1
        if size > MAX_FRAME_SIZE or (left >= size and octets[at + size - 1] != FRAME_END):
            return -1, ""
        if kind != METHOD:
            return size, CONTENTS[kind]
        return size, METHODS.get(
            int.from_bytes(octets[at + USUAL_HEAD : at + ARGUMENTS], "big"), ""
        )

    def decode(self, side: int, offset: int, raw: bytes) -> Frame:
        """A frame that no model has seen."""
        unit = decode_unit(raw, self.spoken.dialect, None, 0, USUAL_HEAD)
        return Frame(side, offset, raw, 0, 0, 0, -1, unit)

    def count(self, side: int, octets: bytearray, at: int, size: int) -> bool:
        """Count a quick frame that passes, as `translate` does with a decoded one."""
        channel = self.channels.get(octets[at + 1] << 8 | octets[at + 2])
        if channel is None:
            return False
        kind, first, end = octets[at], at + ARGUMENTS, at + size - 1
        if kind == BODY:
            return count_content(channel, side, size - USUAL_HEAD - 1)
        if kind == HEADER:
            if first + TAG > end:
                return False
            content = channel.contents[side]
            if content is not None:
                content.left = int.from_bytes(octets[first : first + TAG], "big")
            return count_content(channel, side, 0)
        code = octets[first - 1]
        if code == 0x50:
            return count_ack(channel, side, octets, first, end)
        if code == 0x28:
            return self.count_publish(channel, side)
        return self.count_delivery(channel, side, octets, first, end)

    def count_publish(self, channel: Channel, side: int) -> bool:
        """A message of a client."""
        number = 0
        if channel.confirms:
            channel.published += 1
            number = channel.published
            channel.remember(side, number)
        channel.contents[side] = Content(self.undecoded, number)
        return True

    def count_delivery(
        self, channel: Channel, side: int, octets: bytearray, first: int, end: int
    ) -> bool:
        """A message of a server for a consumer."""
        tag = first + 1 + octets[first]
        name = octets[first + 1 : tag]
        if tag + TAG > end or not name.isascii():
            return False
        number = channel.tag = int.from_bytes(octets[tag : tag + TAG], "big")
        if not channel.unacknowledged.get(name.decode(), False):
            channel.remember(side, number)
        channel.contents[side] = Content(self.undecoded, number)
        return True


def count_content(channel: Channel, side: int, size: int) -> bool:
    """A part of a message, with so many octets of its body."""
    content = channel.contents[side]
    if content is not None and content.left is not None:
        content.left -= size
        if content.left <= 0:
            channel.contents[side] = None
    return True


def count_ack(channel: Channel, side: int, octets: bytearray, first: int, end: int) -> bool:
    """An answer to one message, or to all up to one."""
    if first + TAG >= end:
        return False
    number, multiple = int.from_bytes(octets[first : first + TAG], "big"), octets[first + TAG] & 1
    unsettled = channel.unsettled[owner_of_answer(side)]
    if not multiple:
        unsettled.pop(number, None)
        return True
    # They were remembered in order: both peers still count alike.
    covered = []
    for each in unsettled:
        if number and each > number:
            break
        covered.append(each)
    for each in covered:
        del unsettled[each]
    return True
