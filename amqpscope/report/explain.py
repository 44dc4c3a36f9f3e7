"""One rule in full: what it asks for, why, how it looks broken and kept, how to silence it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.report.catalogue import HEADS
from amqpscope.report.columns import wrap
from amqpscope.rules.all import load
from amqpscope.rules.catalogue import Entry, catalogue
from amqpscope.rules.coverage import status
from amqpscope.rules.documents import Document, Exchange, documents
from amqpscope.rules.registry import Rule

SETUPS: Final = {
    # the common beginnings of exchanges, in words
    "opened": "after both headers and opens",
    "session": "after a session was begun on channel 0 of both peers",
    "sending": "after the client attached a sender on handle 0 and got credit 10",
    "receiving": "after the client attached a receiver on handle 0 and granted credit 10",
    "control": "after the client attached a link to a transaction coordinator and got credit 10",
    "sasl": "after both SASL headers and the server's mechanisms",
}


def explanation(id: str, width: int = 0) -> str:
    """A rule by its id; in lines as long as they are where there is no width."""
    entry, rule = catalogue()[id], load().get(id)
    lines = [f"{entry.id} {entry.name}", ""]
    if rule is None:
        lines += _unchecked(entry, width)
    else:
        lines += _checked(entry, rule, documents()[id], width)
    return "\n".join(lines)


def _unchecked(entry: Entry, width: int) -> Iterator[str]:
    _, meaning = HEADS[status(entry)]
    yield f"{entry.protocol}, section {entry.section}, {entry.level}, {entry.severity}"
    yield ""
    yield from wrap(f"lint does not report it. Status: {status(entry)} ({meaning}).", width)


def _checked(entry: Entry, rule: Rule, document: Document, width: int) -> Iterator[str]:
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
        yield from _exchange(exchange, width)
        yield ""
    yield from wrap(
        f'To silence it: lint --ignore {rule.id}, or ignore = ["{rule.id}"] in amqpscope.toml.',
        width,
    )


def _exchange(exchange: Exchange, width: int) -> Iterator[str]:
    after = f" ({SETUPS.get(exchange.setup, exchange.setup)})" if exchange.setup else ""
    yield from wrap(f"{'Good' if exchange.good else 'Bad'}{after}:", width)
    if not width:
        yield from (f"    {line}" for line in exchange.text.splitlines())
        return
    whole: list[str] = []
    for line in exchange.text.splitlines():
        if line.startswith(" ") and whole:
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
    for line in whole:
        yield from wrap(line, width, "    ", " " * 12)
