"""What rules report: findings, how sure they are, and what was reported before."""

from __future__ import annotations

from typing import Final

from amqpscope.findings import ERROR, GUESSED, SURE, SUSPECT, WARNING, Finding
from amqpscope.model.event import Event
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.rules.registry import Rule
from amqpscope.stream.types import PEERS
from dissectors.native import mypyc_attr

INCOMPLETE: Final = "; not all that passed shortly before was captured"
"""Why a finding is in doubt that rests on what was seen before."""

Related = tuple[tuple[Mark | None, str], ...]
"""Frames that matter to a finding, each with why."""


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
