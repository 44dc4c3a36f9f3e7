"""The list of frames: one line each, decoded when it comes into sight."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message

from amqpscope.check.result import HINT
from amqpscope.findings import Finding
from amqpscope.protocols.words import printable
from amqpscope.report.columns import cut, wrap
from amqpscope.report.text import ARROWS, NARROW
from amqpscope.tui.colours import COLOURS
from amqpscope.tui.columns import OWN, SUMMARY, USUAL_WIDTH, Column
from amqpscope.tui.profiles import TIMES, Profile
from amqpscope.tui.row_values import NOTHING, RowAsker
from amqpscope.tui.step_cache import Row
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from amqpscope.tui.bookmarks import Bookmarks
    from amqpscope.tui.store import Store

RELATIVE, DELTA, UTC_TIME, LOCAL_TIME = TIMES
TITLES: Final = {RELATIVE: "time", DELTA: "delta", UTC_TIME: "UTC", LOCAL_TIME: "local time"}
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
NUMBERS: Final = ("frame", "time", "connection", "channel")
"""Columns whose text is at the right."""
COLOURED: Final = ("name", SUMMARY)
"""Columns that have the colour of the frame's kind."""
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
        *(f"frame--{colour}" for colour in COLOURS),
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
        & > .frame--red { color: $text-error; }
        & > .frame--yellow { color: $text-warning; }
        & > .frame--green { color: $text-success; }
        & > .frame--blue { color: $text-primary; }
        & > .frame--purple { color: $text-secondary; }
        & > .frame--pink { color: $text-accent; }
        & > .frame--grey { color: $faint; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "shift(1)", "Scroll right", show=False),
        Binding("left,h", "shift(-1)", "Scroll left", show=False),
    ]
    head = 1

    class Steered(Message):
        """The user has moved the cursor."""

    def __init__(
        self, store: Store, marks: Bookmarks, profile: Profile, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.store = store
        self.marks = marks
        self.profile = profile
        self.asker = RowAsker(store, self.redraw_soon)
        self.matches: array[int] | None = None
        """The frames that a filter lets pass; None: all."""
        self.found: array[int] | None = None
        """Those that a search has found."""
        self.invite: Callable[[], tuple[str, str]] | None = None
        """Of a proxy: where to point a client, and why that would not help now."""
        self.held: frozenset[int] = frozenset()
        """Those that a proxy holds."""
        self._widths: tuple[object, list[tuple[Column, int]]] = ((), [])
        """Widths of columns, and what they depend on: every line asks for them."""
        self.reference = 0
        """The frame that times count from; 0: the first."""
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
        known = self.asker.values(number) is not None
        return (number, found, self.marks.sign(number), self.is_found(number), held, known)

    def is_found(self, number: int) -> bool:
        """Whether a search has found a frame."""
        if self.found is None:
            return False
        place = bisect_left(self.found, number)
        return place < len(self.found) and self.found[place] == number

    def use(self, profile: Profile) -> None:
        """Look as a profile says."""
        self.profile = profile
        self.asker.choose(profile.columns, profile.colours)
        self.forget()

    def redraw_soon(self) -> None:
        """From a thread: rows are known that could not be shown yet."""
        self.call_later(self.refresh)

    def widths(self, width: int) -> list[tuple[Column, int]]:
        """The columns that are shown, and how wide each is; the summary has what is left."""
        profile, digits = self.profile, len(str(self.store.count))
        key = (width, digits, self.store.name_width, profile.times, profile.columns)
        if key == self._widths[0]:
            return self._widths[1]
        found = [
            (column, column.width or self.usual_width(column, width))
            for column in self.profile.columns
        ]
        found = [(column, room) for column, room in found if room or column.name == SUMMARY]
        left = max(0, width - 2 - len(found) + 1 - sum(room for _, room in found))
        found = [(column, room or left) for column, room in found]
        self._widths = (key, found)
        return found

    def usual_width(self, column: Column, width: int) -> int:
        """How wide a column is that nobody has sized; 0: it has no place, or what is left."""
        wide, times = width >= NARROW, self.profile.times
        longest = self.store.name_width
        day = times in (UTC_TIME, LOCAL_TIME)
        return {
            "frame": max(5, len(str(self.store.count))),
            "time": (11 if wide else 9) if not day else 15 if wide else 12,
            "connection": 3,
            "from": 3,
            "channel": 3,
            "link": 20 if wide else 10 if width >= NARROWEST else 0,
            "name": (longest if wide else NARROW_NAME) if longest > USUAL_NAME else
                    15 if wide else 11,
            SUMMARY: 0,
        }.get(column.name, USUAL_WIDTH)  # fmt: skip

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns."""
        titles = []
        for column, room in self.widths(width):
            title = OWN.get(column.name, column.name)
            if len(title) > room:
                title = title.rpartition(".")[2]
            if column.name == "time":
                title = TITLES[self.profile.times]
                if self.profile.times == RELATIVE and self.reference:
                    title = f"since {self.reference}"
            titles.append(fit_column(title, room, column.name in NUMBERS))
        return [Segment("  " + " ".join(titles))]

    def line(self, index: int, width: int) -> list[Segment]:
        """One frame."""
        number = self.number_at(index)
        row = self.store.row(number)
        values = self.asker.values(number)
        said = values or NOTHING
        colour = said.colour or (row.kind if row.kind in KINDS else "")
        kind = self.style_of(f"frame--{colour}" if colour else "")
        if self.is_found(number):
            kind += self.style_of("frame--found")
        segments = [self.sign(row), Segment(self.marks.sign(number), self.style_of("frame--mark"))]
        for column, room in self.widths(width):
            if column.field is None:
                text = self.own_text(column.name, index, row, room)
            else:
                text = "…" if values is None else said.fields.get(column.name, "")
            shown = fit_column(text, room, column.name in NUMBERS)
            painted = said.colour or column.name in COLOURED
            segments += [Segment(shown, kind if painted else None), Segment(" ")]
        return segments

    def own_text(self, name: str, index: int, row: Row, room: int) -> str:
        """What is in a column that is not of a field."""
        if name == "frame":
            return str(row.number)
        if name == "time":
            return self.time(index, row)
        if name == "connection":
            return str(row.connection)
        if name == "from":
            return ARROWS[row.sender]
        if name == "channel":
            return "" if row.channel is None else str(row.channel)
        if name == "link":
            return shorten_middle(row.place, room)
        if name == "name":
            return row.name
        words = broken_rules(row.findings) + row.text
        return (f"[{row.faults}] {words}" if row.faults else words)[self.shift :]

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """Why there is nothing to see."""
        store = self.store
        if store.error:
            text, style = f"cannot be read: {store.error}", "frame--error"
        elif self.matches is not None and store.count:
            text, style = "no frame passes the filter", "frame--info"
        elif store.done:
            notes = store.status.get("notes") or []
            why = f": {'; '.join(notes)}" if notes else f" ({HINT})"
            text = f"{store.no_amqp}{why}"
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
        moment, times = row.time, self.profile.times
        wide = self.view.width >= NARROW
        if times in (UTC_TIME, LOCAL_TIME):
            zone = UTC if times == UTC_TIME else None
            stamp = datetime.fromtimestamp(moment // 10**9, zone).strftime("%H:%M:%S")
            return f"{stamp}.{moment % 10**9:09}"[: 15 if wide else 12]
        before = self.store.record(self.reference).time if self.reference else self.store.start
        if times == DELTA:
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


def fit_column(text: str, room: int, right: bool) -> str:
    """A text in a column: cut with an ellipsis where it is too long."""
    shown = text if len(text) <= room and text.isascii() else cut(text, room) if room else ""
    gap = " " * (room - cell_len(shown))
    return gap + shown if right else shown + gap


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
