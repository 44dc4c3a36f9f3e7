"""A screen of a list and a text about what is at its cursor: below it, or beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.binding import Binding

from amqpscope.tui.screens.dividers import (
    WHOLE,
    DividedView,
    percent,
    share_height,
    share_width,
)
from amqpscope.tui.widgets.text_view import TextView
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from textual.events import Resize

PANES: Final = (
    Binding("tab,shift+tab", "pane", "Other pane", show=True, key_display="Tab"),
    Binding("backslash", "whole", "Maximize", show=True, tooltip=WHOLE),
    Binding("plus", "grow(5)", "Larger list (or drag the line)", show=False),
    Binding("minus", "grow(-5)", "Smaller list", show=False),
)
LIMITS: Final = (10, 90)
"""Percent of the room that the list has at least, and at most."""
WIDE: Final = 130
"""Columns from which on the text is beside the list."""
LOW: Final = 12
"""Lines below which there is room for one pane only."""


class PanesView(DividedView):
    """Subclasses compose a `VirtualList` with the id `list` and a `TextView` with the id `text`."""

    DEFAULT_CSS = """
    PanesView {
        & > #list { height: 2fr; min-height: 3; }
        & > #text { height: 3fr; min-height: 3; border-top: solid $panel; }
        &.wide { layout: horizontal; }
        &.wide > #list { width: 1fr; height: 1fr; }
        &.wide > #text { width: 1fr; height: 1fr; border-top: none; border-left: solid $panel; }
        &.only-list > #text { display: none; }
        &.only-text > #list { display: none; }
        &.only-text > #text { border: none; height: 1fr; }
    }
    """

    share = 0
    """Percent of the room that the list has; 0: as usual."""

    @property
    def rows(self) -> VirtualList:
        """The list."""
        return self.query_one("#list", VirtualList)

    @property
    def text(self) -> TextView:
        """The text."""
        return self.query_one("#text", TextView)

    def entered(self) -> None:
        """Keys go to the list."""
        self.set_class(False, "only-text")
        self.rows.focus()

    def on_resize(self, event: Resize) -> None:
        """Below each other or side by side; one of them where there is little room."""
        self.set_class(event.size.width >= WIDE, "wide")
        self.apply_share()
        low = event.size.height < LOW
        if low and not self.has_class("only-text"):
            self.add_class("only-list", "low")
        elif not low and self.has_class("low"):
            self.remove_class("only-list", "only-text", "low")

    def apply_share(self) -> None:
        """Size the panes as the user wants them."""
        if self.share:
            for pane in (self.rows, self.text):
                pane.styles.height = pane.styles.width = None
            share = share_width if self.has_class("wide") else share_height
            share(self.rows, self.text, self.share)

    def divider_at(self, x: int, y: int) -> str:
        """The line between list and text."""
        text = self.text.region
        both = self.rows.display and self.text.display
        at = x == text.x and text.contains(x, y) if self.has_class("wide") else y == text.y
        return "list" if both and at else ""

    def move_divider(self, name: str, x: int, y: int) -> None:
        """Size the list."""
        area, wide = self.region, self.has_class("wide")
        place = (x, area.x, area.width) if wide else (y, area.y, area.height)
        self.share = percent(*place, LIMITS)
        self.apply_share()

    def action_grow(self, more: int) -> None:
        """Give the list more or less of the room."""
        area, wide = self.region, self.has_class("wide")
        text = self.text.region
        now = (
            percent(text.x, area.x, area.width, LIMITS)
            if wide
            else percent(text.y, area.y, area.height, LIMITS)
        )
        self.share = percent((self.share or now) + more, 0, 100, LIMITS)
        self.apply_share()

    def action_pane(self) -> None:
        """Go to the other pane."""
        pane: VirtualList = self.text if self.rows.has_focus else self.rows
        if self.has_class("only-list") or self.has_class("only-text"):
            self.show_only(pane)
        self.call_after_refresh(pane.focus)

    def action_whole(self) -> None:
        """Give a pane all the room, or take it back."""
        pane: VirtualList = self.text if self.text.has_focus else self.rows
        only = self.has_class("only-list") or self.has_class("only-text")
        self.show_only(None if only and not self.has_class("low") else pane)
        self.call_after_refresh(pane.focus)

    def show_only(self, pane: VirtualList | None) -> None:
        """Give a pane all the room; None: to both."""
        self.set_class(pane is self.rows, "only-list")
        self.set_class(pane is self.text, "only-text")

    def on_text_view_follow(self, event: TextView.Follow) -> None:
        """Go to the frame that a line points to."""
        self.scope.visit(event.number)

    def on_text_view_resized(self, event: TextView.Resized) -> None:
        """Break the text again."""
        self.show_text()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Say more about what is at the cursor."""
        if event.rows is self.rows:
            self.show_text()

    def show_text(self) -> None:
        """Show the text about what is at the cursor."""
        raise NotImplementedError
