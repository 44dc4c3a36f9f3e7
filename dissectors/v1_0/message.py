"""The sections of a message (spec 3.2): walked without decoding, decoded on demand.

`walk` only steps from one section to the next by a size or two. `read_section` decodes one. The
octets are those of the whole message: the payloads of all its transfers, joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed, prefix_path
from dissectors.native import mypyc_attr
from dissectors.v1_0.codec import Reader
from dissectors.v1_0.compounds import MAX_EMPTY_ELEMENTS
from dissectors.v1_0.encodings import DESCRIBED, TYPE_OF, label
from dissectors.v1_0.plans import PLAN_OF
from dissectors.v1_0.tables import SECTION_SYMBOLS, SECTIONS
from dissectors.v1_0.values import Described, Symbol, Ulong, Value
from dissectors.wire import u32

if TYPE_CHECKING:
    from mypy_extensions import i64

_WIDTH: Final = bytes((0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 1, 4, 1, 4, 1, 4))
"""Octets after a constructor by its high half; from 0xA on, octets of the size."""
MAX_SECTIONS: Final = 65536
"""Sections in one message: a data section can be five octets long."""
FEW_SECTIONS: Final = 16
"""Sections that may each hold as many array elements without octets as a frame may; in a message
of more, each may hold only so many."""

_DESCRIPTORS: Final = b"\x80\xa3\xb3"
"""The other encodings in which a section's descriptor can be written."""

LISTS: Final = b"\x45\xc0\xd0"
"""The constructors of a list."""
FIRST_SECTION: Final = 0x70
LAST_SECTION: Final = 0x78
DATA: Final = 0x75
AMQP_SEQUENCE: Final = 0x76
AMQP_VALUE: Final = 0x77


@mypyc_attr(free_list_len=1, acyclic=True)
class Section:
    """Where a section lies in its message."""

    def __init__(self, code: i64, start: i64, content: i64, stop: i64) -> None:
        self.code: i64 = code
        """The descriptor, or -1 for one that is no section's."""
        self.start: i64 = start
        self.content: i64 = content
        """Where the constructor of the described value is."""
        self.stop: i64 = stop
        self.crowded = False
        """It is one of very many: together they must not claim more than can be read."""

    @property
    def name(self) -> str:
        """The spec's name."""
        return SECTIONS.get(self.code, "unknown")


def walk(data: bytes) -> tuple[list[Section], Malformed | None]:
    """The sections in order, as far as they can be told apart, and what stopped the walk."""
    found: list[Section] = []
    at: i64 = 0
    end: i64 = len(data)
    try:
        while at < end:
            if len(found) == MAX_SECTIONS:
                raise Malformed(Damage.LIMIT, at, f"more than {MAX_SECTIONS} sections")
            section = section_at(data, at, end)
            found.append(section)
            at = section.stop
    except Malformed as fault:
        prefix_path(fault, f"section[{len(found)}]")
        return mark_crowded(found), fault
    return mark_crowded(found), None


def mark_crowded(found: list[Section]) -> list[Section]:
    """Mark the sections of a message that has too many of them to grant each the usual limit."""
    if len(found) > FEW_SECTIONS:
        for section in found:
            section.crowded = True
    return found


def reader_of(data: bytes, section: Section, at: int, trace: list[int] | None = None) -> Reader:
    """A reader for a section, with its share of what a message may claim without octets."""
    reader = Reader(data, at, trace)
    if section.crowded:
        reader.empty = MAX_EMPTY_ELEMENTS - FEW_SECTIONS
    return reader


def section_at(data: bytes, at: i64, end: i64) -> Section:
    """The section that begins here."""
    if data[at] != DESCRIBED:
        raise Malformed(
            Damage.NOT_DESCRIBED, at, f"a section begins with {label(data[at])}, not a descriptor"
        )
    code: i64 = -1
    content: i64
    if at + 2 < end and data[at + 1] == 0x53:
        code = data[at + 2]
        content = at + 3
    else:
        content = skip(data, at + 1, end)
        if data[at + 1] in _DESCRIPTORS:
            code = section_code(Reader(data, at + 1).value(content))
    if code < FIRST_SECTION or code > LAST_SECTION:
        code = -1
    return Section(code, at, content, skip(data, content, end))


def section_code(descriptor: Value) -> int:
    """The section that a descriptor names, or -1."""
    if isinstance(descriptor, Ulong):
        return int(descriptor) if descriptor in SECTIONS else -1
    if isinstance(descriptor, Symbol):
        return SECTION_SYMBOLS.get(str(descriptor), -1)
    return -1


def skip(data: bytes, at: i64, end: i64) -> i64:
    """Where the value that begins here ends, by its size alone."""
    wanted: i64 = 1
    while wanted > 0:
        if at >= end:
            raise Malformed(Damage.TRUNCATED, at, "a value should begin here, nothing is left")
        if data[at] == DESCRIBED:  # a descriptor and a value in the place of a value
            at += 1
            wanted += 1
        else:
            at = skip_primitive(data, at, end)
            wanted -= 1
    return at


def skip_primitive(data: bytes, at: i64, end: i64) -> i64:
    """Where a value without a descriptor ends."""
    code: i64 = data[at]
    if TYPE_OF[code] == 0:
        raise Malformed(Damage.UNKNOWN_CODE, at, f"no encoding has the code 0x{code:02x}")
    width: i64 = _WIDTH[code >> 4]
    stop = at + 1 + width
    if code >= 0xA0 and stop <= end:
        size: i64 = data[at + 1] if width == 1 else u32(data, at + 1)
        stop += size
    if stop > end:
        needed, left = stop - at - 1, end - at - 1
        raise Malformed(Damage.TRUNCATED, at, f"{label(code)} needs {needed} octets, {left} remain")
    return stop


def read_section(data: bytes, section: Section) -> tuple[Value, list[Malformed]]:
    """A section's value: a Body for header and properties, else what the descriptor describes."""
    plan = PLAN_OF[section.code] if section.code > 0 else None
    # The walk has read the descriptor; a list, or what is no composite, needs no second look.
    known = section.code > 0 and (plan is None or data[section.content] in LISTS)
    reader = reader_of(data, section, section.content if known else section.start)
    value: Value = None
    try:
        if known and plan is not None:
            reader.depth = 1
            value = reader.composite(plan, section.stop)
        else:
            value = reader.value(section.stop)
    except Malformed as fault:
        reader.fail(fault)
    if not known and isinstance(value, Described):
        value = value.value
    for damage in reader.faults:
        prefix_path(damage, section.name)
    return value, reader.faults
