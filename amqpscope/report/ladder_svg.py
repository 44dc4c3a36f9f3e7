"""The ladder as SVG: to be saved as a file of its own, or to be put within an HTML page.

Widths are counted in characters of a monospaced font, so that labels can be cut where they would
leave their arrow; what is cut is in the tooltip. Colours come from CSS, which a page may have
already: they follow the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from importlib.resources import files
from typing import Final

from amqpscope.insight.ladder import (
    Arrow,
    Bracket,
    Ended,
    Fold,
    Ladder,
    Lanes,
    Missing,
    Note,
    Pause,
    Row,
    brackets,
    row_text,
    together,
)
from amqpscope.report.columns import columns, cut, wrap
from amqpscope.report.ladder_text import SIGNS, said_of, title

# fmt: off
WIDTH:     Final = 1000
LETTER:    Final = 7.23     # the width of a character, at 12 px
NUMBERS:   Final = 48       # the right end of frame numbers
TIMES:     Final = 132      # ... and of times
LEFT:      Final = 156      # the first lane
TRACK:     Final = 12       # the width of a bracket's track
HEAD:      Final = 46       # the height of the lanes' titles
ROW:       Final = 28
LINE:      Final = 17       # a line of a finding
FOLD:      Final = 30
# fmt: on
GOOD: Final = frozenset(("accepted", "ack", "settled", "declared", "transactional-state"))
BAD: Final = frozenset(("rejected", "nack", "reject"))

Linker = Callable[[Arrow, Note], str]
"""Where a finding is described in full: the address of a link, or nothing."""


def style() -> str:
    """The CSS of a ladder."""
    return files("amqpscope.report").joinpath("ladder.css").read_text(encoding="utf-8")


def svg_text(ladders: list[Ladder], *, side_by_side: bool = False) -> str:
    """A file of its own: the connections in one picture, or one below the other."""
    groups = [ladders] if side_by_side else [[ladder] for ladder in ladders]
    pictures = [Picture(group) for group in groups]
    height = sum(picture.height + 40 for picture in pictures)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ladder alone" viewBox="0 0 {WIDTH} '
        f'{height}" width="{WIDTH}" height="{height}" role="img" aria-label="AMQP ladder">\n',
        f"<style>\n{style()}</style>\n",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>\n',
    ]
    y = 0
    for picture in pictures:
        said = "; ".join(title(ladder) for ladder in picture.ladders)
        parts.append(f'<text class="title" x="8" y="{y + 22}">{escape(said)}</text>\n')
        parts.append(f'<g transform="translate(0 {y + 32})">\n{picture.body()}</g>\n')
        y += picture.height + 40
    return "".join([*parts, "</svg>\n"])


def svg_inline(ladder: Ladder, prefix: str, linker: Linker) -> str:
    """One connection within a page that has the style; ids begin with the prefix."""
    picture = Picture([ladder], prefix, linker)
    return (
        f'<svg class="ladder" viewBox="0 0 {WIDTH} {picture.height}" role="img" '
        f'aria-label="ladder of {escape(title(ladder))}">\n{picture.body()}</svg>'
    )


class Picture:
    """One set of lanes."""

    def __init__(
        self, ladders: list[Ladder], prefix: str = "", linker: Linker | None = None
    ) -> None:
        self.ladders = ladders
        self.prefix = prefix
        self.linker = linker
        self.lanes = Lanes(ladders)
        self.rows = together(ladders) if len(ladders) > 1 else ladders[0].rows
        self.start = min(ladder.start for ladder in ladders)
        self.brackets = brackets(self.rows)
        tracks = max((each.track + 1 for each in self.brackets), default=0)
        self.right = WIDTH - 24 - TRACK * tracks
        step = (self.right - LEFT) / max(len(self.lanes) - 1, 1)
        self.places = [round(LEFT + step * lane) for lane in range(len(self.lanes))]
        self.tops: list[int] = []
        y = HEAD
        for row in self.rows:
            self.tops.append(y)
            y += self.tall(row)
        self.height = y + 12

    def tall(self, row: Row) -> int:
        """The height of a row."""
        if not isinstance(row, Arrow):
            return FOLD
        lines = sum(len(self.wrapped(note, row)) for note in row.entry.notes)
        return ROW + (lines * LINE + 8 if lines else 0)

    def span(self, row: Row) -> tuple[int, int]:
        """Where the outer lanes of a row's connection are."""
        left, right = self.lanes.span(row.connection)
        return self.places[left], self.places[right]

    def letters(self, row: Row, margin: int) -> int:
        """The characters that fit between the lanes."""
        left, right = self.span(row)
        return max(int((right - left - margin) / LETTER), 4)

    def wrapped(self, note: Note, row: Row) -> list[str]:
        """A finding in lines."""
        text = note.words
        return wrap(text, self.letters(row, 52))

    def body(self) -> str:
        """Everything but the frame around it."""
        parts = list(self.titles())
        for row, top in zip(self.rows, self.tops, strict=True):
            parts.extend(self.row(row, top))
        parts.extend(self.bracket(bracket) for bracket in self.brackets)
        return "".join(parts)

    def titles(self) -> Iterator[str]:
        """The lanes and who they are."""
        last = len(self.lanes) - 1
        room = int((self.places[1] - self.places[0]) / LETTER) - 2 if last else 60
        for lane, (role, address) in enumerate(self.lanes.titles):
            x = self.places[lane]
            yield f'<line class="lane" x1="{x}" y1="{HEAD - 8}" x2="{x}" y2="{self.height - 4}"/>\n'
            anchor = "start" if lane == 0 else "end" if lane == last else "middle"
            at = x - 6 if lane == 0 else x + 6 if lane == last else x
            yield text("role", at, 16, role, anchor)
            yield text("host", at, 32, cut(address, room), anchor) + "\n"

    def row(self, row: Row, top: int) -> Iterator[str]:
        """A row of the ladder as SVG."""
        if isinstance(row, Arrow):
            yield from self.arrow(row, top)
            return
        left, right = self.span(row)
        middle, y = (left + right) // 2, top + FOLD // 2
        said = cut(row_text(row), self.letters(row, 30))
        if isinstance(row, Fold):
            size = f'width="{right - left + 10}" height="{FOLD - 6}" rx="4"'
            yield f'<rect class="fold" x="{left - 5}" y="{top + 3}" {size}/>'
            yield text("n", TIMES, y + 4, f"{row.frame}-{row.last}", "end")
            yield text("quiet", middle, y + 4, f"⋯ {said} ⋯", "middle")
        elif isinstance(row, Pause):
            yield f'<line class="pause" x1="{left}" y1="{y}" x2="{right}" y2="{y}"/>'
            yield text("quiet on", middle, y + 4, said, "middle")
        elif isinstance(row, Ended | Missing):
            mine = self.places[self.lanes.of(row.connection, row.sender)]
            anchor, x = ("start", mine + 12) if mine == left else ("end", mine - 12)
            kind = "missing" if isinstance(row, Missing) else "ended"
            yield f'<path class="{kind}" d="M{mine - 5} {y - 5}l10 10m0 -10l-10 10"/>'
            yield text(f"quiet {kind}", x, y + 4, said, anchor)
        yield "\n"

    def arrow(self, row: Arrow, top: int) -> Iterator[str]:
        """The arrow of a frame."""
        entry = row.entry
        left, right = self.span(row)
        y = top + ROW - 7
        worst = next((s for s in SIGNS if any(n.severity == s for n in entry.notes)), "")
        kind = "sasl" if entry.name.startswith("sasl") else entry.kind or entry.name
        anchor = f' id="{self.prefix}{entry.frame}"' if self.prefix else ""
        full = " ".join(filter(None, (entry.name, entry.where, entry.label)))
        time = f"{(entry.time - self.start) / 1e9:.6f}"
        yield f'<g class="row k-{escape(kind)} {worst}"{anchor}><title>{escape(full)}</title>'
        yield text("n", NUMBERS, y, str(entry.frame), "end")
        yield text("time", TIMES, y, time, "end")
        source = self.places[self.lanes.of(entry.connection, entry.sender)]
        rightwards = source == left
        tip, back = (right, right - 9) if rightwards else (left, left + 9)
        yield f'<path class="line" d="M{source} {y}H{tip}"/>'
        yield f'<path class="head" d="M{tip} {y}L{back} {y - 4}V{y + 4}Z"/>'
        room = self.letters(row, 34)
        outcome = said_of(row)
        if outcome and room - columns(outcome) - 3 >= min(columns(full), 24):
            room -= columns(outcome) + 3
            word = outcome_class(row.final.outcome if row.final else "")
            yield text(f"outcome {word}", right - 14, y - 5, outcome, "end")
        said = escape(cut(full, room)).removeprefix(escape(entry.name))
        yield (
            f'<text class="label" x="{left + 14}" y="{y - 5}">'
            f'<tspan class="name">{escape(entry.name)}</tspan>{said}</text></g>\n'
        )
        yield from self.notes(row, y)

    def notes(self, row: Arrow, y: int) -> Iterator[str]:
        """The findings below an arrow."""
        left, _ = self.span(row)
        y += 6
        for note in row.entry.notes:
            href = self.linker(row, note) if self.linker else ""
            yield f'<a href="{escape(href)}">' if href else ""
            yield f'<g class="note {note.severity}"><circle cx="{left + 20}" cy="{y + 9}" r="7"/>'
            yield text("sign", left + 20, y + 13, SIGNS[note.severity], "middle")
            for line in self.wrapped(note, row):
                y += LINE
                yield text("said", left + 34, y - 4, line)
            yield "</g>"
            yield "</a>\n" if href else "\n"

    def bracket(self, bracket: Bracket) -> str:
        """An answer joined to what it answers."""
        lane = self.right
        x = lane + 8 + TRACK * bracket.track
        top, *joints, bottom = (
            self.tops[place] + ROW - 7 for place in (*bracket.joints, bracket.bottom)
        )
        path = f"M{lane + 2} {top}H{x - 4}q4 0 4 4V{bottom - 4}q0 4 -4 4H{lane + 2}"
        path += "".join(f"M{lane + 2} {y}H{x}" for y in joints)
        return f'<path class="join {outcome_class(bracket.outcome)}" d="{path}"/>\n'


def text(kind: str, x: int, y: int, said: str, anchor: str = "start") -> str:
    """A text at its place; what was captured cannot be more than text."""
    return f'<text class="{kind}" text-anchor="{anchor}" x="{x}" y="{y}">{escape(said)}</text>'


def outcome_class(outcome: str) -> str:
    """How an outcome is to be seen."""
    word = outcome.split(" ", 1)[0]
    if outcome.endswith("unsettled"):
        return "open"
    return "good" if word in GOOD else "bad" if word in BAD else "other"
