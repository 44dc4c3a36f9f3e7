"""Every link with what holds it, since when, and who is waited for; the most stuck first."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from textual.binding import Binding, BindingType

from amqpscope.model.constraint import OVER, RESTS, STUCK, UNSURE, WAITS
from amqpscope.protocols.stuck import Held
from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import columns, cut
from amqpscope.report.endings import brief_words
from amqpscope.report.text import ARROWS
from amqpscope.stream.types import PEERS
from amqpscope.tui.widgets.framelist import SIGNS
from amqpscope.tui.widgets.live_list import Measures

LOOKS: Final = {STUCK: ("✗", "stuck"), WAITS: ("!", "waits"), UNSURE: ("?", "waits"),
                RESTS: (" ", "rests"), OVER: ("-", "over")}  # fmt: skip
FIXED: Final = 28
"""Columns of all but the name and what holds it."""
KIND: Final = 22
"""Columns of what holds it, at the least."""


class HeldList(Measures):
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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "To frame", show=True),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.held: list[Held] = []
        self.now = 0
        self.many = False
        """There are several connections."""
        self.wide = KIND
        """Columns that what holds them needs."""

    def show(self, held: list[Held], now: int) -> None:
        """Show how things stand now; the cursor stays with its line."""
        self.held = sorted(held, key=rank)
        self.now = now
        self.many = len({one.connection for one in held}) > 1
        self.wide = max((columns(self.said(one)[0]) for one in held), default=KIND)
        self.replace([one.key for one in self.held])

    @property
    def at(self) -> Held | None:
        """What is at the cursor."""
        return self.held[self.cursor] if 0 <= self.cursor < len(self.held) else None

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns."""
        room, kind = self.rooms(width)
        name = cut(f"link{self.progress}", room)
        return [Segment(f"    C-S  {name:{room}} {'held by':{kind}} {'for':>7} waits for")]

    def rooms(self, width: int) -> tuple[int, int]:
        """The columns of the name and of what holds it."""
        kind = max(min(self.wide, (width - FIXED) // 2), KIND)
        return max(width - FIXED - kind, 1), kind

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """That there is nothing to be held."""
        return [Segment("  no link so far")] if y == 1 else []

    def key_of(self, index: int) -> object:
        """A line as it stands now."""
        return (self.held[index], self.now)

    def line(self, index: int, width: int) -> list[Segment]:
        """One link."""
        held = self.held[index]
        sign, look = LOOKS[held.bound.rank]
        if held.bound.ending is not None and not held.bound.ending.orderly:
            sign, look = LOOKS[WAITS]
        if held.was_refused:
            sign, look = SIGNS["refusal"], "waits"
        style = self.style_of(f"held--{look}")
        talk = f"c{held.connection}" if self.many else ""
        room, wide = self.rooms(width)
        name = printable(held.name) or "(no name)"
        if held.address and held.address != held.name:
            name = f"{printable(held.address)}  {name}"
        name = cut(f"{talk} {name}".strip(), room)
        name += " " * (room - columns(name))
        kind, lasts, move = self.said(held)
        kind = cut(kind, wide)
        text = f"{kind}{' ' * (wide - columns(kind))} {lasts:>7} {move}"
        return [Segment(f" {sign}  {ARROWS[held.sender]}  ", style), Segment(name),
                Segment(f" {text}", style)]  # fmt: skip

    def said(self, held: Held) -> tuple[str, str, str]:
        """What holds it, for how long, and who is waited for; of what is over, how it ended."""
        bound, refused = held.bound, held.refused
        waits = "" if bound.waits_for is None else PEERS[bound.waits_for]
        lasts = lasted(self.now - bound.time) if bound.time else ""
        if refused is not None and held.was_refused:
            over = refused.messages or bound.ending is not None
            return refused.brief, "" if over else lasts, waits
        if bound.ending is not None:
            return brief_words(bound.ending), "", ""
        return bound.kind, lasts, waits


def lasted(time: int) -> str:
    """A duration; nothing where the capture ends with what it began with."""
    return seconds(time) if time > 0 else ""


def rank(held: Held) -> tuple[int, int, int, int, str]:
    """What is stuck first, then what was refused or broken off; of what is over what was stuck."""
    over = held.bound.ending
    grave = held.bound.rank if held.bound.rank == STUCK else held.bound.rank + 1
    if held.was_refused or (over is not None and not over.orderly):
        grave = STUCK + 1
    before = 0 if over is None else held.worst.rank
    return (grave, before, held.worst.time, held.connection, held.name)
