"""What a comparison results in."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from amqpscope.insight.diff.entries import Entry

CHANGED: Final = "changed"
MISSING: Final = "missing"
EXTRA: Final = "extra"
OUTCOME: Final = "outcome"
FINDING: Final = "finding"


@dataclass(frozen=True)
class Side:
    """One frame of a difference."""

    connection: int
    frame: int
    """0: it is about a whole connection."""
    packet: int
    time: int
    sender: int
    name: str
    text: str
    """What the frame says, on one line."""
    value: Any = None
    """What it says at the path; None: nothing."""


@dataclass(frozen=True)
class Difference:
    """One thing that the two do differently."""

    kind: str
    path: str
    """The field, frame or rule that it is about."""
    a: Side | None
    """None: there is no such frame."""
    b: Side | None
    order: float = 0.0
    """Where it is, by the frames of A."""


@dataclass(frozen=True)
class Latency:
    """How long deliveries took to be settled, where that is of another order."""

    address: str
    a: int
    """The median, in nanoseconds."""
    b: int
    connections: tuple[int, int]


@dataclass
class Diff:
    """All that two captures do differently."""

    a: str
    b: str
    frames: tuple[int, int] = (0, 0)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    """The connections that were compared with each other."""
    copies: bool = False
    """They are of one recording, so that no difference is a matter of time."""
    differences: list[Difference] = field(default_factory=list)
    context: list[Side] = field(default_factory=list)
    """The last frames of A that both have before they part."""
    latencies: list[Latency] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether they do the same."""
        return not self.differences


def side(entry: Entry | None, path: str = "") -> Side | None:
    """A frame as part of a difference at a path."""
    if entry is None:
        return None
    value = value_at(entry.shown, path) if path else None
    return Side(
        entry.connection, entry.frame, entry.packet, entry.time, entry.sender, entry.name,
        entry.summary, value,
    )  # fmt: skip


def value_at(facts: dict[str, Any], path: str) -> Any:
    """What is at a path: a value, or all that is below it."""
    below = {
        name[len(path) + 1 :]: value
        for name, value in facts.items()
        if name.startswith(f"{path}.") and value is not None
    }
    if path not in facts:
        return below or None
    return {facts[path]: below} if below and isinstance(facts[path], str) else facts[path]


@dataclass(frozen=True)
class Scope:
    """Which differences count."""

    only: tuple[str, ...] = ()
    """Paths, or patterns of them; none: all."""
    ignore: tuple[str, ...] = ()

    def counts(self, difference: Difference) -> bool:
        """Whether a difference is wanted."""
        path = difference.path
        if self.only and not any(covers(each, path) for each in self.only):
            return False
        return not any(covers(each, path) for each in self.ignore)


def covers(pattern: str, path: str) -> bool:
    """Whether a path is meant: it matches, or lies below what matches."""
    parts = path.split(".")
    heads = (".".join(parts[: end + 1]) for end in range(len(parts)))
    return any(fnmatchcase(head, pattern) for head in heads)


@dataclass
class Fold:
    """Differences that are alike, as a reader wants to see them: one, and where the others are."""

    first: Difference
    others: list[Difference] = field(default_factory=list)


def fold(differences: list[Difference]) -> list[Fold]:
    """Put together what differs in the same way at many frames, in the order of the first ones."""
    found: dict[tuple[str, str, str, str], Fold] = {}
    for each in differences:
        values = [
            repr(None if one is None else (one.sender, one.value)) for one in (each.a, each.b)
        ]
        key = (each.kind, each.path, values[0], values[1])
        known = found.get(key)
        if known is None or each.path == "connection":
            found[key if known is None else (*key[:3], str(each.order))] = Fold(each)
        else:
            known.others.append(each)
    return sorted(found.values(), key=lambda each: (each.first.kind == FINDING, each.first.order))
