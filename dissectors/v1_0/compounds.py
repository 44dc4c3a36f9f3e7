"""Values of AMQP 1.0 in their encodings: primitive ones, and lists, maps and arrays (spec 1.6).

Damage inside a list, map or array is noted and the walk goes on behind it, as its size is known. Of
a damaged one there is what could be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed, prefix_path
from dissectors.native import mypyc_attr
from dissectors.v1_0.encodings import DESCRIBED, INTEGER_OF, TYPE_OF, label
from dissectors.v1_0.primitives import PrimitiveReader
from dissectors.v1_0.values import Array, Map, Value
from dissectors.wire import u32

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_DEPTH: Final = 100
"""Values within values. Each level costs stack, and 50,000 octets of 0x00 would exhaust it."""
MAX_EMPTY_ELEMENTS: Final = 4096
"""Array elements that take no octets, in all that one reader reads: ten octets may claim four
thousand million of them, and a frame has room for many such arrays."""

NULL: Final = 0x40
TRUE: Final = 0x41
FALSE: Final = 0x42
_make: Final = tuple.__new__


@mypyc_attr(acyclic=True)
class CompoundReader(PrimitiveReader):
    """A walk over octets that reads any value, but for what a descriptor makes of it."""

    def described_value(self, end: i64) -> Value:
        """A descriptor and what it describes; `at` is on the octet 0x00."""
        raise NotImplementedError

    def value(self, end: i64) -> Value:
        """The value that begins here, with its type."""
        at = self.at
        if at >= end:
            raise Malformed(Damage.TRUNCATED, at, "a value should begin here, nothing is left")
        code: i64 = self.data[at]
        if self.trace is not None:
            self.trace.append(at)
        if code == DESCRIBED:
            return self.described_value(end)
        self.at = at + 1
        made = INTEGER_OF[TYPE_OF[code]]
        content = self.content(code, end)
        return content if made is None or content is None else made(content)

    def content(self, code: i64, end: i64) -> Value:
        """What follows a constructor, integers as plain int."""
        if code == NULL:
            return None
        if code == 0x43 or code == 0x44:
            return 0
        if code == TRUE:
            return True
        if code == FALSE:
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
        element: i64 = NULL
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
        made = INTEGER_OF[TYPE_OF[code]]
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

    def locate(self, fault: Malformed, before: int, name: str) -> None:
        """Name the field of a fault that is on its way out, and of those noted within."""
        self.name_faults(before, name)
        prefix_path(fault, name)

    def name_faults(self, before: int, name: str) -> None:
        """Put the name of what contains them before the path of the newest faults."""
        for fault in self.faults[before:]:
            prefix_path(fault, name)


def pairs(items: list[Value]) -> list[Value]:
    """Keys with their values."""
    made: list[Value] = []
    place: i64 = 0
    end: i64 = len(items)
    while place < end:
        made.append((items[place], items[place + 1]))
        place += 2
    return made
