"""Addresses, connections and links with their counts and times: one line each."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType

from amqpscope.insight.statistics import ConnectionNumbers, LinkNumbers, addresses
from amqpscope.protocols.words import printable, seconds, size
from amqpscope.report.columns import columns, cut
from amqpscope.report.text import ARROWS
from amqpscope.stream.types import PEERS
from amqpscope.tui.widgets.live_list import LiveList
from amqpscope.tui.widgets.plot import short

COLUMNS: Final = (
    # heading, columns
    ("count", 9), ("octets", 9), ("/s", 7), ("p50", 8), ("p99", 8), ("max", 8),
)  # fmt: skip
FIXED: Final = sum(width for _, width in COLUMNS)


class Counted(NamedTuple):
    """A line of numbers."""

    key: tuple[str, ...]
    title: str
    depth: int
    connection: ConnectionNumbers | None
    link: LinkNumbers | None
    """None for the line of a connection."""
    time: int
    """Nanoseconds over which it was counted."""

    @property
    def rate(self) -> float:
        """Deliveries per second."""
        if self.link is None or self.time <= 0:
            return 0.0
        return self.link.deliveries * 1e9 / self.time


def count_rows(connections: list[ConnectionNumbers]) -> list[Counted]:
    """All addresses, the slowest to settle first, then each connection with its links."""
    found: list[Counted] = []
    if not connections:
        return found
    time = max(each.until for each in connections) - min(each.first for each in connections)
    sums = [each for each in addresses(connections).values() if each.deliveries]
    for each in sorted(sums, key=lambda link: (-link.latency.largest, -link.deliveries)):
        key = ("address", each.sender, each.kind, each.address)
        title = printable(each.address) or "(no address)"
        found.append(Counted(key, title, 0, None, each, time))
    for numbers in connections:
        own: tuple[str, ...] = ("connection", str(numbers.number))
        title = f"connection {numbers.number}"
        lasted = numbers.until - numbers.first
        found.append(Counted(own, title, 0, numbers, None, lasted))
        for place, link in enumerate(numbers.links):
            name = printable(link.name) or printable(link.address) or "(no name)"
            if link.address and link.name and link.address != link.name:
                name = f"{printable(link.address)}  {name}"
            found.append(Counted((*own, str(place)), name, 1, numbers, link, lasted))
    return found


class CountList(LiveList):
    """The lines, in columns."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"count--title", "count--dim", "count--address"}
    DEFAULT_CSS = """
    CountList {
        & > .count--title { color: $text-primary; text-style: bold; }
        & > .count--address { color: $text-success; }
        & > .count--dim { color: $dim; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Slowest", show=True, tooltip="Go to the slowest delivery"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.counted: list[Counted] = []

    def show(self, found: list[Counted]) -> None:
        """Show other numbers; the cursor stays with its line."""
        self.counted = found
        self.replace([one.key for one in found])

    @property
    def at(self) -> Counted | None:
        """What is at the cursor."""
        return self.counted[self.cursor] if 0 <= self.cursor < len(self.counted) else None

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns."""
        room = max(width - FIXED, 10)
        name = cut(f" address or link{self.progress}", room)
        names = "".join(f"{name:>{wide}}" for name, wide in COLUMNS)
        return [Segment(f"{name:{room}}{names}")]

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """That there is nothing to count."""
        return [Segment("  no connection so far")] if y == 1 else []

    def key_of(self, index: int) -> object:
        """All lines are made again when the numbers change."""
        return index

    def line(self, index: int, width: int) -> list[Segment]:
        """One line."""
        one = self.counted[index]
        room = max(width - FIXED, 10)
        if one.link is None:
            return self.connection(one, width)
        lead = f"{'  ' * one.depth}{ARROWS[PEERS.index(one.link.sender)]} "
        title = cut(one.title, room - len(lead))
        gap = " " * (room - len(lead) - columns(title))
        link = one.link
        found = link.latency
        times = ["", "", ""]
        if found.count:
            times = [seconds(int(found.percentile(part) * 1e9)) for part in (50, 99)]
            times.append(seconds(found.largest))
        cells = [f"{link.deliveries:,}", size(link.bytes), short(one.rate), *times]
        values = "".join(
            f"{cut(cell, wide - 1):>{wide}}" for cell, (_, wide) in zip(cells, COLUMNS, strict=True)
        )
        style = self.style_of("count--address") if not one.depth else None
        return [Segment(lead, self.style_of("count--dim")), Segment(title + gap, style),
                Segment(values)]  # fmt: skip

    def connection(self, one: Counted, width: int) -> list[Segment]:
        """The line of a connection."""
        numbers = one.connection
        assert numbers is not None
        frames, octets = sum(numbers.frames), size(sum(numbers.bytes))
        lasted = seconds(numbers.until - numbers.first)
        text = (f"  {numbers.client} -> {numbers.server}  {numbers.protocol}"
                f"  {frames:,} frames, {octets} in {lasted}")  # fmt: skip
        text = cut(text, width - len(one.title))
        return [
            Segment(one.title, self.style_of("count--title")),
            Segment(text, self.style_of("count--dim")),
        ]
