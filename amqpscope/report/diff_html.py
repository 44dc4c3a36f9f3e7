"""What two captures do differently, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from itertools import groupby
from typing import Final

import amqpscope
from amqpscope.insight.diff.differences import (
    CHANGED,
    FINDING,
    OUTCOME,
    Diff,
    Difference,
    Fold,
    Side,
    fold,
)
from amqpscope.report.broker_html import POLICY, STYLE
from amqpscope.report.diff_words import (
    TITLES,
    counts_line,
    frame_title,
    latency_line,
    of_frames,
    opening_lines,
    others_line,
    parting_line,
    value_text,
)
from amqpscope.stream.types import PEERS

TABLE_STYLE: Final = (
    "table{border-collapse:collapse;width:100%;table-layout:fixed;margin:.5rem 0 1.5rem}"
    "td,th{border:1px solid #8886;padding:.3rem .6rem;text-align:left;vertical-align:top;"
    "font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}"
    "h2{font-size:1rem;margin:0}.a{border-left:4px solid #c33}.b{border-left:4px solid #393}"
    "b{font-weight:600}th{background:#8881;border-bottom:0;font-weight:400}"
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
        for _, group in groupby(fold(diff.differences), of_frames):
            yield from _frames(list(group))
    notes = [*map(latency_line, diff.latencies), *diff.notes]
    if notes:
        items = "".join(f"<li>{escape(note)}</li>\n" for note in notes)
        yield f"<h2>Time</h2>\n<ul>\n{items}</ul>\n"
    yield "</main>\n</body>\n</html>\n"


def _frames(group: list[Fold]) -> Iterator[str]:
    """Two frames that belong together, or one that has no like, and how they differ."""
    first = group[0].first
    yield f"<section>\n<h2>{escape(_title(first))}</h2>\n<table>\n"
    yield _row(first, _finding if first.kind == FINDING else _side)
    for each in group:
        found = each.first
        if found.kind in (CHANGED, OUTCOME):
            kind = "" if found.kind == CHANGED else f" ({TITLES[OUTCOME]})"
            where = "".join(f"<br>\n{escape(line)}" for line in (others_line(each),) if line)
            path = f"<b>{escape(found.path)}</b>{kind}{where}"
            yield f'<tr><th colspan="2">{path}</th></tr>\n{_row(found, _value)}'
    yield "</table>\n"
    if first.kind not in (CHANGED, OUTCOME) and others_line(group[0]):
        yield f"<p>{escape(others_line(group[0]))}</p>\n"
    yield "</section>\n"


def _title(first: Difference) -> str:
    """What a section is about: a frame that both have, or what only one has."""
    if first.kind in (CHANGED, OUTCOME) and first.a is not None:
        return f"{PEERS[first.a.sender]} {first.a.name}"
    return f"{first.path}: {TITLES[first.kind]}"


def _row(found: Difference, cell: Callable[[Side | None], str]) -> str:
    sides = (("a", found.a), ("b", found.b))
    cells = "".join(f'<td class="{name}">{cell(side)}</td>' for name, side in sides)
    return f"<tr>{cells}</tr>\n"


def _side(side: Side | None) -> str:
    if side is None:
        return "(no such frame)"
    return f"{escape(frame_title(side))}<br>\n{escape(side.text)}"


def _finding(side: Side | None) -> str:
    if side is None:
        return "(not found)"
    severity = escape(value_text(side.value))
    return f"{escape(frame_title(side))}<br>\n<b>{severity}</b><br>\n{escape(side.text)}"


def _value(side: Side | None) -> str:
    return "" if side is None else escape(value_text(side.value))
