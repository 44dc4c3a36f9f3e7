"""Octets to values: the one reader of arguments and field tables, driven by the rows.

A `Reader` walks over the payload of a frame by the rows of a dialect. Damage inside a table is
noted in `faults` and the walk goes on behind the table, which says its own size; damage in an
argument ends the list, and those behind it are None. Content headers are read in `message`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed, prefix_path
from dissectors.native import mypyc_attr
from dissectors.v0_9.encodings import BYTES, CHARACTER, FIELD_ARRAY, FIELD_TABLE, SHORT_STRING
from dissectors.v0_9.plans import Plan
from dissectors.v0_9.primitives import MAX_FAULTS, PrimitiveReader
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
from dissectors.v0_9.values import Char, Content, FieldArray, Table, Value
from dissectors.wire import u16, u32, u64

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_DEPTH: Final = 100
"""Tables and arrays within each other. Each level costs stack, and takes few octets."""


@mypyc_attr(free_list_len=1)
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


@mypyc_attr(free_list_len=1, acyclic=True)
class Reader(PrimitiveReader):
    """A walk over octets that reads arguments and field tables."""

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
            prefix_path(fault, plan.names[place])
            self.note(fault)
            while place < count:
                values.append(None)
                place += 1
        return values

    def argument(self, kind: i64, end: i64, name: str) -> Value:
        """One value of a declared type, but for a bit; damage inside it is named after it."""
        if self.trace is None and kind != TABLE:
            return self.declared_value(kind, end)
        before = len(self.faults)
        place = self.begin_span(self.at)
        value = self.declared_value(kind, end)
        self.end_span(place)
        if len(self.faults) > before:
            self.name_faults(before, name)
        return value

    def declared_value(self, kind: i64, end: i64) -> Value:
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
            self.trace = restore_trace(kept, kept)
            self.at = stop
            return found
        self.faults = faults[:before]
        self.trace = restore_trace(kept, self.trace)
        return other

    def within(self, end: i64, what: str) -> i64:
        """Where a table or array ends, or what there is of it."""
        if not self.cut:
            return self.sized_end(end, what)
        at = self.need(4, end, f"the size of a {what}")
        stop = self.at + u32(self.data, at)
        if stop <= end:
            return stop
        self.note(Malformed(Damage.TRUNCATED, at, f"{what} goes on for {stop - end} octets"))
        return end

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
                place = self.begin_span(self.at)
                name = self.short_string(stop)
                letter: i64 = data[self.need(1, stop, "a type letter")]
                before = len(self.faults)
                value = self.value(letter, stop)
                if len(self.faults) > before:
                    self.name_faults(before, name)
                found.append(letter)
                pairs.append((name, value))
                self.end_span(place)
        except Malformed as fault:
            if len(self.faults) > before:
                self.name_faults(before, name)
            if name:
                prefix_path(fault, name)
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
                place = self.begin_span(self.at)
                letter: i64 = self.data[self.need(1, stop, "a type letter")]
                before = len(self.faults)
                value = self.value(letter, stop)
                if len(self.faults) > before:
                    self.name_faults(before, f"[{len(items)}]")
                found.append(letter)
                items.append(value)
                self.end_span(place)
        except Malformed as fault:
            if len(self.faults) > before:
                self.name_faults(before, f"[{len(items)}]")
            prefix_path(fault, f"[{len(items)}]")
            self.note(fault)
        self.at = stop
        self.depth -= 1
        return FieldArray(items, bytes(found))

    def deeper(self) -> None:
        """Go one level into a table or array."""
        if self.depth >= MAX_DEPTH:
            raise Malformed(Damage.LIMIT, self.at, f"more than {MAX_DEPTH} tables in each other")
        self.depth += 1

    def value(self, letter: i64, end: i64) -> Value:
        """What follows a type letter."""
        kind: i64 = self.kinds[letter]
        if kind == 0:
            raise Malformed(
                Damage.UNKNOWN_CODE, self.at - 1, f"no type has the letter {letter_text(letter)}"
            )
        if kind >= SHORT_STRING:
            return self.variable(kind, end)
        return self.fixed_value(kind, end)

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


def restore_trace(kept: list[int] | None, found: list[int] | None) -> list[int] | None:
    """The caller's trace with what was found for it."""
    if kept is not None and found is not None and kept is not found:
        kept[:] = found
    return kept


def letter_text(letter: i64) -> str:
    """A letter as people read it."""
    return repr(chr(letter)) if 0x20 < letter < 0x7F else f"0x{letter:02x}"
