"""The tables of a frame, as the rules about them look at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from amqpscope.model.v0_9.event import Event
from dissectors.errors import Damage, Malformed
from dissectors.v0_9.encodings import OF_0_9_1, OF_PRODUCTS
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.rows import TABLE
from dissectors.v0_9.values import FieldArray, Table, Value

OF_QPID: Final = "cCk"
EVERY_LETTER: Final = frozenset((OF_0_9_1 + OF_PRODUCTS).encode())
"""What the text of 0-9-1 defines, or the products that speak it."""


class TableItem(NamedTuple):
    """One field of a table, or an item of an array."""

    path: str
    name: str | None
    """None for an item of an array."""
    letter: int
    value: Value
    depth: int
    """How many tables and arrays it is in."""


def values_of(event: Event) -> Iterable[tuple[str, int, Value]]:
    """The arguments of a method, or the properties of a content: name, type and value."""
    method, content = event.unit.method, event.unit.content
    if method is not None:
        return zip(method.plan.names, method.plan.types, method.values, strict=True)
    if content is not None and content.plan is not None:
        return zip(content.plan.names, content.plan.types, content.values, strict=False)
    return ()


def arguments(event: Event) -> Iterator[tuple[str, Value]]:
    """The tables among arguments or properties, with their names."""
    for name, kind, value in values_of(event):
        if kind == TABLE:
            yield name, value


def fields(event: Event) -> Iterator[TableItem]:
    """All fields of all tables of a frame."""
    for name, value in arguments(event):
        yield from within(f"{event.name}.{name}", value, 1)


def within(path: str, value: Value, depth: int) -> Iterator[TableItem]:
    """What is in a table or array, and in those within it."""
    if isinstance(value, Table):
        for (name, item), letter in zip(value, value.letters, strict=False):
            field = TableItem(f"{path}.{name}", name, letter, item, depth)
            yield field
            yield from within(field.path, item, depth + 1)
    elif isinstance(value, FieldArray):
        for place, (item, letter) in enumerate(zip(value, value.letters, strict=False)):
            field = TableItem(f"{path}[{place}]", None, letter, item, depth)
            yield field
            yield from within(field.path, item, depth + 1)


def all_tables(event: Event) -> Iterator[tuple[str, Table]]:
    """All tables of a frame, also those within others."""
    for name, value in arguments(event):
        path = f"{event.name}.{name}"
        if isinstance(value, Table):
            yield path, value
        for field in within(path, value, 1):
            if isinstance(field.value, Table):
                yield field.path, field.value


def first_fault(event: Event) -> Malformed | None:
    """What is wrong first in a frame's tables; None where the frame itself is damaged."""
    faults = event.unit.faults
    if not faults or any(fault.kind is Damage.FRAME for fault in faults) or not event.trusted:
        return None
    tables = [name for name, _ in arguments(event)]
    for fault in faults:
        path = fault.path.removeprefix(f"{event.name}.")
        if any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in tables):
            inside = path not in tables
            if inside or not fault.reason.startswith("the size of"):
                return fault
    return None


def usual(letter: int, spoken: Dialect) -> bool:
    """Whether a dialect has a letter."""
    own = spoken.letters + (OF_QPID if spoken.name.endswith("qpid") else "")
    return letter in own.encode()


def defined(letter: int, spoken: Dialect) -> bool:
    """Whether any reading of a dialect has it."""
    return usual(letter, spoken) or (spoken.name.startswith("0-9-1") and letter in EVERY_LETTER)


def letter_text(letter: int) -> str:
    """A letter as people read it."""
    return repr(chr(letter)) if 0x20 < letter < 0x7F else f"0x{letter:02x}"
