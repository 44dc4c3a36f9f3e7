"""Compares two connections: lanes paired, frames aligned, fields compared."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from amqpscope.findings import Finding
from amqpscope.insight.diff.alignment import Pair, align
from amqpscope.insight.diff.differences import (
    CHANGED,
    EXTRA,
    FINDING,
    MISSING,
    OUTCOME,
    Difference,
    Side,
    side,
)
from amqpscope.insight.diff.entries import ComparedConnection, Entry, exact_facts, text_of, under
from amqpscope.insight.diff.generated import is_generated, settled_value, without_generated
from amqpscope.insight.diff.pairing import likeness, pair
from amqpscope.protocols.comparison import Lane
from amqpscope.stream.types import PEERS

SAME_TIMES: Final = 0.5
"""The share of frames with the same octets at the same instant that shows one recording twice."""

SETTLEMENT: Final = "settlement"
"""The kind of the lanes of answers to deliveries that were not seen."""
CHANNEL: Final = "channel"
"""The path of the number of a frame's channel."""

Key = tuple[int, Lane]
"""A lane of one peer."""
Lanes = dict[Key, list[Entry]]


def are_copies(a: ComparedConnection, b: ComparedConnection) -> bool:
    """Whether two are of one recording, of which one was changed."""
    shapes = [
        Counter((each.sender, each.octets, each.time) for each in recording.entries)
        for recording in (a, b)
    ]
    return likeness(*shapes) >= SAME_TIMES


