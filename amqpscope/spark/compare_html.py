"""What is different between two archives, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from amqpscope.spark.compare import SAME
from amqpscope.spark.compare_text import Report, chance, side_words, span
from amqpscope.spark.report_html import Number, page, row, table
from amqpscope.wording import plural

TONES = {"new": "error", "worse": "error", "gone": "info", "better": "info", "same": "soft"}


def compare_html(found: Report) -> str:
    """The whole page."""
    title = f"{found['before']['tables']} and {found['after']['tables']}"
    return page(title, "\n".join(parts(found)))


def parts(found: Report) -> Iterator[str]:
    """The sections; what is worse comes first."""
    reasons = found["worse"]
    verdict = f"worse: {plural(len(reasons), 'reason')}" if reasons else "not worse"
    yield f"<h1>The second is {verdict}</h1>"
    for name in ("before", "after"):
        yield f"<p>{name}: {escape(side_words(found[name]))}</p>"
    if reasons:
        yield f"<ul>{''.join(f'<li class=error>{escape(reason)}</li>' for reason in reasons)}</ul>"
    yield from findings(found)
    yield from latencies(found)
    for part, title in (("outcomes", "Outcomes"), ("redeliveries", "Redeliveries")):
        yield from shares(found, part, title)
    rows = [
        row(change_cell(each), each["peer"], escape(each["product"]), escape(each["version"] or ""),
            each["connections"])
        for each in found["products"]
    ]  # fmt: skip
    heads = ("", "peer", "product", "version", "#connections")
    yield from table("Products and versions", heads, rows)


def change_cell(each: Report) -> str:
    """What has become of something, in its colour."""
    return f"<span class={TONES[each['change']]}>{each['change']}</span>"


def findings(found: Report) -> Iterator[str]:
    """Each kind of finding, with the addresses where it was."""
    rows = [
        row(
            change_cell(each), f"<span class={each['severity']}>{each['severity']}</span>",
            f"{escape(each['rule'])} {escape(each['name'])}", each["peer"],
            each["before"], each["after"], Number(f"{each['rate_before']:,.1f}"),
            Number(f"{each['rate_after']:,.1f}"), Number(chance(each)), addresses(each),
        )
        for each in found["findings"]
    ]  # fmt: skip
    heads = ("", "severity", "rule", "peer", "#before", "#after", "#per million", "#after", "#",
             "address: before, after")  # fmt: skip
    yield from table("Findings", heads, rows)


def addresses(each: Report) -> str:
    """Where a kind of finding was."""
    return "<br>".join(
        f"{escape(place['address'] or '(no address)')}: {place['before']:,}, {place['after']:,}"
        for place in each["addresses"]
    )


def latencies(found: Report) -> Iterator[str]:
    """How long things took, at each address."""
    rows = [
        row(
            change_cell(each), each["kind"], escape(each["address"] or ""), each["sender"],
            each["count_before"], each["count_after"],
            *(Number(span(each[f"{name}_{side}"])) for name in ("p50", "p99")
              for side in ("before", "after")),
            Number(chance(each)),
        )
        for each in found["latency"]
    ]  # fmt: skip
    heads = ("", "latency", "address", "sender", "#before", "#after", "#median", "#after", "#p99",
             "#after", "#")  # fmt: skip
    yield from table("Latency", heads, rows)


def shares(found: Report, part: str, title: str) -> Iterator[str]:
    """Outcomes and redeliveries by their share, at each address; those that changed first."""
    order = sorted(found[part], key=lambda each: each["change"] == SAME)
    rows = [
        row(
            change_cell(each), escape(each["address"] or ""), each.get("sender", "server"),
            each.get("outcome", "redelivered"), each["before"], each["after"],
            Number(f"{each['share_before']:.2%}"), Number(f"{each['share_after']:.2%}"),
            Number(chance(each)),
        )
        for each in order
    ]  # fmt: skip
    heads = ("", "address", "sender", "outcome", "#before", "#after", "#share", "#after", "#")
    yield from table(title, heads, rows)
