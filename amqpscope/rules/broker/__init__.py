"""Rules about what a broker does with messages, from one connection to another.

A rule here looks at a `Moment`: a delivery, with the publish and the earlier deliveries of the same
message. Who is not in view may have done anything, so that every finding is `suspect` unless the
user says that all connections are in the captures (`--closed-world`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from amqpscope.findings import ERROR, INFO, SURE, SUSPECT, WARNING, Finding
from amqpscope.model.broker.declaration import Declaration
from amqpscope.model.broker.envelope import ABORTED, CUT, PRESETTLED
from amqpscope.model.broker.journey import Journey, Lane, Leg
from amqpscope.model.broker.moment import KIND, Moment
from amqpscope.model.event import Event
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.rules import registry
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.registry import ADVISORY, IMPLIED, MUST, RULES, SHOULD, Check, Family, Rule
from amqpscope.stream.types import PEERS, SERVER

__all__ = [
    "ADVISORY", "FAMILY", "IMPLIED", "INFO", "MUST", "SHOULD", "WARNING",
    "Reporter", "also", "rule",
]  # fmt: skip

FAMILY: Final = "broker"
REREAD: Final = (
    "; others came again beside it, all in their first order: the node may be a log that is read"
    " again"
)
ALSO: Final[list[tuple[registry.Condition, str, Check]]] = []
"""Checks over several connections, for rules that one connection can break too."""

Passage = tuple[Mark, int, int, str]
"""A frame of a message's history: its mark, connection and capture, and what happened."""


def no_facts(_: Event) -> int:
    """Nothing is asked of events here."""
    return 0


OF_BROKERS: Final = Family(FAMILY, KIND, {}, (), no_facts)


def rule(
    id: str, section: str, level: str, severity: str, *, on: str, default: bool = True
) -> Callable[[Check], Check]:
    """Make a function a rule about brokers."""
    return registry.register(OF_BROKERS, id, section, level, severity, on, "", default, "")


def also(id: str, *, on: str) -> Callable[[Check], Check]:
    """Make a function one more check of a rule that looks at single connections otherwise."""

    def registered(check: Check) -> Check:
        ALSO.append((registry.Condition(on, KIND), id, check))
        return check

    return registered


CLAIMED: Final = frozenset((
    "A09-BAS-34", "A09-EXC-03", "A09-QUE-02", "A09-QUE-05", "A09-QUE-06", "A09-QUE-12",
    "A09-QUE-18",
))  # fmt: skip
"""Rules about what is declared that look at several connections too."""


class Checks:
    """The checks that run, by what there is to look at."""

    def __init__(self, rules: RuleSet | None) -> None:
        ids = self.ids = frozenset(RULES) if rules is None else rules.ids
        self.silent = frozenset() if rules is None else rules.silent
        self.conditions = [
            (condition, rule, rule.check)
            for rule in RULES.values()
            if rule.family is OF_BROKERS and rule.id in ids
            for condition in rule.conditions
        ]
        self.conditions += [(on, RULES[id], check) for on, id, check in ALSO if id in ids]
        self.tables: dict[int, list[tuple[Rule, Check]]] = {}
        reported = {
            rule.family.name for _, rule, _ in self.conditions if rule.id not in self.silent
        }
        self.families = frozenset(reported)
        """Of the rules that are reported, and look at messages."""
        self.wanted = bool(reported) or not CLAIMED.isdisjoint(ids - self.silent)
        """Something that is found here is reported."""

    def of(self, kinds: int) -> list[tuple[Rule, Check]]:
        """The checks for a moment of these kinds."""
        found = self.tables.get(kinds)
        if found is None:
            chosen = {
                (rule.id, check): (rule, check)
                for condition, rule, check in self.conditions
                if condition.holds(kinds, "")
            }
            found = self.tables[kinds] = list(chosen.values())
        return found


