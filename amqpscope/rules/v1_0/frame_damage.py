"""What is wrong with a frame that could not be decoded, as one cause.

Damage spreads: one wrong size makes everything behind it look wrong, and an octet too many may show
first as a string that is not UTF-8. So if the structure is broken, only its first fault is
reported; otherwise each kind of damage once.

Whether a size or a count is wrong is found by reading the body once more by counts alone, with no
regard to sizes. If that comes out at the frame's end, sizes that disagree are the fault.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.stream.framer import Frame
from dissectors.errors import Damage, Malformed
from dissectors.v1_0.compounds import MAX_EMPTY_ELEMENTS
from dissectors.v1_0.encodings import BY_CODE, DESCRIBED, TYPE_OF, label
from dissectors.wire import u32

MAX_DEPTH: Final = 100

RULE_OF: Final = {
    Damage.UTF8: "TYP-024",
    Damage.ASCII: "TYP-025",
    Damage.BOOLEAN: "TYP-026",
    Damage.CHAR: "TYP-023",
    Damage.ODD_MAP: "TYP-015",
    Damage.NOT_LIST: "TYP-008",
}
"""Damage that does not move what follows it, and the rule that reports it."""


class Diagnosis:
    """One cause of damage."""

    def __init__(self, rule: str, path: str, reason: str) -> None:
        self.rule = rule
        self.path = path
        self.reason = reason


class _Last:
    """The newest answer: several rules ask about the same frame."""

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self.found: list[Diagnosis] = []


_last: Final = _Last()


def diagnoses(event: Event) -> list[Diagnosis]:
    """The causes of what is wrong with a malformed frame."""
    if not event.trusted:
        return []
    frame = event.frame
    if _last.frame is not frame:
        _last.found = diagnose(frame)
        _last.frame = frame
    return _last.found


def diagnosis_for(event: Event, rule: str) -> Diagnosis | None:
    """The diagnosis that a rule has to tell."""
    for found in diagnoses(event):
        if found.rule == rule:
            return found
    return None


def diagnose(frame: Frame) -> list[Diagnosis]:
    """What broke the structure, or else each other kind of damage once."""
    found: list[Diagnosis] = []
    seen: set[str] = set()
    for fault in frame.unit.faults:
        if fault.kind in {Damage.FRAME, Damage.NOT_DESCRIBED, Damage.LIMIT}:
            break
        rule = RULE_OF.get(fault.kind)
        if rule is None:
            return [structural(frame, fault)]
        if fault.kind == Damage.NOT_LIST and TYPE_OF[frame.raw[fault.offset]]:
            return [Diagnosis(rule, fault.path, fault.reason)]
        if rule not in seen:
            seen.add(rule)
            found.append(Diagnosis(rule, fault.path, fault.reason))
    return found


def structural(frame: Frame, fault: Malformed) -> Diagnosis:
    """Tell damage of the structure by what may have caused it."""
    unit, raw = frame.unit, frame.raw
    begin = unit.head
    walk = Walk(raw)
    end = walk.run(begin)
    path, reason = fault.path, fault.reason
    if walk.bare_array and fault.offset >= walk.bare_array:
        return Diagnosis("ENC-008", path, "an empty array ends before its constructor")
    for array in walk.arrays:
        if array.repeated:
            return Diagnosis(
                "ENC-007",
                path,
                f"an array of {array.count} {label(array.element)} has a constructor before each"
                " element instead of one for all",
            )
    if fault.kind == Damage.UNKNOWN_CODE:
        return Diagnosis("ENC-001", path, reason)
    if fault.kind == Damage.TRUNCATED and reason.startswith("0x"):
        # It is by its number that a code without a name is reported.
        return Diagnosis("ENC-001", path, f"no encoding has the code {reason[:4]}")
    # A message section behind the list shows that its size is right.
    fitting = section_at(raw, unit.payload)
    whole = not fitting and (end == len(raw) or (end > 0 and section_at(raw, end)))
    if whole and walk.mismatches:
        return by_size(walk.mismatches[0], path)
    if fault.kind == Damage.SIZE:
        if "array" in reason:
            return Diagnosis("ENC-006", path, reason)
        others = [each for each in unit.faults if each.kind != Damage.ODD_MAP]
        alone = fitting or (len(others) == 1 and unit.payload in {len(raw), 0})
        return Diagnosis("ENC-004" if alone or "claims" in reason else "ENC-003", path, reason)
    if reason.startswith("a value should begin here"):
        return Diagnosis("ENC-010", path, "a descriptor announces a value and nothing follows")
    if reaches_past(raw, begin):
        return Diagnosis("ENC-013", path, f"{reason}: the frame ends at octet {len(raw)}")
    return Diagnosis("ENC-002", path, reason)


def by_size(wrong: Mismatch, path: str) -> Diagnosis:
    """A size that disagrees with items which are all there."""
    what = label(wrong.code)
    text = f"{what} at octet {wrong.at} says {wrong.size} octets, its items take {wrong.used}"
    if wrong.used > wrong.size and (wrong.used - wrong.size) % 256 == 0:
        return Diagnosis("ENC-005", path, f"{text}: more than one octet of size can express")
    return Diagnosis("ENC-006" if wrong.code & 0xE0 == 0xE0 else "ENC-003", path, text)


def section_at(raw: bytes, at: int) -> bool:
    """A message section's descriptor stands here."""
    return at + 3 <= len(raw) and raw[at : at + 2] == b"\x00\x53" and 0x70 <= raw[at + 2] <= 0x78


