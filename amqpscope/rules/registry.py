"""What a rule is, which rules run on an event, and what they report.

    @rule("FLW-016", "2.6.7", MUST, ERROR, on="first", needs="!ahead")
    def transfer_without_credit(
        event: Event, report: Reporter, link: LinkEnd, pair: LinkEnd
    ) -> None:
        '''A sender begins a delivery only while it has link credit.
        ...'''

A rule looks at an event before its frame is applied and calls `report.sure` or `report.suspect`.
`on` names the kinds of event that it looks at (see `KINDS` of the family's `model.*.event`) and
methods by their names (`basic.publish`, `queue.*`): all words must fit the event, and a bar
separates alternatives: `on="first"`, `on="transfer aborted"`, `on="end | close"`. A dispatcher
keeps, for each combination that it meets, the list of rules to call.

What a rule cannot do without is declared and not asked for in its body: parameters behind `report`
are what the event belongs to (`link`, `pair`, `session`, `delivery`, `body`), and the rule is not
called where one of them is unknown or of another type; `needs` names what must hold of the event,
or not hold: `needs="anchored !discarded"`. A family's `Family` says which there are.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from types import FunctionType
from typing import Final

from amqpscope.findings import ERROR, GUESSED, SURE, SUSPECT, WARNING, Finding
from amqpscope.model.event import Event
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.stream.types import PEERS
from dissectors.native import mypyc_attr

MUST: Final = "MUST"
SHOULD: Final = "SHOULD"
IMPLIED: Final = "implied"
ADVISORY: Final = "advisory"

INCOMPLETE: Final = "; not all that passed shortly before was captured"
"""Why a finding is in doubt that rests on what was seen before."""
MAX_NAMES: Final = 4096
"""Names that are remembered: of methods that nobody knows there are as many as numbers."""

Check = Callable[..., None]
Getter = Callable[[Event], object]
Related = tuple[tuple[Mark | None, str], ...]
"""Frames that matter to a finding, each with why."""


class Condition:
    """One alternative of a rule's `on`."""

    def __init__(self, words: str, kinds: dict[str, int]) -> None:
        self.mask = 0
        """Kinds that must all be there."""
        self.names: list[str] = []
        """Methods that it may be, or starts of their names; empty for any."""
        for word in words.split():
            if word in kinds:
                self.mask |= kinds[word]
            elif "." in word:
                self.names.append(word.removesuffix("*"))
            else:
                raise ValueError(f"there is no kind of event called {word!r}")
        malformed = kinds.get("malformed", 0)
        if self.names:
            self.mask |= kinds.get("method", 0)
        self.unwanted = malformed if self.names and not self.mask & malformed else 0
        """A method must be whole and without faults: else its arguments say nothing."""

    def holds(self, kinds: int, name: str) -> bool:
        """Whether an event of these kinds and this name is meant."""
        if self.mask & kinds != self.mask or self.unwanted & kinds:
            return False
        if not self.names:
            return True
        return any(
            name == word or (word[-1] == "." and name.startswith(word)) for word in self.names
        )


class Given:
    """Something that events belong to, looked up once for all rules that look at an event."""

    def __init__(self, get: Getter) -> None:
        self.get = get
        self.check = -1
        """The check in which it was looked up."""
        self.value: object = None

    def of(self, event: Event, check: int) -> object:
        """What the event of this check belongs to; None where that is unknown."""
        if self.check != check:
            self.value = self.get(event)
            self.check = check
        return self.value


class Family:
    """What rules of one protocol family may name."""

    def __init__(
        self, name: str, kinds: dict[str, int], parameters: dict[str, Getter],
        facts: tuple[str, ...], facts_of: Callable[[Event], int],
    ) -> None:  # fmt: skip
        self.name = name
        self.kinds = kinds
        """The words of `on`."""
        self.parameters = {name: Given(get) for name, get in parameters.items()}
        """What an event may belong to, by the name of a rule's parameter."""
        self.facts = {fact: 1 << place for place, fact in enumerate(facts)}
        """The words of `needs`."""
        self.facts_of = facts_of
        """Which of these hold of an event, as bits."""


