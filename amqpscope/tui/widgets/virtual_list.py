"""A list of lines of which only the visible ones are made: the base of all lists, trees and views.

A line costs nothing until it is on screen, and painting costs what is visible, so a million lines
are as smooth as ten.
"""

from __future__ import annotations

from typing import ClassVar, Final

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

MUTED: Final = ("dim", "faint")
"""Colours of the theme for text that matters less."""


class VirtualList(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines with a cursor on one of them. Subclasses say how many there are and make each."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--head", "rows--cursor", "rows--resting"}
    DEFAULT_CSS = """
    VirtualList {
        height: 1fr; background: $surface; color: $foreground;
        scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: auto;
        & > .rows--head { background: $panel; color: $dim; text-style: bold; }
        & > .rows--cursor { background: $cursor-row; text-style: bold; }
        & > .rows--resting { background: $resting-row; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False),
        Binding("ctrl+d", "half(1)", "Half a page down", show=False),
        Binding("ctrl+u", "half(-1)", "Half a page up", show=False),
        Binding("home,g", "first", "First line", show=False),
        Binding("end,G", "last", "Last line", show=False),
        Binding("enter", "choose", "Open", show=False),
    ]
    called = ""
    """What the help calls it."""
    head = 0
    """Lines at the top that do not scroll."""

    class Moved(Message):
        """The cursor is on another line."""

        def __init__(self, rows: VirtualList, index: int) -> None:
            super().__init__()
            self.rows = rows
            self.index = index

        @property
        def control(self) -> VirtualList:
            """The list itself."""
            return self.rows

    class Chosen(Moved):
        """The line at the cursor was opened (Enter, or a second click)."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.count = 0
        self.cursor = 0
        self._strips: LRUCache[tuple[object, ...], Strip] = LRUCache(512)
        self._styles: dict[str, Style] = {}
        self._muted: list[Color] = []
        """The greys of the theme, which the cursor's background would swallow."""

    # -- what subclasses say ------------------------------------------------------------------

    def line(self, index: int, width: int) -> list[Segment]:
        """The line at an index, at least from its left end on."""
        raise NotImplementedError

    def head_line(self, y: int, width: int) -> list[Segment]:
        """One of the lines at the top."""
        return []

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """What is there while there are no lines, counted from below the head."""
        return []

    def key_of(self, index: int) -> object:
        """What a line is remembered by; lines that change need another key."""
        return index

    # -- counts -------------------------------------------------------------------------------

    @property
    def view(self) -> Size:
        """The visible part; `size` has the scrollbar in it."""
        return self.scrollable_content_region.size

    @property
    def room(self) -> int:
        """Lines that fit below the head."""
        return max(1, self.view.height - self.head)

    def set_count(self, count: int) -> None:
        """Lines were added or taken away at the end."""
        if count == self.count:
            return
        old, self.count = self.count, count
        bottom = self.scroll_offset.y + self.room
        self._resize()
        if self.cursor >= count:
            self.go(count - 1)
        if min(old, count) < bottom:
            self.refresh()

    def renew(self, count: int, cursor: int = 0) -> None:
        """All lines are others now."""
        self.count = count
        self._strips.clear()
        self._resize()
        self.cursor = max(0, min(cursor, count - 1))
        self._reveal(center=True)
        self.refresh()

    def forget(self) -> None:
        """Make all lines again: what they say has changed."""
        self._strips.clear()
        self.refresh()

    def _resize(self) -> None:
        size = Size(1, self.count + self.head)
        if self.show_vertical_scrollbar and size.height > self.size.height:
            # Plain assignment would lay out the whole screen again for each new line.
            self.set_reactive(ScrollView.virtual_size, size)
            self._scroll_update(size)
        else:
            self.virtual_size = size

    def on_mount(self) -> None:
        """Take the first size."""
        self._resize()

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._strips.clear()
        self.call_after_refresh(self._reveal)

    def notify_style_update(self) -> None:
        """The theme has changed."""
        super().notify_style_update()
        self._styles.clear()
        self._muted.clear()
        self._strips.clear()

    # -- painting -----------------------------------------------------------------------------

    def style_of(self, name: str) -> Style:
        """The style of a component class; of the widget itself for an empty name."""
        found = self._styles.get(name)
        if found is None:
            found = self.get_component_rich_style(name, partial=True) if name else self.rich_style
            self._styles[name] = found
        return found

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.view.width
        base = self.style_of("")
        if y < self.head:
            style = base + self.style_of("rows--head")
            return paint_strip(self.head_line(y, width), width, style)
        index = self.scroll_offset.y + y - self.head
        if not self.count:
            return paint_strip(self.empty_line(y - self.head, width), width, base)
        if index >= self.count:
            return Strip.blank(width, base)
        state = (index == self.cursor) * (2 if self.has_focus else 1)
        key = (self.key_of(index), state, width)
        strip = self._strips.get(key)
        if strip is None:
            style, segments = base, self.line(index, width)
            if state:
                style += self.style_of("rows--cursor" if state == 2 else "rows--resting")
                segments = self.legible(segments)
            strip = paint_strip(segments, width, style)
            self._strips[key] = strip
        return strip

    def legible(self, segments: list[Segment]) -> list[Segment]:
        """A line at the cursor: what is grey elsewhere is written as the other text."""
        if not self._muted:
            colours = self.app.get_css_variables()
            self._muted = [Color.parse(colours[name]) for name in MUTED]
        plain = Style(color=self.style_of("").color)
        return [
            Segment(text, style + plain) if style is not None and style.color in self._muted
            else Segment(text, style)
            for text, style, _ in segments
        ]  # fmt: skip

    def refresh_line_at(self, index: int) -> None:
        """Paint one line again."""
        y = index - self.scroll_offset.y + self.head
        if self.head <= y < self.view.height:
            self.refresh(Region(0, y, self.size.width, 1))

    # -- the cursor ---------------------------------------------------------------------------

    def go(self, index: int, *, center: bool = False) -> None:
        """Put the cursor on a line."""
        index = max(0, min(index, self.count - 1))
        old, self.cursor = self.cursor, index
        if not self._reveal(center=center):
            self.refresh_line_at(old)
            self.refresh_line_at(index)
        if index != old:
            self.post_message(self.Moved(self, index))

    def _reveal(self, *, center: bool = False) -> bool:
        """Scroll so that the cursor is in sight; whether that was needed."""
        top, room, index = self.scroll_offset.y, self.room, self.cursor
        if top <= index < top + room:
            return False
        new = index - room // 2 if center else index if index < top else index - room + 1
        self.scroll_to(y=max(0, new), animate=False, force=True, immediate=True)
        self.refresh()
        return True

    def steered(self) -> None:
        """The user moves the cursor; it did not move by itself."""

    def action_move(self, lines: int) -> None:
        """Go some lines down, or up."""
        self.steered()
        self.go(self.cursor + lines)

    def action_page(self, pages: int) -> None:
        """Go a screenful on."""
        self.action_move(pages * max(1, self.room - 1))

    def action_half(self, pages: int) -> None:
        """Go half a screenful on."""
        self.action_move(pages * max(1, self.room // 2))

    def action_first(self) -> None:
        """Go to the first line."""
        self.steered()
        self.go(0)

    def action_last(self) -> None:
        """Go to the last line."""
        self.steered()
        self.go(self.count - 1)

    def action_choose(self) -> None:
        """Open the line at the cursor."""
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is."""
        place = event.get_content_offset(self)
        if place is None or place.y < self.head:
            return
        index = self.scroll_offset.y + place.y - self.head
        if index >= self.count:
            return
        again = index == self.cursor and event.chain > 1
        self.steered()
        self.go(index)
        if again:
            self.action_choose()

    def on_focus(self) -> None:
        """Show that keys go here."""
        self.refresh_line_at(self.cursor)

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh_line_at(self.cursor)


def paint_strip(segments: list[Segment], width: int, style: Style) -> Strip:
    """Segments as a line of a width, over a background."""
    return Strip(segments).crop_extend(0, width, style).apply_style(style)
