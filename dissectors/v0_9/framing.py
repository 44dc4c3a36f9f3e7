"""Frames and protocol headers.

A frame is a type, a channel and a size, a payload of that size, and an octet that ends it; the
oldest dialects have one octet more, the cycle, behind the type. `measure` finds how long the unit
at an offset is, `decode_unit` decodes it.

A protocol header can come wherever a frame can: no frame has the type `A`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dissectors import wire
from dissectors.errors import Damage, Malformed, prefix_path
from dissectors.native import mypyc_attr
from dissectors.v0_9.codec import Method, Reader
from dissectors.v0_9.message import ContentHeader, read_content
from dissectors.v0_9.plans import Dialect, Plan
from dissectors.v0_9.values import Value
from dissectors.wire import (
    DAMAGED,
    HEADER_SIZE,
    MAGIC,
    MAX_FRAME_SIZE,
    MORE,
    Header,
    u16,
    u32,
    u64,
)

if TYPE_CHECKING:
    from mypy_extensions import i64

METHOD: Final = 1
HEADER: Final = 2
BODY: Final = 3
OOB_METHOD: Final = 4
OOB_HEADER: Final = 5
OOB_BODY: Final = 6
TRACE: Final = 7
HEARTBEAT: Final = 8
REQUEST: Final = 9
RESPONSE: Final = 10
LAST_TYPE: Final = RESPONSE

FRAME_END: Final = 0xCE
ENVELOPE: Final = 20
"""Octets before the method of a request or response frame."""
SHORT_HEARTBEAT: Final = b"\x08\x00\x00\xce"
"""A heartbeat as one grammar has it, without a size. Read as a size, its end would be too large."""
MOST_OF_UNKNOWN: Final = 1 << 20
"""The largest payload believed of a frame whose type no dialect has."""

KINDS: Final = (
    "unknown", "method", "content-header", "content-body", "method", "content-header",
    "content-body", "trace", "heartbeat", "method", "method",
)  # fmt: skip
"""The kind of unit by the frame's type."""
OOB_NAMES: Final = {OOB_METHOD: "oob-method", OOB_HEADER: "oob-header", OOB_BODY: "oob-body"}


class Envelope(NamedTuple):
    """What precedes the method in a request or response frame of 0-9."""

    id: int
    """The request's own id, or the response's."""
    mark: int
    """In a request the last response seen, in a response the first request that it answers."""
    batch: int
    """In a response how many requests more it answers; in a request nothing, reserved."""


@mypyc_attr(free_list_len=1, acyclic=True)
class Unit(wire.Unit):
    """One header or frame, decoded.

    `kind` is `header`, `method`, `content-header`, `content-body`, `heartbeat`, `trace`, `unknown`
    (of a type that no dialect has) or `malformed`.
    """

    def __init__(self, kind: str, channel: int, type: int, head: int, dialect: Dialect) -> None:
        super().__init__(kind, channel, type, head)
        self.dialect = dialect
        self.label = kind
        """The kind, also of a unit that is malformed."""
        self.size = 0
        """Octets of payload, as the frame's header has it."""
        self.cycle = 0
        """The second octet of a header of eight."""
        self.class_id = 0
        self.method_id = 0
        """The numbers of a method or of a content header's class."""
        self.method: Method | None = None
        """The method, if it is one that the dialect has."""
        self.content: ContentHeader | None = None
        self.envelope: Envelope | None = None
        """Of a request or response frame."""
        self.elsewhere = False
        """The payload went another way (out of band)."""
        self.cut = False
        """Octets that are not in the capture kept some field from being read."""

    @property
    def name(self) -> str:
        """`basic.publish`, `content-header`, `heartbeat`; `basic.99` for what is not known."""
        method = self.method
        if method is not None:
            return method.plan.name
        if self.elsewhere:
            return OOB_NAMES[self.type]
        if self.label == "method" and self.class_id:
            word = self.dialect.class_names.get(self.class_id)
            return f"{self.class_id if word is None else word}.{self.method_id}"
        return self.label

    @property
    def body_size(self) -> int:
        """Octets of content in a body frame, as its header has it."""
        return self.size if self.label == "content-body" else 0

    def fields(self) -> list[tuple[str, Value]]:
        """What the unit says, by the spec's names: arguments, or sizes and properties."""
        method = self.method
        if method is not None:
            return list(zip(method.plan.names, method.values, strict=True))
        content = self.content
        if content is None:
            return []
        found: list[tuple[str, Value]] = [
            ("class-id", content.class_id),
            ("weight", content.weight),
            ("body-size", content.body_size),
        ]
        if content.plan is not None:
            named = zip(content.plan.names, content.values, strict=False)
            found.extend([(name, value) for name, value in named if value is not None])
        return found


