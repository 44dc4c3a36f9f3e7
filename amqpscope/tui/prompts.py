"""What the line at the bottom asks for, and what is done with the answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from amqpscope.tui.body_export import EXPORTS
from amqpscope.tui.export import save_frames
from amqpscope.tui.goto import place
from amqpscope.tui.leaving import KEEP
from amqpscope.tui.looks import QUESTIONS

if TYPE_CHECKING:
    from amqpscope.tui.app import Scope

SEARCH = "text in a frame's line or octets; n and N go to the next and the one before"
GOTO = "17 (frame), 1.5s (since the first frame), 12:00:01.5 (time of day, UTC)"


LADDER = "ladder "
"""What the question begins with where a ladder is to be written: its kind follows."""


class PromptActions:
    """Asks for a filter, a text to search for, a note, a place, and a file name."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def ask(self, kind: str) -> None:
        """Ask for one of these."""
        scope = self.scope
        text, hint = "", ""
        question = {"goto": "go to:", "save": "save as:"}.get(kind, f"{kind}:")
        if kind == "filter":
            filtering = scope.looking.filtering
            text = "" if filtering is None else filtering.text
        elif kind == "search":
            hint = SEARCH
        elif kind == "goto":
            hint = GOTO
        elif kind in EXPORTS or kind in QUESTIONS:
            (scope.looks if kind in QUESTIONS else scope.exporting).ask(kind)
            return
        elif kind == "note":
            if not scope.frame:
                return
            question, text = f"note on frame {scope.frame}:", scope.marks.notes.get(scope.frame, "")
        else:
            count = scope.frames.frames.count
            hint = f"{count:,} frames as pcapng, with their notes and any credentials in them"
            text = f"{Path(scope.store.source.path).stem}-saved.pcapng"
        scope.prompt.ask(kind, question, text, hint)

    def take_answer(self, kind: str, text: str) -> None:
        """Do what was asked for."""
        scope = self.scope
        if kind == "filter":
            scope.looking.filter(text)
        elif kind == "search":
            scope.looking.search(text)
        elif kind == "note" and scope.frame:
            scope.marks.write(scope.frame, text)
            scope.frames.frames.forget()
            scope.frames.show_again()
        elif kind == "goto":
            self.go_to(text)
        elif kind == KEEP:
            scope.leaving.take_answer(text)
        elif kind == "save" and text:
            self.save(text)
        elif kind.startswith(LADDER) and text:
            scope.view.take_answer(kind, text)
        elif kind in QUESTIONS:
            scope.looks.take_answer(kind, text)
        elif kind in EXPORTS and text:
            scope.exporting.export(kind, text)

    def go_to(self, text: str) -> None:
        """Go to a frame or a time."""
        try:
            self.scope.visit(place(self.scope.store, text))
        except ValueError as error:
            self.scope.announce(str(error), bad=True)

    def save(self, text: str) -> None:
        """Write the frames that are shown, in a thread of its own: the file may be large."""
        scope = self.scope
        frames = scope.frames.frames
        numbers = range(1, frames.count + 1) if frames.matches is None else frames.matches[:]

        def write() -> None:
            path = Path(text).expanduser()
            said, well = save_frames(scope.store, scope.marks, numbers, path)
            if well and frames.matches is None:
                scope.marks.changed = False  # all notes are in that file
            scope.call_from_thread(scope.announce, said, bad=not well)

        scope.run_worker(write, thread=True)
