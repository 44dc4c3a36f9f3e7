"""Octets to values: the one decoder, driven by the rows.

A `Reader` walks over octets. `value` reads whatever stands there; `composite` reads a described
list by its row, so that a field of the declared type costs no more than its octets. Damage inside
a value whose size is known is noted in `faults` and the walk goes on behind it; damage whose end
cannot be known is raised as `Malformed` to the nearest enclosing value that has a size.

With a `trace` the reader notes the offset of each constructor (of each element, inside an array),
in the order of reading: enough to find every value's span again (see `dissectors.span`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed
from dissectors.rows import Composite
from dissectors.v1_0.bodies import BODIES, body_of
from dissectors.v1_0.body import Body
from dissectors.v1_0.decimals import read_decimal
from dissectors.v1_0.encodings import DESCRIBED, TYPE_NUMBER, TYPE_OF, TYPES, label
from dissectors.v1_0.types import COMPOSITES, field_numbers, primitive
from dissectors.v1_0.values import (
    Array,
    Byte,
    Char,
    Described,
    Float,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Uuid,
    Value,
)

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_DEPTH: Final = 100
"""Values within values. Each level costs stack, and 50,000 octets of 0x00 would exhaust it."""
MAX_EMPTY_ELEMENTS: Final = 4096
"""Array elements that take no octets, in all that one reader reads: ten octets may claim four
thousand million of them, and a frame has room for many such arrays."""
MAX_FAULTS: Final = 32
"""Faults noted in one frame; with more, the octets are simply not what they were taken for."""
MAX_SYMBOLS: Final = 4096
"""Symbols kept for reuse. They come from a small vocabulary, unless somebody plays tricks."""
MAX_KEPT_SYMBOL: Final = 64
"""Octets of a symbol worth keeping."""

NO_FAULTS: Final[list[Malformed]] = []
"""What sound octets have; shared, so never added to."""

_NULL: Final = 0x40
_TRUE: Final = 0x41
_FALSE: Final = 0x42
_BOOLEAN: Final = TYPE_NUMBER["boolean"]
_ARRAY: Final = TYPE_NUMBER["array"]
_WRAP: Final = [
    {"ubyte": Ubyte, "ushort": Ushort, "uint": Uint, "ulong": Ulong,
     "byte": Byte, "short": Short, "int": Int, "long": Long}.get(name)
    for name in ("", *TYPES)
]  # fmt: skip
"""The class of each integer type, by the type's number."""

_FLOAT: Final = struct.Struct(">f").unpack_from
_DOUBLE: Final = struct.Struct(">d").unpack_from
_make: Final = tuple.__new__
_symbols: Final[dict[bytes, Symbol]] = {}


def u16(data: bytes, at: i64) -> i64:
    """Two octets, big-endian."""
    high: i64 = data[at]
    low: i64 = data[at + 1]
    return (high << 8) | low


def u32(data: bytes, at: i64) -> i64:
    """Four octets, big-endian."""
    a: i64 = data[at]
    b: i64 = data[at + 1]
    c: i64 = data[at + 2]
    d: i64 = data[at + 3]
    return (a << 24) | (b << 16) | (c << 8) | d


class Plan:
    """A composite's row as the reader needs it."""

    def __init__(self, row: Composite) -> None:
        self.name = row.name
        self.code = row.code
        self.size = len(row.fields)
        self.types = field_numbers(row)
        self.multiple = [field.multiple for field in row.fields]
        self.nested = [BODIES.get(primitive(field.type)) for field in row.fields]
        self.names = [field.name for field in row.fields]
        self.padding: list[Value] = [None] * self.size
        self.empty = body_of(row.code, self.padding)
        """The body of which nothing is said: one for all, as bodies do not change."""


PLANS: Final = {row.code: Plan(row) for row in COMPOSITES}
PLAN_OF: Final = [PLANS.get(code) for code in range(256)]
"""The same, for the descriptor of one octet that nearly all have."""
PLANS_BY_SYMBOL: Final = {row.symbol.encode(): PLANS[row.code] for row in COMPOSITES}


