"""Frames that the user has marked, with notes: taken from the capture and from a file beside it.

In a pcapng file a note is the comment of a packet, as Wireshark shows it. What the user adds is
kept in `CAPTURE.notes.toml` beside a capture, which stays as it is.
"""

from __future__ import annotations

import json
import os
import tomllib
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from amqpscope.tui.store import Store

MARK: Final = "amqpscope: marked"
"""The comment of a packet whose frame is marked and has no note."""
BESIDE: Final = ".notes.toml"


class Bookmarks:
    """Marks and notes of one capture, by frame."""

    def __init__(self) -> None:
        self.notes: dict[int, str] = {}
        """Marked frames; the note is empty where there is none."""
        self.changed = False
        """The user has changed something that is not kept anywhere."""
        self.taken = 0
        """Comments of the capture that are among them."""
        self.waiting: list[tuple[int, int, str]] = []
        """Notes of the file beside it whose frames were not read yet: frame, time, note."""
        self.removed: set[int] = set()
        """Frames whose comments in the capture the user does not want to see."""

    def sign(self, number: int) -> str:
        """How a frame is marked in the list."""
        note = self.notes.get(number)
        return " " if note is None else "»" if note else "*"

    def toggle(self, number: int) -> bool:
        """Mark a frame, or take its mark away; whether it is marked now."""
        self.changed = True
        if number in self.notes:
            del self.notes[number]
            self.removed.add(number)
            return False
        self.notes[number] = ""
        return True

    def write(self, number: int, note: str) -> None:
        """Give a frame a note."""
        self.changed = self.changed or self.notes.get(number) != note
        self.notes[number] = note

    def comment(self, number: int) -> str:
        """A mark or note as the comment of a packet; empty: there is none."""
        note = self.notes.get(number)
        return "" if note is None else note or MARK

    def after(self, number: int) -> int:
        """The next marked frame, from the first again behind the last; 0 if there is none."""
        marked = sorted(self.notes)
        if not marked:
            return 0
        place = bisect_right(marked, number)
        return marked[place % len(marked)]

    def before(self, number: int) -> int:
        """The marked frame before, from the last again before the first; 0 if there is none."""
        marked = sorted(self.notes)
        return marked[bisect_left(marked, number) - 1] if marked else 0

    # -- what is kept -------------------------------------------------------------------------

    def update(self, store: Store) -> bool:
        """Take the notes on frames that were read since; whether there were any."""
        fresh = store.steps.comments[self.taken :]
        self.taken += len(fresh)
        for number, text in fresh:
            if number not in self.removed:
                self.add(number, "" if text == MARK else text)
        ready = [each for each in self.waiting if each[0] <= store.count]
        for number, time, text in ready:
            if store.record(number).time == time:
                self.notes[number] = text  # what the capture says is part of it
        self.waiting = [each for each in self.waiting if each[0] > store.count]
        return bool(fresh or ready)

    def add(self, number: int, note: str) -> None:
        """Add to what is noted about a frame."""
        before = self.notes.get(number, "")
        joined = before if note in before else f"{before}; {note}" if before else note
        self.notes[number] = joined

    def read_beside(self, path: str) -> None:
        """Read the notes beside a capture, if there are any. Raises OSError and ValueError."""
        beside = file_beside(path)
        if beside is None or not beside.exists():
            return
        values = tomllib.loads(beside.read_text("utf-8"))
        self.removed = {
            number for number in list_value(values, "removed") if isinstance(number, int)
        }
        for note in list_value(values, "note"):
            found = note if isinstance(note, dict) else {}
            number, time, text = found.get("frame"), found.get("time"), found.get("text")
            if not (isinstance(number, int) and isinstance(time, int) and isinstance(text, str)):
                raise ValueError("a note needs frame, time and text")
            if number > 0:
                self.waiting.append((number, time, text))

    def write_beside(self, store: Store) -> Path:
        """Keep all marks and notes beside the capture; returns where. Raises OSError."""
        beside = file_beside(store.source.path)
        if beside is None:
            raise OSError(0, "a capture from a pipe has no place; w writes one with its notes")
        lines = [f"# Notes on {Path(store.source.path).name}, by frame.\n"]
        removed = sorted(self.removed - self.notes.keys())
        lines += [f"removed = {removed}\n"] if removed else []
        for number, note in sorted(self.notes.items()):
            time, text = store.record(number).time, json.dumps(note, ensure_ascii=False)
            lines.append(f"\n[[note]]\nframe = {number}\ntime = {time}\ntext = {text}\n")
        partial = beside.with_name(f"{beside.name}.part")
        partial.write_text("".join(lines), "utf-8")
        os.replace(partial, beside)
        self.changed = False
        return beside


def list_value(values: dict[str, Any], name: str) -> list[Any]:
    """A list among values; empty where there is none."""
    found = values.get(name, [])
    return found if isinstance(found, list) else []


def file_beside(path: str) -> Path | None:
    """Where the notes on a capture are kept; None: it is no file."""
    given = Path(path)
    return given.with_name(given.name + BESIDE) if given.is_file() else None
