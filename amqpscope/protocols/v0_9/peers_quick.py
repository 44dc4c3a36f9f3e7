"""AMQP 0-9-1 frames that come by the thousand, counted as they pass without being decoded."""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.v0_9.peers import Peers
from amqpscope.stream.framer import Frame
from dissectors.v0_9.framing import decode_unit

HEAD: Final = 7
FRAME_END: Final = 0xCE
METHOD, HEADER, BODY = 1, 2, 3
CONTENTS: Final = {HEADER: "content-header", BODY: "content-body"}
SIZE_OF_BODY: Final = slice(HEAD + 4, HEAD + 12)


class QuickPeers(Peers):
    """Both peers of one connection, with a short way for what is frequent."""

    quick = (
        "basic.publish", "basic.deliver", "basic.ack", "basic.nack", "content-header",
        "content-body",
    )  # fmt: skip

    def measure(self, octets: bytearray, at: int) -> tuple[int, str]:
        """The size of the frame that begins somewhere, and its name if it is a quick one."""
        if self.spoken.dialect.heads != (HEAD,):
            return -1, ""
        if len(octets) - at < HEAD + 4:
            return 0, ""
        size = HEAD + 1 + int.from_bytes(octets[at + 3 : at + HEAD], "big")
        if at + size <= len(octets) and octets[at + size - 1] != FRAME_END:
            return -1, ""
        kind = octets[at]
        if kind != METHOD:
            return size, CONTENTS.get(kind, "")
        plan = self.spoken.dialect.methods.get(int.from_bytes(octets[at + 7 : at + 11], "big"))
        return size, plan.name if plan is not None and plan.name in self.quick else ""

    def decode(self, side: int, offset: int, raw: bytes) -> Frame:
        """A frame that no model has seen."""
        unit = decode_unit(raw, self.spoken.dialect, None, 0, HEAD)
        return Frame(side, offset, raw, 0, 0, 0, -1, unit)

    def count(self, side: int, octets: bytearray, at: int, size: int) -> bool:
        """Count a header or body that passes; a method has to be decoded."""
        kind = octets[at]
        if kind == METHOD:
            return False
        channel = self.channels.get(octets[at + 1] << 8 | octets[at + 2])
        content = None if channel is None else channel.contents[side]
        if channel is None or content is None:
            return False
        if kind == BODY and content.left is not None:
            content.left -= size - HEAD - 1
        elif kind == HEADER and size > HEAD + 12:
            frame = octets[at : at + size]
            content.left = int.from_bytes(frame[SIZE_OF_BODY], "big")
        else:
            return False
        if content.left <= 0:
            channel.contents[side] = None
        return True
