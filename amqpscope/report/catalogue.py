"""The catalogue of rules as text, JSON and Markdown: `rules` and `rules --coverage`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from amqpscope.protocols import registry as _families  # noqa: F401 - they bring rules along
from amqpscope.report.columns import wrap
from amqpscope.rules.all import load
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.coverage import (
    CHECKED,
    ELSEWHERE,
    NOT_OBSERVABLE,
    NOT_YET,
    PERMITTED,
    STATUSES,
    coverage,
    status,
)
from amqpscope.rules.documents import documents
from amqpscope.rules.registry import Rule

Counts = dict[tuple[str, str], dict[str, int]]

HEADS: Final = {
    # status: its head in the table, and what it means
    CHECKED: ("checked", "lint reports it"),
    PERMITTED: ("allowed", "a MAY: nothing that could be broken"),
    NOT_OBSERVABLE: ("unseen", "does not show on the wire"),
    ELSEWHERE: ("other", "its breach is reported under another rule"),
    NOT_YET: ("to do", "could be checked and is not yet"),
}


def rules_text(form: str) -> str:
    """The rules: in text and Markdown those that are checked, in JSON the whole catalogue."""
    if form == "json":
        return rules_json()
    return "\n".join(_rules_markdown() if form == "markdown" else _rules_list())


def _checked_rules() -> list[Rule]:
    """The rules that are checked, in the order of the catalogue."""
    rules = load()
    return [rules[id] for id in catalogue() if id in rules]


def _rules_list() -> Iterator[str]:
    group = ""
    for rule in _checked_rules():
        of = catalogue()[rule.id].group
        if of != group:
            if group:
                yield ""
            yield of
            group = of
        switch = "" if rule.default else "  (off by default)"
        yield f"  {rule.id:8} {rule.severity:7} {rule.name}{switch}"


def _rules_markdown() -> Iterator[str]:
    yield "| rule | name | severity | what it asks for |"
    yield "|---|---|---|---|"
    for rule in _checked_rules():
        summary = documents()[rule.id].summary.replace("|", "\\|")
        yield f"| {rule.id} | {rule.name} | {rule.severity} | {summary} |"


def rules_json() -> str:
    """Every row of the catalogue; what is checked as the code has it."""
    rules = load()
    rows = []
    for id, entry in catalogue().items():
        rule = rules.get(id)
        rows.append(
            {
                "id": id,
                "name": entry.name,
                "protocol": entry.protocol,
                "group": entry.group,
                "section": entry.section if rule is None else rule.section,
                "level": entry.level if rule is None else rule.level,
                "severity": entry.severity if rule is None else rule.severity,
                "observable": entry.observable,
                "default": entry.default == "on" if rule is None else rule.default,
                "status": status(entry),
                "reported_by": entry.reporters,
                "summary": None if rule is None else documents()[id].summary,
            }
        )
    return json.dumps(rows, indent=1)


def coverage_text(form: str, width: int = 80) -> str:
    """How many rules of each group are checked, and what about the others."""
    counts = coverage()
    if form == "json":
        rows = [{"protocol": p, "group": g, **row} for (p, g), row in counts.items()]
        return json.dumps(rows, indent=1)
    return "\n".join(_markdown(counts) if form == "markdown" else _table(counts, width))


def _table(counts: Counts, width: int) -> Iterator[str]:
    yield f"{'':30}" + "".join(f"{head:>9}" for head, _ in HEADS.values())
    protocols = dict.fromkeys(protocol for protocol, _ in counts)
    for protocol in protocols:
        rows = {group: row for (of, group), row in counts.items() if of == protocol}
        yield protocol
        yield from (_row(f"  {group}", row) for group, row in rows.items())
        yield _row("  together", total(rows.values()))
        yield ""
    yield _row("all", total(counts.values()))
    yield ""
    for head, meaning in HEADS.values():
        yield from wrap(f"{head:9}{meaning}", width, "", " " * 9)


def _row(title: str, row: dict[str, int]) -> str:
    return f"{title[:30]:30}" + "".join(f"{row[each]:>9}" for each in STATUSES)


def _markdown(counts: Counts) -> Iterator[str]:
    yield f"| protocol | group | {' | '.join(STATUSES)} |"
    yield "|---|---|" + "---:|" * len(STATUSES)
    for (protocol, group), row in counts.items():
        yield f"| {protocol} | {group} | {' | '.join(str(row[s]) for s in STATUSES)} |"
    everything = total(counts.values())
    yield f"| all | | {' | '.join(str(everything[s]) for s in STATUSES)} |"


def total(rows: Iterable[dict[str, int]]) -> dict[str, int]:
    """The rows summed up."""
    rows = list(rows)
    return {status: sum(row[status] for row in rows) for status in STATUSES}
