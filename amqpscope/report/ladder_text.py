"""The ladder as text, for 80 columns and more.

frame      time  client 10.0.0.1:40000                server 10.0.0.2:5672
   10    0.0012  │── transfer q #0 8 B unsettled ── accepted after 3 ms ─▶│─╮
   11    0.0042  │◀── disposition q #0 accepted settled by receiver ──────│─╯
"""

from __future__ import annotations

from collections.abc import Iterator
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
from amqpscope.protocols.words import seconds
from amqpscope.report.columns import columns, cut, wrap
from amqpscope.report.text import COLOURS, NARROW, RESET
from amqpscope.wording import plural

USUAL: Final = 100
"""Columns where there is no terminal."""
FEWEST: Final = 60
ROOMY: Final = 56
"""Columns between two lanes that a finding needs; else it goes over the other lanes."""
PLAIN: Final = str.maketrans("│┊─▶◀╮┤╯✗…→", "|:-><.+'x~>")
SIGNS: Final = {"error": "✗", "warning": "!", "info": "i"}
NOTE_COLOURS: Final = {"error": "1;31", "warning": "1;33", "info": "1;36"}
DIM: Final = "2"
BOLD: Final = "1"


class LadderText:
    """Writes ladders as lines."""

    def __init__(self, width: int = 0, *, colour: bool = False, plain: bool = False) -> None:
        self.width = max(width or USUAL, FEWEST)
        self.colour = colour
        self.plain = plain
        """The terminal knows ASCII alone."""
        self.digits = 4 if self.width < NARROW else 6
        self.tracks = 3 if self.width < NARROW else 6

    def lines(self, ladders: list[Ladder], *, side_by_side: bool = False) -> Iterator[str]:
        """All ladders, one below the other or in one."""
        groups = [ladders] if side_by_side else [[ladder] for ladder in ladders]
        for place, group in enumerate(group for group in groups if group):
            if place:
                yield ""
            yield from self.group(group)

    def group(self, ladders: list[Ladder]) -> Iterator[str]:
        """Connections that share one picture."""
        lanes = Lanes(ladders)
        for ladder in ladders:
            yield self.finish_line([*title(ladder)], BOLD)
        yield ""
        rows = together(ladders) if len(ladders) > 1 else ladders[0].rows
        picture = Picture(self, lanes, rows, min(ladder.start for ladder in ladders))
        yield from picture.lines()

    def finish_line(self, cells: list[str], colour: str) -> str:
        """A line as it is printed."""
        text = "".join(cells).rstrip()
        if self.plain:
            text = text.translate(PLAIN)
        return f"\x1b[{colour}m{text}{RESET}" if self.colour and colour else text


def title(ladder: Ladder) -> str:
    """What is above a ladder."""
    found = f", findings: {ladder.findings:,}" if ladder.findings else ""
    frames = plural(ladder.frames, "frame")
    return f"connection {ladder.number}, {ladder.protocol}, {frames}{found}"


