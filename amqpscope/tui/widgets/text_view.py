"""Text to read: lines made of words with styles; some lines point to a frame."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual.message import Message

from amqpscope.report.columns import wrap
from amqpscope.tui.widgets.virtual_list import VirtualList

STYLES: Final = (
    "title", "error", "warning", "info", "dim", "strong", "good", "bad", "plot", "level",
)  # fmt: skip


class TextLine(NamedTuple):
    """A line of text in several styles."""

    words: tuple[tuple[str, str], ...]
    """Texts with the names of their styles."""
    frame: int = 0
    """The frame that it points to; 0: none."""


def line(text: str, style: str = "", frame: int = 0) -> TextLine:
    """A line in one style."""
    return TextLine(((text, style),), frame)


def paragraph(text: str, width: int, style: str = "", indent: str = "") -> list[TextLine]:
    """A text in as many lines as it needs."""
    return [line(part, style) for part in wrap(text, width, indent)]


class TextView(VirtualList):
    """Lines to read; the cursor matters only where one points to a frame."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"prose--{style}" for style in STYLES}
    called = "the text"
    DEFAULT_CSS = """
    TextView {
        & > .prose--title { color: $text-primary; text-style: bold; }
        & > .prose--error, & > .prose--bad { color: $text-error; text-style: bold; }
        & > .prose--warning { color: $text-warning; text-style: bold; }
        & > .prose--info, & > .prose--dim { color: $dim; }
        & > .prose--strong { text-style: bold; }
        & > .prose--good { color: $text-success; text-style: bold; }
        & > .prose--plot { color: $text-success; }
        & > .prose--level { color: $text-accent; }
        & > .rows--resting { background: $surface; }
    }
    """

    class Follow(Message):
        """A line that points to a frame was opened."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Resized(Message):
        """Lines have to be broken again."""

        def __init__(self, prose: TextView) -> None:
            super().__init__()
            self.prose = prose

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: list[TextLine] = []
        self.about: object = None

    @property
    def measure(self) -> int:
        """Columns for text; the scrollbar has room too."""
        return max(self.size.width - 2, 20)

    def show(self, lines: list[TextLine], about: object) -> None:
        """Show a text; the place in it stays while it is `about` the same."""
        if lines == self.lines:
            return
        top, cursor = (self.scroll_offset.y, self.cursor) if about == self.about else (0, 0)
        self.lines, self.about = lines, about
        self.renew(len(lines), cursor)
        self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        """Ask for lines of another length."""
        super().on_resize()
        self.post_message(self.Resized(self))

    def key_of(self, index: int) -> object:
        """Lines are made again whenever something changes."""
        return (index, self.lines[index])

    def line(self, index: int, width: int) -> list[Segment]:
        """One line."""
        return [
            Segment(text, self.style_of(f"prose--{style}") if style else None)
            for text, style in self.lines[index].words
        ]

    def action_choose(self) -> None:
        """Go to the frame that the line points to."""
        if 0 <= self.cursor < len(self.lines) and self.lines[self.cursor].frame:
            self.post_message(self.Follow(self.lines[self.cursor].frame))
