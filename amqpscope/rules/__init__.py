"""The rules: one function each, told in one place what it is and when to run.

    @rule("FLW-016", "transfer-without-credit", "2.6.7", MUST, ERROR, on="first")
    def transfer_without_credit(event: Event, report: Reporter) -> None:
        '''A sender begins a delivery only while it has link credit.
        ...'''

A rule looks at an event before its frame is applied and calls `report.sure` or `report.suspect`.
`on` names the kinds of event (see `model.event.KINDS`) that it looks at: all of them must be in the
event, and a bar separates alternatives: `on="first"`, `on="transfer aborted"`, `on="end | close"`.
The dispatcher keeps, for each combination of kinds that it meets, the list of rules to call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from amqpscope.model.connection import Fault
from amqpscope.model.event import KIND, Event
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from amqpscope.model.message import look_into
from amqpscope.model.session import SessionEnd
from amqpscope.rules.consequences import EARLIER, cause_of, consequence, touched_by
from dissectors.v1_0.bodies import Attach

MUST: Final = "MUST"
SHOULD: Final = "SHOULD"
IMPLIED: Final = "implied"
ADVISORY: Final = "advisory"

ERROR: Final = "error"
WARNING: Final = "warning"
INFO: Final = "info"
SEVERITIES: Final = (ERROR, WARNING, INFO)

SURE: Final = "sure"
SUSPECT: Final = "suspect"

INCOMPLETE: Final = "; not all that passed shortly before was captured"
"""Why a finding is in doubt that rests on what was seen before."""

STATELESS: Final = ("TYP", "ENC", "MSG")
"""Groups whose rules look at one frame or message, so that nothing lost before it matters."""

Check = Callable[[Event, "Reporter"], None]

AnEvent = TypeVar("AnEvent")
"""A frame in its place, of the protocol that is spoken."""
Place = TypeVar("Place")
"""What a finding can be about there."""
Related = tuple[tuple[Mark | None, str], ...]
"""Frames that matter to a finding, each with why."""


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

    @property
    def masks(self) -> list[int]:
        """Each alternative of `on` as kinds that must all be there."""
        return [sum(KIND[word] for word in words.split()) for words in self.on.split("|")]


RULES: Final[dict[str, Rule]] = {}
"""All rules by id, in the order in which their modules are read."""


def rule(
    id: str, name: str, section: str, level: str, severity: str, *, on: str, default: bool = True
) -> Callable[[Check], Check]:
    """Register a function as a rule."""

    def register(check: Check) -> Check:
        if id in RULES:
            raise ValueError(f"two rules are called {id}")
        made = Rule(id, name, section, level, severity, on, default, check, check.__module__)
        assert made.masks, id
        RULES[id] = made
        return check

    return register


class Report:
    """One rule broken at one place."""

    def __init__(
        self,
        rule: Rule,
        severity: str,
        certainty: str,
        peer: int,
        message: str,
        path: str,
        mark: Mark,
        channel: int | None,
        link: str,
        related: tuple[tuple[int, str], ...],
    ) -> None:
        self.rule = rule
        self.severity = severity
        self.certainty = certainty
        self.peer = peer
        """Who is at fault."""
        self.message = message
        self.path = path
        self.mark = mark
        self.channel = channel
        self.link = link
        self.related = related
        """Frames that matter to it, each with why."""


class Reporting(Generic[AnEvent, Place]):
    """Takes what rules have to say about the events of one protocol.

    A protocol says in `add` where a finding belongs and how sure it can be there.
    """

    def __init__(self) -> None:
        self.rule: Rule | None = None
        self.reports: list[Report] = []
        self.active: frozenset[str] = frozenset()
        """The rules that run: what an inactive one would have found is not known."""

    def sure(
        self,
        event: AnEvent,
        message: str,
        path: str = "",
        related: Related = (),
        *,
        severity: str = "",
        peer: int = -1,
        mark: Mark | None = None,
        about: Place | None = None,
    ) -> None:
        """The octets prove it; `peer`, `mark`, `about` if not the event's sender, frame, place."""
        self.add(event, SURE, message, path, related, severity, peer, mark, about)

    def suspect(
        self,
        event: AnEvent,
        message: str,
        path: str = "",
        related: Related = (),
        *,
        severity: str = "",
        peer: int = -1,
        mark: Mark | None = None,
        about: Place | None = None,
    ) -> None:
        """It rests on time or on what is not on the wire; never an error."""
        self.add(event, SUSPECT, message, path, related, severity, peer, mark, about)

    def add(
        self,
        event: AnEvent,
        certainty: str,
        message: str,
        path: str,
        related: Related,
        severity: str,
        peer: int,
        mark: Mark | None,
        about: Place | None,
    ) -> None:
        """Take a finding; shortly after octets were lost, nothing that rests on state is sure."""
        raise NotImplementedError

    def proves(self, certainty: str, severity: str) -> bool:
        """Whether a finding is a proven violation: an error, also one that is forgiven here."""
        return certainty == SURE and ERROR in (severity, self.running.severity)

    @property
    def running(self) -> Rule:
        """The rule that speaks."""
        if self.rule is None:
            raise ValueError("no rule is running")
        return self.rule

    def write(
        self,
        fault: Fault,
        severity: str,
        message: str,
        path: str,
        channel: int | None,
        link: str,
        related: Related,
    ) -> None:
        """Keep a finding; only what is sure is an error."""
        current = self.running
        chosen = severity or current.severity
        if not fault.sure and chosen == ERROR:
            chosen = WARNING
        self.reports.append(
            Report(
                current,
                chosen,
                SURE if fault.sure else SUSPECT,
                fault.peer,
                message,
                path,
                fault.mark,
                channel,
                link,
                tuple([(m.frame, why) for m, why in related if m is not None and m.frame]),
            )
        )


