"""What lint says of a recording, in this process, by all rules."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from amqpscope.analysis import Analyzer
from amqpscope.capture.reader import open_capture
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.check.selection import Selection
from amqpscope.findings import ERROR, SUSPECT, WARNING, Finding
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream.reassembly import Reassembler
from amqpscope.stream.types import Segment
from kit.relations.recording import Accusation, Known, Pair, Recording, endpoints, segments_of
from kit.relations.writing import write

MISSING = re.compile(r"captur|missing|lost|not seen|unseen")
"""How a message says that something is not there to be judged."""


class Found(NamedTuple):
    """A finding, and the connection that it is about."""

    pair: Pair
    finding: Finding

    @property
    def accusation(self) -> Accusation:
        """Who broke what."""
        return Accusation(self.pair, self.finding.rule, self.finding.peer)


@cache
def all_rules() -> RuleSet:
    """Every rule, also those that run only when asked for."""
    return Selection(select=("ALL",)).rules()


def lint(recording: Recording) -> list[Found]:
    """All findings."""
    ports = recording.ports
    analyzer = Analyzer(dict.fromkeys(ports, "amqp-1.0"), all_rules())
    reassembler = Reassembler(ports)
    unwrapper = Unwrapper(Known(recording.plaintexts))
    pairs: dict[int, Pair] = {}
    findings: list[Finding] = []
    pieces = reassembler.feed_all(segments(recording)) + reassembler.finish()
    for piece in unwrapper.feed_all(pieces):
        for step in analyzer.feed(piece):
            number = step.conversation.number
            if number not in pairs:
                pairs[number] = endpoints(step.conversation.connection)
            findings += step.findings
    return [Found(pairs[each.connection], each) for each in findings + analyzer.late_findings()]


def segments(recording: Recording) -> list[Segment]:
    """Its packets, through a file if it has a form."""
    if recording.form is None:
        return segments_of(recording.packets)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mutant")
        write(recording, path)
        with open_capture(str(path)) as capture:
            return [segment for batch in capture for segment in batch]


def judged(recording: Recording) -> Recording:
    """A capture with what it shows before anything is changed."""
    found = lint(recording)
    errors = frozenset(each.accusation for each in found if each.finding.severity == ERROR)
    warnings = frozenset(each.accusation for each in found if each.finding.severity == WARNING)
    return replace(recording, errors=errors, warnings=warnings | errors)


def news(recording: Recording, found: list[Found]) -> list[Found]:
    """Errors and warnings that the captures it was made of do not show; the first of each."""
    known = {ERROR: recording.errors, WARNING: recording.warnings}
    first: dict[tuple[str, Accusation], Found] = {}
    for each in found:
        severity = each.finding.severity
        if severity in known and each.accusation not in known[severity]:
            first.setdefault((severity, each.accusation), each)
    return list(first.values())


def new_errors(recording: Recording) -> list[Found]:
    """Errors that the captures it was made of do not show."""
    return [each for each in news(recording, lint(recording)) if each.finding.severity == ERROR]


def excused(finding: Finding, retimed: bool) -> bool:
    """Whether a new warning is in order.

    It is in doubt and says what is missing; or it is about time and endings, which were changed.
    """
    if retimed and rests_on_time(finding.rule):
        return True
    return finding.certainty == SUSPECT and MISSING.search(finding.message) is not None


@cache
def rests_on_time(rule: str) -> bool:
    """Whether a rule judges how long something took, or how a connection ended."""
    words = set(load()[rule].on.split())
    return not words.isdisjoint(("pause", "tick", "finished"))
