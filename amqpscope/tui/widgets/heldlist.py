"""Every link with what holds it, since when, and who has to move; the most stuck first."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment

from amqpscope.report.columns import columns, cut
from amqpscope.report.stats import seconds
from amqpscope.report.text import ARROWS
from amqpscope.report.words import printable
from amqpscope.stream import PEERS
from amqpscope.tui.holding import OVER, RESTS, STUCK, UNSURE, WAITS, Held
from amqpscope.tui.widgets.rows import Rows

LOOKS: Final = {STUCK: ("✗", "stuck"), WAITS: ("!", "waits"), UNSURE: ("?", "waits"),
                RESTS: (" ", "rests"), OVER: ("-", "over")}  # fmt: skip
FIXED: Final = 48
"""Columns of all but the name, at the least."""


class HeldList(Rows):
    """Lines of what is held."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "held--stuck", "held--waits", "held--rests", "held--over",
    }  # fmt: skip
    DEFAULT_CSS = """
    HeldList {
        & > .held--stuck { color: $text-error; text-style: bold; }
        & > .held--waits { color: $text-warning; }
        & > .held--rests { color: $text-success; }
        & > .held--over { color: $dim; }
    }
    """
    head = 1

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.held: list[Held] = []
        self.now = 0
        self.many = False
        """There are several connections."""
        self.progress = ""
        self.moved = False
        """The user has chosen a line; until then the cursor is on the first."""

    def steered(self) -> None:
        """The cursor stays with the line that the user has chosen."""
        self.moved = True

    def show(self, held: list[Held], now: int) -> None:
        """Show how things stand now; the cursor stays with its line."""
        here = self.at if self.moved else None
        known = None if here is None else here.key
        self.held = sorted(held, key=rank)
        self.now = now
        self.many = len({one.connection for one in held}) > 1
        cursor = next((at for at, one in enumerate(self.held) if one.key == known), 0)
        if len(self.held) == self.count and cursor == self.cursor:
            self.forget()
        else:
            self.renew(len(self.held), cursor)

    @property
    def at(self) -> Held | None:
        """What is at the cursor."""
        return self.held[self.cursor] if 0 <= self.cursor < len(self.held) else None

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns."""
        room = width - FIXED
        name = cut(f"link{self.progress}", room)
        return [Segment(f"    C-S  {name:{room}} {'held by':22} {'for':>7} to move")]

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """That there is nothing to be held."""
        return [Segment("  no link so far")] if y == 1 else []

    def key_of(self, index: int) -> object:
        """A line as it stands now."""
        return (self.held[index], self.now)

    def line(self, index: int, width: int) -> list[Segment]:
        """One link."""
        held = self.held[index]
        bound = held.worst if held.bound.rank == OVER and held.before else held.bound
        sign, look = LOOKS[held.bound.rank]
        style = self.style_of(f"held--{look}")
        talk = f"c{held.connection}" if self.many else ""
        room = width - FIXED
        name = printable(held.name) or "(no name)"
        if held.address and held.address != held.name:
            name = f"{printable(held.address)}  {name}"
        name = cut(f"{talk} {name}".strip(), room)
        name += " " * (room - columns(name))
        end = held.bound.time if bound is held.before else self.now
        known = bound.time and (held.bound.rank != OVER or bound.rank <= WAITS)
        lasts = seconds(max(end - bound.time, 0)) if known else ""
        kind = bound.kind if bound.rank <= WAITS else held.bound.kind
        move = PEERS[bound.peer] if bound.rank <= UNSURE or held.bound.rank != OVER else ""
        text = f"{cut(kind, 22):22} {lasts:>7} {move}"
        return [Segment(f" {sign}  {ARROWS[held.sender]}  ", style), Segment(name),
                Segment(f" {text}", style)]  # fmt: skip


def rank(held: Held) -> tuple[int, int, int, int, str]:
    """What is stuck before what was, the longest first."""
    over = held.bound.rank == OVER
    return (held.bound.rank, held.worst.rank if over else 0, held.worst.time, held.connection,
            held.name)  # fmt: skip
