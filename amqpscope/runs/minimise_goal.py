"""What a smaller capture has to show, how it is looked for, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from amqpscope.analysis import Step
from amqpscope.capture.synthetic import Exchange
from amqpscope.check.selection import Selection
from amqpscope.filter import Filter
from amqpscope.findings import Finding

BUDGET: Final = 20.0
"""Seconds after which the best so far is taken."""


@dataclass(frozen=True)
class Goal:
    """What has to stay: a finding with its peer and certainty, or a frame that matches a filter."""

    finding: Finding | None = None
    where: Filter | None = None

    def is_met(self, seen: Seen) -> bool:
        """Whether what is left shows it."""
        wanted = self.finding
        if wanted is not None:
            key = judgement(wanted)
            return any(judgement(each) == key for each in seen.findings)
        return self.where is not None and any(map(self.where.matches, seen.steps))


@dataclass
class Seen:
    """What the rules see in some connections."""

    steps: list[Step] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class MinimiseSettings:
    """How the smallest capture is looked for."""

    selection: Selection
    closed_world: bool = False
    seconds: float = BUDGET


@dataclass
class Minimised:
    """What was found."""

    exchanges: list[Exchange]
    before: int
    """Frames at first, and in the end."""
    after: int
    finding: Finding | None
    """What is still found, as it is in the smaller capture."""
    tests: int
    interrupted: bool = False


def judgement(finding: Finding) -> tuple[str, str, str, str]:
    """What has to be the same of a finding."""
    return finding.rule, finding.peer, finding.severity, finding.certainty


def choose_finding(findings: Iterable[Finding], rule: str) -> Finding | None:
    """The finding of a rule that is kept: the first of the worst."""
    order = ("error", "warning", "info")
    found = [each for each in findings if each.rule == rule]
    return min(
        found, key=lambda each: (bool(each.fault), order.index(each.severity), each.frame),
        default=None,
    )  # fmt: skip
