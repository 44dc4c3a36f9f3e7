"""Captures as pictures: read once more, when the findings are known, and laid out.

Rules may report a frame long after it has passed, and what is drawn depends on them. So what is
to be drawn is read twice: `runs.lint.check` gives the findings, then this reads the capture for the
ladders and the rest, and keeps no more of it than is drawn.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Conversation, Step, StreamEnd
from amqpscope.insight.ladder import Ladder
from amqpscope.insight.ladder_steps import endpoints, entry, fault_words
from amqpscope.insight.refusals import refusal
from amqpscope.insight.statistics import Statistics
from amqpscope.insight.stuck import StuckWatch
from amqpscope.model.refusal import Refusal
from amqpscope.protocols.voice import MANY
from amqpscope.report.illustration import Illustration, RefusalGroup
from amqpscope.runs.input import Input
from amqpscope.runs.lint import excerpt
from amqpscope.runs.run import Run

if TYPE_CHECKING:
    from amqpscope.filter import Filter
    from amqpscope.findings import Finding

AROUND: Final = 2
"""Frames of the same connection that are shown before and after one with a finding."""
REFUSED: Final = 1000
"""Different refusals that are shown."""


@dataclass(frozen=True)
class CheckedCapture:
    """What is drawn: a capture, and what the rules found in it."""

    input: Input
    findings: tuple[Finding, ...] = ()
    where: Filter | None = None
    show_secrets: bool = False


def replay(
    subject: CheckedCapture, watch: Callable[[Run], None] | None = None
) -> Iterator[Step | StreamEnd]:
    """The Steps of a capture, each with all that was found about it, and the ends of directions."""
    known: dict[int, list[Finding]] = {}
    for finding in subject.findings:
        known.setdefault(finding.frame, []).append(finding)
    nothing: list[Finding] = []
    with Run(subject.input, watch=watch) as run:
        for batch in run:
            for step in batch.steps:
                step.findings = known.get(step.frame.number, nothing)
                yield step
            if batch.end is not None:
                yield batch.end


def evidence(findings: Iterable[Finding]) -> frozenset[int]:
    """The frames that findings refer to; of findings that are alike, those of the first ones."""
    seen: Counter[tuple[int, str, str]] = Counter()
    frames: set[int] = set()
    for finding in findings:
        kind = (finding.connection, finding.rule, finding.peer)
        seen[kind] += 1
        if seen[kind] <= MANY:
            frames.add(finding.frame)
            frames.update(frame for frame, _ in finding.related)
    return frozenset(frames)


class Ladders:
    """Lays out the connections of a capture."""

    def __init__(
        self,
        subject: CheckedCapture,
        connections: frozenset[int] = frozenset(),
        *,
        collapse: bool = True,
        most: int = 0,
    ) -> None:
        self.subject = subject
        self.connections = connections
        """Those that are wanted; none: all."""
        self.collapse = collapse
        self.most = most
        self.unfolded = evidence(subject.findings)
        self.found: dict[int, Ladder] = {}
        self.start = 0
        """When the first frame of the capture passed."""

    def take(self, passed: Step | StreamEnd) -> None:
        """The next of what `replay` gives."""
        talk, where = passed.conversation, self.subject.where
        if not self.start and isinstance(passed, Step):
            self.start = passed.frame.time
        # Asked of all frames: messages may come from a connection that is not drawn.
        shown = where is None or (isinstance(passed, Step) and where.matches(passed))
        if self.connections and talk.number not in self.connections:
            return
        if isinstance(passed, StreamEnd):
            self.direction_over(passed)
            return
        if shown:
            voice = passed.talk.voice
            describe = partial(voice.summary, passed.event, self.subject.show_secrets)
            self.ladder(talk).add(entry(passed), describe)

    def direction_over(self, passed: StreamEnd) -> None:
        """One direction is over."""
        ladder = self.found.get(passed.conversation.number)
        if ladder is not None:
            last = passed.conversation.last[passed.sender]
            number = 0 if last is None else last.number
            faults = fault_words(passed.faults)
            ladder.end(number, passed.time, passed.sender, passed.reason, faults)

    def ladder(self, talk: Conversation) -> Ladder:
        """The ladder of a connection."""
        found = self.found.get(talk.number)
        if found is None:
            client, server = endpoints(talk)
            found = Ladder(
                talk.number, client, server, talk.protocol,
                collapse=self.collapse, unfolded=self.unfolded, most=self.most,
                start=self.start,
            )  # fmt: skip
            self.found[talk.number] = found
        return found

    def finish(self) -> list[Ladder]:
        """All of them, when the capture is over."""
        for ladder in self.found.values():
            ladder.finish()
        return list(self.found.values())


class Illustrator:
    """Gathers an illustration; memory is that of what will be shown."""

    def __init__(
        self, subject: CheckedCapture, connections: frozenset[int], detailed: frozenset[int],
        most: int,
    ) -> None:  # fmt: skip
        self.subject = subject
        self.connections = connections
        """Those that are drawn."""
        self.detailed = detailed
        """The frames of findings that are shown with those around them."""
        self.concerned = frozenset(finding.connection for finding in subject.findings)
        self.wanted = detailed | evidence(subject.findings)
        self.ladders = Ladders(subject, connections, most=most)
        self.statistics = Statistics()
        self.result = Illustration(list(subject.findings))
        self.watch = StuckWatch()
        self.before: dict[int, deque[Step]] = {}
        """The newest frames of each connection with findings."""
        self.due: dict[int, list[int]] = {}
        """By connection: findings whose next frames are still to come."""

    def run(self, watch: Callable[[Run], None] | None = None) -> Illustration:
        """Read the capture."""
        result = self.result
        for passed in replay(self.subject, watch):
            if isinstance(passed, Step):
                self.take(passed)
            else:
                self.statistics.end(passed.conversation)
                result.last = max(result.last, passed.time)
            self.ladders.start = self.ladders.start or result.first
            if self.connections:
                self.ladders.take(passed)
        result.ladders = sorted(self.ladders.finish(), key=lambda ladder: ladder.number)
        result.numbers = self.statistics.finish()
        result.held = self.watch.held_places()
        return result

    def take(self, step: Step) -> None:
        """One unit, whether it is drawn or not."""
        result, number = self.result, step.frame.number
        result.first = result.first or step.frame.time
        result.last = max(result.last, step.frame.time)
        self.statistics.take(step)
        refused = refusal(step)
        if refused is not None:
            self.refuse(step, refused)
        if number in self.wanted:
            self.keep(step)
        talk = step.conversation
        if talk.number in self.connections:
            self.watch.take(step)
            result.plots.take(step)
        if talk.number in self.concerned:
            self.surround(step)

    def refuse(self, step: Step, refused: Refusal) -> None:
        """Count what a peer refuses; of many it says the same."""
        known, talk, peer = self.result.refused, step.conversation.number, step.frame.sender
        found = known.get((talk, peer, refused))
        if found is None and len(known) < REFUSED:
            found = RefusalGroup(talk, peer, refused, step.frame.number)
            known[talk, peer, refused] = found
        if found is not None:
            found.times += 1

    def surround(self, step: Step) -> None:
        """Keep the frames around findings."""
        talk, number = step.conversation.number, step.frame.number
        due = self.due.get(talk)
        if due:
            self.keep(step)
            for frame in due:
                self.result.around[frame].append(number)
            self.due[talk] = [f for f in due if len(self.result.around[f]) < 2 * AROUND + 1]
        before = self.before.setdefault(talk, deque(maxlen=AROUND))
        if number in self.detailed:
            for each in before:
                self.keep(each)
            # Filled up in front, so that as many follow also where the connection begins.
            frames = [each.frame.number for each in before]
            self.result.around[number] = [0] * (AROUND - len(frames)) + [*frames, number]
            self.due.setdefault(talk, []).append(number)
        before.append(step)

    def keep(self, step: Step) -> None:
        """Remember a frame as text."""
        if step.frame.number not in self.result.excerpts:
            made = excerpt(step, self.subject.show_secrets)
            self.result.excerpts[step.frame.number] = made
