"""Dividers between panes that the mouse can drag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.tui.screens.view import View

if TYPE_CHECKING:
    from textual import events
    from textual.widget import Widget

WHOLE: Final = "Maximize this pane, or show all again"
"""What the help says of the key for it."""


class DividedView(View):
    """Subclasses say where their dividers are, and what it means to move one."""

    dragged = ""
    """The divider that the mouse holds; empty: none."""

    def divider_at(self, x: int, y: int) -> str:
        """The name of the divider at a place of the screen; empty: there is none."""
        raise NotImplementedError

    def move_divider(self, name: str, x: int, y: int) -> None:
        """Put a divider as near to a place of the screen as can be."""
        raise NotImplementedError

    def dropped(self) -> None:
        """The mouse has let go of a divider."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take the divider under the mouse."""
        self.dragged = self.divider_at(event.screen_x, event.screen_y)
        if self.dragged:
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Move the divider with the mouse."""
        if self.dragged:
            self.move_divider(self.dragged, event.screen_x, event.screen_y)

    def on_mouse_up(self) -> None:
        """Leave the divider where it is."""
        if self.dragged:
            self.dragged = ""
            self.release_mouse()
            self.dropped()


def percent(at: int, start: int, size: int, limits: tuple[int, int]) -> int:
    """What share of a size comes before a place, within limits."""
    low, high = limits
    return max(low, min(high, round(100 * (at - start) / max(size, 1))))


def share_height(first: Widget, second: Widget, share: int) -> None:
    """Give the upper pane a share of the height in percent."""
    first.styles.height, second.styles.height = f"{share}fr", f"{100 - share}fr"


def share_width(first: Widget, second: Widget, share: int) -> None:
    """Give the left pane a share of the width in percent."""
    first.styles.width, second.styles.width = f"{share}fr", f"{100 - share}fr"
