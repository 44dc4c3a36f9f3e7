"""Octets to values: the one decoder, driven by the rows.

A `Reader` walks over octets. `value` reads whatever comes next; `composite` reads a described
list by its row, so that a field of the declared type costs no more than its octets. Damage inside
a value whose size is known is noted in `faults` and the walk goes on behind it; damage whose end
cannot be known is raised as `Malformed` to the nearest enclosing value that has a size.

With a `trace` the reader notes the offset of each constructor (of each element, inside an array),
in the order of reading: enough to find every value's span again (see `span`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissectors.errors import Damage, Malformed
from dissectors.native import mypyc_attr
from dissectors.v1_0.bodies import body_of
from dissectors.v1_0.body import Body
from dissectors.v1_0.compounds import FALSE, NULL, TRUE, CompoundReader
from dissectors.v1_0.encodings import TYPE_OF, label
from dissectors.v1_0.plans import PLAN_OF, Plan, field_name, fits, plan_of, usable
from dissectors.v1_0.values import Described, Ulong, Value
from dissectors.wire import u32

if TYPE_CHECKING:
    from mypy_extensions import i64


@mypyc_attr(free_list_len=1, acyclic=True)
class Reader(CompoundReader):
    """A walk over octets that reads any value."""

    def described_value(self, end: i64) -> Value:
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
        """Whether a list is here, as a composite asks for."""
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

        What is past the row's last position is added at the end.
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
            if constructor == NULL and trace is None and place < size:
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
                if constructor == 0x43 or constructor == TRUE or constructor == FALSE:
                    self.at = at + 1
                    values[place] = 0 if constructor == 0x43 else constructor == TRUE
                    place += 1
                    continue
                if constructor == 0x70 and at + 5 <= stop:
                    self.at = at + 5
                    values[place] = u32(data, at + 1)
                    place += 1
                    continue
            before = len(self.faults)
            item: Value
            if constructor == NULL or (declared != 0 and TYPE_OF[constructor] == declared):
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
