"""The rules of the older family (A09): registered beside those of 1.0, run on events of their own.

    @rule("A09-FRM-14", "content-frame-on-channel-zero", "4.2.6.1", MUST, ERROR,
          on="wrong-channel content-header | wrong-channel content-body")
    def content_frame_on_channel_zero(event: OlderEvent, report: OlderReporter) -> None:
        '''The header and the bodies of a content are not on channel 0.
        ...'''

`on` names kinds of event (see `model.older.event.KINDS`), methods (`basic.publish`) and classes
(`queue.*`), of which damaged ones are not shown unless `malformed` stands beside it: all of them
must be in the event, and a bar separates alternatives. `dialects` names
the versions that a rule is of, by the start of their names; without it, it is of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from amqpscope.model.connection import Fault
from amqpscope.model.event import Event
from amqpscope.model.mark import Mark
from amqpscope.model.older.event import KIND, OlderEvent
from amqpscope.rules import (
    INCOMPLETE,
    RULES,
    SURE,
    SUSPECT,
    Related,
    Reporter,
    Reporting,
    Rule,
    RuleSet,
)
from amqpscope.rules.consequences import EARLIER, consequence
from amqpscope.rules.older.consequences import STATELESS, cause_of, touched_by

ANY_DIALECT: Final = ("A09-FRM-08", "A09-FRM-12", "A09-FRM-14", "A09-FRM-15", "A09-FRM-16")
"""Rules that are the same whatever dialect is spoken."""

MAX_NAMES: Final = 4096
"""Names that are remembered: of methods that nobody knows there are as many as numbers."""

OlderCheck = Callable[[OlderEvent, "OlderReporter"], None]


class Condition:
    """One alternative of `on`."""

    def __init__(self, words: str) -> None:
        self.mask = 0
        """Kinds that must all be there."""
        self.names: list[str] = []
        """Methods that it may be, or starts of their names; empty for any."""
        for word in words.split():
            if word in KIND:
                self.mask |= KIND[word]
            elif "." in word:
                self.names.append(word.removesuffix("*"))
            else:
                raise ValueError(f"there is no kind of event called {word!r}")
        if self.names:
            self.mask |= KIND["method"]
        self.sound = bool(self.names) and not self.mask & KIND["malformed"]
        """The method must be whole and without faults: else its arguments say nothing."""

    def holds(self, kinds: int, name: str) -> bool:
        """Whether an event of these kinds and this name is meant."""
        if self.mask & kinds != self.mask or (self.sound and kinds & KIND["malformed"]):
            return False
        if not self.names:
            return True
        return any(
            name == word or (word[-1] == "." and name.startswith(word)) for word in self.names
        )


@dataclass(frozen=True)
class OlderRule(Rule):
    """A rule of the older family."""

    look: OlderCheck
    dialects: tuple[str, ...]
    """The dialects that it is of, by the start of their names; empty for all."""

    @property
    def masks(self) -> list[int]:
        """Nothing of 1.0 concerns it."""
        return []

    @property
    def conditions(self) -> list[Condition]:
        """Each alternative of `on`."""
        return [Condition(words) for words in self.on.split("|")]

    def concerns(self, dialect: str) -> bool:
        """Whether it is of this dialect; `0-9=` is 0-9 and not 0-9-1."""
        if not self.dialects:
            return True
        return any(matches(dialect, start) for start in self.dialects)


def matches(dialect: str, start: str) -> bool:
    """Whether a dialect is meant by the start of its name."""
    if start.endswith("="):
        return dialect in (start[:-1], f"{start[:-1]}-qpid")
    return dialect.startswith(start)


def unused(event: Event, report: Reporter) -> None:
    """What a rule of the older family has to say about 1.0."""


def rule(
    id: str,
    name: str,
    section: str,
    level: str,
    severity: str,
    *,
    on: str,
    default: bool = True,
    dialects: str = "",
) -> Callable[[OlderCheck], OlderCheck]:
    """Register a function as a rule."""

    def register(check: OlderCheck) -> OlderCheck:
        if id in RULES:
            raise ValueError(f"two rules are called {id}")
        made = OlderRule(
            id, name, section, level, severity, on, default, unused, check.__module__,
            check, tuple(dialects.split()),
        )  # fmt: skip
        assert made.conditions, id
        RULES[id] = made
        return check

    return register


class OlderReporter(Reporting[OlderEvent, int]):
    """Takes what rules have to say about events of the older family; `about` is a channel."""

    def add(
        self,
        event: OlderEvent,
        certainty: str,
        message: str,
        path: str,
        related: Related,
        severity: str,
        peer: int,
        mark: Mark | None,
        about: int | None,
    ) -> None:
        """Take a finding; shortly after octets were lost, nothing that rests on state is sure."""
        id = self.running.id
        stateless = id.startswith(STATELESS)
        if event.ahead and not stateless:
            return  # The sender knows what did not pass here: it may be right.
        if event.time < event.connection.shaken_until and not stateless:
            certainty = SUSPECT
            message += INCOMPLETE
        if not event.connection.announced and not id.startswith(ANY_DIALECT):
            certainty = SUSPECT
        channel = about
        if channel is None and event.unit.header is None:
            channel = event.unit.channel
        fault = Fault(
            id,
            certainty == SURE,
            event.peer if peer < 0 else peer,
            event.mark if mark is None else mark,
        )
        if self.proves(certainty, severity):
            cause = cause_of(event, fault, channel)
            if cause is None:
                place, since = touched_by(event, fault, channel)
                event.connection.breaches.touch(place, fault, since)
            else:
                fault.sure = False
                message += consequence(cause)
                related = (*related, (cause.mark, EARLIER))
        event.connection.blame(fault)
        self.write(fault, severity, message, path, channel, "", related)


class Recent:
    """What was last found for a name: most frames of a name are alike."""

    def __init__(self, dialect: str, kinds: int, rules: list[OlderRule]) -> None:
        self.dialect = dialect
        self.kinds = kinds
        self.rules = rules


class OlderRuleSet:
    """The rules of the older family that run, found by the kinds and the name of an event."""

    def __init__(self, chosen: RuleSet) -> None:
        self.rules = [rule for rule in chosen.running if isinstance(rule, OlderRule)]
        self.silent = chosen.silent
        """Rules that run because others build on what they find, and are not reported."""
        self.conditions = [
            (condition, rule) for rule in self.rules for condition in rule.conditions
        ]
        self.tables: dict[str, dict[int, dict[str, list[OlderRule]]]] = {}
        """By dialect, kinds and name."""
        self.recent: dict[str, Recent] = {}
        self.ids = chosen.ids

    def of(self, dialect: str, kinds: int, name: str) -> list[OlderRule]:
        """The rules that look at such an event."""
        by_kinds = self.tables.get(dialect)
        if by_kinds is None:
            by_kinds = self.tables[dialect] = {}
        by_name = by_kinds.get(kinds)
        if by_name is None:
            by_name = by_kinds[kinds] = {}
        found = by_name.get(name)
        if found is None:
            chosen = {
                rule.id: rule
                for condition, rule in self.conditions
                if condition.holds(kinds, name) and rule.concerns(dialect)
            }
            found = by_name[name] = list(chosen.values())
        return found

    def check(self, event: OlderEvent, reporter: OlderReporter) -> None:
        """Run them."""
        dialect, kinds, name = event.connection.dialect.name, event.kinds, event.name
        recent = self.recent.get(name)
        if recent is None or recent.kinds != kinds or recent.dialect != dialect:
            if len(self.recent) > MAX_NAMES:
                self.recent, self.tables = {}, {}
            recent = Recent(dialect, kinds, self.of(dialect, kinds, name))
            self.recent[name] = recent
        if not recent.rules:
            return
        reporter.active = self.ids
        for rule in recent.rules:
            reporter.rule = rule
            rule.look(event, reporter)
        if self.silent and reporter.reports:
            kept = [report for report in reporter.reports if report.rule.id not in self.silent]
            reporter.reports = kept
