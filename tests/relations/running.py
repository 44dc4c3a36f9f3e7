"""Many mutants of many captures, in one process or several, and what they show."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from linted import Found, excused, judged, lint, new_errors, new_warnings
from mutants import Mutant, breed, simplest
from recording import Recording, load
from relations import RELATIONS
from writing import save

LARGE = 200_000
"""Octets of a capture above which it gets fewer mutants, and is no company for others."""
BATCH = 50
"""Mutants of a capture that are made in one go."""


@dataclass(frozen=True)
class Task:
    """Some mutants of one capture."""

    path: Path
    others: tuple[Path, ...]
    """Captures that relations may take for company."""
    seed: int
    first: int
    count: int
    relations: tuple[str, ...] = ()
    save: Path | None = None


@dataclass(frozen=True)
class Failure:
    """A finding that a change of the capture made."""

    capture: str
    relation: str
    rule: str
    peer: str
    severity: str
    excused: bool
    """In doubt, and its message says what is missing."""
    message: str
    saved: str = ""


@dataclass
class Outcome:
    """What some mutants showed."""

    mutants: int = 0
    failures: list[Failure] = field(default_factory=list)
    relations: Counter[str] = field(default_factory=Counter)
    """Mutants by relation."""
    accused: Counter[str] = field(default_factory=Counter)
    """Mutants with new errors by relation."""

    def add(self, other: Outcome) -> None:
        """Take what others showed."""
        self.mutants += other.mutants
        self.failures += other.failures
        self.relations += other.relations
        self.accused += other.accused


@cache
def recording_of(path: Path) -> Recording:
    """A capture and what it shows, read once in each process."""
    return judged(load(path))


def tasks(
    paths: list[Path], seed: int, mutants: int, names: tuple[str, ...], folder: Path | None
) -> list[Task]:
    """Spread a number of mutants evenly over captures; the large ones get fewer."""
    weights = [min(1.0, LARGE / octets(recording_of(path))) for path in paths]
    share = mutants / sum(weights)
    made = []
    for path, weight in zip(paths, weights, strict=True):
        wanted = max(1, round(share * weight))
        for first in range(0, wanted, BATCH):
            count = min(BATCH, wanted - first)
            made.append(Task(path, tuple(paths), seed, first, count, names, folder))
    return made


def octets(recording: Recording) -> int:
    """The size of all its packets, about."""
    return sum(54 + len(packet.payload) for packet in recording.packets)


def usable(paths: list[Path]) -> list[Path]:
    """The captures that have octets in TCP, each content once."""
    contents: dict[int, Path] = {}
    for path in paths:
        payloads = tuple(packet.payload for packet in recording_of(path).packets)
        if any(payloads):
            contents.setdefault(hash(payloads), path)
    return list(contents.values())


def run(task: Task) -> Outcome:
    """Make the mutants of a task and lint them."""
    recording = recording_of(task.path)
    small = [path for path in task.others if path.stat().st_size <= LARGE]

    def another(chance: Random) -> Recording:
        return recording_of(chance.choice(small))

    outcome = Outcome()
    names = task.relations or tuple(RELATIONS)
    for number in range(task.first, task.first + task.count):
        seed = f"{task.seed}/{recording.name}/{number}"
        mutant = breed(recording, seed, another, names)
        outcome.mutants += 1
        outcome.relations[mutant.name] += 1
        found = lint(mutant.recording)
        errors = new_errors(mutant.recording, found)
        outcome.accused[mutant.name] += bool(errors)
        for each in one_of_each(errors):
            saved = ""
            if task.save is not None:
                saved = keep(simplest(mutant, recording, another, each), each, task.save, number)
            outcome.failures.append(failure(mutant, each, saved))
        for each in one_of_each(new_warnings(mutant.recording, found)):
            outcome.failures.append(failure(mutant, each))
    return outcome


def run_all(todo: list[Task], jobs: int) -> Iterator[Outcome]:
    """Run tasks, several at a time; outcomes in the order of the tasks."""
    if jobs <= 1:
        yield from map(run, todo)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(run, todo)


def one_of_each(found: list[Found]) -> list[Found]:
    """The first of each accusation."""
    return list({each.accusation: each for each in reversed(found)}.values())[::-1]


def failure(mutant: Mutant, found: Found, saved: str = "") -> Failure:
    """What is reported of a new finding."""
    finding = found.finding
    return Failure(
        mutant.original,
        mutant.name,
        finding.rule,
        finding.peer,
        finding.severity,
        excused(finding),
        finding.message,
        saved,
    )


def keep(mutant: Mutant, found: Found, folder: Path, number: int) -> str:
    """Save a mutant, unless there is one already that shows the same of the same capture."""
    finding = found.finding
    capture = mutant.original.partition(".pcap")[0]
    relation = mutant.name.replace(" + ", "+")
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{finding.rule}-{finding.peer}-{relation}-{capture}-{number}"
    return str(save(mutant.recording, stem))


def elapsed(begun: float) -> str:
    """Seconds since then."""
    return f"{time.monotonic() - begun:.0f} s"
