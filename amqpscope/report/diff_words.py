"""What two captures do differently, in words that text and HTML share."""

from __future__ import annotations

import json
from typing import Any, Final

from amqpscope.insight.diff.differences import (
    CHANGED,
    EXTRA,
    FINDING,
    MISSING,
    OUTCOME,
    Diff,
    Difference,
    Fold,
    Latency,
    Side,
)
from amqpscope.protocols.words import printable
from amqpscope.stream.types import PEERS
from amqpscope.wording import plural

TITLES: Final = {
    CHANGED: "changed",
    MISSING: "only in A",
    EXTRA: "only in B",
    OUTCOME: "another outcome",
    FINDING: "finding",
}
COUNTED: Final = {OUTCOME: "other outcome", FINDING: "finding"}
FEW: Final = 4
"""Other places of a difference that are named."""


def value_text(value: Any) -> str:
    """What a field holds, as people write it."""
    if value is None:
        return "(absent)"
    if isinstance(value, list):
        return ", ".join(map(value_text, value)) or "(none)"
    if isinstance(value, dict) and len(value) == 1:
        ((tag, inner),) = value.items()
        if tag == "masked":
            return "(secret)"
        if not isinstance(inner, dict | list):
            return printable(str(inner) if tag == "symbol" else f"{tag} {inner}")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable(text)


def frame_title(side: Side) -> str:
    """Which frame it is."""
    return f"{side.frame} {PEERS[side.sender]} {side.name}" if side.frame else "connection"


def opening_lines(diff: Diff) -> list[str]:
    """What was compared, and whether it is the same."""
    lines = [f"A: {diff.a}, {plural(diff.frames[0], 'frame')}"]
    lines.append(f"B: {diff.b}, {plural(diff.frames[1], 'frame')}")
    if diff.equal:
        lines.append("They do the same.")
    return lines


def parting_line(first: Difference) -> str:
    """Where two captures part, and how."""
    where = [
        f"frame {side.frame} of {name}"
        for name, side in (("A", first.a), ("B", first.b))
        if side is not None and side.frame
    ]
    place = " and ".join(where) or "a connection"
    return f"They part at {place}: {summary(first)}"


def summary(found: Difference) -> str:
    """One difference on one line."""
    if found.kind in (CHANGED, OUTCOME) and found.a is not None and found.b is not None:
        values = f"{value_text(found.a.value)} in A, {value_text(found.b.value)} in B"
        return f"{found.path} is {values}"
    only = found.a if found.a is not None else found.b
    name = "A" if found.a is not None else "B"
    if found.kind == FINDING and only is not None:
        return f"{found.path} {only.value} is found only in {name}"
    return f"{found.path} is only in {name}"


def others_line(fold: Fold) -> str:
    """Where else it is so; empty: nowhere."""
    if not fold.others:
        return ""
    places = []
    for each in fold.others[:FEW]:
        frames = [str(one.frame) for one in (each.a, each.b) if one is not None]
        places.append("/".join(frames))
    more = len(fold.others) - FEW
    rest = f" and {more} more" if more > 0 else ""
    return f"also at {', '.join(places)}{rest}"


def counts_line(diff: Diff) -> str:
    """How many differences there are, by kind."""
    counts = {kind: sum(each.kind == kind for each in diff.differences) for kind in TITLES}
    parts = [
        plural(count, COUNTED[kind]) if kind in COUNTED else f"{count} {TITLES[kind]}"
        for kind, count in counts.items()
        if count
    ]
    return f"{plural(len(diff.differences), 'difference')}: {', '.join(parts)}"


def latency_line(latency: Latency) -> str:
    """How long deliveries took to be settled in both."""
    a, b = duration(latency.a), duration(latency.b)
    address = printable(latency.address) or "deliveries"
    return f"{address}: settled after {a} in A and {b} in B (median)"


def duration(nanoseconds: int) -> str:
    """A time in the unit that fits."""
    if nanoseconds < 1_000_000:
        return f"{nanoseconds / 1e3:.0f} us"
    if nanoseconds < 1_000_000_000:
        return f"{nanoseconds / 1e6:.1f} ms"
    return f"{nanoseconds / 1e9:.2f} s"


def of_frames(found: Fold) -> tuple[object, ...]:
    """What differences have in common that are of the same two frames."""
    first = found.first
    places = [None if one is None else one.frame or -one.connection for one in (first.a, first.b)]
    return (*places, id(found) if first.kind == FINDING else 0)
