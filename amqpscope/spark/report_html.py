"""The report as one HTML page that needs nothing else: plots are SVG inside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from amqpscope.protocols.words import seconds, size
from amqpscope.spark.report_places import Report
from amqpscope.spark.report_text import percentiles, severity_count, who
from amqpscope.spark.report_text import place as place_text
from amqpscope.wording import plural

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fff; --line: #d5dbe3; --soft: #5b6675;
  --error: #c0342b; --warning: #b7791f; --info: #3b72b8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --paper: #14181f; --line: #333c49;
  --soft: #98a4b3; --error: #ff7b72; --warning: #e3b341; --info: #79b8ff; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; color: var(--soft); }
td, th { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; padding-right: 1rem;
  white-space: nowrap; }
code { font-size: .85em; user-select: all; overflow-wrap: anywhere; } .soft { color: var(--soft); }
.day { white-space: nowrap; }
.error { color: var(--error); } .warning { color: var(--warning); } .info { color: var(--info); }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 11px; }
rect.error { fill: var(--error); } rect.warning { fill: var(--warning); }
rect.info { fill: var(--info); }
"""
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def report_html(report: Report) -> str:
    """The whole page."""
    return page(report["directory"], "\n".join(parts(report)))


def page(title: str, body: str) -> str:
    """A page that loads nothing."""
    return (
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
        f'<meta http-equiv=Content-Security-Policy content="{POLICY}">\n'
        '<meta name=viewport content="width=device-width">\n'
        f"<title>amqpscope: {escape(title)}</title>\n<style>{STYLE}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def parts(report: Report) -> Iterator[str]:
    """The sections."""
    yield f"<h1>{escape(report['directory'])}</h1>"
    counts, new = report["findings"], report["new_findings"]
    yield (
        f"<p>{plural(report['captures'], 'capture')} ({size(report['octets'])}),"
        f" {plural(report['packets'], 'packet')}, {plural(report['connections'], 'connection')},"
        f" {plural(report['frames'], 'frame')}.</p><p>"
    )
    yield ", ".join(
        f"<b class={name}>{severity_count(counts[name], name)}</b> ({new[name]:,} in the last run)"
        for name in counts
    )
    yield "</p>"
    if report["days"]:
        yield "<h2>Findings by day</h2>" + bars(report)
        yield from days(report)
    yield from rules(report)
    yield from products(report)
    yield from worst(report)
    yield from stalls(report)
    yield from addresses(report)
    yield from quarantine(report)


def bars(report: Report) -> str:
    """A stacked bar a day, with its numbers; what the colours mean stands beside them."""
    days = report["days"]
    width, height = max(48 * len(days), 480), 160
    most = max(day["error"] + day["warning"] + day["info"] for day in days) or 1
    shapes = []
    for at, day in enumerate(days):
        base = height
        for name in ("error", "warning", "info"):
            tall = day[name] * (height - 20) / most
            base -= tall
            title = f"<title>{day['day']}: {day[name]:,} {name}</title>"
            shapes.append(
                f"<rect class={name} x={at * 48 + 4} y={base:.1f} width=36"
                f" height={tall:.1f}>{title}</rect>"
            )
        total = day["error"] + day["warning"] + day["info"]
        shapes.append(
            f"<text x={at * 48 + 22} y={base - 4:.1f} text-anchor=middle>{total:,}</text>"
        )
        shapes.append(
            f"<text x={at * 48 + 22} y={height + 14} text-anchor=middle>{day['day'][5:]}</text>"
        )
    legend = " ".join(f"<span class={name}>&#9632; {name}</span>" for name in
                      ("error", "warning", "info"))  # fmt: skip
    return (
        f'<svg viewBox="0 0 {width} {height + 20}" role=img aria-label="findings by day"'
        f' style="max-width:{width}px">{"".join(shapes)}</svg><p>{legend}</p>'
    )


def days(report: Report) -> Iterator[str]:
    """The days with their numbers."""
    rows = [
        row(
            f"<span class=day>{each['day']}</span>", each["error"], each["warning"], each["info"],
            place(each["example"]),
        )
        for each in report["days"]
    ]  # fmt: skip
    yield from table("", ("day", "#errors", "#warnings", "#info", "example"), rows)


def table(title: str, heads: Iterable[str], rows: list[str]) -> Iterator[str]:
    """A section that is a table, `#` before the heads of numbers; nothing when it has no rows."""
    if rows:
        cells = "".join(
            f"<th class=n>{head[1:]}</th>" if head[:1] == "#" else f"<th>{head}</th>"
            for head in heads
        )
        above = f"<h2>{title}</h2>" if title else ""
        yield f"{above}<table><tr>{cells}</tr>{''.join(rows)}</table>"


class Number(str):
    """A number with its unit."""

    __slots__ = ()


def duration(time: float) -> Number:
    """How long something took; nothing for none."""
    return Number(seconds(int(time * 1e9)) if time else "")


def row(*cells: str | int) -> str:
    """A row; numbers stand to the right."""
    found = ""
    for cell in cells:
        text = f"{cell:,}" if isinstance(cell, int) else cell
        found += f"<td{' class=n' if isinstance(cell, int | Number) else ''}>{text}</td>"
    return f"<tr>{found}</tr>"


def place(at: Report) -> str:
    """Where to look, and the command that shows it."""
    title = escape(at.get("message", ""))
    command = f"<code>{escape(at['command'])}</code>"
    return f'<span title="{title}">{escape(place_text(at))}</span><br>{command}'


def rules(report: Report) -> Iterator[str]:
    """Findings by rule."""
    rows = [
        row(
            each["count"], each["new"], f"<b>{each['rule']}</b> {escape(each['name'])}",
            f"<span class={each['severity']}>{each['severity']}</span>", each["peer"],
            place(each["example"]) + fresh(each),
        )
        for each in report["rules"]
    ]  # fmt: skip
    heads = ("#all", "#last run", "rule", "", "peer", "example")
    yield from table("Findings by rule", heads, rows)


def fresh(each: Report) -> str:
    """A place that is new, where the example is not."""
    if not each["new"] or each["new_example"]["command"] == each["example"]["command"]:
        return ""
    return f"<br>the first new one: {place(each['new_example'])}"


def products(report: Report) -> Iterator[str]:
    """Findings by product."""
    rows = [
        row(escape(each["product"]), each["peer"], each["error"], each["warning"], each["info"],
            place(each["example"]))
        for each in report["products"]
    ]  # fmt: skip
    heads = ("product", "as", "#errors", "#warnings", "#info", "example")
    yield from table("By product at fault", heads, rows)


def worst(report: Report) -> Iterator[str]:
    """The worst connections."""
    rows = [
        row(
            f"{escape(each['ring'])}<br>connection {each['connection']:,}:"
            f" {escape(who(each))}",
            each["error"], each["warning"], duration(each["stalled"]),
            f"{each['example']['rule']}: {place(each['example'])}<br>"
            f"all of it, from {place(each['whole'])}",
        )
        for each in report["worst"]
    ]  # fmt: skip
    heads = ("connection", "#errors", "#warnings", "#stalled", "example")
    yield from table("Worst connections", heads, rows)


def stalls(report: Report) -> Iterator[str]:
    """Where senders waited, and for how long deliveries were on their way."""
    rows = [
        row(duration(each["stalled"]),
            f"{escape(each['ring'])} connection {each['connection']:,}: {escape(who(each))}",
            place(each["example"]))
        for each in report["stalls"]
    ]  # fmt: skip
    heads = ("#time", "connection", "the longest from")
    yield from table("Stalled for want of credit or window", heads, rows)
    if report["latency"]:
        yield f"<h2>Settle latency</h2><p>{percentiles(report['latency'])}</p>"
    if report["slowest"]:
        yield f"<p>The slowest: {place(report['slowest'])}</p>"


def addresses(report: Report) -> Iterator[str]:
    """The busiest addresses."""
    most = max((each["deliveries"] for each in report["addresses"]), default=1)
    rows = [
        row(
            f"{escape(each['address']) or '(none)'}<br><span class=soft>sent by the"
            f" {each['sender']}</span>",
            f'<svg viewBox="0 0 200 12" style="width:8rem" role=img aria-label='
            f'"{each["deliveries"]}"><rect class=info width={200 * each["deliveries"] / most:.0f}'
            " height=12></rect></svg>",
            each["deliveries"], Number(size(each["octets"])),
            settle_cell(each),
            f"connection {each['example']['connection']:,}, from {place(each['example'])}",
        )
        for each in report["addresses"]
    ]  # fmt: skip
    heads = ("address", "", "#deliveries", "#octets", "settled", "example")
    yield from table("Top addresses", heads, rows)


def settle_cell(each: Report) -> str:
    """How deliveries ended, and after what time."""
    outcomes = ", ".join(f"{times:,} {escape(name)}" for name, times in each["outcomes"].items())
    if not each["latency"]:
        return outcomes
    return f"{outcomes}<br><span class=soft>after {percentiles(each['latency'])}</span>"


def quarantine(report: Report) -> Iterator[str]:
    """What could not be read."""
    rows = [
        row(f"<code>{escape(each['path'])}</code>", escape(each["reason"]))
        for each in report["quarantine"]
    ]
    yield from table("Not read, or not to the end", ("capture", "reason"), rows)
