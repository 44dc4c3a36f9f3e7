"""The state of a connection at one instant, as a tree that any format can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from amqpscope.model.constraint import Constraint
from amqpscope.model.ending import Ending

ENDED: Final = "ended"
HELD: Final = "constraint"
STATE: Final = "state"


@dataclass
class StateNode:
    """A connection, session, link, channel or consumer."""

    kind: str
    title: str
    """The first line, as text."""
    fields: dict[str, Any]
    """The same for programs; `ended`, `constraint` and the group of children are filled in."""
    lines: list[str] = field(default_factory=list)
    """What else is said of it, a line each."""
    ending: Ending | None = None
    """How it ended, where it says so itself."""
    constraint: Constraint | None = None
    """What holds it, or how it ended, where messages move over it."""
    group: str = ""
    """What its children are called."""
    children: list[StateNode] = field(default_factory=list)
    name: str = ""
    """Its own name, and below what people know it by."""
    label: str = ""
    sender: int = 0
    """Who sends over it."""

    def walk(self) -> Iterator[StateNode]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()
