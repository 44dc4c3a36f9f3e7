"""The state of connections as a tree with a column for each peer; what a frame changed is marked.

connection 1      client-1 -> broker  open
  session 0/0     channel of client/server, 1 link
●   may send      9 transfers (was 10)      2048 transfers
"""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message

from amqpscope.protocols.state import StateRow
from amqpscope.protocols.words import seconds
from amqpscope.report.columns import columns, cut, wrap
from amqpscope.tui.widgets.virtual_list import VirtualList

LABEL: Final = 27
"""Columns of marks, indents and labels."""
FEW: Final = 2
"""Links of a session up to which all are open, while none of them changes."""
CHANGED: Final = "●"
NEW: Final = "+"
GONE: Final = "-"
SHUT: Final = frozenset(("open", "product"))
"""Lines that are closed until somebody opens them."""


class VisibleNode(NamedTuple):
    """One line in sight."""

    path: tuple[str, ...]
    node: StateRow
    mark: str
    """What the frame did to it: nothing, CHANGED, NEW or GONE."""
    was: StateRow | None
    opened: bool
    text: str = ""
    """What binds it, as far as that has room in the line."""
    more: bool = False
    """It goes on with what the line before says."""


class StateTree(VirtualList):
    """Lines that can be opened and closed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "state--title", "state--held", "state--label", "state--mark", "state--gone", "state--was",
    }  # fmt: skip
    called = "the tree"
    DEFAULT_CSS = """
    StateTree {
        & > .state--title { color: $text-primary; text-style: bold; }
        & > .state--held { color: $text-warning; }
        & > .state--label { color: $dim; }
        & > .state--mark { color: $text-accent; text-style: bold; }
        & > .state--gone { color: $faint; text-style: strike; }
        & > .state--was { color: $text-accent; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "turn", "Open or close", show=False),
        Binding("right,l", "unfold", "Open", show=False),
        Binding("left,h", "fold", "Close, or go to what contains it", show=False),
    ]
    head = 1

    class Follow(Message):
        """A line that is about a frame was opened."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Wanted(Message):
        """A line that stands for something not known yet was opened."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.heading = ""
        self.roots: list[StateRow] = []
        self.before: list[StateRow] = []
        self.now = 0
        self.start = 0
        """From when times are counted."""
        self.flat: list[VisibleNode] = []
        self.changed: dict[tuple[str, ...], bool] = {}
        """Lines that the user has opened or closed."""

    def show(self, roots: list[StateRow], before: list[StateRow], now: int, heading: str) -> None:
        """Show another instant, with the cursor where something has changed, else as it was."""
        path, first = self.path, not self.flat
        top = self.scroll_offset.y
        self.roots, self.before, self.now, self.heading = roots, before, now, heading
        self._flatten()
        kept = self.place_of(path)
        change = next((at for at, line in enumerate(self.flat) if line.mark), None)
        self.renew(len(self.flat), kept if kept is not None else change or 0)
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        if change is not None and not self.in_sight(change):
            self.go(change, center=True)
        else:
            self._reveal()
        if first:
            self.call_after_refresh(self.go_up)

    def go_up(self) -> None:
        """Show the first lines, if the cursor is in sight then too."""
        if self.cursor < self.room:
            self.scroll_to(y=0, animate=False, force=True, immediate=True)

    def in_sight(self, index: int) -> bool:
        """Whether a line is on the screen."""
        top = self.scroll_offset.y
        return top <= index < top + self.room

    @property
    def path(self) -> tuple[str, ...]:
        """What the line at the cursor is known by."""
        return self.flat[self.cursor].path if 0 <= self.cursor < len(self.flat) else ()

    def place_of(self, path: tuple[str, ...]) -> int | None:
        """Where a line is now."""
        return next((at for at, line in enumerate(self.flat) if line.path == path), None)

    def on_resize(self) -> None:
        """Break lines again."""
        path = self.path
        self._flatten()
        self.renew(len(self.flat), self.place_of(path) or 0)
        # How many lines fit was not known when the cursor was put where it is.
        self.call_after_refresh(self.go_up)

    # -- which lines there are ----------------------------------------------------------------

    def _flatten(self) -> None:
        self.flat = []
        known = {node.key: node for node in self.before}
        for node in self.roots:
            # Of a connection that nothing was asked of there is no earlier instant to compare.
            self._add(node, known.get(node.key, node), (), True)

    def _add(self, node: StateRow, was: StateRow | None, above: tuple[str, ...], few: bool) -> None:
        path = (*above, node.key)
        mark = NEW if was is None else CHANGED if was.words != node.words else ""
        inside = was is None or differs(node, was)
        closed = self.changed.get(path)
        opened = bool(node.children) and (
            not closed if closed is not None else self.opens_itself(node, few, inside)
        )
        if inside and not opened and not mark:
            mark = CHANGED
        self.flat += self.wrap_line(VisibleNode(path, node, mark, was, opened))
        if opened:
            self._below(node, was, path)

    def _below(self, node: StateRow, was: StateRow | None, path: tuple[str, ...]) -> None:
        known = {} if was is None else {child.key: child for child in was.children}
        titles = [child for child in node.children if child.style == "title"]
        # What has changed should be in sight: it alone is open then.
        few = len(titles) <= FEW and not any(differs(each, known.get(each.key)) for each in titles)
        for child in node.children:
            self._add(child, known.get(child.key) if was is not None else child, path, few)
        here = {child.key for child in node.children}
        for key, child in known.items():
            if key not in here:
                self.flat.append(VisibleNode((*path, key), child, GONE, child, False))

    def opens_itself(self, node: StateRow, few: bool, inside: bool) -> bool:
        """Whether a line is open of itself: titles, if they are few or something changed."""
        if node.style == "title":
            return few or inside
        return node.key not in SHUT and inside

    def wrap_line(self, line: VisibleNode) -> list[VisibleNode]:
        """A line, and what it goes on with."""
        node = line.node
        if node.style not in ("held", "ended"):
            return [line]
        # Two columns less: whether there will be a scrollbar is not known yet.
        texts = wrap(self.held_words(node), max(self.size.width - 2 - LABEL, LABEL))
        return [line._replace(text=text, more=at > 0) for at, text in enumerate(texts)]

    def held_words(self, node: StateRow) -> str:
        """What binds something, and since when; or how it ended."""
        if node.style == "ended":
            who, _, rest = node.client.partition(";")
            return f"{who} at {(node.since - self.start) / 1e9:.3f} s{rest}"
        since = f" since frame {node.frame}" if node.frame else ""
        if node.since and self.now > node.since:
            since = f" for {seconds(self.now - node.since)},{since}"
        kind, semicolon, rest = node.client.partition(";")
        return f"{kind}{since}{semicolon}{rest}"

    # -- painting -----------------------------------------------------------------------------

    def head_line(self, y: int, width: int) -> list[Segment]:
        """As of which frame, and the peers' columns."""
        side = (width - LABEL) // 2
        text = f"{cut(self.heading, LABEL - 1):{LABEL}}{'client':{side}}server"
        return [Segment(text)]

    def key_of(self, index: int) -> object:
        """A line is itself as it is now."""
        line = self.flat[index]
        return (index, line.path, line.node.words, line.mark, line.opened, line.text, self.now)

    def line(self, index: int, width: int) -> list[Segment]:
        """One line."""
        line = self.flat[index]
        node, depth = line.node, len(line.path) - 1
        fold = " " if not node.children else "▾" if line.opened else "▸"
        mark = Segment(f"{'' if line.more else line.mark:2}", self.style_of("state--mark"))
        if line.more:
            return [mark, Segment(f"{'':{LABEL - 2}}{line.text}", self.style_of("state--held"))]
        lead = f"{'  ' * depth}{fold} "
        name = "state--title" if node.style == "title" else "state--label"
        if line.mark == GONE:
            return [mark, Segment(lead), Segment(f"{node.label}  {node.client}",
                                                 self.style_of("state--gone"))]  # fmt: skip
        room = LABEL - 2 - columns(lead)
        if node.server is None:
            return [mark, Segment(lead), *self.spanning(line, room, name)]
        label = Segment(pad(node.label, room), self.style_of(name))
        side = (width - LABEL) // 2
        was = line.was if line.mark == CHANGED else None
        before = (None, None) if was is None else (was.client, was.server)
        values = self.value(node.client, before[0], side)
        values += self.value(node.server, before[1], width - LABEL - side)
        return [mark, Segment(lead), label, *values]

    def spanning(self, line: VisibleNode, room: int, name: str) -> list[Segment]:
        """A label and one text for both peers."""
        node = line.node
        label, text = node.label, node.client
        if columns(label) >= room and node.style == "title":
            label = f"{label}  "
        else:
            label = pad(label, room)
        style = self.style_of(name)
        if node.style in ("held", "ended"):
            return [Segment(label, style), Segment(line.text, self.style_of("state--held"))]
        was = line.was if line.mark == CHANGED and node.style != "title" else None
        if was is not None and was.client != text:
            before = Segment(f"  (was {was.client})", self.style_of("state--was"))
            return [Segment(label, style), Segment(text), before]
        return [Segment(label, style), Segment(text)]

    def value(self, now: str, was: str | None, width: int) -> list[Segment]:
        """A peer's value, with what it was before if there is room."""
        if was is None or was == now:
            return [Segment(pad(now, width))]
        said = f" (was {was})"
        style = self.style_of("state--was")
        room = width - 1 - columns(now)
        if columns(said) > room:
            return [Segment(pad(now, width), style)]
        return [Segment(now, style), Segment(pad(said, width - columns(now)), style)]

    # -- keys ---------------------------------------------------------------------------------

    @property
    def at(self) -> VisibleNode | None:
        """The line at the cursor."""
        return self.flat[self.cursor] if 0 <= self.cursor < len(self.flat) else None

    def action_choose(self) -> None:
        """Go to the frame that a line is about, or open or close it."""
        line = self.at
        if line is None:
            return
        if line.node.frame and line.node.style != "title":
            self.post_message(self.Follow(line.node.frame))
        elif not line.node.children:
            self.post_message(self.Wanted(line.node.key))
        else:
            self.action_turn()

    def action_turn(self) -> None:
        """Open or close the line at the cursor."""
        line = self.at
        if line is not None and line.node.children:
            self.set_closed(line, line.opened)

    def action_unfold(self) -> None:
        """Show what is below the line."""
        line = self.at
        if line is not None and line.node.children and not line.opened:
            self.set_closed(line, False)
        else:
            self.action_move(1)

    def action_fold(self) -> None:
        """Hide what is below the line, or go to the line that it is below of."""
        line = self.at
        if line is None:
            return
        if line.opened:
            self.set_closed(line, True)
        else:
            place = self.place_of(line.path[:-1])
            if place is not None:
                self.go(place)

    def set_closed(self, line: VisibleNode, closed: bool) -> None:
        """Open or close a line, here and at other instants."""
        self.changed[line.path] = closed
        top = self.scroll_offset.y
        self._flatten()
        self.renew(len(self.flat), self.place_of(line.path) or 0)
        self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def open_all(self) -> None:
        """Open everything, or let lines be as they are of themselves."""
        if self.changed:
            self.changed.clear()
        else:
            for root in self.roots:
                self._open(root, ())
        path = self.path
        self._flatten()
        self.renew(len(self.flat), self.place_of(path) or 0)

    def _open(self, node: StateRow, above: tuple[str, ...]) -> None:
        path = (*above, node.key)
        if node.children:
            self.changed[path] = False
            for child in node.children:
                self._open(child, path)


def differs(node: StateRow, was: StateRow | None) -> bool:
    """Whether something below a line has changed."""
    return was is None or (was is not node and was.children != node.children)


def pad(text: str, width: int) -> str:
    """A text in a column, with at least one space behind it."""
    text = cut(text, max(width - 1, 1))
    return text + " " * (width - columns(text))
