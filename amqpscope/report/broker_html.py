"""What a broker did with messages, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

import amqpscope

STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "pre{white-space:pre-wrap;font:13px/1.5 ui-monospace,monospace}"
    ":root{color-scheme:light dark}"
)
OUTLINE_STYLE: Final = (
    "h3{font-size:1rem;margin:1.2rem 0 .3rem}h4{font-size:.95rem;margin:.8rem 0 .2rem}"
    "table{border-collapse:collapse}td{padding:.15rem 1.5rem .15rem 0;vertical-align:top;"
    "overflow-wrap:anywhere;border-bottom:1px solid #8884}td+td{font-variant-numeric:tabular-nums}"
    "details{margin:.3rem 0}summary{cursor:pointer}details>*{margin-left:1.2rem}"
    "details>summary{margin-left:0}p{margin:.3rem 0}"
)
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
FOLDED: Final = 2
"""How deep a part lies that is shown when it is opened."""


class Section:
    """A line, and those that are indented below it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[Section] = []


def broker_page(lines: Iterable[str]) -> Iterator[str]:
    """The profile in its own words: a heading for each broker and for the judgements, tables of
    numbers below it, and messages that are opened one kind at a time."""
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="amqpscope {escape(amqpscope.__version__)}">\n'
        '<link rel="icon" href="data:,">\n<title>Broker profile - amqpscope</title>\n'
        f"<style>{STYLE}{OUTLINE_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Broker profile</h1>\n"
    )
    for part in outline(lines).parts:
        yield f"<h2>{escape(part.text)}</h2>\n"
        yield from parts_of(part, 1)
    yield "</main>\n</body>\n</html>\n"


def outline(lines: Iterable[str]) -> Section:
    """Lines by their indentation, two spaces a level."""
    path = [Section("")]
    for line in lines:
        if text := line.lstrip(" "):
            del path[(len(line) - len(text)) // 2 + 1 :]
            part = Section(text)
            path[-1].parts.append(part)
            path.append(part)
    return path[0]


def parts_of(whole: Section, depth: int) -> Iterator[str]:
    """What is below a line: rows of a table where nothing is below them."""
    rows: list[Section] = []
    for part in whole.parts:
        if not part.parts:
            rows.append(part)
            continue
        yield table(rows)
        rows = []
        title, inside = escape(part.text), parts_of(part, depth + 1)
        if depth == FOLDED:
            yield f"<details>\n<summary>{title}</summary>\n{''.join(inside)}</details>\n"
        else:
            level = min(depth + 2, 4)
            yield f"<h{level}>{title}</h{level}>\n{''.join(inside)}"
    yield table(rows)


def table(rows: list[Section]) -> str:
    """Names and what belongs to them; lines without a colon are sentences of their own."""
    if not rows:
        return ""
    cut = [row.text.partition(": ") for row in rows]
    if not all(value for _, _, value in cut):
        return "".join(f"<p>{escape(row.text)}</p>\n" for row in rows)
    cells = (f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>\n" for a, _, b in cut)
    return f"<table>\n{''.join(cells)}</table>\n"