def measure(data: bytes, at: i64, end: i64, head: i64 = 7) -> i64:
    """The size of the unit that begins at `at`, or MORE, or DAMAGED.

    `head` is the size of a frame's header. A frame without its end octet is one only if a unit
    seems to follow: else its size is not to be trusted either.
    """
    left = end - at
    if left < 4:
        return MORE
    kind: i64 = data[at]
    if kind == 0x41 and data[at : at + 4] == MAGIC:
        return HEADER_SIZE
    if kind == HEARTBEAT and data[at : at + 4] == SHORT_HEARTBEAT:
        return 4
    if left < head:
        return MORE
    size = u32(data, at + head - 4)
    if size > MAX_FRAME_SIZE or (size > MOST_OF_UNKNOWN and not METHOD <= kind <= LAST_TYPE):
        return DAMAGED
    if OOB_METHOD <= kind <= OOB_BODY:
        if left == head:
            return MORE
        if data[at + head] == FRAME_END:
            return head + 1
    whole = head + size + 1
    if whole <= left and data[at + whole - 1] != FRAME_END and not follows(data, at + whole, end):
        return DAMAGED
    return whole


def follows(data: bytes, at: i64, end: i64) -> bool:
    """Whether a unit may begin here, as far as the octets show."""
    if at >= end:
        return True
    kind: i64 = data[at]
    return METHOD <= kind <= LAST_TYPE or data[at : at + 4] == MAGIC[: end - at]


def head_of(data: bytes, at: i64, end: i64, dialect: Dialect) -> i64:
    """The size of frame headers, by the frame that begins at `at`; MORE if it has to be longer."""
    open_end = False
    for head in dialect.heads:
        if at + head > end:
            return MORE
        size = u32(data, at + head - 4)
        last = at + head + size
        if last >= end:
            open_end = open_end or size <= MOST_OF_UNKNOWN
        elif data[last] == FRAME_END and (size >= 4 or data[at] != METHOD):
            return head
    return MORE if open_end else dialect.heads[0]


def decode_unit(
    raw: bytes, dialect: Dialect, trace: list[int] | None = None, missing: int = 0, head: int = 7
) -> Unit:
    """Decode a unit; never raises, whatever the octets.

    `missing` octets of it, at the end, are not in the capture.
    """
    end: i64 = len(raw)
    if end == HEADER_SIZE and raw[:4] == MAGIC:
        unit = Unit("header", 0, 0, 0, dialect)
        unit.header = Header(raw[4], raw[5], raw[6], raw[7])
        return unit
    if raw == SHORT_HEARTBEAT and not missing:
        return Unit("heartbeat", 0, HEARTBEAT, 4, dialect)
    if end < head or (end == head and not missing):
        unit = Unit("malformed", 0, raw[0] if raw else 0, head, dialect)
        unit.mark_damaged(0, f"{end} octets are no frame or header")
        return unit
    kind: i64 = raw[0]
    unit = Unit("unknown", u16(raw, head - 6), kind, head, dialect)
    if head == 8:
        unit.cycle = raw[1]
    unit.size = u32(raw, head - 4)
    unit.payload = end
    if kind <= LAST_TYPE:
        unit.kind = unit.label = KINDS[kind]
    if OOB_METHOD <= kind <= OOB_BODY and end == head + 1 and raw[head] == FRAME_END:
        return out_of_band(unit)
    if head + unit.size + 1 != end + missing:
        unit.mark_damaged(
            head - 4, f"a size of {unit.size} makes {head + unit.size + 1} octets, not {end}"
        )
        return unit
    stop = end - 1
    if missing:
        stop = end if missing > 1 else head + unit.size
    elif raw[stop] != FRAME_END:
        unit.faults = [
            Malformed(Damage.FRAME, stop, f"the frame ends with 0x{raw[stop]:02x}, not 0xce")
        ]
    read_payload(unit, raw, head, stop, trace, missing > 0)
    if missing:
        excuse(unit)
    if unit.faults:
        unit.kind = "malformed"
    return unit


