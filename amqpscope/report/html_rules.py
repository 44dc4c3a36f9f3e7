"""What a rule asks for, as a part of the HTML report: the same text as `explain` prints."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from amqpscope.report.explain import heading
from amqpscope.rules.all import load
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.documents import Exchange, documents


def rule_parts(id: str) -> Iterator[str]:
    """One rule in full."""
    entry, rule, document = catalogue()[id], load()[id], documents()[id]
    yield (
        f'<article class="rule" id="rule-{escape(id)}">\n'
        f"<h3><code>{escape(id)}</code> {escape(entry.name)}</h3>\n"
        f'<p class="lead">{escape(document.summary)}</p>\n'
        f'<p class="facts">{escape(entry.protocol)}, section {escape(rule.section)}, '
        f"{escape(rule.level)}, {escape(rule.severity)}</p>\n"
    )
    for paragraph in filter(None, document.reason.split("\n\n")):
        yield f"<p>{escape(' '.join(paragraph.split()))}</p>\n"
    for exchange in document.exchanges:
        yield from exchange_parts(exchange, rule.family.name)
    yield (
        f"<p>To silence it: <code>lint --ignore {escape(id)}</code>, or "
        f'<code>ignore = ["{escape(id)}"]</code> in amqpscope.toml.</p>\n</article>\n'
    )


def exchange_parts(exchange: Exchange, family: str) -> Iterator[str]:
    """A bad or a good conversation."""
    kind = "good" if exchange.good else "bad"
    yield (
        f'<div class="exchange {kind}"><p>{escape(heading(exchange, family))}</p>'
        f'<pre tabindex="0">{escape(exchange.text)}</pre></div>\n'
    )


def summary_of(id: str) -> str:
    """The rule in one sentence."""
    return documents()[id].summary