class Picture:
    """One set of lanes."""

    def __init__(self, writer: LadderText, lanes: Lanes, rows: list[Row], start: int) -> None:
        self.writer = writer
        self.lanes = lanes
        self.rows = rows
        self.start = start
        self.number = max(5, *(len(str(row.frame)) for row in rows[-1:]))
        """Columns of a frame's number."""
        self.head = self.number + 1 + writer.digits + 5 + 2
        """Columns before the first lane."""
        self.brackets = brackets(rows, writer.tracks)
        used = max((each.track + 1 for each in self.brackets), default=0)
        self.right = writer.width - 1 - (used + 1 if used else 0)
        """The last lane's column."""
        left = self.head
        step = (self.right - left) / max(len(lanes) - 1, 1)
        self.places = [left + round(step * lane) for lane in range(len(lanes))]

    def lines(self) -> Iterator[str]:
        """The heading and the rows of a ladder as text."""
        yield from self.heading()
        begun: dict[int, list[Bracket]] = {}
        for bracket in self.brackets:
            begun.setdefault(bracket.top, []).append(bracket)
        live: list[Bracket] = []
        for place, row in enumerate(self.rows):
            live += begun.get(place, ())
            cells, colour = self.row(row)
            self.join(cells, place, live)
            live = [bracket for bracket in live if bracket.bottom > place]
            yield self.writer.finish_line(cells, colour)
            if isinstance(row, Arrow):
                for note in row.entry.notes:
                    for cells in self.note(note, row):
                        self.pass_by(cells, live)
                        yield self.writer.finish_line(cells, NOTE_COLOURS[note.severity])

    def heading(self) -> Iterator[str]:
        """The names of the columns and lanes."""
        last = len(self.lanes) - 1
        room = int((self.right - self.head) / max(last, 1)) - 2
        columns_named = f"{'frame':>{self.number}} {'time':>{self.writer.digits + 5}}"
        for text, part in (("", 0), (columns_named, 1)):
            cells = [" "] * self.writer.width
            put(cells, 0, text)
            for lane, title in enumerate(self.lanes.titles):
                said = cut(title[part], room)
                wide = columns(said)
                back = 0 if not lane else wide - 1 if lane == last else wide // 2
                put(cells, self.places[lane] - back, said)
            yield self.writer.finish_line(cells, BOLD)

    def blank(self, line: str) -> list[str]:
        """An empty row: nothing but the lanes."""
        cells = [" "] * self.writer.width
        for place in self.places:
            cells[place] = line
        return cells

    def row(self, row: Row) -> tuple[list[str], str]:
        """One row, and its colour."""
        if isinstance(row, Arrow):
            return self.arrow(row), arrow_colour(row)
        left, right = self.span(row)
        cells = self.blank("┊" if isinstance(row, Fold | Pause) else "│")
        room = right - left - 3
        text = row_text(row)
        if isinstance(row, Fold):
            frames = f"{row.frame}-{row.last}"
            put(cells, 0, f"{frames:>{self.head - 2}}")
        elif isinstance(row, Ended):
            put(cells, self.number + 1, self.time(row.time))
        text = cut(text, room)
        if isinstance(row, Ended | Missing):
            mine = self.lanes.of(row.connection, row.sender)
            at_left = self.places[mine] == left
            put(cells, left + 2 if at_left else right - 1 - columns(text), text)
            cells[self.places[mine]] = "x"
            return cells, "1;33" if isinstance(row, Missing) else DIM
        put(cells, left + 2 + (room - columns(text)) // 2, text)
        return cells, DIM

    def span(self, row: Row) -> tuple[int, int]:
        """The columns of the outer lanes of a row's connection."""
        left, right = self.lanes.span(row.connection)
        return self.places[left], self.places[right]

    def time(self, time: int) -> str:
        """Seconds since the first frame."""
        digits = self.writer.digits
        return f"{(time - self.start) / 1e9:{digits + 5}.{digits}f}"

    def arrow(self, row: Arrow) -> list[str]:
        """The arrow of a frame, with its words."""
        entry = row.entry
        cells = self.blank("│")
        put(cells, 0, f"{entry.frame:{self.number}} {self.time(entry.time)}")
        left, right = self.span(row)
        for place in range(left + 1, right):
            cells[place] = "─"
        towards = self.lanes.of(entry.connection, 1 - entry.sender)
        rightwards = self.places[towards] == right
        cells[right - 1 if rightwards else left + 1] = "▶" if rightwards else "◀"
        room = right - left - 9
        outcome = said_of(row)
        label = " ".join(filter(None, (entry.name, cut(entry.where, 20), entry.label)))
        if outcome and room - columns(outcome) - 4 >= min(columns(label), 24):
            at = right - 4 - columns(outcome)
            put(cells, at - 1, f" {outcome} ")
            room -= columns(outcome) + 4
        put(cells, left + 3 + (not rightwards), f" {cut(label, room)} ")
        return cells

    def note(self, note: Note, row: Arrow) -> Iterator[list[str]]:
        """A finding below its arrow."""
        left, right = self.span(row)
        if right - left < ROOMY:
            left, right = self.places[0], self.places[-1]
        text = f"{SIGNS[note.severity]} {note.words}"
        for line in wrap(text, right - left - 4, "", "  "):
            cells = self.blank("│")
            put(cells, left + 3, line)
            yield cells

    def join(self, cells: list[str], place: int, live: list[Bracket]) -> None:
        """The brackets beside a row."""
        self.pass_by(cells, live)
        for bracket in live:
            if place not in (*bracket.joints, bracket.bottom):
                continue
            corner = "╮" if place == bracket.top else "╯" if place == bracket.bottom else "┤"
            at = self.right + 2 + bracket.track
            cells[at] = corner
            for between in range(self.right + 1, at):
                if cells[between] == " ":
                    cells[between] = "─"

    def pass_by(self, cells: list[str], live: list[Bracket]) -> None:
        """The brackets that go past a row."""
        for bracket in live:
            cells[self.right + 2 + bracket.track] = "│"


def put(cells: list[str], at: int, text: str) -> None:
    """Write text into cells; a wide character takes two, a combining one none."""
    for character in text:
        wide = columns(character)
        if at + wide > len(cells):
            return
        if not wide:
            cells[max(at - 1, 0)] += character
            continue
        cells[at] = character
        for more in range(at + 1, at + wide):
            cells[more] = ""
        at += wide


def said_of(row: Arrow) -> str:
    """What became of a delivery, and after how long."""
    final = row.final
    if final is None:
        return ""
    return f"{final.outcome} after {seconds(max(final.time - row.time, 0))}"


def arrow_colour(row: Arrow) -> str:
    """As in the frame list."""
    entry = row.entry
    if any(note.severity == "error" for note in entry.notes):
        return COLOURS["malformed"]
    kind = "sasl" if entry.name.startswith("sasl") else entry.kind or entry.name
    return COLOURS.get(kind, "")
