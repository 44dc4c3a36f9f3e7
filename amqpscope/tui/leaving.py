"""Leaving a capture: notes that are not kept anywhere are asked about first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.tui.bookmarks import file_beside
from amqpscope.wording import plural, reason_of

if TYPE_CHECKING:
    from amqpscope.tui.app import Scope

KEEP: Final = "keep"


class Leaving:
    """Ends the screen, once it is known what to do with notes."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.way = 0
        """Where to go on: the next capture (1), the one before (-1), or nowhere (0)."""
        self.forgotten = False
        """The user does not want to keep the notes."""

    def leave(self, way: int) -> None:
        """Leave, or ask about notes first."""
        scope = self.scope
        self.way = way
        if not scope.marks.changed:
            scope.exit(way)
            return
        beside = file_beside(scope.store.source.path)
        notes = plural(len(scope.marks.notes), "note")
        hint = "n: discard them, Esc: stay; w writes the frames with their notes to a pcapng file"
        if beside is None:
            scope.prompt.ask(KEEP, f"discard {notes}?", "n", hint, "n")
        else:
            hint = f"y: keep in {beside.name} beside the capture, n: discard, Esc: stay"
            scope.prompt.ask(KEEP, f"keep {notes}?", "y", hint, "yn")

    def take_answer(self, text: str) -> None:
        """Keep the notes or not, and leave."""
        scope, word = self.scope, text.lower()
        if word in ("y", "yes") and not self.keep():
            return
        if word in ("y", "yes", "n", "no"):
            self.forgotten = word in ("n", "no")
            scope.exit(self.way)
        else:
            scope.announce("please answer y or n", bad=True)

    def keep(self) -> bool:
        """Keep the notes beside the capture; whether that could be done."""
        try:
            self.scope.marks.write_beside(self.scope.store)
        except OSError as error:
            self.scope.announce(f"notes cannot be saved: {reason_of(error)}", bad=True)
            return False
        return True
