"""Octets to values: the one reader of arguments, field tables and content headers.

A `Reader` walks over the payload of a frame, driven by the rows of a dialect. Damage inside a table
is noted in `faults` and the walk goes on behind the table, which says its own size; damage in an
argument ends the list, and those behind it are None.

With a `trace` the reader notes where each argument, table field and array item begins and ends, two
numbers each, in the order in which they begin: enough to show every octet's meaning
(`dissectors.span_older`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed
from dissectors.v0_9.letters import (
    BOOL,
    BYTES,
    CHARACTER,
    DOUBLE,
    FIELD_ARRAY,
    FIELD_TABLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    KINDS,
    SHORT_STRING,
    TIME,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    VOID,
    WIDTHS,
)
from dissectors.v0_9.plans import ContentPlan, Dialect, Plan
from dissectors.v0_9.rows import (
    BIT,
    LONG,
    LONGLONG,
    LONGSTR,
    OCTET,
    SHORT,
    SHORTSTR,
    TABLE,
    TIMESTAMP,
)
from dissectors.v0_9.values import (
    Content,
    FieldArray,
    PosixTime,
    ScaledDecimal,
    Table,
    Unreadable,
)
from dissectors.v1_0.codec import prefix, u16, u32
from dissectors.v1_0.values import (
    Byte,
    Char,
    Float,
    Int,
    Long,
    Short,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Value,
)

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_DEPTH: Final = 100
"""Tables and arrays within each other. Each level costs stack, and takes few octets."""
MAX_FAULTS: Final = 32
"""Faults noted in one frame; with more, the octets are simply not what they were taken for, and
tables are not read any further."""
MAX_FLAG_WORDS: Final = 16
"""Words of property flags. No class has more properties than one word has room for."""

_FLOAT: Final = struct.Struct(">f").unpack_from
_DOUBLE: Final = struct.Struct(">d").unpack_from


class Method:
    """A method and its arguments as they were on the wire."""

    def __init__(self, plan: Plan, values: list[Value], spare: int, raw: bytes) -> None:
        self.plan = plan
        self.values = values
        """By position; None from where they could not be read."""
        self.spare = spare
        """Bits that are set in the octets of bit fields without belonging to one."""
        self.raw = raw
        """The arguments as octets, where their fields are not known; `values` are None then."""

    @property
    def name(self) -> str:
        """The full name: `basic.publish`."""
        return self.plan.name

    def get(self, name: str) -> Value:
        """The value of a field by the spec's name; None also where the method has no such field."""
        place = self.plan.place.get(name)
        return None if place is None else self.values[place]

    def __repr__(self) -> str:
        named = zip(self.plan.names, self.values, strict=True)
        said = ", ".join([f"{name}={value!r}" for name, value in named])
        return f"{self.plan.name}({said})"


class ContentHeader:
    """What a content header frame says."""

    def __init__(self, class_id: int, weight: int, body_size: int, flags: int) -> None:
        self.class_id = class_id
        self.weight = weight
        self.body_size = body_size
        self.flags = flags
        """The words of property flags, the first in the highest bits."""
        self.words = 1
        """How many there are."""
        self.plan: ContentPlan | None = None
        """The class, if it is one that carries contents."""
        self.values: list[Value] = []
        """The properties by position, None for those that are not there."""

    @property
    def class_name(self) -> str:
        """The class's name, or its number."""
        return str(self.class_id) if self.plan is None else self.plan.name

    def get(self, name: str) -> Value:
        """A property by the spec's name, or None."""
        if self.plan is None:
            return None
        place = self.plan.place.get(name)
        return None if place is None else self.values[place]

    def __repr__(self) -> str:
        named = zip(self.plan.names if self.plan is not None else [], self.values, strict=True)
        said = "".join([f", {name}={value!r}" for name, value in named if value is not None])
        return f"{self.class_name}(body_size={self.body_size}{said})"


def u64(data: bytes, at: i64) -> int:
    """Eight octets, big-endian."""
    high: int = u32(data, at)
    low: int = u32(data, at + 4)
    return (high << 32) | low