class Parameter:
    """Something that a rule is given beside the event."""

    def __init__(self, given: Given, type: type | None) -> None:
        self.given = given
        self.type = type
        """What it must be, where its annotation names one class."""

    def of(self, event: Event, check: int) -> object:
        """What a rule is given in this check; None where it is unknown or of another type."""
        value = self.given.of(event, check)
        if self.type is not None and not isinstance(value, self.type):
            return None
        return value


@dataclass(frozen=True)
class Rule:
    """What is known about a rule beside its code."""

    id: str
    name: str
    section: str
    level: str
    severity: str
    on: str
    default: bool
    """Whether it runs when nobody asks for it."""
    check: Check
    module: str
    family: Family
    """The protocol family whose events it looks at."""
    conditions: tuple[Condition, ...]
    """Each alternative of `on`."""
    must: int
    """Facts that must all hold of an event."""
    must_not: int
    """Facts of which none may hold."""
    parameters: tuple[Parameter, ...]
    """What it is given behind the event and the reporter."""
    dialects: tuple[str, ...] = ()
    """The dialects of the family that it is of, by the start of their names; empty for all."""

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


SIGNATURES: Final[dict[str, list[tuple[str, str]]]] = {}
"""The parameters of compiled functions, which `.ci/compile.py` has written down for them."""
RULES: Final[dict[str, Rule]] = {}
"""All rules by id, in the order in which their modules are read."""


def register(
    family: Family, id: str, section: str, level: str, severity: str,
    on: str, needs: str, default: bool, dialects: str,
) -> Callable[[Check], Check]:  # fmt: skip
    """Make a function a rule of a family; its name is the rule's, with hyphens."""

    def registered(check: Check) -> Check:
        if id in RULES:
            raise ValueError(f"two rules are called {id}")
        must, must_not = facts_in(needs, family)
        RULES[id] = Rule(
            id, check.__name__.replace("_", "-"), section, level, severity, on, default, check,
            check.__module__, family,
            tuple(Condition(words, family.kinds) for words in on.split("|")),
            must, must_not, parameters_of(check, family), tuple(dialects.split()),
        )  # fmt: skip
        return check

    return registered


def facts_in(needs: str, family: Family) -> tuple[int, int]:
    """The facts that must hold, and those that must not, as bits."""
    must = must_not = 0
    for word in needs.split():
        bit = family.facts.get(word.removeprefix("!"))
        if bit is None:
            raise ValueError(f"there is no fact called {word!r}")
        if word[0] == "!":
            must_not |= bit
        else:
            must |= bit
    return must, must_not


def parameters_of(check: Check, family: Family) -> tuple[Parameter, ...]:
    """What a function wants to be given behind the event and the reporter."""
    names = vars(sys.modules[check.__module__])
    found = []
    for name, annotation in signature_of(check)[2:]:
        given = family.parameters.get(name)
        if given is None:
            raise ValueError(f"{check.__name__}: no event belongs to a {name!r}")
        type = names.get(annotation)
        found.append(Parameter(given, type if isinstance(type, builtins.type) else None))
    return tuple(found)


def signature_of(check: Check) -> list[tuple[str, str]]:
    """The parameters of a function with their annotations."""
    if isinstance(check, FunctionType):
        code, annotations = check.__code__, check.__annotations__
        names = code.co_varnames[: code.co_argcount]
        return [(name, annotations.get(name, "")) for name in names]
    if not SIGNATURES:
        text = files("amqpscope.rules").joinpath("signatures.tsv").read_text(encoding="utf-8")
        for line in text.splitlines():
            function, *words = line.split("\t")
            SIGNATURES[function] = list(zip(words[::2], words[1::2], strict=True))
    return SIGNATURES[f"{check.__module__}.{check.__name__}"]