class Reader:
    """A walk over octets."""

    def __init__(self, data: bytes, at: int = 0, trace: list[int] | None = None) -> None:
        self.data = data
        self.at: i64 = at
        self.trace = trace
        self.faults: list[Malformed] = NO_FAULTS
        self.depth: i64 = 0
        self.empty: i64 = 0
        """Array elements without octets so far."""

    def value(self, end: i64) -> Value:
        """The value that begins here, with its type."""
        at = self.at
        if at >= end:
            raise Malformed(Damage.TRUNCATED, at, "a value should begin here, nothing is left")
        code: i64 = self.data[at]
        if self.trace is not None:
            self.trace.append(at)
        if code == DESCRIBED:
            return self.described(end)
        self.at = at + 1
        made = _WRAP[TYPE_OF[code]]
        content = self.content(code, end)
        return content if made is None or content is None else made(content)

    def content(self, code: i64, end: i64) -> Value:
        """What follows a constructor, integers as plain int."""
        if code == _NULL:
            return None
        if code == 0x43 or code == 0x44:
            return 0
        if code == _TRUE:
            return True
        if code == _FALSE:
            return False
        shape = code >> 4
        if shape == 0x5:
            return self.one_octet(code, end)
        if shape == 0x7:
            return self.four_octets(code, end)
        if shape == 0xA or shape == 0xB:
            return self.variable(code, end)
        if shape == 0x8:
            return self.eight_octets(code, end)
        if shape == 0xC or shape == 0xD:
            return self.compound(code, end)
        if shape == 0xE or shape == 0xF:
            return self.array(code, end)
        if code == 0x45:
            return []
        return self.rare(code, end)

    def take(self, code: i64, width: i64, end: i64) -> i64:
        """Move over `width` octets and say where they begin."""
        at = self.at
        if at + width > end:
            raise Malformed(
                Damage.TRUNCATED, at, f"{label(code)} needs {width} octets, {end - at} remain"
            )
        self.at = at + width
        return at

    def one_octet(self, code: i64, end: i64) -> Value:
        """A value of one octet."""
        at = self.take(code, 1, end)
        octet: i64 = self.data[at]
        if code == 0x52 or code == 0x53 or code == 0x50:
            return octet
        if code == 0x56:
            if octet > 1:
                self.note(
                    Malformed(Damage.BOOLEAN, at, f"boolean octet is 0x{octet:02x}, not 0 or 1")
                )
            return octet != 0
        if code == 0x51 or code == 0x54 or code == 0x55:
            return octet - 256 if octet > 127 else octet
        return self.unknown(code, at)

    def four_octets(self, code: i64, end: i64) -> Value:
        """A value of four octets."""
        at = self.take(code, 4, end)
        if code == 0x70:
            return u32(self.data, at)
        number = u32(self.data, at)
        if code == 0x71:
            return number - 0x100000000 if number > 0x7FFFFFFF else number
        if code == 0x72:
            return Float(_FLOAT(self.data, at)[0])
        if code == 0x73:
            return self.char(number, at)
        if code == 0x74:
            return read_decimal(self.data[at : at + 4], "decimal32")
        return self.unknown(code, at)

    def char(self, number: i64, at: i64) -> Value:
        """One Unicode scalar value, or a fault."""
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            self.note(Malformed(Damage.CHAR, at, f"0x{number:x} is no Unicode scalar value"))
            return None
        return Char(chr(number))

    def eight_octets(self, code: i64, end: i64) -> Value:
        """A value of eight octets."""
        at = self.take(code, 8, end)
        raw = self.data[at : at + 8]
        if code == 0x80:
            return int.from_bytes(raw, "big")
        if code == 0x81:
            return int.from_bytes(raw, "big", signed=True)
        if code == 0x83:
            return Timestamp(int.from_bytes(raw, "big", signed=True))
        if code == 0x82:
            return _DOUBLE(self.data, at)[0]
        if code == 0x84:
            return read_decimal(raw, "decimal64")
        return self.unknown(code, at)

    def rare(self, code: i64, end: i64) -> Value:
        """Two and sixteen octets, and codes that nothing is assigned to."""
        shape = code >> 4
        if shape == 0x6:
            at = self.take(code, 2, end)
            number = u16(self.data, at)
            if code == 0x60:
                return number
            if code == 0x61:
                return number - 65536 if number > 32767 else number
            return self.unknown(code, at)
        if shape == 0x9:
            at = self.take(code, 16, end)
            if code == 0x98:
                return Uuid(self.data[at : at + 16])
            if code == 0x94:
                return read_decimal(self.data[at : at + 16], "decimal128")
            return self.unknown(code, at)
        if shape == 0x4:
            return self.unknown(code, self.at)
        raise Malformed(Damage.UNKNOWN_CODE, self.at - 1, f"no encoding has the code 0x{code:02x}")

    def variable(self, code: i64, end: i64) -> Value:
        """Binary, string and symbol."""
        start = self.at
        size: i64
        if code < 0xB0:
            size = self.data[self.take(code, 1, end)]
        else:
            size = u32(self.data, self.take(code, 4, end))
        at = self.take(code, size, end)
        raw = self.data[at : at + size]
        low = code & 0xF
        if low == 0:
            return raw
        if low == 1:
            try:
                return raw.decode("utf-8")
            except UnicodeDecodeError as error:
                self.note(
                    Malformed(Damage.UTF8, at + error.start, f"string is not UTF-8: {error.reason}")
                )
                return raw.decode("utf-8", "backslashreplace")
        if low == 3:
            return self.symbol(raw, at)
        return self.unknown(code, start)

    def symbol(self, raw: bytes, at: i64) -> Value:
        """A symbol, of which the same few come again and again."""
        known = _symbols.get(raw)
        if known is not None:
            return known
        if not raw.isascii():
            self.note(Malformed(Damage.ASCII, at, "symbol has an octet of 0x80 or more"))
            return Symbol(raw.decode("ascii", "backslashreplace"))
        made = Symbol(raw.decode("ascii"))
        if len(_symbols) < MAX_SYMBOLS and len(raw) <= MAX_KEPT_SYMBOL:
            _symbols[raw] = made
        return made

    def unknown(self, code: i64, at: i64) -> Value:
        """A code that is not assigned, though its high half tells how long the value is."""
        self.note(Malformed(Damage.UNKNOWN_CODE, at - 1, f"no encoding has the code 0x{code:02x}"))
        return None

    def stop(self, code: i64, end: i64) -> i64:
        """Read the size of a compound or array and say where it ends."""
        size: i64
        wide = code >= 0xF0 or 0xD0 <= code < 0xE0
        if wide:
            size = u32(self.data, self.take(code, 4, end))
        else:
            size = self.data[self.take(code, 1, end)]
        stop = self.at + size
        if stop > end:
            self.note(
                Malformed(
                    Damage.TRUNCATED,
                    self.at,
                    f"{label(code)} claims {size} octets, {end - self.at} remain",
                )
            )
            return end
        return stop

    def count(self, code: i64, stop: i64) -> i64:
        """Read how many items a compound or array has."""
        if code >= 0xF0 or 0xD0 <= code < 0xE0:
            return u32(self.data, self.take(code, 4, stop))
        return self.data[self.take(code, 1, stop)]

    def deeper(self) -> None:
        """Go one level into a value that contains values."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Malformed(Damage.LIMIT, self.at, f"values are nested more than {MAX_DEPTH} deep")

    def compound(self, code: i64, end: i64) -> Value:
        """A list or a map, and whatever can be read of it."""
        depth = self.depth
        self.deeper()
        start = self.at - 1
        stop = self.stop(code, end)
        items: list[Value] = []
        try:
            count = self.count(code, stop)
            self.items(items, count, stop, code)
            self.settle(code, stop)
        except Malformed as fault:
            self.note(fault)
            self.at = stop
        self.depth = depth
        low = code & 0xF
        if low == 0:
            return items
        if low == 1:
            if len(items) % 2:
                self.note(
                    Malformed(Damage.ODD_MAP, start, f"map has an odd count of {len(items)} items")
                )
                items.append(None)
            return _make(Map, pairs(items))
        return self.unknown(code, start + 1)

    def items(self, items: list[Value], count: i64, stop: i64, code: i64) -> None:
        """Read `count` values; what was read stays in `items` if one is damaged."""
        place: i64 = 0
        while place < count:
            if self.at >= stop:
                raise Malformed(
                    Damage.SIZE,
                    self.at,
                    f"{label(code)} claims {count} items, octets end after {place}",
                )
            before = len(self.faults)
            try:
                items.append(self.value(stop))
            except Malformed as fault:
                self.locate(fault, before, f"[{place}]")
                raise
            if len(self.faults) > before:
                self.name_faults(before, f"[{place}]")
            place += 1

    def settle(self, code: i64, stop: i64) -> None:
        """A compound ends where its size says."""
        if self.at != stop:
            raise Malformed(
                Damage.SIZE, self.at, f"{label(code)} has {stop - self.at} octets after its items"
            )

    def array(self, code: i64, end: i64) -> Value:
        """An array: one constructor, then the elements without theirs."""
        depth = self.depth
        self.deeper()
        start = self.at
        stop = self.stop(code, end)
        items: list[Value] = []
        descriptors: list[Value] = []
        element: i64 = _NULL
        try:
            count = self.count(code, stop)
            element = self.element_code(descriptors, stop)
            self.elements(items, element, count, stop)
            self.settle(code, stop)
        except Malformed as fault:
            self.note(fault)
            self.at = stop
        self.depth = depth
        if code & 0xF:
            return self.unknown(code, start)
        return Array(element, items, tuple(descriptors))

    def element_code(self, descriptors: list[Value], stop: i64) -> i64:
        """Read an array's constructor with any descriptors in front of it."""
        while True:
            at = self.take(DESCRIBED, 1, stop)
            code: i64 = self.data[at]
            if self.trace is not None:
                self.trace.append(at)
            if code != DESCRIBED:
                return code
            if len(descriptors) >= MAX_DEPTH:
                raise Malformed(Damage.LIMIT, at, f"more than {MAX_DEPTH} descriptors")
            descriptors.append(self.value(stop))

    def elements(self, items: list[Value], code: i64, count: i64, stop: i64) -> None:
        """Read the elements of an array, all of one code."""
        made = _WRAP[TYPE_OF[code]]
        if TYPE_OF[code] == 0:
            raise Malformed(
                Damage.UNKNOWN_CODE, self.at - 1, f"no encoding has the code 0x{code:02x}"
            )
        empty = code >> 4 == 4
        if empty:
            if self.empty + count > MAX_EMPTY_ELEMENTS:
                raise Malformed(
                    Damage.LIMIT,
                    self.at - 1,
                    f"array claims {count} elements of no octets,"
                    f" the limit is {MAX_EMPTY_ELEMENTS} in all",
                )
            self.empty += count
            if self.trace is None:
                content = self.content(code, stop)
                items.extend(
                    [content if made is None or content is None else made(content)] * count
                )
                return
        place: i64 = 0
        while place < count:
            if self.at >= stop and not empty:
                raise Malformed(
                    Damage.SIZE, self.at, f"array claims {count} elements, octets end after {place}"
                )
            if self.trace is not None:
                self.trace.append(self.at)
            before = len(self.faults)
            try:
                content = self.content(code, stop)
            except Malformed as fault:
                self.locate(fault, before, f"[{place}]")
                raise
            if len(self.faults) > before:
                self.name_faults(before, f"[{place}]")
            items.append(content if made is None or content is None else made(content))
            place += 1

    def described(self, end: i64) -> Value:
        """A descriptor and what it describes; `at` is on the octet 0x00."""
        self.deeper()
        self.at += 1
        plan: Plan | None = None
        descriptor: Value = None
        data = self.data
        at = self.at
        if at + 1 < end and data[at] == 0x53:
            if self.trace is not None:
                self.trace.append(at)
            self.at = at + 2
            plan = PLAN_OF[data[at + 1]]
            if plan is None:
                descriptor = Ulong(data[at + 1])
        else:
            descriptor = self.value(end)
            plan = plan_of(descriptor)
        if plan is not None and self.is_list(end):
            body = self.composite(plan, end)
            self.depth -= 1
            return body
        if plan is not None:
            self.not_list(plan, end)
            if descriptor is None:
                descriptor = Ulong(data[at + 1])
        result = Described(descriptor, self.value(end))
        self.depth -= 1
        return result

    def is_list(self, end: i64) -> bool:
        """Whether a list stands here, as a composite asks for."""
        if self.at >= end:
            return False
        code: i64 = self.data[self.at]
        return code == 0xC0 or code == 0xD0 or code == 0x45

    def not_list(self, plan: Plan, end: i64) -> None:
        """Note that a composite holds something else."""
        if self.at < end:
            found = label(self.data[self.at])
            self.note(
                Malformed(
                    Damage.NOT_LIST, self.at, f"{plan.name} should hold a list, holds {found}"
                )
            )

    def composite(self, plan: Plan, end: i64) -> Body:
        """A list read by its row; `at` is on the list's constructor."""
        at = self.at
        code: i64 = self.data[at]
        if self.trace is not None:
            self.trace.append(at)
        self.at = at + 1
        if code == 0x45:
            return plan.empty
        values = plan.padding[:]
        wrong: dict[int, Value] | None = None
        depth = self.depth
        stop = self.stop(code, end)
        try:
            count = self.count(code, stop)
            wrong = self.fields(plan, values, count, stop, code)
            self.settle(code, stop)
        except Malformed as fault:
            self.note(fault)
            self.at = stop
            self.depth = depth
        body = body_of(plan.code, values)
        if wrong is not None:
            body.wrong = wrong
        return body

    def fields(
        self, plan: Plan, values: list[Value], count: i64, stop: i64, code: i64
    ) -> dict[int, Value] | None:
        """Read a composite's positions into `values`, which are all None; return the wrong ones.

        What stands past the row's last position is added at the end.
        """
        wrong: dict[int, Value] | None = None
        data = self.data
        trace = self.trace
        types = plan.types
        place: i64 = 0
        size: i64 = plan.size
        while place < count:
            at = self.at
            if at >= stop:
                raise Malformed(
                    Damage.SIZE, at, f"{label(code)} claims {count} items, octets end after {place}"
                )
            constructor: i64 = data[at]
            if constructor == _NULL and trace is None and place < size:
                self.at = at + 1
                place += 1
                continue
            declared: i64 = types[place] if place < size else 0
            if trace is None and declared != 0 and TYPE_OF[constructor] == declared:
                # The encodings that most fields have, without a call.
                if constructor == 0x52 and at + 2 <= stop:
                    self.at = at + 2
                    values[place] = data[at + 1]
                    place += 1
                    continue
                if constructor == 0x43 or constructor == _TRUE or constructor == _FALSE:
                    self.at = at + 1
                    values[place] = 0 if constructor == 0x43 else constructor == _TRUE
                    place += 1
                    continue
                if constructor == 0x70 and at + 5 <= stop:
                    self.at = at + 5
                    values[place] = u32(data, at + 1)
                    place += 1
                    continue
            before = len(self.faults)
            item: Value
            if constructor == _NULL or (declared != 0 and TYPE_OF[constructor] == declared):
                if trace is not None:
                    trace.append(at)
                self.at = at + 1
                item = self.field_content(constructor, stop, plan, place, before)
            else:
                item = self.odd_field(plan, place, stop, before)
                if place < size and not fits(plan, place, item):
                    if wrong is None:
                        wrong = {}
                    wrong[place] = item
                    item = usable(item, declared)
            if place < size:
                values[place] = item
            else:
                values.append(item)
            if len(self.faults) > before:
                self.name_faults(before, field_name(plan, place))
            place += 1
        return wrong

    def field_content(
        self, constructor: i64, stop: i64, plan: Plan, place: i64, before: int
    ) -> Value:
        """A field of the declared type, or null."""
        try:
            return self.content(constructor, stop)
        except Malformed as fault:
            self.locate(fault, before, field_name(plan, place))
            raise

    def odd_field(self, plan: Plan, place: i64, stop: i64, before: int) -> Value:
        """A field of type `*`, a nested composite, an array, or simply not what the row says."""
        try:
            return self.value(stop)
        except Malformed as fault:
            self.locate(fault, before, field_name(plan, place))
            raise

    def locate(self, fault: Malformed, before: int, name: str) -> None:
        """Name the field of a fault that is on its way out, and of those noted within."""
        self.name_faults(before, name)
        prefix(fault, name)

    def note(self, fault: Malformed) -> None:
        """Keep a fault and go on."""
        if len(self.faults) >= MAX_FAULTS:
            raise Malformed(Damage.LIMIT, fault.offset, f"more than {MAX_FAULTS} faults")
        self.fail(fault)

    def fail(self, fault: Malformed) -> None:
        """Keep the fault at which reading ended."""
        if self.faults is NO_FAULTS:
            self.faults = []
        self.faults.append(fault)

    def name_faults(self, before: int, name: str) -> None:
        """Put the name of what contains them before the path of the newest faults."""
        for fault in self.faults[before:]:
            prefix(fault, name)


