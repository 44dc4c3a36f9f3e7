"""What came of a run, and the rows that tell of its files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from amqpscope.spark.gather import Row
from amqpscope.spark.plan import File
from amqpscope.spark.worker import FileNumbers

NAMED: Final = 20
"""Connections that a run names, where it could not decrypt them."""
SLACK: Final = 5_000_000_000
"""Nanoseconds by which clocks may step back between two files of a ring."""


@dataclass
class Outcome:
    """What a run did."""

    run: int = 0
    files: int = 0
    octets: int = 0
    skipped: int = 0
    """Files that were done already."""
    packets: int = 0
    connections: int = 0
    frames: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    """By severity."""
    quarantined: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason, of those of which nothing could be read."""
    damaged: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason, of those that were read in part."""
    notes: list[str] = field(default_factory=list)
    undecrypted: int = 0
    """Connections that could not be decrypted, besides those that notes name."""

    def note_undecrypted(self, ring: str, notes: list[str]) -> None:
        """Name connections of a ring that could not be decrypted, unless there are too many."""
        named = max(NAMED - len(self.notes), 0)
        self.notes += [f"{ring}: {note}" for note in notes[:named]]
        self.undecrypted += len(notes[named:])

    def add(self, other: Outcome) -> None:
        """Take what a part of the run did."""
        self.run = other.run
        self.files += other.files
        self.octets += other.octets
        self.packets += other.packets
        self.connections += other.connections
        self.frames += other.frames
        self.findings.update(other.findings)
        self.quarantined += other.quarantined
        self.damaged += other.damaged
        self.notes += other.notes
        self.undecrypted += other.undecrypted


def overlapping(files: list[FileNumbers]) -> bool:
    """Whether a file begins well before the one before it ends."""
    seen = [file for file in files if file.first]
    return any(after.first < before.last - SLACK for before, after in pairwise(seen))


def file_rows(
    files: list[tuple[str, File, int, FileNumbers, str]], outcome: Outcome
) -> tuple[list[Row], list[Row]]:
    """Rows of captures and of what could not be read: ring, file, packets before, what was seen."""
    captures: list[Row] = []
    quarantine: list[Row] = []
    for ring, file, before, seen, notes in files:
        captures.append(
            (
                ring, file.path, seen.ordinal, seen.first // 1000 or file.changed, seen.first,
                seen.last, file.size, before + 1, seen.packets, seen.problem, notes or None,
            )
        )  # fmt: skip
        if seen.problem is not None:
            row = (ring, file.path, file.changed, file.size, seen.problem, seen.unreadable)
            quarantine.append(row)
            bad = outcome.quarantined if seen.unreadable else outcome.damaged
            bad.append((file.path, seen.problem))
    return captures, quarantine
