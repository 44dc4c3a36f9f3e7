"""Every link with what holds it, since when, and who has to move; the most stuck first."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from textual.binding import Binding, BindingType

from amqpscope.report.columns import columns, cut
from amqpscope.report.stats import seconds
from amqpscope.report.text import ARROWS
from amqpscope.report.words import printable
from amqpscope.stream import PEERS
from amqpscope.tui.bounds import OVER, RESTS, STUCK, UNSURE, WAITS, Held
from amqpscope.tui.widgets.framelist import SIGNS
from amqpscope.tui.widgets.measures import Measures

LOOKS: Final = {STUCK: ("✗", "stuck"), WAITS: ("!", "waits"), UNSURE: ("?", "waits"),
                RESTS: (" ", "rests"), OVER: ("-", "over")}  # fmt: skip
FIXED: Final = 48
"""Columns of all but the name, at the least."""


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

    def show(self, held: list[Held], now: int) -> None:
        """Show how things stand now; the cursor stays with its line."""
        self.held = sorted(held, key=rank)
        self.now = now
        self.many = len({one.connection for one in held}) > 1
        self.replace([one.key for one in self.held])

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
        sign, look = LOOKS[held.bound.rank]
        if held.was_refused:
            sign, look = SIGNS["refusal"], "waits"
        style = self.style_of(f"held--{look}")
        talk = f"c{held.connection}" if self.many else ""
        room = width - FIXED
        name = printable(held.name) or "(no name)"
        if held.address and held.address != held.name:
            name = f"{printable(held.address)}  {name}"
        name = cut(f"{talk} {name}".strip(), room)
        name += " " * (room - columns(name))
        kind, lasts, move = self.said(held)
        text = f"{cut(kind, 22):22} {lasts:>7} {move}"
        return [Segment(f" {sign}  {ARROWS[held.sender]}  ", style), Segment(name),
                Segment(f" {text}", style)]  # fmt: skip

    def said(self, held: Held) -> tuple[str, str, str]:
        """What holds it, for how long, and who has to move."""
        refused = held.refused
        if refused is not None and held.was_refused:
            lasts = "" if refused.messages else lasted(self.now - refused.time)
            # Who did not get what it wants has to want something else.
            return refused.brief, lasts, PEERS[1 - refused.peer]
        bound = held.worst if held.bound.rank == OVER and held.before else held.bound
        end = held.bound.time if bound is held.before else self.now
        known = bound.time and (held.bound.rank != OVER or bound.rank <= WAITS)
        lasts = lasted(end - bound.time) if known else ""
        kind = bound.kind if bound.rank <= WAITS else held.bound.kind
        move = PEERS[bound.peer] if bound.rank <= UNSURE else ""
        return kind, lasts, move


def lasted(time: int) -> str:
    """A duration; nothing where the capture ends with what it began with."""
    return seconds(time) if time > 0 else ""


def rank(held: Held) -> tuple[int, int, int, int, str]:
    """What is stuck first, then what was refused; of what is over what was stuck; longest first."""
    over = held.bound.rank == OVER
    grave = held.bound.rank if held.bound.rank == STUCK else held.bound.rank + 1
    if held.was_refused:
        grave = STUCK + 1
    return (grave, held.worst.rank if over else 0, held.worst.time, held.connection, held.name)
