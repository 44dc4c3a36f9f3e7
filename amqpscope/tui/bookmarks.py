"""Frames that the user has marked, with notes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Bookmarks:
    """Marks and notes of one capture, by frame."""

    def __init__(self) -> None:
        self.notes: dict[int, str] = {}
        """Marked frames; the note is empty where there is none."""

    def sign(self, number: int) -> str:
        """How a frame is marked in the list."""
        note = self.notes.get(number)
        return " " if note is None else "»" if note else "*"

    def toggle(self, number: int) -> bool:
        """Mark a frame, or take its mark away; whether it is marked now."""
        if number in self.notes:
            del self.notes[number]
            return False
        self.notes[number] = ""
        return True

    def write(self, number: int, note: str) -> None:
        """Give a frame a note."""
        self.notes[number] = note

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
