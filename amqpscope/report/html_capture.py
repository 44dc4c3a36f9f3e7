"""One capture in the HTML report: its findings, its connections, and where asked for its frames."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from amqpscope.insight.endings import explain_ending, explained_words
from amqpscope.insight.explanation import holding_words, name_words, with_frame
from amqpscope.model.constraint import STUCK
from amqpscope.model.ending import CONNECTION
from amqpscope.protocols.ending_words import full_words
from amqpscope.protocols.stuck import meaning
from amqpscope.protocols.words import seconds
from amqpscope.report.html_connections import ConnectionsPart
from amqpscope.report.html_findings import FindingsPart
from amqpscope.report.look import Look
from amqpscope.report.text import TextLines
from amqpscope.stream.types import PEERS

if TYPE_CHECKING:
    from amqpscope.analysis import Step
    from amqpscope.check.result import CaptureResult
    from amqpscope.report.illustration import Illustration

BLOCK: Final = 500
"""Frames that are folded together."""
MOST: Final = 20_000
"""Frames that a page lists: browsers get slow beyond some tens of thousands."""
LONG: Final = 1_000_000_000
"""Nanoseconds after which a link that cannot send is worth a word."""
HELD: Final = 20
"""How many of these are listed."""


def capture_parts(
    place: int, checked: CaptureResult, shown: Illustration, *, frames: bool = False
) -> Iterator[str]:
    """What comes before the frames of a capture."""
    yield f'<section class="capture" id="c{place}">\n<h2>{escape(checked.path)}</h2>\n'
    if shown.first:
        yield (
            f'<p class="quiet">{moment(shown.first)} to {moment(shown.last)} UTC, '
            f"{seconds(shown.last - shown.first)}</p>\n"
        )
    troubles = [
        *held_parts(place, shown), *broken_parts(place, shown), *refused_parts(place, shown),
    ]  # fmt: skip
    yield from troubles
    findings = FindingsPart(place, shown, checked.more, frames=frames, clean=not troubles)
    yield from findings.parts()
    if shown.numbers:
        yield from ConnectionsPart(place, shown, findings.named).parts()


def held_parts(place: int, shown: Illustration) -> Iterator[str]:
    """What cannot send when the capture ends, and has not been able to for a while."""
    lines = []
    for held in shown.held:
        bound = held.bound
        if bound.rank == STUCK and bound.frame and shown.last - bound.time >= LONG:
            number, words = held.connection, holding_words(bound, shown.last)
            rest = with_frame(words, bound.frame, "since").removeprefix(bound.kind)
            lines.append(
                f'<li><a href="#c{place}-connection-{number}">connection {number}</a>, '
                f"{escape(name_words(held))}: <b>{escape(bound.kind)}</b>{escape(rest)}. "
                f"{escape(meaning(bound.kind).text)}</li>\n"
            )
    yield from box("Held when the capture ends", lines)


def broken_parts(place: int, shown: Illustration) -> Iterator[str]:
    """Connections that TCP ended: who did so, when, and what explains it."""
    lines = []
    for numbers in shown.numbers:
        ending = numbers.ending
        if ending is None or not ending.by_tcp:
            continue
        found = explain_ending(ending, shown.of_connection(numbers.number))
        why = "" if found is None else f"; {explained_words(found)}"
        lines.append(
            f'<li><a href="#c{place}-connection-{numbers.number}">connection {numbers.number}</a>: '
            f"{escape(full_words(ending, shown.first, own=CONNECTION))}{escape(why)}</li>\n"
        )
    yield from box("Ended without a close", lines)


def refused_parts(place: int, shown: Illustration) -> Iterator[str]:
    """What a peer refused, and said so: that breaks no rule, and yet it is what went wrong."""
    lines = []
    for refused in shown.refused.values():
        said = refused.refusal
        reason = " ".join(filter(None, (escape(said.reason), escape(said.text))))
        times = f", {refused.times:,} times, first" if refused.times > 1 else ""
        lines.append(
            f'<li><a href="#c{place}-connection-{refused.connection}">connection '
            f"{refused.connection}</a>, by the {PEERS[refused.peer]}{times} in frame "
            f"{refused.frame}: <b>{escape(said.what)}</b>{': ' if reason else ''}{reason}"
            f"{'. ' if said.meaning else ''}{escape(said.meaning)}</li>\n"
        )
    yield from box("Refused", lines)


def box(title: str, lines: list[str]) -> Iterator[str]:
    """A list that is to be seen first."""
    if lines:
        more = [f"<li>and {len(lines) - HELD:,} more</li>\n"] if len(lines) > HELD else []
        yield "".join((
            f'<div class="held"><h3>{title}</h3>\n<ul>\n', *lines[:HELD], *more, "</ul></div>\n",
        ))  # fmt: skip


def capture_foot() -> str:
    """What comes after them."""
    return "</section>\n"


def moment(time: int) -> str:
    """A point in time as people write it."""
    return datetime.fromtimestamp(time / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def frame_parts(
    place: int,
    steps: Iterable[Step],
    evidence: Container[int] = (),
    *,
    show_secrets: bool = False,
    most: int = MOST,
) -> Iterator[str]:
    """Frames as lines, folded by the hundreds; of very many the first ones, and the `evidence`."""
    lines = TextLines(Look(show_secrets=show_secrets))
    prefix = f"c{place}-n"
    yield f'<section id="c{place}-frames">\n<h3>Frames</h3>\n'
    block: list[Step] = []
    first = True
    listed = left_out = 0
    for step in steps:
        kept = listed < (2 * most if step.frame.number in evidence else most)
        if not kept:
            left_out += 1
            continue
        listed += 1
        block.append(step)
        if len(block) == BLOCK:
            yield block_part(block, lines, prefix, is_open=first)
            block, first = [], False
    if block:
        yield block_part(block, lines, prefix, is_open=first)
    elif first:
        yield "<p>No frame matches the filter.</p>\n"
    if left_out:
        yield (
            f'<p class="held"><b>{left_out:,} more frames are not on this page</b>: it has the '
            f"first {most:,}, and of the others those that findings are about. To choose frames, "
            "use a filter: <code>amqpscope read --format html -Y FILTER</code></p>\n"
        )
    yield "</section>\n"


def block_part(block: list[Step], lines: TextLines, prefix: str, *, is_open: bool) -> str:
    """Some frames in a row."""
    found = sum(len(step.findings) for step in block)
    told = f', <b class="found">findings: {found:,}</b>' if found else ""
    numbers = f"{block[0].frame.number:,} to {block[-1].frame.number:,}"
    parts = [
        f'<details class="block"{" open" if is_open else ""}><summary>Frames {numbers}{told}'
        f'</summary><pre tabindex="0">{escape(lines.heading()[0])}\n'
    ]
    for step in block:
        kind = ' class="hit"' if step.findings else ""
        line = escape(lines.line(step))
        parts.append(f'<span id="{prefix}{step.frame.number}"{kind}>{line}</span>\n')
    parts.append("</pre></details>\n")
    return "".join(parts)
