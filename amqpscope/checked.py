"""A checked capture: what `lint` found in it, as every sink reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from amqpscope.findings import Finding


class Excerpt(NamedTuple):
    """A frame that a finding speaks of, as far as a reader wants to see it."""

    time: int
    """Nanoseconds since the Unix epoch."""
    sender: int
    channel: int | None
    link: str
    name: str
    text: str


@dataclass
class Checked:
    """One capture and what was found in it."""

    path: str
    """As it was given."""
    packets: int = 0
    connections: int = 0
    frames: int = 0
    protocols: list[str] = field(default_factory=list)
    gaps: int = 0
    error: str | None = None
    """Why it could not be read, or not to its end."""
    unreadable: bool = False
    """Nothing of it could be read, or checking broke off."""
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    excerpts: dict[int, Excerpt] = field(default_factory=dict)
    """The frames that the findings speak of, by number."""
