"""Findings as the JSON document for programs, and counted."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.findings import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amqpscope.check.result import CaptureResult
    from amqpscope.findings import Finding

VERSION: Final = 1


def count_severities(captures: Sequence[CaptureResult]) -> dict[str, int]:
    """How many findings there are of each severity, without those that rest on a fault."""
    counts = Counter(f.severity for checked in captures for f in checked.findings if not f.fault)
    for checked in captures:
        for kind, number in checked.more.items():
            counts[kind.severity] += number
    return {severity: counts[severity] for severity in SEVERITIES}


def document(captures: Sequence[CaptureResult]) -> dict[str, Any]:
    """The whole result, as `lint --format json` prints it.

    The summary counts all findings; where there are too many of a kind to list, `omitted` says
    how many are left out.
    """
    whole: dict[str, Any] = {
        "version": VERSION,
        "captures": [capture_object(checked) for checked in captures],
        "findings": [
            finding_object(finding, checked.path, [each.path for each in captures])
            for checked in captures
            for finding in checked.findings
        ],
        "summary": count_severities(captures),
    }
    omitted = [
        {**kind._asdict(), "capture": checked.path, "count": number}
        for checked in captures
        for kind, number in checked.more.items()
    ]
    if omitted:
        whole["omitted"] = omitted
    return whole


def capture_object(checked: CaptureResult) -> dict[str, Any]:
    """A capture's result as an object for JSON."""
    return {
        "path": checked.path,
        "packets": checked.packets,
        "connections": checked.connections,
        "frames": checked.frames,
        "protocols": checked.protocols,
        "gaps": checked.gaps,
        "error": checked.error,
    }


def related_objects(finding: Finding, capture: str, captures: Sequence[str]) -> list[Any]:
    """The frames that matter to a finding, with what is not the finding's own."""
    found: list[dict[str, Any]] = []
    for place, (frame, why) in enumerate(finding.related):
        entry: dict[str, Any] = {"frame": frame, "why": why}
        if finding.related_connections:
            entry["connection"] = finding.related_connections[place]
        if finding.related_captures and captures:
            other = captures[finding.related_captures[place]]
            if other != capture:
                entry["capture"] = other
        found.append(entry)
    return found


def finding_object(finding: Finding, capture: str, captures: Sequence[str] = ()) -> dict[str, Any]:
    """One finding; `captures` are those that were read together, by their places."""
    fault = {"fault": finding.fault} if finding.fault else {}
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "certainty": finding.certainty,
        "peer": finding.peer,
        "message": finding.message,
        "capture": capture,
        "connection": finding.connection,
        "frame": finding.frame,
        "packet": finding.packet,
        "time": round(finding.time / 1e9, 6),
        "channel": finding.channel,
        "link": finding.link or None,
        "path": finding.path or None,
        "section": finding.section,
        "related": related_objects(finding, capture, captures),
        **fault,
    }


def json_text(captures: Sequence[CaptureResult]) -> str:
    """The document as text; in ASCII, so that no name in a capture can break the output."""
    return json.dumps(document(captures), indent=1) + "\n"


def jsonl_text(captures: Sequence[CaptureResult]) -> str:
    """The findings alone, an object and a line each."""
    return "".join(
        f"{json.dumps({'kind': 'finding', **finding_object(finding, checked.path)})}\n"
        for checked in captures
        for finding in checked.findings
    )


class RuleCount(NamedTuple):
    """How often a peer broke a rule."""

    times: int
    rule: str
    name: str
    severity: str
    peer: str


def tallies(captures: Sequence[CaptureResult]) -> list[RuleCount]:
    """The most frequent first."""
    counts = Counter(
        (f.rule, f.name, f.severity, f.peer) for checked in captures for f in checked.findings
    )
    for checked in captures:
        for kind, number in checked.more.items():
            counts[kind[:4]] += number
    found = [RuleCount(times, *what) for what, times in counts.items()]
    return sorted(found, key=lambda tally: (-tally.times, tally.rule, tally.peer))


def statistics_json(captures: Sequence[CaptureResult]) -> str:
    """The counts for programs."""
    return json.dumps([tally._asdict() for tally in tallies(captures)], indent=1) + "\n"


def statistics_text(captures: Sequence[CaptureResult]) -> str:
    """The counts for people."""
    return "".join(
        f"{t.times:6,}  {t.rule:8} {t.severity:7}  {t.peer:6}  {t.name}\n"
        for t in tallies(captures)
    )
