"""Messages with where each is, for how long, and how often it was delivered: one line each."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from textual.binding import Binding, BindingType

from amqpscope.insight.message_list import Listed, MessageList
from amqpscope.insight.message_states import (
    DISCARDED,
    DONE,
    EXPIRED,
    HELD,
    LOST,
    REFUSED,
    UNANSWERED,
    UNKNOWN,
    WAITING,
)
from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import columns, cut
from amqpscope.tui.widgets.framelist import AGAIN, SIGNS, shorten_middle
from amqpscope.tui.widgets.live_list import LiveList

LOOKS: Final = {
    LOST: ("✗", "lost"),
    REFUSED: (SIGNS["refusal"], "waits"),
    EXPIRED: ("!", "waits"),
    UNANSWERED: ("!", "waits"),
    WAITING: ("…", "waits"),
    HELD: ("…", "held"),
    DISCARDED: ("!", "waits"),
    UNKNOWN: ("?", "waits"),
    DONE: (" ", "done"),
}
"""Sign and style, by where a message is."""
STATE: Final = 12
FIXED: Final = 4 + STATE + 9 + 7 + 9
"""Columns of all but the address and the id."""


class MessageRows(LiveList):
    """The lines."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "message--lost", "message--waits", "message--held", "message--done", "message--again",
    }  # fmt: skip
    DEFAULT_CSS = """
    MessageRows {
        & > .message--lost { color: $text-error; text-style: bold; }
        & > .message--waits { color: $text-warning; }
        & > .message--held { color: $text-accent; }
        & > .message--done { color: $dim; }
        & > .message--again { color: $text-warning; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "To frame", show=True, tooltip="Go to the frame"),
    ]

    head = 2

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.found = MessageList()
        self.waiting = "reading ..."

    def show(self, found: MessageList) -> None:
        """Show other messages; the cursor stays with its own."""
        self.found = found
        self.replace([listed.message for listed in found.rows])

    @property
    def at(self) -> Listed | None:
        """What is at the cursor."""
        rows = self.found.rows
        return rows[self.cursor] if 0 <= self.cursor < len(rows) else None

    def rooms(self, width: int) -> tuple[int, int]:
        """The columns of the address and of the id."""
        room = max(width - FIXED, 12)
        address = min(max(room // 3, 8), 30)
        return address, room - address - 1

    def head_line(self, y: int, width: int) -> list[Segment]:
        """How many messages there are of which kind, and the names of the columns."""
        if not y:
            return [Segment(cut(f" {summary(self.found, self.progress)}", width))]
        address, id = self.rooms(width)
        text = f"    {'state':{STATE}}{'for':>8} {'tries':>6} {'latency':>8} "
        return [Segment(f"{text}{'address':{address}} {cut('message', id)}")]

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """That there are no messages."""
        return [Segment(f"  {self.waiting}")] if y == 1 else []

    def key_of(self, index: int) -> object:
        """All lines are made again when something happens."""
        return index

    def line(self, index: int, width: int) -> list[Segment]:
        """One message."""
        listed = self.found.rows[index]
        message, state = listed.message, listed.state
        sign, look = LOOKS[state]
        style = self.style_of(f"message--{look}")
        address, id = self.rooms(width)
        words = f"held by c{message.holder}" if state == HELD else state
        # What is over does not last.
        over = state in (DONE, REFUSED, DISCARDED, UNKNOWN)
        lasted = "" if over else seconds(max(self.found.time - message.since, 0))
        again = f"{AGAIN}{message.delivered}" if message.redelivered else f"{message.delivered}"
        marked = self.style_of("message--again") if message.redelivered else None
        latency = "" if message.latency is None else seconds(message.latency)
        where = shorten_middle(printable(message.address), address)
        name = shorten_middle(name_of(listed), id)
        return [
            Segment(f" {sign}  {cut(words, STATE - 1):{STATE}}{lasted:>8} ", style),
            Segment(f"{again:>6} ", marked),
            Segment(f"{latency:>8} {where}{' ' * (address - columns(where))} {name}"),
        ]


def summary(found: MessageList, progress: str) -> str:
    """How many messages there are, how much was read for that, and which of them are listed."""
    counts = ", ".join(f"{number:,} {state}" for state, number in found.counts)
    if not found.total:
        return f"messages{progress}"
    words = f"{found.total:,} messages{progress}: {counts}; {found.order}"
    if len(found.rows) < found.total:
        words += f", {len(found.rows):,} listed"
    return words


def name_of(listed: Listed) -> str:
    """What a message is called: its id, or else the frame that it was first seen in."""
    message = listed.message
    if message.id:
        return printable(message.id)
    several = f", {message.published:,} alike" if message.published > 1 else ""
    return f"(frame {message.frame}, {message.size:,} octets{several})"