@mypyc_attr(allow_interpreted_subclasses=True)
class Reporter:
    """Takes what the rules report about the events of one connection.

    A family's own reporter says in `add` where a finding belongs and how sure it can be there, and
    hands it to `write`.
    """

    def __init__(self, connection: int, guessed: bool) -> None:
        self.connection = connection
        """The number of the connection."""
        self.guessed = guessed
        """Who is the client is a guess, so nobody is accused for sure."""
        self.rule: Rule | None = None
        """The rule that runs."""
        self.findings: list[Finding] = []
        self.active: frozenset[str] = frozenset()
        """The rules that run: what an inactive one would have found is not known."""
        self.trial = False
        """The event may never happen: nothing is remembered of what it breaks."""

    def sure(
        self, event: Event, message: str, path: str = "", related: Related = (), *,
        severity: str = "", peer: int = -1, mark: Mark | None = None, about: object = None,
    ) -> None:  # fmt: skip
        """The octets prove it; `peer`, `mark`, `about` if not the event's sender, frame, place."""
        self.add(event, SURE, message, path, related, severity, peer, mark, about)

    def suspect(
        self, event: Event, message: str, path: str = "", related: Related = (), *,
        severity: str = "", peer: int = -1, mark: Mark | None = None, about: object = None,
    ) -> None:  # fmt: skip
        """It rests on time or on what is not on the wire; never an error."""
        self.add(event, SUSPECT, message, path, related, severity, peer, mark, about)

    def once(self, about: Subject, key: object = None, *, topic: str = "") -> bool:
        """Whether the rule reports of an object for the first time; from now on it has.

        With a key it does so again when the key is another: only the last one is remembered. Rules
        that report the same in different ways name it as their common topic.
        """
        topic = topic or self.running.id
        if self.trial:
            return not self.has_reported(topic, about, key)
        return about.reported.record(topic, key)

    def has_reported(self, topic: str, about: Subject, key: object = None) -> bool:
        """Whether a rule, or what several have in common, was reported of an object before."""
        ledger = about.reported
        return ledger.has(topic) and (key is None or ledger.key_of(topic) == key)

    def add(
        self, event: Event, certainty: str, message: str, path: str, related: Related,
        severity: str, peer: int, mark: Mark | None, about: object,
    ) -> None:  # fmt: skip
        """Take a finding; `about` is what it is about, if not the event's own place."""
        self.write(
            sure=certainty == SURE, peer=event.peer if peer < 0 else peer,
            mark=event.mark if mark is None else mark, severity=severity, message=message,
            path=path, channel=event.frame.unit.channel, link="", related=related,
        )  # fmt: skip

    @property
    def running(self) -> Rule:
        """The rule that runs."""
        if self.rule is None:
            raise ValueError("no rule is running")
        return self.rule

    def proves(self, certainty: str, severity: str) -> bool:
        """Whether a finding is a proven violation: an error, also one that is forgiven here."""
        return certainty == SURE and ERROR in (severity, self.running.severity)

    def write(
        self, *, sure: bool, peer: int, mark: Mark, severity: str, message: str, path: str,
        channel: int | None, link: str, related: Related,
    ) -> None:  # fmt: skip
        """Keep a finding; only what is sure is an error."""
        rule = self.running
        chosen = severity or rule.severity
        finding = Finding(
            rule=rule.id,
            name=rule.name,
            section=rule.section,
            level=rule.level,
            severity=WARNING if chosen == ERROR and not sure else chosen,
            certainty=SURE if sure else SUSPECT,
            peer=PEERS[peer],
            message=message,
            path=path,
            connection=self.connection,
            frame=mark.frame,
            packet=mark.packet,
            time=mark.time,
            channel=channel,
            link=link,
            related=tuple([(m.frame, why) for m, why in related if m is not None and m.frame]),
        ).masked()
        self.findings.append(finding.doubted(GUESSED) if self.guessed else finding)

    def take(self) -> list[Finding]:
        """What was reported since this was last asked."""
        found, self.findings = self.findings, []
        return found


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
