"""The sections of a message, looked into once for all rules (spec 3.2).

Nearly every message is sound, so `Message` first makes sure of that cheaply: section codes, the
constructors of fields and keys, sizes, and little else. What it cannot vouch for that way it
decodes. Only a message that does not pass is `odd`, and only then do rules take a closer look.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.terms import RECEIVER
from dissectors.errors import Malformed
from dissectors.native import mypyc_attr
from dissectors.v1_0.bodies import Body
from dissectors.v1_0.encodings import CODES, TYPE_OF, TYPES
from dissectors.v1_0.message import Section, read_section, skip, walk
from dissectors.v1_0.tables import COMPOSITE, RESTRICTED, primitive
from dissectors.v1_0.values import Array, Described, Map, Value, type_of
from dissectors.wire import u32

if TYPE_CHECKING:
    from mypy_extensions import i64

HEADER: Final = 0x70
DELIVERY_ANNOTATIONS: Final = 0x71
MESSAGE_ANNOTATIONS: Final = 0x72
PROPERTIES: Final = 0x73
APPLICATION_PROPERTIES: Final = 0x74
DATA: Final = 0x75
AMQP_SEQUENCE: Final = 0x76
AMQP_VALUE: Final = 0x77
FOOTER: Final = 0x78

RANK: Final = bytes((0, 1, 2, 3, 4, 5, 5, 5, 6))
"""The place of each section in a message, by its code less 0x70."""
BODY: Final = 5

MAX_DECODED: Final = 1024 * 1024
"""Octets of a section that are decoded to see whether it is sound; a longer one is only walked."""

MAX_LEVEL: Final = 8
"""Lists and maps in one another that are walked; what is deeper is decoded."""

_WIDTH: Final = bytes((0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 1, 4, 1, 4, 1, 4))
"""Octets after a constructor by its high half; from 0xA on, octets of the size."""


def allowed_codes(name: str) -> bytes:
    """For each field of a composite 256 octets: 1 where a format code is of the field's type."""
    rows = [(row.source, row.provides) for row in RESTRICTED]
    table = bytearray()
    for field in COMPOSITE[name].fields:
        types = {primitive(field.type)}
        if field.requires:
            types = {primitive(source) for source, provides in rows if field.requires in provides}
        codes = {row.code for type in types for row in CODES[type]}
        table += bytes(code in codes for code in range(256))
    return bytes(table)


HEADER_CODES: Final = allowed_codes("header")
PROPERTIES_CODES: Final = allowed_codes("properties")

TO: Final = 1 << 2
_CONTENT: Final = 1 << 6 | 1 << 7
_TIMES: Final = 1 << 8 | 1 << 9
_GROUP_ID: Final = 1 << 10
_GROUP_SEQUENCE: Final = 1 << 11

_ODD: Final = kinds.KIND["odd-message"]
_ABOUT: Final = kinds.KIND["content"]
_DATED: Final = kinds.KIND["times"]
_KEYS: Final = kinds.KIND["keys"]
_FOOTED: Final = kinds.KIND["footer"]


