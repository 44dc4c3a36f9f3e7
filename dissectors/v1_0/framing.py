"""Frames and protocol headers (spec 2.2, 2.3, 5.2.1, 5.3.1).

`measure` finds how long the unit at an offset is, `decode_unit` decodes it.

A header can come wherever a frame can: its first four octets, read as a frame's size, would
be more than a thousand million, so the two cannot be mistaken for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissectors import wire
from dissectors.errors import Damage, Malformed, prefix_path
from dissectors.native import mypyc_attr
from dissectors.v1_0.body import Body
from dissectors.v1_0.codec import Reader
from dissectors.v1_0.encodings import DESCRIBED, label
from dissectors.v1_0.plans import PLAN_OF, Plan, plan_of
from dissectors.v1_0.values import Described, Value
from dissectors.wire import DAMAGED, HEADER_SIZE, MAGIC, MAX_FRAME_SIZE, MORE, Header, u16, u32

if TYPE_CHECKING:
    from mypy_extensions import i64

SASL_FRAME: Final = 0x01


@mypyc_attr(free_list_len=1, acyclic=True)
class Unit(wire.Unit):
    """One header or frame, decoded.

    `kind` is `header`, `amqp`, `sasl`, `empty`, `unknown` (of another frame type) or `malformed`.
    """

    def __init__(self, kind: str, channel: int, type: int, head: int) -> None:
        super().__init__(kind, channel, type, head)
        self.code = 0
        """The performative's descriptor, when it is one that we know; else 0."""
        self.body: Body | None = None
        """The performative, when it is one that we know."""
        self.other: Value = None
        """What the frame has in the performative's place otherwise."""

    @property
    def doff(self) -> int:
        """The data offset: the size of the frame's header in units of four octets."""
        return self.head // 4

    @property
    def name(self) -> str:
        """The spec's name: `transfer`, `sasl-init`, `header`, `empty`; else the kind."""
        body = self.body
        return self.kind if body is None else body.row.name

    @property
    def title(self) -> str:
        """The name, or `unknown` for a described value that is no performative."""
        return self.name if self.body is not None or self.other is None else "unknown"


def measure(data: bytes, at: i64, end: i64) -> i64:
    """The size of the unit that begins at `at`, or MORE, or DAMAGED."""
    left = end - at
    if left < 4:
        return MORE
    if data[at] == 0x41 and data[at : at + 4] == MAGIC:
        return HEADER_SIZE
    size = u32(data, at)
    if size < HEADER_SIZE or size > MAX_FRAME_SIZE:
        return DAMAGED
    return size


def decode_unit(raw: bytes, trace: list[int] | None = None, missing: int = 0) -> Unit:
    """Decode a unit; never raises, whatever the octets.

    `missing` octets of it, at the end, are not in the capture.
    """
    end: i64 = len(raw)
    if end == HEADER_SIZE and raw[:4] == MAGIC:
        unit = Unit("header", 0, 0, 0)
        unit.header = Header(raw[4], raw[5], raw[6], raw[7])
        return unit
    if end < HEADER_SIZE or u32(raw, 0) != end + missing:
        unit = Unit("malformed", 0, 0, 0)
        unit.mark_damaged(0, f"{end} octets are no frame or header")
        return unit
    doff: i64 = raw[4]
    kind: i64 = raw[5]
    begin = doff * 4
    unit = Unit("amqp", u16(raw, 6), kind, begin)
    unit.payload = end
    if begin < HEADER_SIZE:
        unit.mark_damaged(4, f"data offset is {doff}, the least is 2")
        return unit
    if begin > end + missing:
        unit.mark_damaged(4, f"data offset {doff} reaches past the frame's {end + missing} octets")
        return unit
    if kind > SASL_FRAME:
        unit.kind = "unknown"
        unit.payload = begin
        return unit
    if kind == SASL_FRAME:
        unit.kind = "sasl"
    if begin == end + missing:
        unit.kind = "empty"
        return unit
    if begin >= end:
        unit.mark_damaged(end, f"{missing} octets of the frame are not in the capture")
        return unit
    read_body(unit, raw, begin, trace)
    return unit


def read_body(unit: Unit, raw: bytes, begin: i64, trace: list[int] | None) -> None:
    """Decode the performative and find the payload behind it."""
    end: i64 = len(raw)
    reader = Reader(raw, begin, trace)
    try:
        plan = fast_plan(raw, begin, end)
        if plan is not None and trace is None:
            reader.at = begin + 3
            reader.depth = 1
            unit.code = raw[begin + 2]
            unit.body = reader.composite(plan, end)
        elif raw[begin] == DESCRIBED:
            found = reader.value(end)
            if isinstance(found, Body):
                unit.body = found
                unit.code = found.row.code
            else:
                unit.other = found
        else:
            found_label = label(raw[begin])
            raise Malformed(
                Damage.NOT_DESCRIBED, begin, f"the body begins with {found_label}, not a descriptor"
            )
        unit.payload = reader.at
    except Malformed as fault:
        reader.fail(fault)
    if reader.faults:
        unit.kind = "malformed"
        unit.faults = reader.faults
        name_faults(unit)


def fast_plan(raw: bytes, begin: i64, end: i64) -> Plan | None:
    """The performative by its usual spelling: a small descriptor before a list."""
    if begin + 4 > end or raw[begin] != DESCRIBED or raw[begin + 1] != 0x53:
        return None
    code = raw[begin + 3]
    if code != 0xC0 and code != 0xD0 and code != 0x45:
        return None
    return PLAN_OF[raw[begin + 2]]


def name_faults(unit: Unit) -> None:
    """Lead the path of every fault with the performative's name."""
    name = ""
    if unit.body is not None:
        name = unit.body.row.name
    elif isinstance(unit.other, Described):
        plan = plan_of(unit.other.descriptor)
        name = "" if plan is None else plan.name
    if name:
        for fault in unit.faults:
            prefix_path(fault, name)
