"""The lines at the top and the bottom: which screens there are, and the state of things."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from amqpscope.report.columns import columns, cut


class Bar(Widget):
    """One line of words at the left and at the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "bar--here", "bar--error", "bar--warning", "bar--strong", "bar--muted",
    }  # fmt: skip
    DEFAULT_CSS = """
    Bar {
        height: 1; background: $panel; color: $foreground;
        & > .bar--here { background: $primary; color: $background; text-style: bold; }
        & > .bar--error { color: $text-error; text-style: bold; }
        & > .bar--warning { color: $text-warning; text-style: bold; }
        & > .bar--strong { text-style: bold; }
        & > .bar--muted { color: $dim; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.left: list[tuple[str, str]] = []
        """Texts with the names of their styles."""
        self.right: list[tuple[str, str]] = []

    def show(self, left: list[tuple[str, str]], right: list[tuple[str, str]]) -> None:
        """Say something else."""
        if (left, right) != (self.left, self.right):
            self.left, self.right = left, right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line."""
        width = self.size.width
        base = self.rich_style
        right = [text for text, _ in self.right]
        room = width - sum(map(columns, right))
        segments: list[Segment] = []
        for text, name in self.left:
            shown = cut(text, max(room, 0)) if columns(text) > room else text
            room -= columns(shown)
            segments.append(self.segment(shown, name))
            if room <= 0:
                break
        segments.append(Segment(" " * max(room, 0)))
        segments += [self.segment(text, name) for text, name in self.right]
        return Strip(segments).crop_extend(0, width, base).apply_style(base)

    def segment(self, text: str, name: str) -> Segment:
        """A text in its style."""
        style = self.get_component_rich_style(f"bar--{name}", partial=True) if name else None
        return Segment(text, style)


class Tabs(Bar):
    """The bar at the top: a click on a screen's name opens it."""

    class Clicked(Message):
        """A tab was clicked, counted from 0."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def on_click(self, event: events.Click) -> None:
        """Find the tab under the mouse."""
        at = 0
        for place, (text, _) in enumerate(self.left):
            at += columns(text)
            if event.x < at:
                self.post_message(self.Clicked(place))
                return
