"""The frames that a proxy holds: one line each, with who gives up on them when."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import set_cell_size
from rich.segment import Segment
from textual.binding import Binding, BindingType

from amqpscope.protocols.words import size
from amqpscope.report.text import ARROWS
from amqpscope.stream.types import PEERS
from amqpscope.tui.interception import Table, deadline_words
from amqpscope.tui.widgets.framelist import HELD
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from amqpscope.tui.interception import Interception

MOST: Final = 5
"""Lines that are in sight at a time."""
WIDE: Final = 110
"""Columns from which on it is said why somebody gives up."""
# fmt: off
DECISIONS: Final = (
    # key, action,             what it does,                                         in a word
    ("a", "resume",            "Resume: pass the held frame on",                     "resume"),
    ("A", "resume_all",        "Resume all that is held",                            "all"),
    ("e", "edit_held",         "Edit the held frame here",                           "edit"),
    ("E", "edit_outside",      "Edit the held frame in $EDITOR",                     "$EDITOR"),
    ("d", "decide('drop')",    "Drop the held frame",                                "drop"),
    ("D", "decide('duplicate')", "Duplicate: pass the held frame on twice",          "twice"),
    ("x", "ask('act')",        "Act on the held frame: any action of a fault",       "act"),
    ("X", "decide('disconnect')", "Disconnect: end the held frame's connection",     "disconnect"),
)
# fmt: on


class HeldFrames(VirtualList):
    """What is held; out of sight while that is nothing."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "held--sign", "held--key", "held--warning", "held--error", "held--muted",
    }  # fmt: skip
    called = "the held frames"
    DEFAULT_CSS = """
    HeldFrames {
        height: 2; display: none; border-top: solid $accent;
        & > .held--sign { color: $text-accent; text-style: bold; }
        & > .held--key { color: $text-warning; text-style: bold; }
        & > .held--warning { color: $text-warning; text-style: bold; }
        & > .held--error { color: $text-error; text-style: bold; }
        & > .held--muted { color: $dim; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"app.{action}", text, show=False) for key, action, text, _ in DECISIONS),
    ]
    head = 1

    def __init__(self, interception: Interception, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.interception = interception
        self.number = 0
        """What the cursor is on; 0: nothing."""

    @property
    def selected(self) -> Table | None:
        """The frame at the cursor."""
        held = self.interception.held
        return held[self.cursor] if self.cursor < len(held) else None

    def update(self) -> None:
        """Show what is held now, with the cursor where it was."""
        held = self.interception.held
        numbers = [each["number"] for each in held]
        if self.number not in numbers:
            # The next of those that were decided on in order.
            later = [number for number in numbers if number > self.number]
            self.number = (later or numbers or [0])[0]
        at = numbers.index(self.number) if self.number else 0
        if self.count != len(held):
            self.display = bool(held)
            self.styles.height = min(len(held), MOST) + self.head + 1
            self.renew(len(held), at)
        elif at != self.cursor:
            self.go(at)
        self.forget()

    def go(self, index: int, *, center: bool = False) -> None:
        """Put the cursor on a line."""
        super().go(index, center=center)
        if self.selected is not None:
            self.number = self.selected["number"]

    def point_at(self, frame: int) -> None:
        """Put the cursor on a frame of the capture, if it is held."""
        for at, each in enumerate(self.interception.held):
            if self.interception.frames.get(each["number"]) == frame and at != self.cursor:
                self.go(at)

    def head_line(self, y: int, width: int) -> list[Segment]:
        """How many there are, and what can be done."""
        line = [Segment(f"{HELD} {self.count} held ", self.style_of("held--sign"))]
        for key, _, _, word in DECISIONS:
            line += [Segment(f" {key}", self.style_of("held--key")), Segment(f" {word}")]
        return line

    def line(self, index: int, width: int) -> list[Segment]:
        """One frame."""
        held = self.interception.held[index]
        frame = self.interception.frames.get(held["number"], 0)
        arrow = ARROWS[PEERS.index(held["from"])]
        # As the list has it, where what each peer sees is a connection of its own.
        connection = self.interception.store.record(frame).connection if frame else ""
        place = f" {frame or '':>6} {connection:3} {arrow} "
        words, urgency = deadline_words(held, full=width >= WIDE)
        behind = f" +{size(held['behind'])}" if held["behind"] else ""
        return [
            Segment(f"{HELD}{held['number']:<3}", self.style_of("held--sign")),
            Segment(place + set_cell_size(held["name"], 19 if width >= WIDE else 15)),
            Segment(f" {held['seconds']:6.1f} s{behind} "),
            Segment(f" {words} " if words else "", self.style_of(f"held--{urgency or 'muted'}")),
            Segment(f" {held['summary']}", self.style_of("held--muted")),
        ]
