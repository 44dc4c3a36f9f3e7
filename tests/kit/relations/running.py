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

from amqpscope.findings import ERROR
from kit.relations.linted import Found, excused, judged, lint, news
from kit.relations.mutants import Mutant, breed, simplest
from kit.relations.recording import Recording, load
from kit.relations.relations import RELATIONS
from kit.relations.writing import save

LARGE = 200_000
"""Octets of a capture above which it gets fewer mutants, and is no company for others."""
EXAMPLES = 2
"""Captures saved by each process for one rule, peer and relation."""
BATCH = 50
"""Mutants of a capture that are made in one go."""


KEPT: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
"""How many mutants this process has seen of each rule, peer and relation."""


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
    """A warning that is in order."""
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
        found = news(mutant.recording, lint(mutant.recording))
        outcome.accused[mutant.name] += any(each.finding.severity == ERROR for each in found)
        for each in found:
            fine = each.finding.severity != ERROR and excused(each.finding, mutant.retimed)
            saved = ""
            if task.save is not None and not fine and wanted(mutant, each):
                saved = keep(simplest(mutant, recording, another, each), each, task.save, number)
            outcome.failures.append(failure(mutant, each, fine, saved))
    return outcome


def run_all(todo: list[Task], jobs: int) -> Iterator[Outcome]:
    """Run tasks, several at a time; outcomes in the order of the tasks."""
    if jobs <= 1:
        yield from map(run, todo)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(run, todo)


def failure(mutant: Mutant, found: Found, fine: bool, saved: str) -> Failure:
    """What is reported of a new finding."""
    finding = found.finding
    return Failure(
        mutant.original,
        mutant.name,
        finding.rule,
        finding.peer,
        finding.severity,
        fine,
        finding.message,
        saved,
    )


def wanted(mutant: Mutant, found: Found) -> bool:
    """Whether there are not enough examples of this yet."""
    kind = found.finding.rule, found.finding.peer, mutant.relations
    if len(mutant.relations) > 1:
        kind = *kind[:2], ("composed",)
    KEPT[kind] += 1
    return KEPT[kind] <= EXAMPLES


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