@mypyc_attr(free_list_len=1)
class Message:
    """A message by its sections."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.sections, self.fault = walk(data)
        self.present = 0
        """The properties that are not null, one bit for each by its position."""
        self.kinds = 0
        """What there is to look at, as kinds of event."""
        self.body = 0
        """The code of the first body section, 0 if there is none."""
        self.deep = False
        """The section at hand holds what only a decoder can judge: arrays, described values, ..."""
        self.level = 0
        """How many lists and maps the value at hand is in."""
        self.values: dict[int, tuple[Value, list[Malformed]]] | None = None
        """What was decoded of it, by where a section starts."""
        if not self.sound():
            self.kinds |= _ODD
        if self.present & _GROUP_SEQUENCE and not self.present & _GROUP_ID:
            self.kinds |= _ODD

    def find(self, code: int) -> Section | None:
        """The first section with this code."""
        for section in self.sections:
            if section.code == code:
                return section
        return None

    def value(self, section: Section) -> Value:
        """What a section holds: a Body for header and properties."""
        return self.read(section)[0]

    def faults(self, section: Section) -> list[Malformed]:
        """What is damaged inside a section."""
        return self.read(section)[1]

    def read(self, section: Section) -> tuple[Value, list[Malformed]]:
        """Decode a section, once."""
        if self.values is None:
            self.values = {}
        found = self.values.get(section.start)
        if found is None:
            found = self.values[section.start] = read_section(self.data, section)
        return found

    def sound(self) -> bool:
        """Whether all sections are in their places and well made."""
        rank: i64 = -1
        good = self.fault is None
        for section in self.sections:
            code = section.code
            if code < HEADER:
                return False
            place: i64 = RANK[code - HEADER]
            if place < rank or (place == rank and (code == AMQP_VALUE or code != self.body)):
                good = False
            rank = place
            if place == BODY and not self.body:
                self.body = code
            if not self.sound_section(section, code):
                good = False
        return good and self.body != 0

    def sound_section(self, section: Section, code: int) -> bool:
        """Whether one section is well made."""
        self.deep = False
        if code == DATA:
            return self.data[section.content] & 0xEF == 0xA0
        try:
            if code == HEADER:
                good = self.plain_list(section, HEADER_CODES, False)
            elif code == PROPERTIES:
                good = self.plain_list(section, PROPERTIES_CODES, True)
            elif code == APPLICATION_PROPERTIES:
                good = self.plain_map(section, 1)
            elif code == AMQP_VALUE or code == AMQP_SEQUENCE:
                good = self.plain_body(section, code)
            else:
                if code == FOOTER:
                    self.kinds |= _FOOTED
                good = self.plain_map(section, 3)
        except Malformed:
            return False
        if good and self.deep and section.stop - section.start <= MAX_DECODED:
            value, faults = self.read(section)
            return not faults and not repeated_key(value)
        return good

    def plain_list(self, section: Section, allowed: bytes, properties: bool) -> bool:
        """Whether each item of a list is null or of its field's type, and nothing is left over."""
        data = self.data
        at: i64 = section.content
        stop: i64 = section.stop
        code: i64 = data[at]
        if code == 0x45:
            return True
        count: i64
        if code == 0xC0 and at + 3 <= stop:
            count = data[at + 2]
            at += 3
        elif code == 0xD0 and at + 9 <= stop:
            count = u32(data, at + 5)
            at += 9
        else:
            return False
        if count * 256 > len(allowed):
            return False
        place: i64 = 0
        present: i64 = 0
        while place < count:
            if at >= stop:
                return False
            code = data[at]
            if code == 0x40:
                at += 1
            else:
                if not allowed[place * 256 + code]:
                    return False
                present |= 1 << place
                at = self.plain_value(at, stop)
                if at < 0:
                    return False
            place += 1
        if properties:
            self.present = present
            if present & _CONTENT:
                self.kinds |= _ABOUT
            if present & _TIMES:
                self.kinds |= _DATED
        elif present & 16 and code != 0x43:
            # A delivery-count that is not zero: of interest where the message is published.
            return False
        return at == stop

    def plain_map(self, section: Section, key: i64) -> bool:
        """Whether all keys are strings (1) or symbols (3), each but once."""
        data = self.data
        at: i64 = section.content
        stop: i64 = section.stop
        code: i64 = data[at]
        count: i64
        if code == 0xC1 and at + 3 <= stop:
            count = data[at + 2]
            at += 3
        elif code == 0xD1 and at + 9 <= stop:
            count = u32(data, at + 5)
            at += 9
        else:
            return False
        if count & 1:
            return False
        names: list[bytes] = []
        while count > 0:
            if at >= stop or (data[at] & 0xEF) != 0xA0 + key:
                return False
            begin = at + 2 if data[at] < 0xB0 else at + 5
            at = self.plain_value(at, stop)
            if at < 0 or at >= stop:
                return False
            name = data[begin:at]
            names.append(name)
            if key == 3 and not name.startswith(b"x-opt-"):
                self.kinds |= _KEYS
            elif key == 1 and (data[at] >= 0xC0 or data[at] == 0x45 or data[at] == 0):
                return False
            at = self.plain_value(at, stop)
            if at < 0:
                return False
            count -= 2
        return at == stop and differ(names)

    def plain_body(self, section: Section, code: int) -> bool:
        """Whether a value or sequence is well made."""
        at: i64 = section.content
        first: i64 = self.data[at]
        if code == AMQP_SEQUENCE and first & 0xEF != 0xC0 and first != 0x45:
            return False
        if first == 0:
            # A described type: of interest even where it is well made.
            return False
        return self.plain_value(at, section.stop) == section.stop

    def plain_value(self, at: i64, stop: i64) -> i64:
        """Where a value ends; -1 for one that is not sound."""
        data = self.data
        code: i64 = data[at]
        if 0xC0 <= code < 0xE0 and self.level < MAX_LEVEL:
            return self.plain_compound(at, stop)
        if code >= 0xC0 or code == 0:
            self.deep = True
            return skip(data, at, stop)
        if TYPE_OF[code] == 0:
            return -1
        width: i64 = _WIDTH[code >> 4]
        after = at + 1 + width
        if after > stop:
            return -1
        if code < 0xA0:
            if (code == 0x56 and data[at + 1] > 1) or code == 0x73:
                self.deep = True
            return after
        size: i64 = data[at + 1] if width == 1 else u32(data, at + 1)
        end = after + size
        if end > stop:
            return -1
        kind = code & 0xF
        if kind == 0 or ascii_only(data, after, end):
            return end
        return end if kind == 1 and is_utf8(data[after:end]) else -1

    def plain_compound(self, at: i64, stop: i64) -> i64:
        """Where a list or map ends; -1 for one that is not sound, as far as can be seen here."""
        data = self.data
        code: i64 = data[at]
        width: i64 = 1 if code < 0xD0 else 4
        begin = at + 1 + 2 * width
        if code & 0xE != 0 or begin > stop:
            return -1
        size: i64 = data[at + 1] if width == 1 else u32(data, at + 1)
        count: i64 = data[at + 2] if width == 1 else u32(data, at + 5)
        end = at + 1 + width + size
        pairs = code & 1 == 1
        if end > stop or (pairs and count & 1):
            return -1
        names: list[bytes] = []
        self.level += 1
        at = begin
        while count > 0 and 0 <= at < end:
            first = at
            at = self.plain_value(at, end)
            count -= 1
            if pairs and count & 1 and at > 0:
                names.append(data[first:at])
                # The same number can be written in several ways: only a decoder can compare them.
                if data[first] < 0xA0:
                    self.deep = True
        self.level -= 1
        return end if at == end and count == 0 and differ(names) else -1


