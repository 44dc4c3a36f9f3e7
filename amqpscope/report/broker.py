"""What a broker did with messages, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from amqpscope.protocols.words import printable, seconds
from amqpscope.report.lint import finding_object

if TYPE_CHECKING:
    from amqpscope.findings import Finding
    from amqpscope.insight.journeys.ledger import Entry, Ledger
    from amqpscope.insight.journeys.profile import Profile
    from amqpscope.rules.broker import Passage

VERSION: Final = 1
OPEN_WORLD: Final = (
    "Others may be connected whom the captures do not show: nothing below is certain. "
    "--closed-world says that there are none."
)


def broker_lines(
    profiles: Sequence[Profile], findings: Sequence[tuple[str, Finding]], closed_world: bool
) -> Iterator[str]:
    """The profiles: facts, then the ledger, then what the rules say."""
    for profile in profiles:
        yield from facts(profile)
        yield from ledger_lines(profile.ledgers)
        yield ""
    yield "judgements"
    if not closed_world:
        yield f"  {OPEN_WORLD}"
    for capture, finding in findings:
        doubt = "" if finding.certainty == "sure" else f", {finding.certainty}"
        yield f"  {finding.severity}[{finding.rule}] {finding.name} ({finding.peer}{doubt})"
        yield f"    {printable(finding.message)}"
        yield f"    {printable(capture)}: frame {finding.frame}, connection {finding.connection}"
        for (frame, why), connection in zip(
            finding.related, finding.related_connections, strict=False
        ):
            yield f"      frame {frame}, connection {connection}: {printable(why)}"
    if not findings:
        yield "  nothing found" if profiles else "  none: no messages were seen"


def facts(profile: Profile) -> Iterator[str]:
    """What is known, without judging it."""
    title = " ".join(part for part in (profile.product, profile.container) if part)
    yield f"broker {profile.broker}" + (f" ({printable(title)})" if title else "")
    whole = f", {profile.incomplete} of them not complete" if profile.incomplete else ""
    yield f"  connections: {profile.connections}{whole}"
    if profile.answers:
        yield "  in short"
        for question, answer in profile.answers.items():
            yield f"    {question}: {printable(answer)}"
    yield from count_lines("messages", profile.counts)
    yield from count_lines("deliveries recognised by", profile.recognised)
    if profile.nodes:
        yield "  nodes"
        for node in profile.nodes:
            yield (
                f"    {node.kind:8} {printable(node.name)}: "
                f"{node.published:,} published, {node.delivered:,} delivered"
            )
    if profile.ways:
        yield "  ways"
        for way in profile.ways:
            source, target = printable(way.source), printable(way.target)
            yield f"    {source} -> {target}: {way.messages:,}"
    yield from count_lines("modes asked for -> given", profile.modes)
    yield from count_lines("header fields", profile.changes)
    for title, table in (*profile.annotations.items(), *profile.attempts.items()):
        yield from count_lines(title, table)
    if profile.times:
        yield "  times"
        for time in profile.times:
            yield (
                f"    {time.name}: {seconds(time.mean)} on average, "
                f"{seconds(time.least)} to {seconds(time.most)} ({time.times:,} times)"
            )
    if profile.forgotten:
        yield f"  {profile.forgotten:,} messages were not followed to their end: there are too many"


def count_lines(title: str, table: dict[str, int]) -> Iterator[str]:
    """Numbers under a title; nothing where there are none."""
    if table:
        yield f"  {title}"
        for name, number in table.items():
            yield f"    {printable(name)}: {number:,}"


def ledger_lines(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """Messages by how far their story is."""
    if ledgers:
        yield "  ledger"
    for ledger in ledgers:
        yield f"    {ledger.kind}: {ledger.total:,}"
        for entry in ledger.messages:
            yield f"      {name_of(entry)}"
            for passage in entry.history:
                yield f"        {passage_text(passage)}"
        if ledger.total > len(ledger.messages):
            yield f"      ... and {ledger.total - len(ledger.messages):,} more"


def name_of(entry: Entry) -> str:
    """A message in a sentence."""
    name = f"message {printable(entry.id)}" if entry.id else "a message without an id"
    times = f", published {entry.published:,} times" if entry.published > 1 else ""
    return f"{name}, {entry.size:,} octets{times}"


def passage_text(passage: Passage) -> str:
    """A frame of a history."""
    mark, _, _, why = passage
    return f"frame {mark.frame}: {printable(why)}"


def broker_json(
    profiles: Sequence[Profile],
    findings: Sequence[tuple[str, Finding]],
    captures: Sequence[str],
    closed_world: bool,
) -> str:
    """The profiles and findings as JSON."""
    document = {
        "version": VERSION,
        "captures": list(captures),
        "closed_world": closed_world,
        "brokers": [profile_object(profile, captures) for profile in profiles],
        "findings": [finding_object(finding, capture, captures) for capture, finding in findings],
    }
    return json.dumps(document, indent=1) + "\n"


def profile_object(profile: Profile, captures: Sequence[str]) -> dict[str, Any]:
    """A broker's profile as an object for JSON."""
    return {
        "broker": profile.broker,
        "product": profile.product or None,
        "container": profile.container or None,
        "connections": profile.connections,
        "incomplete": profile.incomplete,
        "answers": profile.answers,
        "counts": profile.counts,
        "recognised": profile.recognised,
        "nodes": [node._asdict() for node in profile.nodes],
        "ways": [way._asdict() for way in profile.ways],
        "changes": profile.changes,
        "annotations": profile.annotations,
        "modes": profile.modes,
        "attempts": profile.attempts,
        "times": [time._asdict() for time in profile.times],
        "ledgers": [
            {
                "kind": ledger.kind,
                "total": ledger.total,
                "messages": [entry_object(entry, captures) for entry in ledger.messages],
            }
            for ledger in profile.ledgers
        ],
        "forgotten": profile.forgotten,
    }


def entry_object(entry: Entry, captures: Sequence[str]) -> dict[str, Any]:
    """One message of a ledger."""
    return {
        "id": entry.id or None,
        "size": entry.size,
        "published": entry.published,
        "doubt": entry.doubt or None,
        "history": [passage_object(passage, captures) for passage in entry.history],
    }


def passage_object(passage: Passage, captures: Sequence[str]) -> dict[str, Any]:
    """One frame of a history."""
    mark, connection, capture, why = passage
    return {
        "capture": captures[capture],
        "connection": connection,
        "frame": mark.frame,
        "packet": mark.packet,
        "time": round(mark.time / 1e9, 6),
        "why": why,
    }
