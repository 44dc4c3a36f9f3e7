"""One rule in full: what it asks for, why, how it looks broken and kept, how to silence it."""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope.report.catalogue import HEADS
from amqpscope.report.columns import wrap
from amqpscope.rules.all import load
from amqpscope.rules.catalogue import CatalogueRow, catalogue
from amqpscope.rules.coverage import status
from amqpscope.rules.documents import Document, Exchange, documents
from amqpscope.rules.registry import Rule
from amqpscope.rules.scenes import joined


def explanation(id: str, width: int = 0, *, full: bool = False) -> str:
    """A rule by its id, in lines as long as they are where there is no width.

    In full, examples begin with the first unit of the connection.
    """
    entry, rule = catalogue()[id], load().get(id)
    lines = [f"{entry.id} {entry.name}", ""]
    if rule is None:
        lines += _explain_unchecked(entry, width)
    else:
        lines += _explain_checked(entry, rule, documents()[id], width, full)
    return "\n".join(lines)


def _explain_unchecked(entry: CatalogueRow, width: int) -> Iterator[str]:
    _, meaning = HEADS[status(entry)]
    if entry.reporters:
        meaning = f"its breach is reported as {', '.join(entry.reporters)}"
    yield f"{entry.protocol}, section {entry.section}, {entry.level}, {entry.severity}"
    yield ""
    yield from wrap(f"lint does not report it. Status: {status(entry)} ({meaning}).", width)


def _explain_checked(
    entry: CatalogueRow, rule: Rule, document: Document, width: int, full: bool
) -> Iterator[str]:
    yield from wrap(document.summary, width)
    yield ""
    switch = "" if rule.default else "; runs only when it is selected"
    facts = f"{entry.protocol}, section {rule.section}, {rule.level}, {rule.severity}{switch}"
    yield from wrap(facts, width)
    yield ""
    if document.reason:
        for paragraph in document.reason.split("\n\n"):
            yield from wrap(" ".join(paragraph.split()), width)
            yield ""
    for exchange in document.exchanges:
        yield from _exchange(exchange, rule.family.name, width, full)
        yield ""
    yield from wrap(f"Its source: {rule.module.replace('.', '/')}.py", width)
    yield from wrap(
        f'To silence it: lint --ignore {rule.id}, or ignore = ["{rule.id}"] in amqpscope.toml.',
        width,
    )


def heading(exchange: Exchange, family: str) -> str:
    """What an example shows, and after what."""
    return f"{'Good' if exchange.good else 'Bad'} ({exchange.opening(family).words}):"


def _exchange(exchange: Exchange, family: str, width: int, full: bool) -> Iterator[str]:
    yield from wrap(heading(exchange, family), width)
    before = exchange.opening(family).units if full else ""
    if before:
        yield from _units(before, width)
        yield "    # here the example begins"
    yield from _units(exchange.text, width)


def _units(text: str, width: int) -> Iterator[str]:
    """Units in notation; where there is a width, one that is too long goes on in indented lines."""
    if not width:
        yield from (f"    {line}" for line in text.splitlines())
        return
    for unit in joined(text):
        yield from wrap(unit, width, "    ", " " * 12)
