"""Findings as SARIF 2.1.0, for code scanning services.

A capture has no lines, so the region of a finding is the frame: its number is the line.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import amqpscope
from amqpscope.check.baseline import fingerprint
from amqpscope.protocols.registry import PROTOCOLS, find_protocol
from amqpscope.rules.all import load
from amqpscope.rules.documents import documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from amqpscope.check.result import CaptureResult
    from amqpscope.findings import Finding

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}


def sarif_text(captures: Sequence[CaptureResult]) -> str:
    """The log as text."""
    return json.dumps(sarif(captures), indent=1) + "\n"


def sarif(captures: Sequence[CaptureResult]) -> dict[str, Any]:
    """One run over all captures."""
    used = sorted({finding.rule for checked in captures for finding in checked.findings})
    driver = {
        "name": "amqpscope",
        "semanticVersion": amqpscope.__version__,
        "informationUri": PROTOCOLS[0].specification(""),
        "rules": [descriptor(id) for id in used],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation(captures)],
        "columnKind": "unicodeCodePoints",
        "results": list(results(captures, used)),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def invocation(captures: Sequence[CaptureResult]) -> dict[str, Any]:
    """How the run went: captures that could not be read, or not to their ends."""
    notices = [
        {
            "level": "error" if checked.unreadable else "warning",
            "message": {"text": checked.error},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(checked.path)}}}],
        }
        for checked in captures
        if checked.error
    ]
    complete = not any(checked.unreadable for checked in captures)
    return {"executionSuccessful": complete, "toolExecutionNotifications": notices}


def help_uri(family: str, section: str) -> dict[str, str]:
    """Where the specification of a family says what a section is about, if that is known."""
    protocol = find_protocol(family)
    address = "" if protocol is None else protocol.specification(section)
    return {"helpUri": address} if address else {}


def results(captures: Sequence[CaptureResult], used: list[str]) -> Iterator[dict[str, Any]]:
    """All findings; equal ones are told apart by their order."""
    places = {id: place for place, id in enumerate(used)}
    for checked in captures:
        seen: Counter[str] = Counter()
        artifact = uri(checked.path)
        for finding in checked.findings:
            same = fingerprint(finding, artifact)
            seen[same] += 1
            mark = fingerprint(finding, artifact, seen[same])
            yield result(finding, artifact, places[finding.rule], mark)


def descriptor(id: str) -> dict[str, Any]:
    """What a rule is."""
    rule, document = load()[id], documents()[id]
    help_text = "\n\n".join(filter(None, (document.summary, document.reason)))
    return {
        "id": id,
        "name": "".join(word.title() for word in rule.name.split("-")),
        "shortDescription": {"text": document.summary},
        "fullDescription": {"text": help_text},
        "help": {"text": help_text, "markdown": help_text},
        **help_uri(rule.family.name, rule.section),
        "defaultConfiguration": {"level": LEVELS[rule.severity], "enabled": rule.default},
        "properties": {"tags": [rule.level, f"section {rule.section}"], "section": rule.section},
    }


def result(finding: Finding, artifact: str, place: int, mark: str) -> dict[str, Any]:
    """One finding; one that rests on a fault is suppressed."""
    suppressed = [{"kind": "external", "justification": f"fault {finding.fault} of the proxy"}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": place,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.peer}: {finding.message}"},
        "locations": [location(artifact, finding.frame, finding.path)],
        "relatedLocations": [
            {**location(artifact, frame, ""), "id": number, "message": {"text": why}}
            for number, (frame, why) in enumerate(finding.related, 1)
        ],
        "partialFingerprints": {"amqpscopeFinding/v1": mark},
        **({"suppressions": suppressed} if finding.fault else {}),
        "rank": 100.0 if finding.certainty == "sure" else 40.0,
        "properties": {
            "certainty": finding.certainty,
            "peer": finding.peer,
            "connection": finding.connection,
            "frame": finding.frame,
            "packet": finding.packet,
            "channel": finding.channel,
            "link": finding.link or None,
        },
    }


def location(artifact: str, frame: int, name: str) -> dict[str, Any]:
    """A frame of a capture, and the field in it."""
    region = {"startLine": max(frame, 1)}
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": artifact}, "region": region}
    }
    if name:
        place["logicalLocations"] = [{"fullyQualifiedName": name}]
    return place


def uri(path: str) -> str:
    """A path as a URI: relative to where we are if it lies below, as services expect it."""
    found = Path(os.path.normpath(path))
    if found.is_absolute():
        here = Path.cwd()
        if not found.is_relative_to(here):
            return "file://" + quote(os.fsencode(found.as_posix()))
        found = found.relative_to(here)
    return quote(os.fsencode(found.as_posix()))
