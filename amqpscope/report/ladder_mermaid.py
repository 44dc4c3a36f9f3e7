"""The ladder as Mermaid's `sequenceDiagram`, which forges and wikis draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.insight.ladder import Arrow, Ladder, Lanes, Row, row_text, together
from amqpscope.report.columns import wrap
from amqpscope.report.ladder_text import said_of, title

LONGEST: Final = 90
"""Characters of a label: Mermaid makes room for the longest."""
# What Mermaid, or the HTML that it makes, takes for something else.
ESCAPES: Final = str.maketrans(
    {character: f"#{ord(character)};" for character in "#;<>&\"'`%{}[]\\|$*_~"}
)


def mermaid_text(ladders: list[Ladder]) -> str:
    """One diagram with all connections side by side: a text can hold only one."""
    return "".join(f"{line}\n" for line in diagram(ladders))


def diagram(ladders: list[Ladder]) -> Iterator[str]:
    """Connections that share one picture."""
    lanes = Lanes(ladders)
    yield "sequenceDiagram"
    for ladder in ladders:
        yield f"    %% {title(ladder)}"
    for lane, (role, address) in enumerate(lanes.titles):
        yield f"    participant p{lane} as {escaped(f'{role} {address}')}"
    start = min(ladder.start for ladder in ladders)
    for row in together(ladders) if len(ladders) > 1 else ladders[0].rows:
        yield from lines(row, lanes, start)


def lines(row: Row, lanes: Lanes, start: int) -> Iterator[str]:
    """A row of the ladder as Mermaid."""
    left, right = lanes.span(row.connection)
    over = f"p{left},p{right}"
    if not isinstance(row, Arrow):
        yield f"    Note over {over}: {escaped(row_text(row))}"
        return
    entry = row.entry
    source = lanes.of(entry.connection, entry.sender)
    target = lanes.of(entry.connection, 1 - entry.sender)
    # An answer is dotted, as a reply is in any sequence diagram.
    arrow = "-->>" if entry.joined else "->>"
    words = [str(entry.frame), f"{(entry.time - start) / 1e9:.4f}", entry.name, entry.where]
    label = shortened(" ".join(filter(None, (*words, entry.label))))
    more = answer_label(row) or answered_label(row)
    below = f"<br/>{escaped(more)}" if more else ""
    yield f"    p{source}{arrow}p{target}: {escaped(label)}{below}"
    for note in entry.notes:
        text = note.words
        yield f"    Note over {over}: {'<br/>'.join(map(escaped, wrap(text, LONGEST)))}"


def answer_label(row: Arrow) -> str:
    """What became of a delivery, and where."""
    final = row.final
    return "" if final is None else f"{said_of(row)}, frame {final.frame}"


def answered_label(row: Arrow) -> str:
    """The frames that an answer is for."""
    frames = row.entry.joined
    if not frames:
        return ""
    if len(frames) == 1:
        return f"for frame {frames[0]}"
    return f"for {len(frames)} frames, {min(frames)} to {max(frames)}"


def shortened(text: str) -> str:
    """A label that leaves room for the others."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def escaped(text: str) -> str:
    """A text that Mermaid shows as it is."""
    return text.translate(ESCAPES).strip() or " "
