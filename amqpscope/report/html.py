"""The report as one HTML file that needs nothing else: no network, no other file.

A page is written piece by piece, one capture at a time, so that memory is that of what one capture
shows. Everything that was captured goes through `escape`; on top of that the page's own policy
allows no script but the one it brings, and no request at all. It reads without the script too:
that only filters, and moves from finding to finding.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import amqpscope
from amqpscope.report.html_rules import rule_parts
from amqpscope.report.lint import count_severities
from amqpscope.wording import plural

if TYPE_CHECKING:
    from amqpscope.check.result import CaptureResult

SIGNS: Final = {"error": "✗", "warning": "!", "info": "i"}


def page_head(
    captures: Sequence[CaptureResult], title: str, *, frames: bool = False
) -> Iterator[str]:
    """Everything before the first capture."""
    style = resource("ladder.css") + resource("html.css")
    script = resource("html.js")
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="amqpscope {escape(amqpscope.__version__)}">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)} - amqpscope</title>\n'
        f"<style>\n{style}</style>\n<script>{script}</script>\n</head>\n<body>\n"
    )
    yield (
        '<a class="skip" href="#main">Skip to the report</a>\n<header class="top">\n'
        f'<p class="brand">amqpscope</p>\n<h1>{escape(title)}</h1>\n{verdict(captures)}</header>\n'
    )
    yield from navigation(captures, frames=frames)
    yield '<main id="main">\n'
    yield from capture_table(captures)


def page_foot(captures: Sequence[CaptureResult]) -> Iterator[str]:
    """Everything after the last capture: the rules, and who made it."""
    used = sorted({finding.rule for checked in captures for finding in checked.findings})
    if used:
        yield (
            '<section id="rules">\n<h2>Rules</h2>\n'
            "<p>What each rule that was found broken asks for, and why.</p>\n"
        )
        for rule in used:
            yield from rule_parts(rule)
        yield "</section>\n"
    yield (
        f"</main>\n<footer><p>Written by amqpscope {escape(amqpscope.__version__)}. Keys: "
        "<kbd>n</kbd> next finding, <kbd>p</kbd> the one before, <kbd>/</kbd> filter, "
        "<kbd>o</kbd> open or close all.</p></footer>\n</body>\n</html>\n"
    )


def resource(name: str) -> str:
    """A file that comes with this package."""
    return files("amqpscope.report").joinpath(name).read_text(encoding="utf-8")


def digest(script: str) -> str:
    """What the page's policy knows its script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def verdict(captures: Sequence[CaptureResult]) -> str:
    """How it went, in numbers and in a sentence."""
    counts = count_severities(captures)
    frames = sum(checked.frames for checked in captures)
    broken = sum(checked.unreadable for checked in captures)
    read = f"{plural(frames, 'frame')} of {plural(len(captures) - broken, 'capture')}"
    if broken:
        read += f"; {plural(broken, 'capture')} could not be read"
    tiles = "".join(
        f'<li class="tile {severity}{"" if number else " none"}">'
        f'<span class="sign" aria-hidden="true">{SIGNS[severity]}</span>'
        f"<b>{number:,}</b> {severity_word(severity, number)}</li>"
        for severity, number in counts.items()
    )
    said = "Nothing found" if not any(counts.values()) else "Found"
    return f'<ul class="tiles" aria-label="{said}">{tiles}</ul>\n<p class="read">in {read}</p>\n'


def severity_word(severity: str, number: int) -> str:
    """The word for findings of a severity."""
    return "info" if severity == "info" else f"{severity}{'' if number == 1 else 's'}"


def navigation(captures: Sequence[CaptureResult], *, frames: bool) -> Iterator[str]:
    """Where to go, and what to show."""
    found = any(checked.findings for checked in captures)
    links = [("#captures", "Captures")]
    if len(captures) == 1:
        links += [("#c1-findings", "Findings")] if found else []
        links += [("#c1-connections", "Connections")] if captures[0].frames else []
        links += [("#c1-frames", "Frames")] if frames and captures[0].frames else []
    links += [("#rules", "Rules")] if found else []
    yield '<nav aria-label="Sections">\n<ul>'
    yield "".join(f'<li><a href="{href}">{text}</a></li>' for href, text in links)
    yield "</ul>\n"
    if found:
        boxes = "".join(
            f'<label class="{severity}"><input type="checkbox" value="{severity}" checked> '
            f"{severity_word(severity, 2)}</label>"
            for severity in SIGNS
        )
        yield (
            '<form class="filter" hidden>'
            '<input type="search" aria-label="Filter findings" placeholder="Filter findings (/)">'
            f'{boxes}<span class="count" role="status"></span></form>\n'
        )
    yield "</nav>\n"


def capture_table(captures: Sequence[CaptureResult]) -> Iterator[str]:
    """The captures, and how each could be read."""
    yield (
        '<section id="captures">\n<h2>Captures</h2>\n<div class="wide"><table>\n<thead><tr>'
        "<th>capture<th>findings<th class=n>packets<th class=n>connections<th class=n>frames"
        "<th>protocols<th class=n>gaps"
        "</tr></thead>\n<tbody>\n"
    )
    for place, checked in enumerate(captures, 1):
        counts = count_severities([checked])
        badges = " ".join(
            f'<span class="badge {severity}"><span aria-hidden="true">{SIGNS[severity]}</span> '
            f"{number:,} {severity_word(severity, number)}</span>"
            for severity, number in counts.items()
            if number
        )
        protocols = escape(", ".join(checked.protocols) or "none")
        yield (
            f'<tr><td class="path"><a href="#c{place}">{escape(checked.path)}</a>'
            f"<td>{badges or 'none'}<td class=n>{checked.packets:,}<td class=n>"
            f"{checked.connections:,}<td class=n>{checked.frames:,}<td>{protocols}"
            f"<td class=n>{checked.gaps:,}</tr>\n"
        )
        for note in (*checked.notes, checked.error):
            if note:
                yield f'<tr class="trouble"><td colspan=7>{escape(note)}</tr>\n'
    yield "</tbody></table></div>\n</section>\n"