class Compared:
    """Two connections side by side."""

    def __init__(self, a: ComparedConnection, b: ComparedConnection, *, exact: bool) -> None:
        self.a, self.b = a, b
        self.exact = exact
        self.copies = are_copies(a, b)
        self.strict = exact or self.copies
        """Nothing is a matter of time."""
        self.settling = a.comparison.settling | b.comparison.settling
        self.aligned: list[tuple[Entry, Entry]] = []
        self.single: list[Pair] = []
        """Frames for which the other one has none, as far as lanes and order say."""
        self.found: list[Difference] = []
        self.skipped: Counter[str] = Counter()
        """Frames whose number is a matter of time and differs, by name: more in A above 0."""
        for recording in (a, b):
            recording.settle(exact=self.strict)
        if exact:
            for entry in (*a.entries, *b.entries):
                entry.settle({**entry.stable, CHANNEL: str(entry.channel)})

    def differences(self) -> list[Difference]:
        """All differences, in the order in which they come."""
        plain_a, answers_a = self._lanes(self.a)
        plain_b, answers_b = self._lanes(self.b)
        keys = self._pair(plain_a, plain_b)
        unknown: list[Pair] = []
        gone: tuple[set[int], set[int]] = (set(), set())
        for key_a, key_b in keys:
            pairs = self._align(plain_a.get(key_a, []), plain_b.get(key_b, []))
            if not self.strict and SETTLEMENT in (key_a[1].kind, key_b[1].kind):
                unknown.extend(pairs)
                continue
            self._note_gone(pairs, gone)
            self._report(pairs)
        self._answers(answers_a, answers_b, dict(keys), gone)
        self._report(self._unexplained_answers(unknown, gone))
        self._rejoin()
        self._fields()
        self._findings()
        return self._in_order()

    # lanes

    def _lanes(self, recording: ComparedConnection) -> tuple[Lanes, Lanes]:
        """The frames by lane; and, by the lane of the deliveries, what answers them."""
        plain: Lanes = defaultdict(list)
        answers: dict[Key, list[tuple[int, Entry]]] = defaultdict(list)
        for entry in recording.entries:
            if self.strict or not entry.answered:
                plain[entry.sender, entry.lane].append(entry)
                continue
            for first in entry.answered:
                lane = recording.lanes.begun.get(first, entry.lane)
                one = replace(entry, answered=[first])
                answers[entry.sender, lane].append((first, one))
        ordered = {
            key: [entry for _, entry in sorted(found, key=lambda each: (each[0], each[1].frame))]
            for key, found in answers.items()
        }
        return plain, ordered

    def _pair(self, a: Lanes, b: Lanes) -> list[tuple[Key, Key]]:
        """Which lanes belong together; what has no like is paired with a lane of no frames."""
        found: list[tuple[Key, Key]] = []
        if self.strict:
            found = [(key, key) for key in a if key in b]
        taken_a, taken_b = {key for key, _ in found}, {key for _, key in found}
        groups: dict[tuple[int, str], tuple[list[Key], list[Key]]] = {}
        for place, (lanes, taken) in enumerate(((a, taken_a), (b, taken_b))):
            for key in lanes:
                if key not in taken:
                    group = groups.setdefault((key[0], key[1].kind), ([], []))
                    group[place].append(key)
        for ours, theirs in groups.values():
            pairs = pair([shape(a[key]) for key in ours], [shape(b[key]) for key in theirs])
            found.extend((ours[i], theirs[j]) for i, j in pairs)
            left, right = {i for i, _ in pairs}, {j for _, j in pairs}
            nowhere = Lane("")
            found.extend((key, (key[0], nowhere)) for i, key in enumerate(ours) if i not in left)
            found.extend(((key[0], nowhere), key) for j, key in enumerate(theirs) if j not in right)
        return found

    def _align(self, a: list[Entry], b: list[Entry]) -> list[Pair]:
        """Pair the frames of a lane, but for those whose number is a matter of time.

        The first of these on a link stays: it is what a receiver begins with.
        """
        if self.strict:
            return align(a, b, self.settling)
        plain = [[each for each in lane if not each.cadence] for lane in (a, b)]
        often = [[each for each in lane if each.cadence] for lane in (a, b)]
        found = align(plain[0], plain[1], self.settling)
        firsts = (_first_cadence(a), _first_cadence(b))
        for one, other in _joined(found, align(often[0], often[1], self.settling)):
            known = [
                (each, first)
                for each, first in ((one, firsts[0]), (other, firsts[1]))
                if each is not None
            ]
            if not all(each.frame != first for each, first in known):
                found.append((one, other))
            elif len(known) == 1:
                self.skipped[known[0][0].name] += 1 if other is None else -1
        return found

    def _note_gone(self, pairs: Iterable[Pair], gone: tuple[set[int], set[int]]) -> None:
        """Remember the deliveries that only one has."""
        for a, b in pairs:
            if a is not None and b is None and a.frame in self.a.lanes.begun:
                gone[0].add(a.frame)
            elif b is not None and a is None and b.frame in self.b.lanes.begun:
                gone[1].add(b.frame)

    def _answers(
        self, a: Lanes, b: Lanes, keys: dict[Key, Key], gone: tuple[set[int], set[int]]
    ) -> None:
        """Compare what becomes of deliveries, lane by lane of the deliveries."""
        done: set[Key] = set()
        for key, entries in a.items():
            sender, lane = key
            # The lane is that of the deliveries, which the other peer sent.
            other = keys.get((1 - sender, lane), (1 - sender, lane))[1]
            match = (sender, other)
            done.add(match)
            self._report(self._align_answers(entries, b.get(match, []), gone))
        for key, entries in b.items():
            if key not in done:
                self._report(self._align_answers([], entries, gone))

    def _align_answers(
        self, a: list[Entry], b: list[Entry], gone: tuple[set[int], set[int]]
    ) -> Iterator[Pair]:
        """Pair answers; to a delivery that only one has, where the other has such an answer too."""
        left = [each for each in a if each.answered[0] not in gone[0]]
        right = [each for each in b if each.answered[0] not in gone[1]]
        spare = [
            [each for each in answers if each.answered[0] in known]
            for answers, known in ((a, gone[0]), (b, gone[1]))
        ]
        for one, other in align(left, right, self.settling):
            known = one or other
            others = spare[1] if other is None else spare[0] if one is None else []
            same = [each for each in others if known and each.signature == known.signature]
            if not same:
                yield one, other
                continue
            others.remove(same[0])
            yield (one, same[0]) if other is None else (same[0], other)

    def _unexplained_answers(
        self, pairs: list[Pair], gone: tuple[set[int], set[int]]
    ) -> list[Pair]:
        """Answers to deliveries that were not seen, but for those that only one should have."""
        allowed = [len(gone[1]), len(gone[0])]
        left: list[Pair] = []
        for a, b in pairs:
            one = 0 if b is None else 1 if a is None else -1
            if one >= 0 and allowed[one]:
                allowed[one] -= 1
            else:
                left.append((a, b))
        return left

    # frames

    def _report(self, pairs: Iterable[Pair]) -> None:
        """Keep frames that belong together to compare their fields, and those that are single."""
        for a, b in pairs:
            if a is not None and b is not None:
                self.aligned.append((a, b))
            else:
                self.single.append((a, b))

    def _rejoin(self) -> None:
        """Pair single frames that are the same but for what put them into another lane."""
        waiting = [b for _, b in self.single if b is not None]
        for a, _ in self.single:
            if a is None:
                continue
            b = next((each for each in waiting if self._is_moved(a, each)), None)
            if b is None:
                self._add(MISSING, a.name, side(a), None)
            else:
                waiting.remove(b)
                self.aligned.append((a, b))
        for b in waiting:
            self._add(EXTRA, b.name, None, side(b))

    def _is_moved(self, a: Entry, b: Entry) -> bool:
        """Whether a frame is one of another lane: at the same instant, or but for one field."""
        if (a.sender, a.name) != (b.sender, b.name):
            return False
        if self.copies:
            return a.time == b.time
        paths = {**a.stable, **b.stable}
        return sum(a.stable.get(path) != b.stable.get(path) for path in paths) == 1

    def _add(self, kind: str, path: str, a: Side | None, b: Side | None) -> None:
        found = Difference(kind, path, a, b)
        if found not in self.found:
            self.found.append(found)

    def _fields(self) -> None:
        """Compare the fields of frames that belong together."""
        doubtful: dict[str, list[tuple[Entry, Entry]]] = defaultdict(list)
        for a, b in self.aligned:
            same = a.facts == b.facts and a.name == b.name and a.payload == b.payload
            if same and (not self.strict or a.channel == b.channel):
                continue
            for path in self._changed_paths(a, b):
                if self.exact or self._is_certain(path, a, b):
                    self._change(path, a, b)
                else:
                    doubtful[path].append((a, b))
        for path, pairs in doubtful.items():
            if self._is_rare(path, len(pairs)):
                for a, b in pairs:
                    self._change(path, a, b)

    def _change(self, path: str, a: Entry, b: Entry) -> None:
        outcome = a.name in self.settling and (
            a.name != b.name or under(self.a.comparison.outcome, path)
        )
        first, second = side(a, path), side(b, path)
        if path == CHANNEL:
            first, second = _with_value(first, a.channel), _with_value(second, b.channel)
        if a.name != b.name:
            first, second = _with_value(first, a.name), _with_value(second, b.name)
        self._add(OUTCOME if outcome else CHANGED, path, first, second)

    def _changed_paths(self, a: Entry, b: Entry) -> list[str]:
        """The paths at which two frames differ."""
        if a.name != b.name:
            return [a.name]
        texts_a, texts_b = exact_facts(a.facts), exact_facts(b.facts)
        if self.strict:
            texts_a[CHANNEL], texts_b[CHANNEL] = str(a.channel), str(b.channel)
        paths = [
            path
            for path in {**texts_a, **texts_b}
            if texts_a.get(path) != texts_b.get(path) and self._is_comparable(path, a, b)
        ]
        if self._differs_in_octets(a, b):
            paths.append(f"{a.name}.payload")
        return list(collapse_paths(paths, set(texts_a), set(texts_b)))

    def _is_comparable(self, path: str, a: Entry, b: Entry) -> bool:
        """Whether a path says something of its own: of a message, only when both are whole."""
        if path in self.a.comparison.sizes:
            return not (is_whole(a) and is_whole(b))
        if path.startswith(f"{a.name}.") or path == CHANNEL:
            return True
        return a.completes and b.completes and transfers(a) == transfers(b)

    def _differs_in_octets(self, a: Entry, b: Entry) -> bool:
        """Whether payloads differ of which nothing better is known."""
        if a.payload == b.payload or (a.completes and b.completes):
            return False
        return not (is_whole(a) and is_whole(b)) and transfers(a) == transfers(b)

    def _is_certain(self, path: str, a: Entry, b: Entry) -> bool:
        """Whether a difference is more than what changes from run to run."""
        comparison = self.a.comparison
        if path == CHANNEL or path in comparison.names:
            return False
        if any(comparison.is_volatile(path, one.facts) for one in (a, b)):
            return False
        if path in comparison.chosen and any(is_generated(one.facts.get(path)) for one in (a, b)):
            return False
        if path not in a.facts and path not in b.facts:
            return True
        return text_of(settled_value(a.facts.get(path))) != text_of(
            settled_value(b.facts.get(path))
        )

    def _is_rare(self, path: str, differing: int) -> bool:
        """Whether what could change from run to run stays the same elsewhere."""
        total = sum(path in a.facts or path in b.facts for a, b in self.aligned)
        if self.copies:
            return differing <= max(1, total // 5)
        comparison = self.a.comparison
        if path in comparison.volatile | comparison.names | comparison.chosen:
            return False
        return total - differing > max(1, 4 * differing)

    # findings and order

    def _findings(self) -> None:
        """Report rules that only one breaks."""
        for kind, ours, theirs in (("a", self.a, self.b), ("b", self.b, self.a)):
            known = {(each.rule, each.peer) for each in theirs.findings}
            reported = set()
            for finding in ours.findings:
                key = (finding.rule, finding.peer)
                if key in known or key in reported:
                    continue
                reported.add(key)
                one = _finding_side(finding, ours)
                self._add(FINDING, finding.rule, *((one, None) if kind == "a" else (None, one)))

    def _in_order(self) -> list[Difference]:
        """Differences by where they are, seen from A; findings last."""
        marks = sorted((b.frame, a.frame) for a, b in self.aligned)
        frames = [frame for frame, _ in marks]

        def order(found: Difference) -> float:
            if found.a is not None:
                return float(found.a.frame)
            assert found.b is not None
            place = bisect_right(frames, found.b.frame)
            return marks[place - 1][1] + 0.5 if place else 0.5

        placed = [replace(found, order=order(found)) for found in self.found]
        return sorted(placed, key=lambda each: (each.kind == FINDING, each.order))


def _joined(plain: list[Pair], often: list[Pair]) -> list[Pair]:
    """Pair frames whose number is a matter of time with such as are not, where both are single.

    They are added to `plain`; what is returned is the rest of them.
    """
    left: list[Pair] = []
    for one, other in often:
        here = one if other is None else other if one is None else None
        match = next((pair for pair in plain if here is not None and _fits(pair, one, here)), None)
        if match is None:
            left.append((one, other))
        else:
            plain.remove(match)
            plain.append((one or match[0], other or match[1]))
    return left


def _fits(pair: Pair, one: Entry | None, here: Entry) -> bool:
    """Whether the single frame of a pair is the other one's, and of the same name."""
    mine, theirs = pair if one is not None else (pair[1], pair[0])
    return mine is None and theirs is not None and theirs.name == here.name


def _first_cadence(lane: list[Entry]) -> int:
    """The first frame of what comes over and over on a link; 0: there is none."""
    return next((each.frame for each in lane if each.cadence and each.lane.kind == "link"), 0)


def shape(entries: list[Entry]) -> Counter[Any]:
    """What passes on a lane, for finding its like."""
    found: Counter[Any] = Counter()
    for entry in entries:
        found[entry.name, without_generated(entry.address)] += 1
        found[entry.signature] += 1
    return found


def collapse_paths(paths: list[str], a: set[str], b: set[str]) -> Iterator[str]:
    """Paths without those below one that is reported, and those of a part that one lacks as one."""
    reported = set(paths)
    for path in paths:
        parts = path.split(".")
        heads = [".".join(parts[:end]) for end in range(2, len(parts))]
        if any(head in reported for head in heads):
            continue
        lacking = [head for head in heads if not (under_any(head, a) and under_any(head, b))]
        head = lacking[0] if lacking else path
        if head != path:
            if head in reported:
                continue
            reported.add(head)
        yield head


def under_any(head: str, paths: set[str]) -> bool:
    """Whether there is something at a path or below it."""
    return head in paths or any(path.startswith(f"{head}.") for path in paths)


def is_whole(entry: Entry) -> bool:
    """Whether all of the message that a frame belongs to was seen."""
    return entry.delivery is not None and entry.delivery.complete


def transfers(entry: Entry) -> int:
    """Frames that carried the delivery that a frame belongs to."""
    return 0 if entry.delivery is None else entry.delivery.transfers


def _with_value(one: Side | None, value: Any) -> Side | None:
    return None if one is None else replace(one, value=value)


def _finding_side(finding: Finding, recording: ComparedConnection) -> Side:
    shown = finding if recording.show_secrets else finding.masked()
    entry = next((each for each in recording.entries if each.frame == finding.frame), None)
    name = "" if entry is None else entry.name
    return Side(
        finding.connection, finding.frame, finding.packet, finding.time,
        PEERS.index(finding.peer), name, shown.message, f"{finding.severity} ({finding.peer})",
    )  # fmt: skip