def readable(raw: bytes) -> str:
    """A short string as text."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Unreadable(raw)


class Reader:
    """A walk over octets."""

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

    def begin(self, at: i64) -> int:
        """Trace that something begins; gives the place of its end in the trace."""
        trace = self.trace
        if trace is None:
            return -1
        trace.append(at)
        trace.append(-1)
        return len(trace) - 1

    def ended(self, place: int) -> None:
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

    # methods

    def arguments(self, plan: Plan, end: i64) -> list[Value]:
        """The fields of a method, which end with its frame."""
        values: list[Value] = []
        types = plan.types
        count: i64 = len(types)
        place: i64 = 0
        mask: i64 = 0
        octet: i64 = 0
        place_of_bits: i64 = 0
        try:
            while place < count:
                kind: i64 = types[place]
                if kind == BIT:
                    if mask == 0 or mask > 0x80:
                        self.spare |= octet & -mask
                        place_of_bits = self.need(1, end, "a bit")
                        octet = self.data[place_of_bits]
                        mask = 1
                    values.append(octet & mask != 0)
                    mask <<= 1
                    if self.trace is not None:
                        self.trace.append(place_of_bits)
                        self.trace.append(place_of_bits + 1)
                else:
                    if mask:
                        self.spare |= octet & -mask
                        mask = octet = 0
                    values.append(self.argument(kind, end, plan.names[place]))
                place += 1
            if mask:
                self.spare |= octet & -mask
            if self.at < end:
                self.note(
                    Malformed(
                        Damage.TRAILING, self.at, f"{end - self.at} octets after the last argument"
                    )
                )
        except Malformed as fault:
            prefix(fault, plan.names[place])
            self.note(fault)
            while place < count:
                values.append(None)
                place += 1
        return values

    def argument(self, kind: i64, end: i64, name: str) -> Value:
        """One value of a declared type, but for a bit; damage inside it is named after it."""
        if self.trace is None and kind != TABLE:
            return self.declared(kind, end)
        before = len(self.faults)
        place = self.begin(self.at)
        value = self.declared(kind, end)
        self.ended(place)
        if len(self.faults) > before:
            self.lead(before, name)
        return value

    def declared(self, kind: i64, end: i64) -> Value:
        """One value of a declared type, but for a bit."""
        if kind == SHORTSTR:
            return self.short_string(end)
        if kind == SHORT:
            return u16(self.data, self.need(2, end, "a short"))
        if kind == LONGLONG or kind == TIMESTAMP:
            return u64(self.data, self.need(8, end, "a longlong"))
        if kind == LONG:
            return u32(self.data, self.need(4, end, "a long"))
        if kind == OCTET:
            return self.data[self.need(1, end, "an octet")]
        if kind == TABLE:
            return self.table(end)
        if kind == LONGSTR:
            return self.long_string(end)
        reference: i64 = self.data[self.need(1, end, "a content's kind")]
        return Content(reference, self.long_string(end))

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

    def sized(self, end: i64, what: str) -> i64:
        """Read a size of four octets; returns where what it measures ends."""
        at = self.need(4, end, f"the size of a {what}")
        size = u32(self.data, at)
        stop = self.at + size
        if stop > end:
            raise Malformed(
                Damage.TRUNCATED, at, f"{what} claims {size} octets, {end - self.at} remain"
            )
        return stop

    def within(self, end: i64, what: str) -> i64:
        """Where a table or array ends, or what there is of it."""
        if not self.cut:
            return self.sized(end, what)
        at = self.need(4, end, f"the size of a {what}")
        stop = self.at + u32(self.data, at)
        if stop <= end:
            return stop
        self.note(Malformed(Damage.TRUNCATED, at, f"{what} goes on for {stop - end} octets"))
        return end

    def octets(self, end: i64, what: str) -> bytes:
        """Octets behind their size."""
        stop = self.sized(end, what)
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

    # field tables

    def table(self, end: i64) -> Table:
        """A table of its own, read as products mean the letters or, failing that, as written."""
        start = self.at
        before = len(self.faults)
        traced = 0 if self.trace is None else len(self.trace)
        found = self.fields(end)
        if len(self.faults) == before or b"s" not in self.data[start:end]:
            return found
        faults = self.faults
        kept = self.trace
        self.trace = None if kept is None else kept[:traced]
        self.faults = []
        stop = self.at
        self.at = start
        self.kinds = self.dialect.other_kinds
        other = self.fields(end)
        self.kinds = self.dialect.kinds
        if self.faults:
            self.faults = faults
            self.trace = restored(kept, kept)
            self.at = stop
            return found
        self.faults = faults[:before]
        self.trace = restored(kept, self.trace)
        return other

    def fields(self, end: i64) -> Table:
        """The fields of a table; damage inside is noted, and the walk goes on behind it."""
        stop = self.within(end, "table")
        self.deeper()
        pairs: list[tuple[str, Value]] = []
        found: list[int] = []
        data = self.data
        name = ""
        before = len(self.faults)
        try:
            while self.at < stop and len(self.faults) < MAX_FAULTS:
                name = ""
                place = self.begin(self.at)
                name = self.short_string(stop)
                letter: i64 = data[self.need(1, stop, "a type letter")]
                before = len(self.faults)
                value = self.value(letter, stop)
                if len(self.faults) > before:
                    self.lead(before, name)
                found.append(letter)
                pairs.append((name, value))
                self.ended(place)
        except Malformed as fault:
            if len(self.faults) > before:
                self.lead(before, name)
            if name:
                prefix(fault, name)
            self.note(fault)
        self.at = stop
        self.depth -= 1
        return Table(pairs, bytes(found))

    def array(self, end: i64) -> FieldArray:
        """Values behind the size of all of them."""
        stop = self.within(end, "array")
        self.deeper()
        items: list[Value] = []
        found: list[int] = []
        before = len(self.faults)
        try:
            while self.at < stop and len(self.faults) < MAX_FAULTS:
                place = self.begin(self.at)
                letter: i64 = self.data[self.need(1, stop, "a type letter")]
                before = len(self.faults)
                value = self.value(letter, stop)
                if len(self.faults) > before:
                    self.lead(before, f"[{len(items)}]")
                found.append(letter)
                items.append(value)
                self.ended(place)
        except Malformed as fault:
            if len(self.faults) > before:
                self.lead(before, f"[{len(items)}]")
            prefix(fault, f"[{len(items)}]")
            self.note(fault)
        self.at = stop
        self.depth -= 1
        return FieldArray(items, bytes(found))

    def deeper(self) -> None:
        """Go one level into a table or array."""
        if self.depth >= MAX_DEPTH:
            raise Malformed(Damage.LIMIT, self.at, f"more than {MAX_DEPTH} tables in each other")
        self.depth += 1

    def lead(self, since: int, name: str) -> None:
        """Lead the path of the faults noted since with the name of what contains them."""
        for fault in self.faults[since:]:
            prefix(fault, name)

    def value(self, letter: i64, end: i64) -> Value:
        """What follows a type letter."""
        kind: i64 = self.kinds[letter]
        if kind == 0:
            raise Malformed(
                Damage.UNKNOWN_CODE, self.at - 1, f"no type has the letter {shown(letter)}"
            )
        if kind >= SHORT_STRING:
            return self.variable(kind, end)
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

    def variable(self, kind: i64, end: i64) -> Value:
        """A value that says its own size, and a character."""
        if kind == FIELD_TABLE:
            return self.fields(end)
        if kind == FIELD_ARRAY:
            return self.array(end)
        if kind == BYTES:
            return self.octets(end, "byte array")
        if kind == SHORT_STRING:
            return self.short_string(end)
        if kind == CHARACTER:
            return Char(chr(self.data[self.need(1, end, "a character")]))
        return self.long_string(end)

    # content headers

    def content(self, end: i64) -> ContentHeader:
        """A content header, which ends with its frame."""
        data = self.data
        if self.at + 14 > end:
            raise Malformed(
                Damage.TRUNCATED,
                self.at,
                f"a content header has at least 14 octets, {end - self.at} are here",
            )
        at = self.at
        flags = u16(data, at + 12)
        found = ContentHeader(u16(data, at), u16(data, at + 2), u64(data, at + 4), flags)
        self.at = at + 14
        plan = self.dialect.contents.get(found.class_id)
        found.plan = plan
        if flags & 1:
            self.more_flags(found, end)
        if plan is not None:
            self.properties(found, plan, end)
        return found

    def more_flags(self, found: ContentHeader, end: i64) -> None:
        """The words of flags behind the first."""
        while found.flags & 1:
            if found.words >= MAX_FLAG_WORDS:
                raise Malformed(
                    Damage.LIMIT, self.at, f"more than {MAX_FLAG_WORDS} words of property flags"
                )
            at = self.need(2, end, "a word of property flags")
            word: int = u16(self.data, at)  # and not i64, for which all words are too many
            found.flags = found.flags << 16 | word
            found.words += 1

    def properties(self, found: ContentHeader, plan: ContentPlan, end: i64) -> None:
        """The properties whose flags are set."""
        types = plan.types
        count: i64 = len(types)
        values = found.values
        flags: i64 = found.flags >> (16 * (found.words - 1))
        place: i64 = 0
        try:
            while place < count:
                kind: i64 = types[place]
                if not flags & (0x8000 >> place):
                    values.append(None)
                elif kind == BIT:
                    values.append(True)
                else:
                    values.append(self.argument(kind, end, plan.names[place]))
                place += 1
        except Malformed as fault:
            prefix(fault, plan.names[place])
            self.note(fault)
            while place < count:
                values.append(None)
                place += 1
            return
        undefined = found.words > 1 or flags & ((0x8000 >> (count - 1)) - 1) if count else flags
        if undefined:
            self.note(
                Malformed(
                    Damage.UNKNOWN_CODE,
                    self.at,
                    f"property flags 0x{found.flags:04x} name properties that {plan.name} has not",
                    "property-flags",
                )
            )
        elif self.at < end:
            self.note(
                Malformed(
                    Damage.TRAILING, self.at, f"{end - self.at} octets after the last property"
                )
            )


def restored(kept: list[int] | None, found: list[int] | None) -> list[int] | None:
    """The caller's trace with what was found for it."""
    if kept is not None and found is not None and kept is not found:
        kept[:] = found
    return kept


def signed(number: i64, half: i64) -> i64:
    """An unsigned number taken as two's complement; `half` is the sign's bit."""
    return number - 2 * half if number >= half else number


def shown(letter: i64) -> str:
    """A letter as people read it."""
    return repr(chr(letter)) if 0x20 < letter < 0x7F else f"0x{letter:02x}"
