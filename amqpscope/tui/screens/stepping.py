"""Keys by which a screen other than the list goes from frame to frame."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from amqpscope.tui.screens.view import View

STEPPING: Final = (
    Binding("J,ctrl+down", "frame(1)", "Next frame", show=True, key_display="J"),
    Binding("K,ctrl+up", "frame(-1)", "Previous frame", show=True, key_display="K"),
)


class SteppingView(View):
    """A screen that shows what belongs to the selected frame."""

    def action_frame(self, way: int) -> None:
        """Select the next of the frames that the list shows, or the one before."""
        frames = self.scope.frames.frames
        place = frames.cursor + way
        if 0 <= place < frames.count:
            self.scope.following = False
            frames.go(place)
            self.scope.select(frames.number)
