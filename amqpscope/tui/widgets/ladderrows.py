"""The ladder: client and server as two columns, each frame an arrow between them."""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from rich.segment import Segment

from amqpscope.insight.ladder import Arrow, Fold, Missing, Row
from amqpscope.tui.ladder_worker import Drawing
from amqpscope.tui.widgets.framelist import KINDS
from amqpscope.tui.widgets.virtual_list import VirtualList


class LadderRows(VirtualList):
    """The lines of a drawing."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"ladder--{kind}" for kind in KINDS),
        *(f"ladder--{severity}" for severity in ("error", "warning", "info")),
        "ladder--dim",
    }
    called = "the ladder"
    DEFAULT_CSS = """
    LadderRows {
        & > .ladder--malformed { color: $text-error; text-style: bold; }
        & > .ladder--header, & > .ladder--empty { color: $faint; }
        & > .ladder--sasl, & > .ladder--dim { color: $dim; }
        & > .ladder--open, & > .ladder--begin, & > .ladder--attach { color: $text-primary; }
        & > .ladder--flow { color: $text-warning; }
        & > .ladder--transfer { color: $text-success; }
        & > .ladder--disposition { color: $text-accent; }
        & > .ladder--detach, & > .ladder--end, & > .ladder--close { color: $text-secondary; }
        & > .ladder--error { color: $text-error; text-style: bold; }
        & > .ladder--warning { color: $text-warning; text-style: bold; }
        & > .ladder--info { color: $dim; }
    }
    """
    head = 2

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.drawing: Drawing | None = None
        self.starts: list[int] = []
        """The frame of each row, ascending where the rows are."""
        self.waiting = ""

    def show(self, drawing: Drawing, frame: int) -> None:
        """Show a drawing, with the cursor at a frame."""
        top, here = self.scroll_offset.y, self.cursor
        self.drawing = drawing
        self.starts = [row.frame for row in drawing.rows]
        cursor = self.line_of(frame) if frame else here
        self.renew(len(drawing.spots), cursor)
        if top <= cursor < top + self.room:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def line_of(self, frame: int) -> int:
        """The line of a frame, or of what it is folded into."""
        drawing = self.drawing
        if drawing is None or not drawing.spots:
            return 0
        known = drawing.lines.get(frame)
        if known is not None:
            return known
        place = max(bisect_right(self.starts, frame) - 1, 0)
        return drawing.lines.get(drawing.rows[place].frame, 0)

    @property
    def row(self) -> Row | None:
        """The row at the cursor."""
        drawing = self.drawing
        if drawing is None or not 0 <= self.cursor < len(drawing.spots):
            return None
        return drawing.rows[drawing.spots[self.cursor].place]

    # -- painting -----------------------------------------------------------------------------

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns and lanes."""
        drawing = self.drawing
        if drawing is None or drawing.picture is None:
            return [Segment(self.waiting)] if y else []
        return [Segment([*drawing.picture.heading()][y])]

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """What it waits for."""
        return [Segment(f"  {self.waiting}")] if y == 1 else []

    def key_of(self, index: int) -> object:
        """Each drawing has lines of its own."""
        return (id(self.drawing), index)

    def line(self, index: int, width: int) -> list[Segment]:
        """A row, or a part of a finding below it."""
        drawing = self.drawing
        assert drawing is not None
        assert drawing.picture is not None
        spot = drawing.spots[index]
        picture = drawing.picture
        dim = self.style_of("ladder--dim")
        if spot.text:
            head, rest = spot.text[: picture.head + 1], spot.text[picture.head + 1 :]
            return [Segment(head, dim), Segment(rest, self.style_of(f"ladder--{spot.severity}"))]
        row = drawing.rows[spot.place]
        cells, _ = picture.row(row)
        picture.join(cells, spot.place, drawing.beside[spot.place])
        sign = "▸" if isinstance(row, Fold) else " "
        left = "".join(cells[: picture.head])
        return [Segment(left[:-1] + sign, dim), Segment("".join(cells[picture.head :]),
                                                        self.style_of(look(row)))]  # fmt: skip


def look(row: Row) -> str:
    """The style of a row."""
    if isinstance(row, Missing):
        return "ladder--warning"
    if not isinstance(row, Arrow):
        return "ladder--dim"
    entry = row.entry
    if any(note.severity == "error" for note in entry.notes):
        return "ladder--malformed"
    kind = "sasl" if entry.name.startswith("sasl") else entry.kind or entry.name
    return f"ladder--{kind}" if kind in KINDS else "ladder--dim"