def reaches_past(raw: bytes, at: int) -> bool:
    """The performative's list, by its size, goes on after the frame's end."""
    end = len(raw)
    if at + 4 > end or raw[at] != DESCRIBED or raw[at + 1] not in {0x53, 0x80, 0xA3}:
        return False
    at += 3 if raw[at + 1] == 0x53 else 10 if raw[at + 1] == 0x80 else 3 + raw[at + 2]
    if at + 2 > end or raw[at] not in {0xC0, 0xD0}:
        return False
    if raw[at] == 0xC0:
        return at + 2 + raw[at + 1] > end
    return at + 5 > end or at + 5 + u32(raw, at + 1) > end


class Mismatch:
    """A compound or array whose size is not what its items take."""

    def __init__(self, at: int, code: int, size: int, used: int) -> None:
        self.at = at
        self.code = code
        self.size = size
        self.used = used


class Elements:
    """An array that was walked over."""

    def __init__(self, count: int, element: int, repeated: bool) -> None:
        self.count = count
        self.element = element
        self.repeated = repeated


class Walk:
    """A walk over values by their counts; sizes are only compared."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.mismatches: list[Mismatch] = []
        self.arrays: list[Elements] = []
        self.bare_array = 0
        """Where an empty array without a constructor begins."""
        self.empty = 0

    def run(self, at: int) -> int:
        """Where the value at `at` ends; -1 when it cannot be walked over."""
        return self.value(at, len(self.data), 0)

    def value(self, at: int, end: int, depth: int) -> int:
        """Move over a value with its constructor."""
        if at < 0 or at >= end or depth > MAX_DEPTH:
            return -1
        code = self.data[at]
        if code == DESCRIBED:
            return self.value(self.value(at + 1, end, depth + 1), end, depth + 1)
        return self.content(code, at + 1, end, depth)

    def content(self, code: int, at: int, end: int, depth: int) -> int:
        """Move over what follows a constructor."""
        row = BY_CODE.get(code)
        if row is None or depth > MAX_DEPTH:
            return -1
        if not row.sized:
            return at + row.width if at + row.width <= end else -1
        if at + row.width > end:
            return -1
        size = self.data[at] if row.width == 1 else u32(self.data, at)
        inside = at + row.width
        if code < 0xC0:
            return inside + size if inside + size <= end else -1
        if inside + row.width > end:
            return -1
        count = self.data[inside] if row.width == 1 else u32(self.data, inside)
        if code >= 0xE0:
            stop = self.elements(inside, size, count, row.width, end, depth)
        else:
            stop = self.items(inside + row.width, count, end, depth)
        if stop >= 0 and stop != inside + size:
            self.mismatches.append(Mismatch(at - 1, code, size, stop - inside))
        return stop

    def items(self, at: int, count: int, end: int, depth: int) -> int:
        """Move over so many values."""
        if count > end - at:  # each takes an octet or more
            return -1
        for _ in range(count):
            at = self.value(at, end, depth + 1)
            if at < 0:
                return -1
        return at

    def elements(self, inside: int, size: int, count: int, width: int, end: int, depth: int) -> int:
        """Move over an array, after its size."""
        at = inside + width
        if count == 0 and size == width:
            self.bare_array = inside - width - 1
            return at
        while at < end and self.data[at] == DESCRIBED:
            at = self.value(at + 1, end, depth + 1)
            if at < 0:
                return -1
        if at >= end:
            return -1
        element = self.data[at]
        start = at + 1
        repeated = self.repeated(at, element, count, inside + size)
        self.arrays.append(Elements(count, element, repeated))
        if repeated:
            return inside + size
        if element >> 4 == 4:
            self.empty += count
            return -1 if self.empty > MAX_EMPTY_ELEMENTS else start
        at = start
        if count > end - at:
            return -1
        for _ in range(count):
            at = self.content(element, at, end, depth + 1)
            if at < 0:
                return -1
        return at

    def repeated(self, at: int, element: int, count: int, stop: int) -> bool:
        """The constructor stands before each element, and so the size fits, but not otherwise."""
        row = BY_CODE.get(element)
        if row is None or count < 2 or element >= 0xC0 or stop > len(self.data):
            return False
        if plain_end(self.data, at + 1, element, count, stop, 0) == stop:
            return False
        return plain_end(self.data, at, element, count, stop, 1) == stop


def plain_end(data: bytes, at: int, element: int, count: int, stop: int, constructors: int) -> int:
    """Where so many elements of a plain type end, each behind `constructors` constructors."""
    row = BY_CODE[element]
    # A count that so few octets cannot hold is not walked through; elements may take none at all.
    if not row.sized and not constructors:
        return at + count * row.width if count * row.width <= stop - at else -1
    if count > stop - at:
        return -1
    for _ in range(count):
        if constructors:
            if at >= stop or data[at] != element:
                return -1
            at += 1
        if row.sized:
            if at + row.width > stop:
                return -1
            at += row.width + (data[at] if row.width == 1 else u32(data, at))
        else:
            at += row.width
        if at > stop:
            return -1
    return at
