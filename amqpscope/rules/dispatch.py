"""Which rules run on an event: found once for each combination of kinds and name that comes."""

from __future__ import annotations

from typing import Final

from amqpscope.model.event import Event
from amqpscope.rules.registry import Rule
from amqpscope.rules.reporter import Reporter

MAX_NAMES: Final = 4096
"""Names that are remembered: of methods that nobody knows there are as many as numbers."""


class RuleSet:
    """The rules that are wanted, and those that run because the others build on them."""

    def __init__(self, rules: list[Rule], needed: list[Rule] | None = None) -> None:
        self.rules = rules
        self.running = rules if needed is None else needed
        wanted = frozenset(rule.id for rule in rules)
        self.ids = frozenset(rule.id for rule in self.running)
        self.silent = self.ids - wanted
        """Rules that run because others build on what they find, and are not reported."""
        self.dispatchers: dict[str, Dispatcher] = {}

    def of(self, family: str) -> Dispatcher:
        """What finds the rules of a family."""
        found = self.dispatchers.get(family)
        if found is None:
            found = self.dispatchers[family] = Dispatcher(self, family)
        return found


class Checks:
    """Counts the events that rules have looked at."""

    def __init__(self) -> None:
        self.count = 0


CHECKS: Final = Checks()


class Recent:
    """What was last found for a name: most frames of a name are of one kind, or of two in turn."""

    def __init__(self, dialect: str, kinds: int, rules: list[Rule]) -> None:
        self.dialect = dialect
        self.kinds = kinds
        self.rules = rules
        self.other_kinds = kinds
        self.other_rules = rules


class Dispatcher:
    """The rules of one family that run, found by the kinds and the name of an event."""

    def __init__(self, chosen: RuleSet, family: str) -> None:
        self.ids = chosen.ids
        self.silent = chosen.silent
        self.conditions = [
            (condition, rule)
            for rule in chosen.running
            if rule.family.name == family
            for condition in rule.conditions
        ]
        self.tables: dict[tuple[str, int, str], list[Rule]] = {}
        """By dialect, kinds and name."""
        self.recent: dict[str, Recent] = {}

    def rules_for(self, dialect: str, kinds: int, name: str) -> list[Rule]:
        """The rules that look at such an event."""
        recent = self.recent.get(name)
        if recent is not None and recent.dialect == dialect:
            if recent.kinds == kinds:
                return recent.rules
            if recent.other_kinds == kinds:
                return recent.other_rules
        if len(self.recent) > MAX_NAMES:
            self.recent, self.tables = {}, {}
        key = (dialect, kinds, name)
        found = self.tables.get(key)
        if found is None:
            chosen = {
                rule.id: rule
                for condition, rule in self.conditions
                if condition.holds(kinds, name) and rule.concerns(dialect)
            }
            found = self.tables[key] = list(chosen.values())
        newest = Recent(dialect, kinds, found)
        if recent is not None and recent.dialect == dialect:
            newest.other_kinds, newest.other_rules = recent.kinds, recent.rules
        self.recent[name] = newest
        return found

    def check(self, event: Event, name: str, reporter: Reporter, dialect: str = "") -> None:
        """Let the rules look at an event, and keep what they report."""
        rules = self.rules_for(dialect, event.kinds, name)
        if not rules:
            return
        reporter.active = self.ids
        CHECKS.count += 1
        facts = -1
        for rule in rules:
            if rule.must or rule.must_not:
                if facts < 0:
                    facts = rule.family.facts_of(event)
                if facts & rule.must != rule.must or facts & rule.must_not:
                    continue
            reporter.rule = rule
            if rule.parameters:
                run_with_parameters(rule, event, reporter)
            else:
                rule.check(event, reporter)
        if self.silent and reporter.findings:
            kept = [found for found in reporter.findings if found.rule not in self.silent]
            reporter.findings = kept


def run_with_parameters(rule: Rule, event: Event, reporter: Reporter) -> None:
    """Call a rule, unless something that it is to be given is not there."""
    parameters, check = rule.parameters, CHECKS.count
    first = parameters[0].of(event, check)
    if first is None:
        return
    if len(parameters) == 1:
        rule.check(event, reporter, first)
        return
    second = parameters[1].of(event, check)
    if second is None:
        return
    if len(parameters) == 2:
        rule.check(event, reporter, first, second)
        return
    given: list[object] = [event, reporter, first, second]
    for parameter in parameters[2:]:
        value = parameter.of(event, check)
        if value is None:
            return
        given.append(value)
    rule.check(*given)
