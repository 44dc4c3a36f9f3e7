"""One Step as filters see it: message sections are walked and decoded at the first question."""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Step
from dissectors.v1_0.bodies import Body
from dissectors.v1_0.message import Section, read_section, walk
from dissectors.v1_0.values import Array, Described, Map, Value

NONE: Final[list[Section]] = []


class View:
    """A Step, and what was already read of its message."""

    def __init__(self, step: Step, start: int) -> None:
        self.step = step
        self.unit = step.frame.unit
        self.body: Body | None = self.unit.body
        self.start = start
        """The time of the first frame, in nanoseconds."""
        self.walked: list[Section] | None = None
        self.read: dict[int, list[Value]] = {}

    def sections(self) -> list[Section]:
        """The sections of the message that this frame completes."""
        if self.walked is None:
            # A content of the older protocols has no sections.
            message = None if self.step.older is not None else self.step.message
            self.walked = NONE if message is None else walk(message)[0]
        return self.walked

    def section(self, code: int) -> list[Value]:
        """The values of all sections of one kind."""
        values = self.read.get(code)
        if values is None:
            values = []
            message = self.step.message
            if message is not None:
                for section in self.sections():
                    if section.code == code:
                        values.append(read_section(message, section)[0])
            self.read[code] = values
        return values


def leaves(value: Value, found: list[Value]) -> None:
    """Add the values that a comparison looks at: for containers those inside, at any depth.

    A composite stands for itself by its name (`state == rejected`).
    """
    if value is None:
        return
    if isinstance(value, Body):
        found.append(value.row.name)
    elif isinstance(value, Map):
        for _, item in value:
            leaves(item, found)
    elif isinstance(value, list | Array):
        for item in value:
            leaves(item, found)
    elif isinstance(value, Described):
        leaves(value.value, found)
    else:
        found.append(value)


def part(value: Value, name: str) -> Value:
    """What a container holds under a name, key or index; None when there is no such thing."""
    if isinstance(value, Body):
        for place, field in enumerate(value.row.fields):
            if field.name == name:
                return value.wire(place)
        return None
    if isinstance(value, Map):
        return one_or_all([item for key, item in value if key_text(key) == name])
    if isinstance(value, Described):
        return part(value.value, name)
    if isinstance(value, list | Array):
        if name.isascii() and name.isdigit() and len(name) < 10:
            return value[int(name)] if int(name) < len(value) else None
        return one_or_all([part(item, name) for item in value])
    return None


def one_or_all(values: list[Value]) -> Value:
    """Nothing, a value, or a list of them."""
    there = [value for value in values if value is not None]
    if len(there) <= 1:
        return there[0] if there else None
    return there


def key_text(key: Value) -> str:
    """A map's key as it is written in a filter."""
    if isinstance(key, bytes) and type(key) is bytes:
        return key.decode("utf-8", "replace")
    return str(key)


def bodies(value: Value, names: frozenset[str], found: list[Value]) -> None:
    """Add the composites of these types that a value holds at any depth, itself included."""
    if isinstance(value, Body):
        if value.row.name in names:
            found.append(value)
        for item in value:
            if isinstance(item, Body | Map | list | Array | Described):
                bodies(item, names, found)
    elif isinstance(value, Map):
        for _, item in value:
            bodies(item, names, found)
    elif isinstance(value, list | Array):
        for item in value:
            bodies(item, names, found)
    elif isinstance(value, Described):
        bodies(value.value, names, found)