def differ(names: list[bytes]) -> bool:
    """Whether no name occurs twice; most maps have so few that a set costs more than it saves."""
    if len(names) < 2:
        return True
    return names[0] != names[1] if len(names) == 2 else len(set(names)) == len(names)


def ascii_only(data: bytes, at: i64, end: i64) -> bool:
    """Whether all octets are below 0x80."""
    if end - at > 64:
        return data[at:end].isascii()
    while at < end:
        if data[at] > 0x7F:
            return False
        at += 1
    return True


def is_utf8(raw: bytes) -> bool:
    """Whether octets are text."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def key_text(key: Value) -> str:
    """A key with the types of all that is in it, the same for equal keys; empty for any NaN.

    There are many kinds of NaN, which cannot be distinguished here.
    """
    kind = type_of(key)
    parts: list[Value]
    if isinstance(key, Map):
        parts = [part for pair in key for part in pair]
    elif isinstance(key, Described):
        parts = [key.descriptor, key.value]
    elif isinstance(key, Array):
        parts = [*key.descriptors, *key]
        kind = f"{kind} of {TYPES[TYPE_OF[key.code] - 1]}"
    elif isinstance(key, list):
        parts = key
    else:
        return "" if isinstance(key, float) and math.isnan(key) else f"{kind} {key!r}"
    texts = [key_text(part) for part in parts]
    return f"{kind} [{', '.join(texts)}]" if all(texts) else ""


def repeated_key(value: Value) -> str:
    """The first key that occurs twice in some map within a value; empty where there is none."""
    if isinstance(value, Map):
        texts: set[str] = set()
        others: set[str] = set()
        for key, item in value:
            if type(key) is str:
                seen, name = texts, key
            else:
                seen, name = others, key_text(key)
            if name in seen and (name or seen is texts):
                return f'"{key}"' if seen is texts else name
            seen.add(name)
            inner = repeated_key(item)
            if inner:
                return inner
    elif (
        isinstance(value, list)
        or isinstance(value, Body)
        or (isinstance(value, Array) and value.code >= 0xC0)
    ):
        for item in value:
            inner = repeated_key(item)
            if inner:
                return inner
    elif isinstance(value, Described):
        return repeated_key(value.value)
    return ""


def look_into(event: Event) -> None:
    """Add to an event what there is to look at in its message, if its format is the standard's."""
    message, delivery, link = event.message, event.delivery, event.link
    if message is None or delivery is None or link is None or not message:
        return
    sending = link.sending
    unsure = link.attach is None and sending.delivery_total < 2
    if unsure or (sending.lost and event.kinds & kinds.FIRST):
        # What looks like a first transfer may be the last of a delivery whose start was not seen.
        return
    if link.role is RECEIVER:
        return
    private = delivery.message_format is not None and delivery.message_format > 0xFF
    if private or delivery.resumed or link.terms.coordinator or event.kinds & kinds.MALFORMED:
        return
    event.parts = Message(message)
    if event.parts.fault is None:
        delivery.sections = len(event.parts.sections)
    event.kinds |= event.parts.kinds