def out_of_band(unit: Unit) -> Unit:
    """A frame whose payload goes another way; without one, 0-9-1 takes the type for a heartbeat."""
    if unit.size:
        unit.elsewhere = True
    elif unit.type == OOB_METHOD and unit.type not in unit.dialect.frame_types:
        unit.kind = unit.label = "heartbeat"
    else:
        unit.elsewhere = True
    return unit


def excuse(unit: Unit) -> None:
    """Take back the faults of a unit that are only the capture's, which does not have its end."""
    kept = [fault for fault in unit.faults if fault.kind is not Damage.TRUNCATED]
    unit.cut = len(kept) < len(unit.faults)
    unit.faults = kept


def read_payload(
    unit: Unit, raw: bytes, at: i64, end: i64, trace: list[int] | None, cut: bool
) -> None:
    """Read what is between a frame's header and its end, or what there is of it."""
    kind: i64 = unit.type
    if kind == BODY or kind == OOB_BODY or kind == TRACE or kind == 0 or kind > LAST_TYPE:
        unit.payload = at
        return
    if kind == HEARTBEAT:
        if at < end:
            unit.payload = at
        return
    reader = Reader(raw, at, unit.dialect, trace)
    reader.cut = cut
    try:
        if kind == HEADER or kind == OOB_HEADER:
            content = read_content(reader, end)
            unit.content = content
            unit.class_id = content.class_id
            if content.plan is None:
                unit.payload = reader.at
        else:
            if kind == REQUEST or kind == RESPONSE:
                unit.envelope = envelope(reader, end)
            read_method(unit, reader, end)
    except Malformed as fault:
        reader.faults.append(fault)
    if reader.faults:
        name = unit.name
        for found in reader.faults:
            prefix_path(found, name)
        unit.faults = [*unit.faults, *reader.faults]


def envelope(reader: Reader, end: i64) -> Envelope:
    """The ids before a request's or response's method."""
    at = reader.need(ENVELOPE, end, "a request or response")
    data = reader.data
    return Envelope(u64(data, at), u64(data, at + 8), u32(data, at + 16))


def read_method(unit: Unit, reader: Reader, end: i64) -> None:
    """A method's numbers and its arguments."""
    at = reader.need(4, end, "a method's class and number")
    code = u32(reader.data, at)
    unit.class_id = code >> 16
    unit.method_id = code & 0xFFFF
    plan = unit.dialect.methods.get(code)
    if plan is None:
        unit.payload = at + 4
        return
    values = reader.arguments(plan, end)
    unit.method = Method(plan, values, reader.spare, b"")
    if reader.faults and not reader.cut and (plan.other is not None or not plan.certain):
        try_other(unit, reader, plan, at + 4, end)


def try_other(unit: Unit, reader: Reader, plan: Plan, at: i64, end: i64) -> None:
    """Read arguments that do not fit by a sibling's fields; where nothing is certain, keep them."""
    other = plan.other
    if other is not None:
        second = Reader(reader.data, at, unit.dialect, None if reader.trace is None else [])
        values = second.arguments(other, end)
        if not second.faults:
            unit.method = Method(other, values, second.spare, b"")
            adopt(reader, second.trace)
            return
    if not plan.certain:
        nothing: list[Value] = [None] * len(plan.types)
        unit.method = Method(plan, nothing, 0, reader.data[at:end])
        unit.payload = at
        adopt(reader, [])


def adopt(reader: Reader, trace: list[int] | None) -> None:
    """Put a second reading in the place of the first."""
    reader.faults = []
    if reader.trace is not None and trace is not None:
        reader.trace[:] = trace
