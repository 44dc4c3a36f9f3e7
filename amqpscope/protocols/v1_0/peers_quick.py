"""AMQP 1.0 frames that come by the thousand, counted as they pass without being decoded."""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.v1_0.framer import frame_of
from amqpscope.protocols.v1_0.peers import Peers
from amqpscope.stream.framer import Frame
from dissectors.wire import MAX_FRAME_SIZE

HEAD: Final = 8
DESCRIBED: Final = b"\x02\x00\x00\x53"
"""Octets of a frame around its channel and its descriptor: data offset, type, and the short form
of a described value."""
NAMES: Final = {0x13: "flow", 0x14: "transfer", 0x15: "disposition"}
CODE: Final = 10
"""Where the descriptor is."""
LIST: Final = 11
NULL, TRUE, FALSE, BOOLEAN = 0x40, 0x41, 0x42, 0x56
WIDTHS: Final = {
    NULL: 0,
    TRUE: 0,
    FALSE: 0,
    0x43: 0,
    0x44: 0,
    0x50: 1,
    0x52: 1,
    BOOLEAN: 1,
    0x70: 4,
}
"""Octets of values behind their constructors, as transfers have them."""
BINARY: Final = 0xA0
HANDLES: Final = {0x43: 1, 0x52: 2, 0x70: 5}
"""Octets of a handle, by the first of them."""
HANDLE, DELIVERY_ID, MORE, STATE, ABORTED = 0, 1, 5, 7, 9


class QuickPeers(Peers):
    """Both peers of one connection, with a short way for what is frequent."""

    quick: tuple[str, ...] = ("flow", "transfer", "disposition")
    linked: frozenset[str] = frozenset(("flow", "transfer"))

    def measure(self, octets: bytearray, at: int) -> tuple[int, str]:
        """The size of the frame that begins somewhere, and its name if it is a quick one."""
        if len(octets) - at < HEAD:
            return 0, ""
        size = int.from_bytes(octets[at : at + 4], "big")
        if size < HEAD or size > MAX_FRAME_SIZE:
            return -1, ""
        if octets[at + 4 : at + 6] + octets[at + HEAD : at + CODE] != DESCRIBED or size <= LIST:
            return size, ""
        if len(octets) - at <= CODE:
            return size, ""
        return size, NAMES.get(octets[at + CODE], "")

    def link_key(self, octets: bytearray, at: int) -> bytes:
        """Channel and handle of a transfer, as they are written."""
        first = at + LIST + 3
        if octets[at + CODE] != 0x14 or octets[at + LIST] != 0xC0 or first >= len(octets):
            return b""
        width = HANDLES.get(octets[first], 0)
        return bytes(octets[at + 6 : at + 8] + octets[first : first + width]) if width else b""

    def decode(self, side: int, offset: int, raw: bytes) -> Frame:
        """A frame that no model has seen."""
        return frame_of(side, offset, raw, 0, 0, 0, -1)

    def count(self, side: int, octets: bytearray, at: int, size: int) -> bool:
        """Count a quick frame that passes: a disposition changes no count, a transfer does."""
        code = octets[at + CODE]
        if code != 0x14:
            return code == 0x15
        fields = read_fields(octets, at + LIST, at + size)
        if fields is None or fields[MORE] or fields[ABORTED] or fields[STATE]:
            return False
        handle, number = fields[HANDLE], fields[DELIVERY_ID]
        channel = octets[at + 6] << 8 | octets[at + 7]
        session = self.session_of(side, channel)
        link = None if session is None else session.link_of(side, handle)
        if session is None or link is None or link.delivery is not None or number is None:
            return False
        if link.sender != side:
            return False
        session.next_outgoing[side] += 1
        session.serials[side].meet(number)
        link.count += 1
        return True


def read_fields(octets: bytearray, at: int, end: int) -> list[int | None] | None:
    """The numbers and booleans among the first ten fields of a transfer; None if it has others."""
    if octets[at] != 0xC0:
        return None
    end = min(end, at + 2 + octets[at + 1])
    left = octets[at + 2]
    at += 3
    fields: list[int | None] = []
    while left and at < end and len(fields) <= ABORTED:
        code = octets[at]
        at += 1
        if code == BINARY:
            at += 1 + octets[at]
            fields.append(None)
        elif code in WIDTHS:
            width = WIDTHS[code]
            value = int.from_bytes(octets[at : at + width], "big") if width else code == TRUE
            fields.append(None if code == NULL else int(value))
            at += width
        else:
            return None
        left -= 1
    if at > end:
        return None
    return fields + [None] * (ABORTED + 1 - len(fields))