class Reporter:
    """Takes what the rules report."""

    def __init__(self, rules: RuleSet | None = None) -> None:
        self.checks = Checks(rules)
        self.rule: Rule | None = None
        self.findings: list[tuple[int, Finding]] = []
        """Each with the number of its capture."""
        self.lane: Lane | None = None
        self.mark = NOWHERE
        """Where a node turns out to be empty."""

    def check(self, moment: Moment, kinds: int) -> None:
        """Let the rules look at a moment."""
        for rule, check in self.checks.of(kinds):
            if rule.id not in moment.journey.reported:
                self.rule = rule
                check(moment, self)

    def find(
        self, moment: Moment, message: str, path: str = "", *, sure: bool = False,
        severity: str = "", peer: int = SERVER, empty: bool = False, once: bool = False,
        again: bool = False,
    ) -> None:  # fmt: skip
        """Report what a moment shows; `sure` as far as all that happened is in view.

        `once` where a broker does it with every message: the first that goes a way is reported,
        and the first that is certain. `again` where it is no fault if the node is a log.
        """
        rule, journey = self.rule, moment.journey
        if rule is None or rule.id in self.checks.silent:
            return
        proven, run = sure and moment.certain, moment.rereading if again else None
        if run is not None and run.is_likely:
            proven, message = False, message + REREAD
        if once:
            way = f"{rule.id} {moment.way} {path}{' for sure' if proven else ''}"
            if way in moment.broker.reported:
                return
            moment.broker.reported.add(way)
        journey.reported = (*journey.reported, rule.id)
        lane, mark = moment.leg.lane, moment.leg.mark
        if run is not None and proven:
            run.proofs.append((rule.id, lane.capture, lane.connection, mark.frame))
        if empty and self.lane is not None:
            lane, mark = self.lane, self.mark
        chosen = severity or rule.severity
        if proven and chosen == WARNING and rule.level in (MUST, IMPLIED):
            chosen = ERROR
        passages = [each for each in history(journey) if each[0] is not mark]
        captures = tuple([capture for _, _, capture, _ in passages])
        apart = any(capture != lane.capture for capture in captures)
        finding = Finding(
            rule=rule.id,
            name=rule.name,
            section=rule.section,
            level=rule.level,
            severity=WARNING if chosen == ERROR and not proven else chosen,
            certainty=SURE if proven else SUSPECT,
            peer=PEERS[peer],
            message=message,
            path=path,
            connection=lane.connection,
            frame=mark.frame,
            packet=mark.packet,
            time=mark.time,
            channel=lane.channel,
            link=lane.name,
            related=tuple([(seen.frame, why) for seen, _, _, why in passages]),
            related_connections=tuple([connection for _, connection, _, _ in passages]),
            related_captures=captures if apart else (),
        ).masked()
        self.findings.append((lane.capture, finding))

    def claim(
        self, id: str, said: Declaration, known: Declaration, message: str, path: str, peer: int
    ) -> None:
        """Report that what is said on one connection does not go with another; never certain."""
        rule = RULES[id]
        if id not in self.checks.ids or id in self.checks.silent:
            return
        apart = said.capture != known.capture
        finding = Finding(
            rule=id,
            name=rule.name,
            section=rule.section,
            level=rule.level,
            severity=WARNING if rule.severity == ERROR else rule.severity,
            certainty=SUSPECT,
            peer=PEERS[peer],
            message=message,
            path=path,
            connection=said.connection,
            frame=said.mark.frame,
            packet=said.mark.packet,
            time=said.mark.time,
            channel=said.channel,
            link="",
            related=((known.mark.frame, "what the other connection said"),),
            related_connections=(known.connection,),
            related_captures=(known.capture,) if apart else (),
        ).masked()
        self.findings.append((said.capture, finding))

    def take(self) -> list[tuple[int, Finding]]:
        """What was reported since this was last asked."""
        found, self.findings = self.findings, []
        return found


def history(journey: Journey) -> list[Passage]:
    """All that is known of a message, in the order of time."""
    found: list[Passage] = []
    for leg in journey.publishes:
        found.append(passage(leg, leg.mark, f"published to {leg.node.name}{on(leg)}"))
        found += answers(leg, "the producer" if leg.outcome == ABORTED else "the broker")
    for leg in journey.deliveries:
        again = ", as redelivered" if leg.redelivered else ""
        text = f"delivered from {leg.node.name}{on(leg)}{again}"
        found.append(passage(leg, leg.mark, text))
        found += answers(leg, "the consumer")
    return sorted(found, key=when)


def when(passed: Passage) -> tuple[int, int, int]:
    """The place of a passage in time."""
    return passed[0].time, passed[2], passed[0].frame


def passage(leg: Leg, mark: Mark, why: str) -> Passage:
    """A frame of a leg."""
    return mark, leg.lane.connection, leg.lane.capture, why


def on(leg: Leg) -> str:
    """Where a leg is, in a sentence."""
    name = f', link "{leg.lane.name}"' if leg.lane.name else ""
    return f" on connection {leg.lane.connection}{name}"


def answers(leg: Leg, who: str) -> list[Passage]:
    """What came of a leg."""
    verdict, lost = leg.verdict, leg.lost
    found: list[Passage] = []
    if verdict.word == CUT and verdict.mark is not None:
        found.append(passage(leg, verdict.mark, "the connection ended before the message did"))
    elif verdict.mark is not None and verdict.mark.frame and verdict.word != PRESETTLED:
        failed = " (delivery-failed)" if verdict.failed else ""
        text = f"{verdict.word}{failed}, says {who}"
        found.append(passage(leg, verdict.mark, text))
    elif lost is not None and lost.frame and not verdict.word:
        found.append(passage(leg, lost, "the link or connection ended without an outcome"))
    return found


def doubted(finding: Finding) -> Finding:
    """A finding as a suspicion, where what made it certain turns out otherwise."""
    if finding.certainty != SURE:
        return finding
    severity = WARNING if finding.severity == ERROR else finding.severity
    return replace(finding, severity=severity, certainty=SUSPECT)
