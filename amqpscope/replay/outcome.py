"""How a replay went: what left the script, and what passed."""

from __future__ import annotations

from dataclasses import dataclass, field

from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_differences import Divergence
from amqpscope.wording import plural

SHOWN = 10
"""Divergences of a connection that are shown."""


@dataclass
class Outcome:
    """One conversation, or all of them."""

    connection: int
    """Its number in the capture; 0 for what belongs to none."""
    divergences: list[Divergence] = field(default_factory=list)
    uncounted: int = 0
    notes: list[str] = field(default_factory=list)
    messages: list[int] = field(default_factory=lambda: [0, 0])
    """Messages that passed, of the client and of the server."""

    @classmethod
    def of(cls, connection: int, part: Part) -> Outcome:
        """What a part came to."""
        return cls(
            connection, in_order(part.divergences), part.uncounted, part.notes, list(part.messages)
        )

    @property
    def diverged(self) -> bool:
        """Whether it did not go as recorded."""
        return bool(self.divergences)

    def lines(self, capture: str, limit: int = SHOWN) -> list[str]:
        """What a user should know, the worst first as it came."""
        name = f"{capture}#{self.connection}" if self.connection else capture
        lines = [f"{name}: {note}" for note in self.notes]
        for each in self.divergences[:limit] if limit else self.divergences:
            lines += describe(name, each)
        more = len(self.divergences) - limit if limit else 0
        if more + self.uncounted > 0:
            lines.append(f"{name}: {plural(more + self.uncounted, 'more difference')}")
        return lines


def in_order(divergences: list[Divergence]) -> list[Divergence]:
    """Divergences as the recording has their frames: what did not come is noticed only later."""
    at, placed = 0, []
    for each in divergences:
        at = each.frame or at
        placed.append((at, each))
    return [each for _, each in sorted(placed, key=lambda pair: pair[0])]


def describe(name: str, each: Divergence) -> list[str]:
    """One divergence: a line that stands alone, then both frames."""
    at = f"frame {each.frame}, " if each.frame else ""
    if each.kind == "changed":
        fields = ", ".join(
            f"{field.name} expected {field.expected}, seen {field.seen}" for field in each.fields
        )
        lines = [f"{name}: {at}{each.where}: {fields}"]
    elif each.kind == "missing":
        lines = [f"{name}: {at}{each.where}: recorded, did not come"]
    elif each.kind == "extra":
        at = f"before {at}" if at else ""
        lines = [f"{name}: {at}{each.where}: not in the recording"]
    else:
        lines = [f"{name}: {at}{each.where}"]
    if each.expected:
        lines.append(f"  expected  {each.expected}")
    if each.seen:
        lines.append(f"  seen      {each.seen}")
    return lines
