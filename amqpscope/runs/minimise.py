"""The smallest capture that still shows something: what `minimise` does.

Delta debugging in memory: connections, sessions, links, deliveries and frames are taken out, then
fields and messages, and after each step the rules look at what is left. At first nothing may be
taken out that brings new errors; only where that leaves much, anything goes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from amqpscope.analysis import Analyzer, Step
from amqpscope.capture.synthetic import Exchange, pieces
from amqpscope.filter import Filter
from amqpscope.findings import INFO, Finding
from amqpscope.insight.journeys import Journeys
from amqpscope.protocols.comparison import Lane, Lanes
from amqpscope.runs.ddmin import Reducer
from amqpscope.runs.exchanges import Exchanges
from amqpscope.runs.input import Input
from amqpscope.runs.minimise_goal import Goal, Minimised, MinimiseSettings, Seen, judgement
from amqpscope.runs.run import Run

SMALL: Final = 20
"""Frames that are few enough not to risk new errors for fewer."""
AT_LEAST: Final = 5.0
"""Seconds for the search, however long reading took."""
BROKER_RULES: Final = "BRK-"
"""How the ids of rules begin that look at messages across connections."""
AROUND: Final = (10, 100, 1000, 10_000)
"""Frames before the finding that are tried together with how all began."""
BEGINNING: Final = 3
"""Frames with which each link or channel begins."""

Place = tuple[int, int]
"""A connection, and what was sent on it, by place."""
Kept = frozenset[Place]


class OutOfTime(Exception):
    """The time is up: the best so far has to do."""


class Enough(Exception):
    """What is left is small enough."""


@dataclass(frozen=True)
class SentItem:
    """What is known of something that was sent, from the first reading."""

    place: Place
    frame: int
    lane: Lane
    link: str
    deliveries: tuple[int, ...]
    """The first frames of the deliveries that it carries or answers."""


class Minimiser:
    """Looks for the smallest capture."""

    def __init__(
        self, given: Input, settings: MinimiseSettings, watch: Callable[[int, int], None]
    ) -> None:
        self.given = given
        self.settings = settings
        self.watch = watch
        """Called with the number of frames that are left, and of tests so far."""
        self.rules = settings.selection.rules()
        self.exchanges: list[Exchange] = []
        self.known: list[SentItem] = []
        self.findings: list[Finding] = []
        self.matching: list[int] = []
        """Frames that match the filter."""
        self.goal = Goal()
        self.allowed: set[tuple[str, str]] = set()
        """Rules and peers that were found at first."""
        self.tests = 0
        self.begun = time.monotonic()
        self.deadline = 0.0
        self.kept: Kept = frozenset()
        self.ends: Kept = frozenset()

    # reading

    def read(self, where: Filter | None, connection: int = 0) -> int:
        """Read the capture; returns the number of its frames."""
        collected = Exchanges()
        lanes: dict[int, Lanes] = {}
        found: list[tuple[int, int, Lane, str, tuple[int, ...]]] = []
        selection, world = self.settings.selection, self.settings.closed_world
        with Run(self.given, selection, tap=collected.tap, closed_world=world) as run:
            for batch in run:
                collected.take(batch)
                for step in batch.steps:
                    number = step.conversation.number
                    if number not in lanes:
                        lanes[number] = step.talk.voice.comparison().lanes()
                    lane, event = lanes[number].lane(step.event), step.event
                    carried = event.carries
                    marks = [each.mark.frame for each in event.covers]
                    marks += [] if carried is None else [carried.mark.frame]
                    link = step.talk.voice.place(event)
                    found.append((number, step.frame.number, lane, link, tuple(marks)))
                    self.findings.extend(step.findings)
                    if where is not None and where.matches(step):
                        self.matching.append(step.frame.number)
                self.findings.extend(batch.findings)
            frames = run.frames
        self._arrange(collected, found, connection)
        return frames

    def _arrange(
        self,
        collected: Exchanges,
        found: list[tuple[int, int, Lane, str, tuple[int, ...]]],
        connection: int,
    ) -> None:
        """Number what was sent, and forget connections that are not wanted."""
        numbered = collected.finish()
        if connection:
            numbered = {number: each for number, each in numbered.items() if number == connection}
            self.findings = [each for each in self.findings if each.connection == connection]
        self.exchanges = list(numbered.values())
        self.numbers = list(numbered)
        place_of: dict[int, Place] = {}
        orders = {
            frame.number: order for frames in collected.frames.values() for order, frame in frames
        }
        by_order = {
            each.order: (at, place)
            for at, exchange in enumerate(self.exchanges)
            for place, each in enumerate(exchange.sent)
        }
        for number, frame, lane, link, marks in found:
            if number in numbered:
                place_of[frame] = by_order[orders[frame]]
                self.known.append(SentItem(place_of[frame], frame, lane, link, marks))
        every = [
            (at, place)
            for at, exchange in enumerate(self.exchanges)
            for place in range(len(exchange.sent))
        ]
        self.kept = frozenset(every)
        self.ends = frozenset(each for each in every if self.exchanges[each[0]].sent[each[1]].end)
        self.allowed = {(each.rule, each.peer) for each in self.findings}

    # testing

    def look(self, exchanges: Sequence[Exchange]) -> Seen:
        """Let the rules look at connections."""
        analyzer = Analyzer(self.given.decode_as, self.rules)
        journeys = self._journeys()
        seen = Seen()
        for piece in pieces(exchanges):
            steps = analyzer.feed(piece)
            if journeys is not None:
                journeys.follow(steps)
                seen.findings.extend(journeys.late_findings())
            seen.steps.extend(steps)
            for step in steps:
                seen.findings.extend(step.findings)
            seen.findings.extend(analyzer.late_findings())
        if journeys is not None:
            seen.findings.extend(journeys.finish())
        selection = self.settings.selection
        if selection.adjusts:
            seen.findings = selection.adjust_all(seen.findings, self.given.name)
        return seen

    def _journeys(self) -> Journeys | None:
        """What follows messages, which costs much, only where the goal is a finding of it."""
        wanted = self.goal.finding
        if wanted is not None and not wanted.rule.startswith(BROKER_RULES):
            return None
        return Journeys(self.rules, closed_world=self.settings.closed_world)

    def kept_exchanges(self, kept: Kept) -> list[Exchange]:
        """The connections with what is kept of them."""
        places: dict[int, list[int]] = defaultdict(list)
        for at, place in kept:
            places[at].append(place)
        return [self.exchanges[at].with_only(found) for at, found in sorted(places.items())]

    def shows(self, exchanges: Sequence[Exchange], *, strict: bool) -> bool:
        """Whether connections show what is wanted and, if strict, nothing that is new and wrong."""
        if time.monotonic() > self.deadline:
            raise OutOfTime
        self.tests += 1
        return self.is_good(self.look(exchanges), strict=strict)

    def is_good(self, seen: Seen, *, strict: bool) -> bool:
        """Whether the rules see what is wanted and, if strict, nothing that is new and wrong."""
        if not self.goal.is_met(seen):
            return False
        return not strict or all(
            (each.rule, each.peer) in self.allowed or each.severity == INFO
            for each in seen.findings
        )

    # searching

    def minimise(self, goal: Goal, frame: int) -> Minimised | None:
        """Find the smallest capture that shows something; None where even all of it does not."""
        self.goal = goal
        begun = time.monotonic()
        self.deadline = max(self.begun + self.settings.seconds, begun + AT_LEAST)
        before = len(self.known)
        interrupted = False
        try:
            self._search(frame, begun)
        except OutOfTime:
            pass
        except KeyboardInterrupt:
            interrupted = True
        return self._result(before, interrupted=interrupted)

    def _search(self, frame: int, begun: float) -> None:
        """Without new errors for half of the time, then at any price if much is left."""
        end = self.deadline
        if len(self.known) <= AROUND[-1]:
            seen = self.look(self.exchanges)
            self.allowed.update((each.rule, each.peer) for each in seen.findings)
        self._begin(frame)
        self.deadline = begun + (end - begun) / 2
        with suppress(OutOfTime):
            self._reduce(strict=True)
        self.deadline = end
        if self._frames() > SMALL:
            with suppress(Enough):
                self._reduce(strict=False, enough=SMALL)
            seen = self.look(self.kept_exchanges(self.kept))
            self.allowed.update((each.rule, each.peer) for each in seen.findings)
            self._reduce(strict=True)
        self._simplify()

    def _frames(self) -> int:
        return sum(each.place in self.kept for each in self.known)

    def _begin(self, frame: int) -> None:
        """Guess what matters, for a start: it may spare reading a large capture many times."""
        wanted = next((each for each in self.known if each.frame == frame), None)
        if wanted is None:
            return
        finding = self.goal.finding
        numbers = {wanted.place[0]}
        related = {frame}
        if finding is not None:
            related.update(number for number, _ in finding.related)
            numbers.update(
                self.numbers.index(each)
                for each in finding.related_connections
                if each in self.numbers
            )
        connected = [each for each in self.known if each.place[0] in numbers]
        passed = [each for each in connected if each.frame <= frame]
        ends = frozenset(each for each in self.ends if each[0] in numbers)
        guesses = [self._likely(passed, related, around) for around in AROUND]
        guesses.append(frozenset(each.place for each in passed))
        guesses.append(frozenset(each.place for each in connected))
        sizes = [len(guess) for guess in guesses]
        for strict in (True, False):
            for place, guess in enumerate(guesses):
                if sizes[place] in sizes[:place]:
                    continue
                for kept in (guess | ends, guess):
                    if kept < self.kept and self.shows(self.kept_exchanges(kept), strict=strict):
                        self.kept = kept
                        return

    def _likely(self, passed: list[SentItem], related: set[int], around: int) -> Kept:
        """How all began, what the finding is about, and what came just before it."""
        begun: dict[tuple[int, int, Lane], int] = defaultdict(int)
        found = {each.place for each in passed[-around:]}
        for each in passed:
            sender = self.exchanges[each.place[0]].sent[each.place[1]].sender
            key = (each.place[0], sender, each.lane)
            begun[key] += 1
            if each.lane.kind == "connection" or begun[key] <= BEGINNING or each.frame in related:
                found.add(each.place)
        return frozenset(found)

    def _reduce(self, *, strict: bool, enough: int = 0) -> None:
        """Take out the large things first, then the small ones, until nothing more can go."""

        def holds(kept: Kept) -> bool:
            shown = self.shows(self.kept_exchanges(kept), strict=strict)
            if shown:
                # Kept at once, so that the best so far is at hand when time is up.
                self.kept = kept
                left = self._frames()
                self.watch(left, self.tests)
                if left <= enough:
                    raise Enough
            return shown

        reducer = Reducer(self.kept, holds)
        self._remove_groups(reducer, lambda each: each.place[0])
        self._remove_groups(reducer, lambda each: (each.place[0], each.lane.channel))
        self._remove_groups(reducer, lambda each: (each.place[0], each.link))
        self._remove_groups(reducer, lambda each: each.deliveries[:1] or None)
        singles = [frozenset((each.place,)) for each in self.known]
        while reducer.remove(singles):
            pass
        rest = self.kept - {each.place for each in self.known} - self.ends
        reducer.remove([frozenset((each,)) for each in sorted(rest)])

    def _remove_groups(self, reducer: Reducer[Place], key: Callable[[SentItem], object]) -> None:
        groups: dict[object, set[Place]] = defaultdict(set)
        for each in self.known:
            found = key(each)
            if found is not None and each.place in self.kept:
                groups[found].add(each.place)
        if len(groups) > 1:
            reducer.remove([frozenset(group) for group in groups.values()])

    def _simplify(self) -> None:
        """Take out fields and parts of messages."""
        self.exchanges = self.kept_exchanges(self.kept)
        every = [
            (at, place)
            for at, exchange in enumerate(self.exchanges)
            for place in range(len(exchange.sent))
        ]
        self.kept = frozenset(every)
        self.known = []
        for at, place in every:
            self._simplify_one(at, place)

    def _simplify_one(self, at: int, place: int) -> None:
        """Try simpler octets for one frame, as long as one of them will do."""
        changed = True
        while changed:
            changed = False
            step = self._step_at(at, place)
            if step is None:
                return
            for octets in step.talk.voice.simplifier().simpler(step.event):
                if len(octets) >= len(self.exchanges[at].sent[place].octets):
                    continue
                exchanges = list(self.exchanges)
                exchanges[at] = exchanges[at].with_octets({place: octets})
                if self.shows(exchanges, strict=True):
                    self.exchanges = exchanges
                    changed = True
                    break

    def _step_at(self, at: int, place: int) -> Step | None:
        """The frame that something is which was sent; None: it is none."""
        sent = self.exchanges[at].sent
        wanted = sent[place]
        if not wanted.octets:
            return None
        start = sum(
            len(each.octets) + each.lost for each in sent[:place] if each.sender == wanted.sender
        )
        ports = (self.exchanges[at].client, self.exchanges[at].server)
        for step in self.look(self.exchanges).steps:
            connection, frame = step.conversation.connection, step.frame
            here = (connection.client, connection.server) == ports and frame.offset == start
            if here and frame.sender == wanted.sender:
                return step
        return None

    def _result(self, before: int, *, interrupted: bool) -> Minimised | None:
        """What is left, whole: with an end of both directions where it still shows the same."""
        exchanges = [each.with_ends() for each in self.kept_exchanges(self.kept)]
        seen = self.look(exchanges)
        if not self.is_good(seen, strict=True):
            exchanges = self.kept_exchanges(self.kept)
            seen = self.look(exchanges)
        if not self.goal.is_met(seen):
            return None
        wanted = self.goal.finding
        finding = None
        if wanted is not None:
            key = judgement(wanted)
            finding = next(each for each in seen.findings if judgement(each) == key)
        return Minimised(
            exchanges, before, len(seen.steps), finding, self.tests, interrupted=interrupted
        )
