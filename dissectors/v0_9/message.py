"""Content headers: the size and the properties of a message, before its bodies.

A content header is read by a codec's `Reader`, as its properties are arguments too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed, prefix_path
from dissectors.native import mypyc_attr
from dissectors.v0_9.codec import Reader
from dissectors.v0_9.plans import ContentPlan
from dissectors.v0_9.rows import BIT
from dissectors.v0_9.values import Value
from dissectors.wire import u16, u64

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_FLAG_WORDS: Final = 16
"""Words of property flags. No class has more properties than one word has room for."""


@mypyc_attr(free_list_len=1)
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


def read_content(reader: Reader, end: i64) -> ContentHeader:
    """A content header, which ends with its frame."""
    data = reader.data
    if reader.at + 14 > end:
        raise Malformed(
            Damage.TRUNCATED,
            reader.at,
            f"a content header has at least 14 octets, {end - reader.at} are here",
        )
    at = reader.at
    flags = u16(data, at + 12)
    found = ContentHeader(u16(data, at), u16(data, at + 2), u64(data, at + 4), flags)
    reader.at = at + 14
    plan = reader.dialect.contents.get(found.class_id)
    found.plan = plan
    if flags & 1:
        read_more_flags(reader, found, end)
    if plan is not None:
        read_properties(reader, found, plan, end)
    return found


def read_more_flags(reader: Reader, found: ContentHeader, end: i64) -> None:
    """The words of flags behind the first."""
    while found.flags & 1:
        if found.words >= MAX_FLAG_WORDS:
            raise Malformed(
                Damage.LIMIT, reader.at, f"more than {MAX_FLAG_WORDS} words of property flags"
            )
        at = reader.need(2, end, "a word of property flags")
        word: int = u16(reader.data, at)  # and not i64, for which all words are too many
        found.flags = found.flags << 16 | word
        found.words += 1


def read_properties(reader: Reader, found: ContentHeader, plan: ContentPlan, end: i64) -> None:
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
                values.append(reader.argument(kind, end, plan.names[place]))
            place += 1
    except Malformed as fault:
        prefix_path(fault, plan.names[place])
        reader.note(fault)
        while place < count:
            values.append(None)
            place += 1
        return
    undefined = found.words > 1 or flags & ((0x8000 >> (count - 1)) - 1) if count else flags
    if undefined:
        reader.note(
            Malformed(
                Damage.UNKNOWN_CODE,
                reader.at,
                f"property flags 0x{found.flags:04x} name properties that {plan.name} has not",
                "property-flags",
            )
        )
    elif reader.at < end:
        reader.note(
            Malformed(
                Damage.TRAILING, reader.at, f"{end - reader.at} octets after the last property"
            )
        )
