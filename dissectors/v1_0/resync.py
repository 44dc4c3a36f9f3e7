"""Finding where frames begin in octets of which the start is unknown.

A place is taken when what is there looks like a frame and so does what follows it, or when
it is the first octet of a segment: peers mostly write whole frames. Looking like a frame means a
sane size, data offset and type, and a body that begins with the descriptor of a performative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors.wire import CHAIN, LARGEST, MAGIC, NO, PERHAPS, YES, u32

if TYPE_CHECKING:
    from mypy_extensions import i64


def find_frame(data: bytes, at_segment: bool) -> int:
    """Where the first credible frame begins, or -1."""
    end: i64 = len(data)
    if at_segment and end >= 8 and judge_frame(data, 0, end) == YES:
        return 0
    at: i64 = data.find(b"\x00")
    header = data.find(MAGIC)
    while 0 <= at <= end - 8:
        if 0 <= header < at:
            break
        if is_chain(data, at, end):
            return at
        at = data.find(b"\x00", at + 1)
    if header >= 0 and header + 8 <= end and data[header + 4] <= 3:
        return header
    return -1


def is_chain(data: bytes, at: i64, end: i64) -> bool:
    """Whether a chain of frames begins here, up to the end or long enough."""
    links: i64 = 0
    while links < CHAIN:
        if judge_frame(data, at, end) != YES:
            return False
        links += 1
        size = u32(data, at)
        at += size
        if at == end:
            return True
        if at > end:
            # The last one is not complete: it proves little by itself.
            return links > 1
        if at + 8 > end:
            return links > 1
    return True


def judge_frame(data: bytes, at: i64, end: i64) -> int:
    """Whether a frame begins at this place: NO, PERHAPS or YES."""
    if at + 8 > end:
        return PERHAPS
    size = u32(data, at)
    doff: i64 = data[at + 4]
    kind: i64 = data[at + 5]
    if size < 8 or size > LARGEST or doff < 2 or doff * 4 > size or kind > 1:
        return NO
    body = at + doff * 4
    if body == at + size:
        return YES if kind == 0 and doff == 2 else NO
    if body + 4 > end:
        return PERHAPS
    return YES if is_descriptor(data, body, end, kind) else NO


def is_descriptor(data: bytes, at: i64, end: i64, kind: i64) -> bool:
    """Whether a performative's descriptor is here, in any spelling."""
    if data[at] != 0:
        return False
    low: i64 = 0x40 if kind else 0x10
    high: i64 = 0x44 if kind else 0x18
    code: i64 = data[at + 1]
    if code == 0x53:
        shape: i64 = data[at + 3]
        return low <= data[at + 2] <= high and (shape == 0xC0 or shape == 0xD0 or shape == 0x45)
    if code == 0x80:
        return at + 10 <= end and data[at + 2 : at + 9] == bytes(7) and low <= data[at + 9] <= high
    if code == 0xA3:
        return data[at + 3 : at + 8] == b"amqp:"
    return False
