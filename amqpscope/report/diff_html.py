"""What two captures do differently, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

import amqpscope
from amqpscope.insight.diff.differences import CHANGED, FINDING, OUTCOME, Diff, Fold, Side, fold
from amqpscope.report.broker_html import POLICY, STYLE
from amqpscope.report.diff_words import (
    TITLES,
    counts_line,
    frame_title,
    latency_line,
    opening_lines,
    others_line,
    parting_line,
    value_text,
)

TABLE_STYLE: Final = (
    "table{border-collapse:collapse;width:100%;table-layout:fixed;margin:.5rem 0 1.5rem}"
    "td,th{border:1px solid #8886;padding:.3rem .6rem;text-align:left;vertical-align:top;"
    "font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}"
    "h2{font-size:1rem;margin:0}.a{border-left:4px solid #c33}.b{border-left:4px solid #393}"
    "b{font-weight:600}"
)


def diff_page(diff: Diff) -> Iterator[str]:
    """The page, piece by piece."""
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="amqpscope {escape(amqpscope.__version__)}">\n'
        '<link rel="icon" href="data:,">\n<title>Differences - amqpscope</title>\n'
        f"<style>{STYLE}{TABLE_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Differences</h1>\n"
    )
    for line in opening_lines(diff):
        yield f"<p>{escape(line)}</p>\n"
    if not diff.equal:
        yield f"<p><b>{escape(parting_line(diff.differences[0]))}</b></p>\n"
        before = "\n".join(f"{frame_title(side)}  {side.text}" for side in diff.context)
        if before:
            yield f"<p>The last frames before:</p>\n<pre>{escape(before)}</pre>\n"
        yield f"<p>{escape(counts_line(diff))}</p>\n"
        for each in fold(diff.differences):
            yield from _difference(each)
    notes = [*map(latency_line, diff.latencies), *diff.notes]
    if notes:
        items = "".join(f"<li>{escape(note)}</li>\n" for note in notes)
        yield f"<h2>Time</h2>\n<ul>\n{items}</ul>\n"
    yield "</main>\n</body>\n</html>\n"


def _difference(found: Fold) -> Iterator[str]:
    first = found.first
    yield f"<section>\n<h2>{escape(first.path)}: {TITLES[first.kind]}</h2>\n<table>\n<tr>"
    valued = first.kind in (CHANGED, OUTCOME, FINDING)
    for name, side in (("a", first.a), ("b", first.b)):
        yield f'<td class="{name}">{_side(side, valued=valued)}</td>'
    yield "</tr>\n</table>\n"
    others = others_line(found)
    if others:
        yield f"<p>{escape(others)}</p>\n"
    yield "</section>\n"


def _side(side: Side | None, *, valued: bool) -> str:
    if side is None:
        return "(no such frame)"
    value = f"<br>\n<b>{escape(value_text(side.value))}</b>" if valued else ""
    return f"{escape(frame_title(side))}{value}<br>\n{escape(side.text)}"