def prefix(fault: Malformed, name: str) -> None:
    """Lead a fault's path with the name of what contains it."""
    if not fault.path:
        fault.path = name
    elif fault.path[0] == "[":
        fault.path = name + fault.path
    else:
        fault.path = f"{name}.{fault.path}"


def field_name(plan: Plan, place: int) -> str:
    """The name of a position, also of one past the row's end."""
    return plan.names[place] if place < plan.size else f"[{place}]"


def pairs(items: list[Value]) -> list[Value]:
    """Keys with their values."""
    made: list[Value] = []
    place: i64 = 0
    end: i64 = len(items)
    while place < end:
        made.append((items[place], items[place + 1]))
        place += 2
    return made


def plan_of(descriptor: Value) -> Plan | None:
    """The composite that a descriptor names, in any of its spellings."""
    if isinstance(descriptor, Ulong):
        return PLANS.get(int(descriptor))
    if isinstance(descriptor, Symbol):
        return PLANS_BY_SYMBOL.get(descriptor.encode("utf-8"))
    return None


def fits(plan: Plan, place: int, item: Value) -> bool:
    """Whether a field's value, not of the declared primitive type, is right all the same."""
    nested = plan.nested[place]
    if nested is not None:
        return isinstance(item, nested)
    declared = plan.types[place]
    if declared == 0:
        return True
    if isinstance(item, Array) and plan.multiple[place]:
        return TYPE_OF[item.code] == declared and not item.descriptors
    return False


def usable(item: Value, declared: int) -> Value:
    """A number of another width is still a number; anything else is no use to the model."""
    wants_number = declared > 0 and _WRAP[declared] is not None
    if wants_number and isinstance(item, int) and not isinstance(item, bool):
        return item
    return None


def decode(data: bytes) -> tuple[Value, list[Malformed]]:
    """The value at the start of some octets, and what is wrong with them."""
    reader = Reader(data)
    result: Value = None
    try:
        result = reader.value(len(data))
        if reader.at != len(data):
            left = len(data) - reader.at
            reader.note(Malformed(Damage.TRAILING, reader.at, f"{left} octets after the value"))
    except Malformed as fault:
        reader.fail(fault)
    return result, reader.faults
