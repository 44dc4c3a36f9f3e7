"""Every link with what holds it, since when, and who is waited for; the most stuck first."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from textual.binding import Binding, BindingType

from amqpscope.insight.explanation import brief, stalled
from amqpscope.insight.stuck import standing
from amqpscope.protocols.stuck import Held
from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import columns, cut
from amqpscope.report.text import ARROWS
from amqpscope.tui.widgets.framelist import SIGNS
from amqpscope.tui.widgets.live_list import LiveList

LOOKS: Final = {
    "stuck": ("✗", "stuck"),
    "refused": (SIGNS["refusal"], "waits"),
    "given up": (SIGNS["refusal"], "waits"),
    "broken off": ("!", "waits"),
    "ended with an error": ("!", "waits"),
    "half closed": ("!", "waits"),
    "waiting": ("!", "waits"),
    "unknown": ("?", "waits"),
    "idle": (" ", "rests"),
    "over": ("-", "over"),
}
"""Sign and style, by the state of something."""
FIXED: Final = 28
"""Columns of all but the name and what holds it."""
REST: Final = 18
"""Columns of how long, and of who is waited for: free for the rest where there is neither."""
KIND: Final = 22
"""Columns of what holds it, at the least."""


class HeldList(LiveList):
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
        Binding("enter", "choose", "To frame", show=True, tooltip="Go to the frame"),
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
        """Show the state now; the cursor stays with its line."""
        self.held = held
        self.now = now
        self.many = len({one.connection for one in held}) > 1
        self.wide = max((columns(brief(one, now).kind) for one in held), default=KIND)
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
        """A line as it is now."""
        return (self.held[index], self.now)

    def line(self, index: int, width: int) -> list[Segment]:
        """One link."""
        held = self.held[index]
        sign, look = LOOKS[standing(held)]
        if look == "over" and stalled(held) is not None:
            look = "waits"
        style = self.style_of(f"held--{look}")
        talk = f"c{held.connection}" if self.many else ""
        room, wide = self.rooms(width)
        name = printable(held.name) or "(no name)"
        if held.address and held.address != held.name:
            name = f"{printable(held.address)}  {name}"
        name = cut(f"{talk} {name}".strip(), room)
        name += " " * (room - columns(name))
        found = brief(held, self.now)
        rest = f" {duration_words(found.duration):>7} {found.waits_for}"
        if rest.isspace():
            text = cut(found.kind, wide + REST)
        else:
            kind = cut(found.kind, wide)
            text = f"{kind}{' ' * (wide - columns(kind))}{rest}"
        return [Segment(f" {sign}  {ARROWS[held.sender]}  ", style), Segment(name),
                Segment(f" {text}", style)]  # fmt: skip


def duration_words(time: int) -> str:
    """A duration; nothing where the capture ends with what it began with."""
    return seconds(time) if time > 0 else ""
