"""A list of what is measured: its lines come again and again, and the cursor stays."""

from __future__ import annotations

from amqpscope.tui.widgets.virtual_list import VirtualList


class LiveList(VirtualList):
    """Lines that are known by keys."""

    called = "the list"
    head = 1

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.keys: list[object] = []
        self.progress = ""
        """How much of the capture is measured; empty: all."""
        self.moved = False
        """The user has chosen a line; until then the cursor is on the first."""

    def steered(self) -> None:
        """The cursor stays with the line that the user has chosen."""
        self.moved = True

    def replace(self, keys: list[object]) -> None:
        """Other lines, by their keys."""
        known = self.keys[self.cursor] if self.moved and self.cursor < len(self.keys) else None
        self.keys = keys
        cursor = keys.index(known) if known in keys else 0
        if len(keys) == self.count and cursor == self.cursor:
            self.forget()
        else:
            self.renew(len(keys), cursor)