class Reporter(Reporting[Event, SessionEnd | LinkEnd]):
    """Takes what rules have to say about events of 1.0."""

    def add(
        self,
        event: Event,
        certainty: str,
        message: str,
        path: str,
        related: Related,
        severity: str,
        peer: int,
        mark: Mark | None,
        about: SessionEnd | LinkEnd | None,
    ) -> None:
        """Take a finding; shortly after octets were lost, nothing that rests on state is sure."""
        id = self.running.id
        if event.time < event.connection.shaken_until and not id.startswith(STATELESS):
            certainty = SUSPECT
            message += INCOMPLETE
        if about is None:
            unit = event.frame.unit
            channel = None if unit.header is not None else unit.channel
            session, link = event.session, event.link
        else:
            link = about if isinstance(about, LinkEnd) else None
            session = about.session if isinstance(about, LinkEnd) else about
            channel = session.channel
        fault = Fault(
            id,
            certainty == SURE,
            event.peer if peer < 0 else peer,
            event.mark if mark is None else mark,
        )
        fault.session, fault.link = session, link
        fault.path, fault.severity = path, severity or self.running.severity
        if self.proves(certainty, severity):
            cause = cause_of(event, fault)
            if cause is None:
                place, since = touched_by(event, fault)
                event.connection.breaches.touch(place, fault, since)
            else:
                fault.sure = False
                message += consequence(cause)
                related = (*related, (cause.mark, EARLIER))
        event.connection.blame(fault)
        name = "" if link is None else link.name
        if about is None and mark is None:
            name = link_name(event) or name
        self.write(fault, severity, message, path, channel, name, related)


def link_name(event: Event) -> str:
    """The link that an attach makes, or that all deliveries of a disposition are of."""
    body = event.body
    if isinstance(body, Attach):
        return body.name or ""
    names = {delivery.link.name for delivery in event.covered}
    return names.pop() if len(names) == 1 else ""


class RuleSet:
    """The rules that run, found by the kinds of an event."""

    def __init__(self, rules: list[Rule], needed: list[Rule] | None = None) -> None:
        self.rules = rules
        everything = rules if needed is None else needed
        self.running = everything
        self.masks = [(mask, rule) for rule in everything for mask in rule.masks]
        wanted = frozenset(rule.id for rule in rules)
        self.silent = frozenset(rule.id for rule in everything if rule.id not in wanted)
        """Rules that run because others build on what they find, and are not reported."""
        self.table: dict[int, list[Rule]] = {}
        self.recent = [-1] * 256
        """The kinds of the newest event of each performative, by its descriptor; the next one is
        mostly of the same."""
        self.chosen: list[list[Rule]] = [[]] * 256
        """The rules that look at such an event."""
        self.ids = frozenset(rule.id for rule in everything)

    def of(self, kinds: int) -> list[Rule]:
        """The rules that look at an event of these kinds."""
        found = self.table.get(kinds)
        if found is None:
            chosen = {rule.id: rule for mask, rule in self.masks if mask & kinds == mask}
            found = self.table[kinds] = list(chosen.values())
        return found

    def lately(self, code: int, kinds: int) -> list[Rule]:
        """The same, found faster for what has just been asked of this performative."""
        if self.recent[code] == kinds:
            return self.chosen[code]
        found = self.of(kinds)
        self.recent[code] = kinds
        self.chosen[code] = found
        return found

    def check(self, event: Event, reporter: Reporter) -> None:
        """Run them."""
        if event.message is not None:
            look_into(event)
        reporter.active = self.ids
        for rule in self.lately(event.frame.unit.code, event.kinds):
            reporter.rule = rule
            rule.check(event, reporter)
        if self.silent and reporter.reports:
            kept = [report for report in reporter.reports if report.rule.id not in self.silent]
            reporter.reports = kept
