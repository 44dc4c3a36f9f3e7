"""Octets as hex and text, with those of one field marked."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from amqpscope.tui.fields import FramePicture, OctetSpan
from amqpscope.tui.widgets.virtual_list import VirtualList

WIDE: Final = 75
"""Columns that sixteen octets take."""
MASKED: Final = "**"


class HexView(VirtualList):
    """The octets of a frame, or of a message that was put together."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "octets--marked", "octets--here", "octets--offset", "octets--dull",
    }  # fmt: skip
    called = "the octets"
    DEFAULT_CSS = """
    HexView {
        & > .octets--marked { background: $marked; text-style: bold; }
        & > .octets--here { text-style: reverse bold; }
        & > .octets--offset { color: $faint; }
        & > .octets--dull { color: $faint; }
        & > .rows--cursor, & > .rows--resting { background: $surface; text-style: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "step(1)", "Next octet", show=False),
        Binding("left,h", "step(-1)", "Previous octet", show=False),
    ]
    head = 1

    class Pointed(Message):
        """The user points at an octet."""

        def __init__(self, part: int, offset: int) -> None:
            super().__init__()
            self.part = part
            self.offset = offset

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.picture: FramePicture | None = None
        self.part = 0
        self.span = (0, 0)
        self.at = 0
        """The octet that the user points at."""
        self.per_line = 16

    @property
    def octets(self) -> OctetSpan:
        """What is shown."""
        if self.picture is None:
            return OctetSpan("", b"")
        return self.picture.parts[self.part]

    def show(self, picture: FramePicture | None) -> None:
        """Show another frame."""
        self.picture = picture
        self.part, self.at, self.span = 0, 0, (0, 0)
        self._layout()

    def _layout(self) -> None:
        self.per_line = 16 if self.view.width >= WIDE else 8
        count = -(-len(self.octets.data) // self.per_line)
        self.renew(count, self.at // self.per_line)

    def on_resize(self) -> None:
        """More or fewer octets go on a line."""
        self._layout()

    def mark(self, part: int, start: int, end: int) -> None:
        """Mark the octets of a field."""
        if self.picture is None or part < 0 or (part, (start, end)) == (self.part, self.span):
            return
        changed = part != self.part
        self.part, self.span = part, (start, end)
        if not start <= self.at < end or changed:
            self.at = start
        if changed:
            self._layout()
        self.cursor = self.at // self.per_line
        self._strips.clear()
        self._reveal(center=True)
        self.refresh()

    def head_line(self, y: int, width: int) -> list[Segment]:
        """What is shown, and what is marked of it."""
        part, (start, end) = self.octets, self.span
        if not part.title:
            return []
        text = f" {part.title}: {len(part.data)} octets"
        if end > start:
            text += f", {start}..{end - 1} marked ({end - start})"
        return [Segment(text)]

    def key_of(self, index: int) -> object:
        """Lines change with what is marked."""
        return (index, self.part, self.span, self.at if self.has_focus else -1)

    def line(self, index: int, width: int) -> list[Segment]:
        """One line of octets."""
        part, per_line = self.octets, self.per_line
        begin = index * per_line
        row = part.data[begin : begin + per_line]
        segments = [Segment(f"{begin:06x}  ", self.style_of("octets--offset"))]
        text: list[Segment] = []
        for at in range(begin, begin + per_line):
            gap = "  " if at - begin == per_line // 2 - 1 else " "
            if at - begin >= len(row):
                segments.append(Segment("  " + gap))
                continue
            octet, hidden = row[at - begin], covers(part, at)
            style, after = (
                self.octet_style(at),
                self.octet_style(at) if self.mark_continues(at) else None,
            )
            segments.append(Segment(MASKED if hidden else f"{octet:02x}", style))
            segments.append(Segment(gap, after))
            seen = 32 <= octet < 127 and not hidden
            dull = self.style_of("octets--dull") if style is None else style
            text.append(Segment(chr(octet) if seen else "*" if hidden else "·",
                                style if seen else dull))  # fmt: skip
        return [*segments, Segment(" "), *text]

    def octet_style(self, at: int) -> Style | None:
        """How an octet stands out."""
        start, end = self.span
        style = self.style_of("octets--marked") if start <= at < end else None
        if at == self.at and self.has_focus:
            here = self.style_of("octets--here")
            return here if style is None else style + here
        return style

    def mark_continues(self, at: int) -> bool:
        """Whether the mark goes on over the space behind an octet."""
        start, end = self.span
        return start <= at < end - 1 and (at + 1) % self.per_line != 0 and at != self.at

    def point(self, at: int) -> None:
        """Point at an octet."""
        size = len(self.octets.data)
        if not size:
            return
        self.at = max(0, min(at, size - 1))
        self.cursor = self.at // self.per_line
        self._strips.clear()
        self._reveal()
        self.refresh()
        self.post_message(self.Pointed(self.part, self.at))

    def action_step(self, octets: int) -> None:
        """Go some octets on."""
        self.point(self.at + octets)

    def action_move(self, lines: int) -> None:
        """Go some lines down, or up."""
        self.point(self.at + lines * self.per_line)

    def action_first(self) -> None:
        """Go to the first octet."""
        self.point(0)

    def action_last(self) -> None:
        """Go to the last octet."""
        self.point(len(self.octets.data) - 1)

    def on_click(self, event: events.Click) -> None:
        """Point at the octet under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y < self.head or offset.x < 8:
            return
        line = self.scroll_offset.y + offset.y - self.head
        column, half = offset.x - 8, self.per_line // 2
        right = self.per_line * 3 + 2
        place = column - right if column >= right else (column - (column >= half * 3)) // 3
        if place < self.per_line:
            self.point(line * self.per_line + place)


def covers(part: OctetSpan, at: int) -> bool:
    """Whether an octet is secret."""
    return any(start <= at < end for start, end in part.covered)
