"""Follows every message of one or several captures by the Steps of all connections at once."""

from __future__ import annotations

from collections.abc import Sequence

from amqpscope.analysis import NOTHING, Conversation, Step, StepSink
from amqpscope.findings import Finding
from amqpscope.insight.journeys.judge import Judge
from amqpscope.insight.journeys.observer import Observer
from amqpscope.insight.journeys.witnesses import Witnesses
from amqpscope.model.broker.broker import MAX_FINISHED
from amqpscope.model.broker.journey import Lane
from amqpscope.rules.dispatch import RuleSet


class Journeys(Judge):
    """Takes Steps, and judges the records that witnesses make of them at once."""

    def __init__(
        self,
        rules: RuleSet | None = None,
        *,
        closed_world: bool = False,
        window: int = MAX_FINISHED,
        wanted: Sequence[Observer] = (),
        collects: bool = False,
        sparing: bool = False,
    ) -> None:
        super().__init__(
            rules, closed_world=closed_world, window=window, wanted=wanted, collects=collects,
            sparing=sparing,
        )  # fmt: skip
        self.witnesses = Witnesses(self)
        self.late: list[Finding] = []

    def follow(self, steps: list[Step]) -> None:
        """Take units, and add to each what it shows to be wrong with it."""
        for step in steps:
            self.witnesses.take(step)
            if not self.heard:
                continue
            self.heard = False
            for finding in self.findings():
                if finding.frame == step.frame.number:
                    step.findings = [*step.findings, finding]
                else:
                    self.late.append(finding)

    def late_findings(self) -> list[Finding]:
        """What was found about units that were handed over before, since this was last asked."""
        found = self.late
        if found:
            self.late = []
        return found

    def take(self, step: Step, capture: int = 0) -> list[Finding]:
        """Take one unit; returns what it shows to be wrong."""
        self.witnesses.take(step, capture)
        if not self.heard:
            return NOTHING
        self.heard = False
        return self.findings()

    def end(self, conversation: Conversation) -> None:
        """A direction of a connection is over, or the capture is."""
        self.witnesses.end(conversation)

    def lanes_of(self, conversation: Conversation) -> list[Lane]:
        """The links and consumers of a connection that are open."""
        party = self.parties.get((0, conversation.number))
        return [] if party is None else list(party.lanes.values())


class FollowingSteps(StepSink):
    """Follows all Steps, and hands them on."""

    def __init__(self, journeys: Journeys, sink: StepSink) -> None:
        self.journeys = journeys
        self.sink = sink

    def take(self, steps: list[Step]) -> None:
        """Follow the Steps of the next piece, and hand them on with what was found."""
        self.journeys.follow(steps)
        self.sink.take(steps)

    def is_due(self) -> bool:
        """Whether something was found about units that were handed over before."""
        return bool(self.journeys.late)
