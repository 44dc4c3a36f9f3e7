"""Finding where frames begin, and which dialect they are of, when the start was not seen.

Every frame ends with the same octet, so a place is worth a look at the start and behind each such
octet. It is taken when what is there looks like a frame and so does what follows it, or when
it is the first octet of a segment: peers mostly write whole frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v0_9.framing import (
    BODY,
    FRAME_END,
    HEADER,
    HEARTBEAT,
    LAST_TYPE,
    METHOD,
    OOB_BODY,
    OOB_METHOD,
    REQUEST,
    RESPONSE,
    SHORT_HEARTBEAT,
    TRACE,
    decode_unit,
    measure,
)
from dissectors.v0_9.plans import Dialect
from dissectors.versions import known_version
from dissectors.wire import CHAIN, DAMAGED, LARGEST, MAGIC, MORE, NO, PERHAPS, YES, u16, u32

if TYPE_CHECKING:
    from mypy_extensions import i64

SAMPLE: Final = 64
"""Frames by which the dialect is recognised."""

_LEAST: Final = {METHOD: 4, HEADER: 14, BODY: 1, REQUEST: 24, RESPONSE: 24}
"""Octets that a payload has at least. Empty bodies are rare, but the tail of a content header that
ends with an empty table looks like one."""
CANDIDATES: Final = (DEFAULT, "0-9-1-qpid", "0-9", "0-8", "0-8-qpid", "10-3")
"""The dialects to try, the likeliest first."""


def find_frame(data: bytes, at_segment: bool, head: int = 7) -> int:
    """Where the first credible frame begins, or -1."""
    end: i64 = len(data)
    if at_segment and judge_frame(data, 0, end, head) == YES:
        return 0
    header: i64 = find_header(data)
    at: i64 = 0
    while 0 <= at < end:
        if 0 <= header < at:
            break
        if is_chain(data, at, end, head):
            return at
        at = data.find(FRAME_END, at) + 1
        if at == 0:
            break
    return header


def find_header(data: bytes) -> int:
    """Where the first protocol header is, or -1; `AMQPLAIN` is the name of a mechanism."""
    at = data.find(MAGIC)
    while at >= 0:
        if known_version(data[at + 4 : at + 8]):
            return at
        at = data.find(MAGIC, at + 4)
    return -1


def is_chain(data: bytes, at: i64, end: i64, head: i64) -> bool:
    """Whether a chain of frames begins here, up to the end or long enough."""
    links: i64 = 0
    while links < CHAIN:
        if judge_frame(data, at, end, head) != YES:
            return False
        links += 1
        at += measure(data, at, end, head)
        if at == end:
            return True
        if at > end or at + head > end:
            # The last one is not complete: it proves little by itself.
            return links > 1
    return True


def judge_frame(data: bytes, at: i64, end: i64, head: i64) -> int:
    """Whether a frame begins at this place: NO, PERHAPS or YES."""
    if at + head > end:
        return PERHAPS
    kind: i64 = data[at]
    if kind < METHOD or kind > LAST_TYPE:
        return NO
    if kind == HEARTBEAT and data[at : at + 4] == SHORT_HEARTBEAT:
        return YES
    whole = measure(data, at, end, head)
    size = u32(data, at + head - 4)
    if whole == DAMAGED or size > LARGEST or size < _LEAST.get(kind, 0):
        return NO
    if whole == MORE:
        return PERHAPS
    if at + whole <= end and data[at + whole - 1] != FRAME_END:
        return NO
    channel = u16(data, at + head - 6)
    if kind == HEARTBEAT or kind == TRACE:
        return YES if channel == 0 and (size == 0 or kind == TRACE) else NO
    if OOB_METHOD <= kind <= OOB_BODY and whole == head + 1:
        return YES
    return judge_payload(data, at + head, end, kind, channel, at + whole <= end)


def judge_payload(data: bytes, at: i64, end: i64, kind: i64, channel: i64, whole: bool) -> int:
    """Whether a payload begins as one of its kind does: NO, PERHAPS or YES."""
    if kind == BODY or kind == OOB_BODY:
        # Any octets can be a body: only its end shows that it is one.
        return NO if channel == 0 else YES if whole else PERHAPS
    if kind == REQUEST or kind == RESPONSE:
        at += 20
    if at + 4 > end:
        return PERHAPS
    number = u16(data, at)
    if kind == HEADER:
        return YES if number in CONTENT_CLASSES and channel else NO
    if number < 0xF000 and number not in CLASSES:
        return NO
    second = u16(data, at + 2)
    return YES if second in METHOD_IDS and (number != 10 or channel == 0) else NO


CLASSES: Final = frozenset(range(10, 121, 10)) | {85}
"""The numbers of classes, over all dialects."""
CONTENT_CLASSES: Final = frozenset((60, 70, 80, 110, 120))
METHOD_IDS: Final = (
    frozenset(range(10, 121, 10))
    | frozenset(range(11, 112, 10))
    | {22, 23, 72, 102, 500, 510, 520, 530}
)
"""The numbers of methods, over all classes and dialects."""


def score(data: bytes, head: int = 7) -> Dialect | None:
    """The dialect that frames, from the first octet on, fit best; None if they fit none."""
    best: Dialect | None = None
    least = 0
    for name in CANDIDATES:
        tried = dialect(name)
        if head not in tried.heads:
            continue
        frames, misfits = count_misfits(data, head, tried)
        if frames and misfits < frames and (best is None or misfits < least):
            best = tried
            least = misfits
    return best


def count_misfits(data: bytes, head: int, tried: Dialect) -> tuple[int, int]:
    """How many frames were read by a dialect, and how many of them do not fit it."""
    at: i64 = 0
    end: i64 = len(data)
    frames = 0
    misfits = 0
    while at < end and frames < SAMPLE:
        size = measure(data, at, end, head)
        if size == DAMAGED:
            return frames + 1, misfits + 1
        if size == MORE or at + size > end:
            break
        unit = decode_unit(data[at : at + size], tried, None, 0, head)
        frames += 1
        method = unit.method
        known = unit.label != "method" or (method is not None and not method.plan.row.extension)
        if unit.faults or not known or (unit.type and unit.type not in tried.frame_types):
            misfits += 1
        at += size
    return frames, misfits
