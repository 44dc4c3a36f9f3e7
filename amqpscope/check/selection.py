"""Which rules run, and how much each matters: the command line and the configuration together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import PurePath
from typing import Any, Final

from amqpscope.findings import ERROR, SEVERITIES, SURE, WARNING, Finding
from amqpscope.protocols import registry as _families  # noqa: F401 - they bring rules along
from amqpscope.rules.all import load
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.coverage import CHECKED, status
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.registry import SHOULD, Rule

ALL: Final = "ALL"
NEVER: Final = "never"
FAIL_ON: Final = (*SEVERITIES, NEVER)
NOT, ITS_ALL, ITS_GROUP, ITSELF = range(4)
"""How closely a word means a rule."""


class ConfigError(Exception):
    """Something in the configuration or on the command line that we do not understand."""


@dataclass(frozen=True)
class Selection:
    """What the user wants checked. Rules are named by id, by group, or as ALL."""

    select: tuple[str, ...] = ()
    """Empty: all that run by default."""
    ignore: tuple[str, ...] = ()
    severity: dict[str, str] = field(default_factory=dict)
    per_capture: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What is ignored in captures that match a pattern."""
    strict: bool = False
    fail_on: str = ERROR

    def rules(self) -> RuleSet:
        """The rules to report; the others run too, for what is found depends on all of them.

        What follows from a violation is no error of the partner's, and some rules lead from an
        error to its cause: neither may change with what the user wants to see.
        """
        rules = list(load().values())
        wanted = [rule for rule in rules if self.wants(rule)]
        return RuleSet(wanted, [rule for rule in rules if rule.default or self.wants(rule)])

    def wants(self, rule: Rule) -> bool:
        """Whether a rule runs: the closer word counts, and of equals the one that ignores."""
        select = self.select
        if not select:
            wanted = ITS_ALL if rule.default else NOT
        elif rule.default:
            wanted = rank(select, rule.id)
        else:  # a group stands for what runs by default
            wanted = rank(tuple(word for word in select if word in (rule.id, ALL)), rule.id)
        return wanted > rank(self.ignore, rule.id)

    def ignores(self, rule: str, path: str) -> bool:
        """Whether a rule is not wanted in this capture."""
        return any(
            matches(path, pattern) and rank(words, rule)
            for pattern, words in self.per_capture.items()
        )

    @property
    def adjusts(self) -> bool:
        """Whether a finding may be dropped or get another severity."""
        return bool(self.strict or self.severity or self.per_capture)

    def adjust(self, finding: Finding, path: str) -> Finding | None:
        """A finding with the severity that it has for this user; None if it is not wanted."""
        if self.ignores(finding.rule, path):
            return None
        chosen = closest(self.severity, finding.rule)
        if chosen is not None:
            doubtful = chosen == ERROR and finding.certainty != SURE
            return replace(finding, severity=WARNING if doubtful else chosen)
        if self.strict and finding.level == SHOULD and finding.certainty == SURE:
            return replace(finding, severity=ERROR)
        return finding

    def adjust_all(self, findings: list[Finding], path: str) -> list[Finding]:
        """Those that are wanted in a capture, each with the severity that it has for this user."""
        adjusted = [self.adjust(finding, path) for finding in findings]
        return [finding for finding in adjusted if finding is not None]

    def fails(self, finding: Finding) -> bool:
        """Whether a finding makes the run fail."""
        if self.fail_on == NEVER or finding.fault:
            return False
        return SEVERITIES.index(finding.severity) <= SEVERITIES.index(self.fail_on)

    def idle(self) -> list[str]:
        """Words of the selection that no rule answers to which is checked."""
        rules = load()
        return [word for word in self.select if not any(rank((word,), id) for id in rules)]

    def merged(self, **given: Any) -> Selection:
        """This, with what the command line says instead."""
        return replace(self, **{key: value for key, value in given.items() if value})


def matches(path: str, pattern: str) -> bool:
    """Whether a capture is meant by a pattern: of its whole path, or of the end of it."""
    parts = PurePath(path).parts
    return any(fnmatch("/".join(parts[at:]), pattern) for at in range(len(parts)))


def group(id: str) -> str:
    """The group of a rule: `FLW` for `FLW-016`."""
    return id.rpartition("-")[0]


def rank(words: tuple[str, ...], id: str) -> int:
    """How closely one of some words means a rule."""
    best = NOT
    for word in words:
        if word == id:
            return ITSELF
        if id.startswith(f"{word}-"):
            best = ITS_GROUP
        elif word == ALL:
            best = max(best, ITS_ALL)
    return best


def closest(table: dict[str, str], id: str) -> str | None:
    """What a table by id, group or ALL says of a rule."""
    found = [word for word in table if rank((word,), id)]
    return table[max(found, key=lambda word: (rank((word,), id), word))] if found else None


def resolve(words: tuple[str, ...]) -> tuple[str, ...]:
    """Ids and groups from what the user wrote: also names, commas, and lower case."""
    parts = (part.strip() for part in ",".join(words).split(","))
    return tuple(resolve_one(word) for word in parts if word)


def resolve_one(word: str) -> str:
    """One id, group or name as an id or group."""
    entries = catalogue()
    upper = word.upper()
    if upper in entries or upper in groups() or upper == ALL:
        return upper
    for entry in entries.values():
        if entry.name == word.lower():
            return entry.id
    raise ConfigError(f"{word!r} is no rule or group{suggestion(word)}")


def groups() -> set[str]:
    """`FLW`; of `A09-FRM` both `A09` and `A09-FRM`."""
    found = {group(id) for id in catalogue()}
    return found | {id.partition("-")[0] for id in found}


def suggestion(word: str) -> str:
    """What the user may have meant."""
    entries = catalogue()
    ids = [*entries, *groups(), ALL]
    names = [entry.name for entry in entries.values()]
    near = get_close_matches(word.upper(), ids, n=1) or get_close_matches(word.lower(), names, n=1)
    return f"; did you mean {near[0]}?" if near else "; amqpscope rules lists them"


def why_idle(word: str) -> str:
    """Why nothing is checked under an id or group."""
    entry = catalogue().get(word)
    if entry is None:
        return "no rule of this group is checked yet"
    found = status(entry)
    return CHECKED if found == CHECKED else f"this rule is not checked: {found}"
