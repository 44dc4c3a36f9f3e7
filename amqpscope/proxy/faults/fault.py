"""A fault: which frames it is for, what it does, and how often."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from amqpscope.filter import Filter
from amqpscope.protocols.peers import Action

if TYPE_CHECKING:
    from amqpscope.analysis import Step

ALWAYS: Final = 0
"""Of `times`: on all matches; of `connection`: on all of them."""


@dataclass(frozen=True)
class Counts:
    """How often a fault may act."""

    skip: int = 0
    """Let so many matches pass."""
    times: int = ALWAYS
    """Then act on so many."""
    every: int = 1
    """Of those left act on the N-th, the 2N-th and so on."""
    chance: float = 1.0
    seed: int = 0
    connection: int = ALWAYS
    """Only on the N-th connection that the proxy takes."""


class Fault:
    """What was asked for, and how often it happened."""

    def __init__(self, name: str, where: Filter, text: str, action: Action, counts: Counts) -> None:
        self.name = name
        self.where = where
        self.text = text
        """The action as it was written."""
        self.action = action
        self.counts = counts
        self.matched = 0
        self.acted = 0
        self.random = random.Random(counts.seed)
        """The same for the same seed, so that a run can be repeated."""

    def __str__(self) -> str:
        return f"{self.where.text} => {self.text}{self.options}"

    @property
    def options(self) -> str:
        """The counts that are not as usual, as they are written."""
        usual = Counts()
        words = [
            f" {key}={value:g}" if key == "chance" else f" {key}={value}"
            for key, value in asdict(self.counts).items()
            if value != getattr(usual, key)
        ]
        return "".join(words)

    @property
    def is_used_up(self) -> bool:
        """Whether it has acted as often as it may."""
        return 0 < self.counts.times <= self.acted

    def may_match(self, connection: int) -> bool:
        """Whether it can still act on a connection."""
        return not self.is_used_up and self.counts.connection in (ALWAYS, connection)

    def acts_on(self, step: Step, connection: int) -> bool:
        """Whether it acts on this frame; counts the match."""
        if not self.may_match(connection) or not self.where.matches(step):
            return False
        self.matched += 1
        counts = self.counts
        left = self.matched - counts.skip
        if left <= 0 or left % counts.every:
            return False
        if counts.chance < 1 and self.random.random() >= counts.chance:
            return False
        self.acted += 1
        return True

    def table(self) -> dict[str, Any]:
        """The fault as a table of a file."""
        usual = asdict(Counts())
        counts = {key: value for key, value in asdict(self.counts).items() if value != usual[key]}
        name = {"name": self.name} if self.name else {}
        return {**name, "on": self.where.text, "action": self.text, **counts}

    def describe(self) -> dict[str, Any]:
        """The fault as a table, with how often it has matched and acted."""
        return {**self.table(), "matched": self.matched, "acted": self.acted}


def line_of(fault: dict[str, Any]) -> str:
    """A fault on one line, from what `describe` says of it."""
    shown = {"name", "on", "action", "matched", "acted"}
    counts = "".join(f" {key}={value}" for key, value in fault.items() if key not in shown)
    rule = f"{fault['on']} => {fault['action']}{counts}"
    return f"{fault['name']}: {rule} (matched {fault['matched']:,}, acted on {fault['acted']:,})"
