"""The list of frames: one line each, decoded when it comes into sight."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message

from amqpscope.findings import Finding
from amqpscope.protocols.words import printable
from amqpscope.report.columns import cut, wrap
from amqpscope.report.text import ARROWS, NARROW
from amqpscope.tui.step_cache import Row
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from amqpscope.tui.bookmarks import Bookmarks
    from amqpscope.tui.store import Store

RELATIVE, DELTA, ABSOLUTE = range(3)
TIMES: Final = ("time", "delta", "UTC")
SIGNS: Final = {"error": "✗", "refusal": "⊘", "warning": "!", "info": "i"}
"""How findings, and what a peer refuses, are marked; the gravest first."""
AGAIN: Final = "↻"
"""How what is delivered again is marked, where nothing is wrong with it."""
HELD: Final = "‖"
"""The mark of a frame that a proxy holds."""
KINDS: Final = (
    "malformed", "header", "empty", "open", "begin", "attach", "flow", "transfer", "disposition",
    "detach", "end", "close", "sasl",
)  # fmt: skip
SHIFT: Final = 20
USUAL_NAME: Final = 15
NARROW_NAME: Final = 16
"""Columns for names where there are long ones and little room."""
NARROWEST: Final = 70
"""Columns below which the link has no place."""


class FrameList(VirtualList):
    """The frames of a store, or those of them that a filter lets pass."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"frame--{kind}" for kind in KINDS),
        *(f"frame--{severity}" for severity in SIGNS),
        "frame--found",
        "frame--held",
        "frame--mark",
    }
    called = "the list"
    DEFAULT_CSS = """
    FrameList {
        & > .frame--malformed { color: $text-error; text-style: bold; }
        & > .frame--header, & > .frame--empty { color: $faint; }
        & > .frame--sasl { color: $dim; }
        & > .frame--open, & > .frame--begin, & > .frame--attach { color: $text-primary; }
        & > .frame--flow { color: $text-warning; }
        & > .frame--transfer { color: $text-success; }
        & > .frame--disposition { color: $text-accent; }
        & > .frame--detach, & > .frame--end, & > .frame--close { color: $text-secondary; }
        & > .frame--error { color: $text-error; text-style: bold; }
        & > .frame--refusal, & > .frame--warning { color: $text-warning; text-style: bold; }
        & > .frame--info { color: $dim; }
        & > .frame--mark { color: $text-accent; text-style: bold; }
        & > .frame--held { color: $text-accent; text-style: bold reverse; }
        & > .frame--found { text-style: underline; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "shift(1)", "Scroll right", show=False),
        Binding("left,h", "shift(-1)", "Scroll left", show=False),
    ]
    head = 1

    class Steered(Message):
        """The user has moved the cursor."""

    def __init__(self, store: Store, marks: Bookmarks, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.store = store
        self.marks = marks
        self.matches: array[int] | None = None
        """The frames that a filter lets pass; None: all."""
        self.found: array[int] | None = None
        """Those that a search has found."""
        self.invite: Callable[[], tuple[str, str]] | None = None
        """Of a proxy: where to point a client, and why that would not help now."""
        self.held: frozenset[int] = frozenset()
        """Those that a proxy holds."""
        self.times = RELATIVE
        self.shift = 0
        """Characters of the last column that are out of sight at the left."""

    # -- which frames -------------------------------------------------------------------------

    def number_at(self, index: int) -> int:
        """The number of the frame on a line; 0 if there is none."""
        if not 0 <= index < self.count:
            return 0
        return index + 1 if self.matches is None else self.matches[index]

    @property
    def number(self) -> int:
        """The frame at the cursor; 0 while there is none."""
        return self.number_at(self.cursor)

    def index_of(self, number: int) -> int:
        """The line of a frame, or of the first behind it that is shown."""
        if self.matches is None:
            return number - 1
        return min(bisect_left(self.matches, number), max(len(self.matches) - 1, 0))

    def show(self, matches: array[int] | None, number: int) -> None:
        """Show the frames that a filter lets pass, with the cursor near one of them."""
        self.matches = matches
        count = self.store.count if matches is None else len(matches)
        self.count = count
        self.renew(count, self.index_of(number) if number else 0)

    # -- lines --------------------------------------------------------------------------------

    def key_of(self, index: int) -> object:
        """A line changes with its findings, its mark, and the way it is shown."""
        number = self.number_at(index)
        found = self.store.findings.count_at(number)
        held = number in self.held
        return (number, found, self.marks.sign(number), self.is_found(number), held)

    def is_found(self, number: int) -> bool:
        """Whether a search has found a frame."""
        if self.found is None:
            return False
        place = bisect_left(self.found, number)
        return place < len(self.found) and self.found[place] == number

    def widths(self, width: int) -> tuple[int, int, int, int]:
        """Columns for number, time, link and name."""
        digits = max(5, len(str(self.store.count)))
        wide = width >= NARROW
        time = (11 if wide else 9) if self.times != ABSOLUTE else 15 if wide else 12
        link = 20 if wide else 10 if width >= NARROWEST else 0
        name = 15 if wide else 11
        longest = self.store.name_width
        if longest > USUAL_NAME:
            name = longest if wide else NARROW_NAME
        return digits, time, link, name

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns."""
        digits, time, link, name = self.widths(width)
        where = f"{'link':{link}} " if link else ""
        text = (
            f"  {'frame':>{digits}} {TIMES[self.times]:>{time}} con      ch "
            f"{where}{'name':{name}} summary"
        )
        return [Segment(text)]

    def line(self, index: int, width: int) -> list[Segment]:
        """One frame."""
        number = self.number_at(index)
        row = self.store.row(number)
        digits, time, link, name = self.widths(width)
        kind = self.style_of(f"frame--{row.kind}" if row.kind in KINDS else "")
        if self.is_found(number):
            kind += self.style_of("frame--found")
        channel = "" if row.channel is None else str(row.channel)
        place = (
            f"{number:>{digits}} {self.time(index, row):>{time}} "
            f"{row.connection:3} {ARROWS[row.sender]} {channel:>3} "
        )
        words = broken_rules(row.findings) + row.text
        if row.faults:
            words = f"[{row.faults}] {words}"
        said = row.name if cell_len(row.name) <= name else cut(row.name, name)
        return [
            self.sign(row),
            Segment(self.marks.sign(number), self.style_of("frame--mark")),
            Segment(place),
            Segment(set_cell_size(shorten_middle(row.place, link), link) + " " if link else ""),
            Segment(set_cell_size(said, name) + " ", kind),
            Segment(set_cell_size(words[self.shift :], max(0, self.left(width))), kind),
        ]

    def left(self, width: int) -> int:
        """Columns for the summary."""
        digits, time, link, name = self.widths(width)
        gone = 2 + digits + 1 + time + 1 + 3 + 1 + 3 + 1 + 3 + 1 + name + 1
        return width - gone - (link + 1 if link else 0)

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """Why there is nothing to see."""
        store = self.store
        if store.error:
            text, style = f"cannot be read: {store.error}", "frame--error"
        elif self.matches is not None and store.count:
            text, style = "no frame passes the filter", "frame--info"
        elif store.done:
            text = f"no AMQP in {store.status.get('packets', 0)} packets"
            text += " (a capture that begins later needs --decode-as PORT=PROTOCOL off port 5672)"
            style = "frame--warning"
        elif self.invite is not None:
            return self.invitation(y, width, *self.invite())
        else:
            text, style = "waiting for frames ..." if store.source.follow else "reading ...", ""
        lines = wrap(printable(text), width, "  ")
        return [Segment(lines[y - 1], self.style_of(style))] if 0 < y <= len(lines) else []

    def invitation(self, y: int, width: int, where: str, trouble: str) -> list[Segment]:
        """Where to point a client, and why that would not help now."""
        lines = [(each, "frame--info") for each in wrap(printable(where), width, "  ")]
        if trouble:
            red = wrap(printable(f"✗ {trouble}"), width, "  ", "    ")
            lines += [("", ""), *((each, "frame--error") for each in red)]
        text, style = lines[y - 1] if 0 < y <= len(lines) else ("", "")
        return [Segment(text, self.style_of(style) if style else None)]

    def sign(self, row: Row) -> Segment:
        """The mark of a frame that is held, or of the gravest finding."""
        if row.number in self.held:
            return Segment(HELD, self.style_of("frame--held"))
        for severity, sign in SIGNS.items():
            refused = severity == "refusal" and row.number in self.store.refusals
            if refused or any(found.severity == severity for found in row.findings):
                return Segment(sign, self.style_of(f"frame--{severity}"))
        if row.redelivered:
            return Segment(AGAIN, self.style_of("frame--warning"))
        return Segment(" ")

    def time(self, index: int, row: Row) -> str:
        """When a frame passed, as it is wanted."""
        moment = row.time
        wide = self.view.width >= NARROW
        if self.times == ABSOLUTE:
            stamp = datetime.fromtimestamp(moment // 10**9, UTC).strftime("%H:%M:%S")
            return f"{stamp}.{moment % 10**9:09}"[: 15 if wide else 12]
        before = self.store.start
        if self.times == DELTA:
            previous = self.number_at(index - 1)
            before = self.store.record(previous).time if previous else moment
        return f"{(moment - before) / 1e9:.{6 if wide else 4}f}"

    def steered(self) -> None:
        """A user who steers does not follow."""
        self.post_message(self.Steered())

    def action_shift(self, way: int) -> None:
        """Move the text of the last column."""
        self.shift = max(0, self.shift + way * SHIFT)
        self.forget()


def broken_rules(found: list[Finding]) -> str:
    """The rules that a frame breaks for sure."""
    rules = [one.rule for one in found if one.severity != "info" and one.certainty == "sure"]
    return f"[{' '.join(rules)}] " if rules else ""


def shorten_middle(name: str, width: int) -> str:
    """A name with its middle left out where it is too long: made-up names differ at their ends."""
    if len(name) <= width:
        return name
    half = width // 2
    return name[: width - half] + "…" + name[1 - half :]
