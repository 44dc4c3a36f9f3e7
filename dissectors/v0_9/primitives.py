"""Values of 0-8, 0-9 and 0-9-1 that contain no others: octets to numbers and strings.

A reader walks over the payload of a frame. With a `trace` it notes where each argument, table field
and array item begins and ends, two numbers each, in the order in which they begin: enough to show
every octet's meaning (see `span`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed, prefix_path
from dissectors.native import mypyc_attr
from dissectors.v0_9.encodings import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    KINDS,
    TIME,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    VOID,
    WIDTHS,
)
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.values import (
    Byte,
    Float,
    Int,
    Long,
    PosixTime,
    ScaledDecimal,
    Short,
    Ubyte,
    Uint,
    Ulong,
    Unreadable,
    Ushort,
    Value,
)
from dissectors.wire import u16, u32, u64

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_FAULTS: Final = 32
"""Faults noted in one frame; with more, the octets are simply not what they were taken for, and
tables are not read any further."""

_FLOAT: Final = struct.Struct(">f").unpack_from
_DOUBLE: Final = struct.Struct(">d").unpack_from


@mypyc_attr(acyclic=True)
class PrimitiveReader:
    """A walk over octets that reads numbers and strings."""

    def __init__(
        self, data: bytes, at: int, dialect: Dialect, trace: list[int] | None = None
    ) -> None:
        self.data = data
        self.at: i64 = at
        self.dialect = dialect
        self.kinds = dialect.kinds
        self.trace = trace
        self.faults: list[Malformed] = []
        self.depth: i64 = 0
        self.spare: i64 = 0
        self.cut = False
        """The capture does not have the end: a table is then read as far as it goes."""

    def note(self, fault: Malformed) -> None:
        """Keep a fault, unless there are too many."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)

    def begin_span(self, at: i64) -> int:
        """Trace that something begins; returns where its end goes in the trace."""
        trace = self.trace
        if trace is None:
            return -1
        trace.append(at)
        trace.append(-1)
        return len(trace) - 1

    def end_span(self, place: int) -> None:
        """Trace that it ends here."""
        if self.trace is not None:
            self.trace[place] = self.at

    def need(self, width: i64, end: i64, what: str) -> i64:
        """Move over `width` octets and say where they begin."""
        at = self.at
        if at + width > end:
            raise Malformed(Damage.TRUNCATED, at, f"{what} needs {width} octets, {end - at} remain")
        self.at = at + width
        return at

    def name_faults(self, before: int, name: str) -> None:
        """Put the name of what contains them before the path of the newest faults."""
        for fault in self.faults[before:]:
            prefix_path(fault, name)

    def short_string(self, end: i64) -> str:
        """Up to 255 octets of text."""
        at = self.at
        if at >= end:
            raise Malformed(Damage.TRUNCATED, at, "a short string should begin here, nothing does")
        start = at + 1
        stop = start + self.data[at]
        if stop > end:
            raise Malformed(
                Damage.TRUNCATED,
                at,
                f"short string claims {stop - start} octets, {end - start} remain",
            )
        self.at = stop
        return readable(self.data[start:stop])

    def sized_end(self, end: i64, what: str) -> i64:
        """Read a size of four octets; returns where what it measures ends."""
        at = self.need(4, end, f"the size of a {what}")
        size = u32(self.data, at)
        stop = self.at + size
        if stop > end:
            raise Malformed(
                Damage.TRUNCATED, at, f"{what} claims {size} octets, {end - self.at} remain"
            )
        return stop

    def octets(self, end: i64, what: str) -> bytes:
        """Octets behind their size."""
        stop = self.sized_end(end, what)
        raw = self.data[self.at : stop]
        self.at = stop
        return raw

    def long_string(self, end: i64) -> Value:
        """Octets: text where they are UTF-8."""
        raw = self.octets(end, "long string")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw

    def fixed_value(self, kind: i64, end: i64) -> Value:
        """A value of fixed size."""
        if kind == VOID:
            return None
        at = self.need(WIDTHS[kind], end, KINDS[kind])
        data = self.data
        if kind == INT32:
            return Int(signed(u32(data, at), 0x80000000))
        if kind == BOOL:
            return data[at] != 0
        if kind == INT64:
            high = signed(u32(data, at), 0x80000000)
            low: int = u32(data, at + 4)
            return Long((int(high) << 32) | low)
        if kind == TIME:
            return PosixTime(u64(data, at))
        if kind == DOUBLE:
            return _DOUBLE(data, at)[0]
        return self.rare(kind, at)

    def rare(self, kind: i64, at: i64) -> Value:
        """The other values of fixed size."""
        data = self.data
        if kind == INT8:
            return Byte(signed(data[at], 0x80))
        if kind == UINT8:
            return Ubyte(data[at])
        if kind == INT16:
            return Short(signed(u16(data, at), 0x8000))
        if kind == UINT16:
            return Ushort(u16(data, at))
        if kind == UINT32:
            return Uint(u32(data, at))
        if kind == UINT64:
            return Ulong(u64(data, at))
        if kind == FLOAT:
            return Float(_FLOAT(data, at)[0])
        return ScaledDecimal(data[at], signed(u32(data, at + 1), 0x80000000))


def readable(raw: bytes) -> str:
    """A short string as text."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Unreadable(raw)


def signed(number: i64, half: i64) -> i64:
    """An unsigned number taken as two's complement; `half` is the sign's bit."""
    return number - 2 * half if number >= half else number
