"""Findings by rule and peer: a line for each kind, and below it, when it is open, its findings."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType

from amqpscope.protocols.words import printable
from amqpscope.report.columns import columns, cut
from amqpscope.tui.widgets.framelist import SIGNS
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from amqpscope.findings import Finding
    from amqpscope.tui.store import Store

FEW: Final = 5
"""Findings of a kind up to which they are shown at once."""
BATCH: Final = 50_000
"""Findings that are sorted at one time."""
ORDER: Final = ("error", "warning", "info")


class FindingGroup(NamedTuple):
    """What findings are grouped by."""

    rule: str
    severity: str
    peer: str

    @property
    def rank(self) -> tuple[int, str, str]:
        """The gravest first."""
        return ORDER.index(self.severity), self.rule, self.peer


class FindingList(VirtualList):
    """All findings of a store."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"finding--{severity}" for severity in ORDER), "finding--dim", "finding--clean",
    }  # fmt: skip
    called = "the list"
    DEFAULT_CSS = """
    FindingList {
        & > .finding--error { color: $text-error; text-style: bold; }
        & > .finding--warning { color: $text-warning; text-style: bold; }
        & > .finding--info, & > .finding--dim { color: $dim; }
        & > .finding--clean { color: $text-success; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "turn", "Open or close", show=False),
        Binding("right,l", "unfold", "Open", show=False),
        Binding("left,h", "fold", "Close, or go to what contains it", show=False),
    ]
    head = 1

    def __init__(self, store: Store, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.store = store
        self.taken = 0
        """Findings that are sorted in."""
        self.of: dict[FindingGroup, array[int]] = {}
        """The findings of each kind, by their places in the store."""
        self.names: dict[str, str] = {}
        self.kinds: list[FindingGroup] = []
        """In the order of the list."""
        self.starts: list[int] = []
        """The line of each kind."""
        self.changed: dict[FindingGroup, bool] = {}
        """Kinds that the user has opened (True) or closed."""

    def on_resize(self) -> None:
        """Show the first lines, if the cursor is in sight then too."""
        super().on_resize()
        self.call_after_refresh(self.go_up)

    def go_up(self) -> None:
        """How many lines fit was not known when the cursor was put where it is."""
        if self.cursor < self.room:
            self.scroll_to(y=0, animate=False, force=True, immediate=True)

    # -- what there is ------------------------------------------------------------------------

    def take(self) -> bool:
        """Sort in what is new; whether there was anything."""
        found = self.store.findings
        end = min(len(found), self.taken + BATCH)
        if end == self.taken:
            return False
        here = self.here
        for place in range(self.taken, end):
            kind = FindingGroup(*found.known[found.kinds[place]])
            places = self.of.get(kind)
            if places is None:
                places = self.of[kind] = array("I")
                self.names.setdefault(kind.rule, found[place].name)
            places.append(place)
        self.taken = end
        self.lay_out(here)
        return True

    def lay_out(self, here: tuple[FindingGroup, int] | None) -> None:
        """Say where each line is, with the cursor on the same one as before."""
        self.kinds = sorted(self.of, key=lambda kind: kind.rank)
        self.starts = []
        at = 0
        for kind in self.kinds:
            self.starts.append(at)
            at += 1 + (len(self.of[kind]) if self.is_open(kind) else 0)
        top = self.scroll_offset.y
        cursor = 0 if here is None else self.line_of(*here)
        self.renew(at, cursor)
        if here is not None and top <= cursor < top + self.room:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def is_open(self, kind: FindingGroup) -> bool:
        """Whether the findings of a kind are shown."""
        return self.changed.get(kind, len(self.of[kind]) <= FEW)

    def line_of(self, kind: FindingGroup, place: int) -> int:
        """Where a finding is, by its place among those of its kind; -1: the kind itself."""
        start = self.starts[self.kinds.index(kind)]
        return start + 1 + place if self.is_open(kind) else start

    def at(self, index: int) -> tuple[FindingGroup, int] | None:
        """What is at a line: a kind, and which of its findings; -1 for the kind itself."""
        if not 0 <= index < self.count:
            return None
        group = bisect_right(self.starts, index) - 1
        return self.kinds[group], index - self.starts[group] - 1

    @property
    def here(self) -> tuple[FindingGroup, int] | None:
        """What is at the cursor."""
        return self.at(self.cursor)

    @property
    def finding(self) -> Finding | None:
        """The finding at the cursor; of a kind the first one, if there is just one."""
        here = self.here
        if here is None or here[1] < 0:
            return None
        return self.store.findings[self.of[here[0]][here[1]]]

    # -- painting -----------------------------------------------------------------------------

    def head_line(self, y: int, width: int) -> list[Segment]:
        """How many there are."""
        counts = self.store.counts
        said = [f"{counts[each]:,} {each}{plural(each, counts[each])}" for each in ORDER]
        return [Segment(f" {', '.join(said)}: by rule, and by who broke it")]

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """That nothing is wrong, or that nothing was read yet."""
        if y != 1:
            return []
        if not self.store.done:
            return [Segment("  nothing found so far", self.style_of("finding--dim"))]
        return [Segment("  nothing found", self.style_of("finding--clean")),
                Segment(f" in {self.store.count:,} frames")]  # fmt: skip

    def key_of(self, index: int) -> object:
        """A kind is known by its count too."""
        here = self.at(index)
        assert here is not None
        return (here, len(self.of[here[0]]) if here[1] < 0 else 0, self.is_open(here[0]))

    def line(self, index: int, width: int) -> list[Segment]:
        """A kind, or a finding."""
        here = self.at(index)
        assert here is not None
        kind, place = here
        style = self.style_of(f"finding--{kind.severity}")
        dim = self.style_of("finding--dim")
        if place < 0:
            fold = "▾" if self.is_open(kind) else "▸"
            count = len(self.of[kind])
            who = f"the {kind.peer}, {count:,} {'time' if count == 1 else 'times'}"
            lead = f"{fold} {SIGNS[kind.severity]} {kind.rule:8} "
            name = cut(self.names[kind.rule], max(width - len(lead) - 5 - len(who), 8))
            gap = width - len(lead) - 2 - columns(name) - len(who)
            return [Segment(lead, style),
                    Segment(name), Segment(f"{'':{max(gap, 2)}}{who}", dim)]  # fmt: skip
        finding = self.store.findings[self.of[kind][place]]
        time = (finding.time - self.store.start) / 1e9
        many = len(self.store.connections) > 1
        talk = f" c{finding.connection}" if many else ""
        lead = f"    {finding.frame:>7} {time:>9.3f}{talk}  "
        return [Segment(lead, dim), Segment(cut(printable(finding.message), width - len(lead)))]

    # -- keys ---------------------------------------------------------------------------------

    def action_choose(self) -> None:
        """Open or close a kind; a finding is for the screen to follow."""
        here = self.here
        if here is not None and here[1] < 0:
            self.action_turn()
        else:
            super().action_choose()

    def action_turn(self) -> None:
        """Open or close the kind at the cursor."""
        here = self.here
        if here is not None:
            self.set_open(here[0], not self.is_open(here[0]))

    def action_unfold(self) -> None:
        """Show the findings of the kind at the cursor."""
        here = self.here
        if here is not None and here[1] < 0 and not self.is_open(here[0]):
            self.set_open(here[0], True)
        else:
            self.action_move(1)

    def action_fold(self) -> None:
        """Hide the findings of a kind, or go to their kind."""
        here = self.here
        if here is None:
            return
        if here[1] >= 0:
            self.go(self.line_of(here[0], -1))
        elif self.is_open(here[0]):
            self.set_open(here[0], False)

    def set_open(self, kind: FindingGroup, shown: bool) -> None:
        """Open or close a kind."""
        self.changed[kind] = shown
        self.lay_out((kind, -1))


def plural(severity: str, number: int) -> str:
    """`errors`, `1 error`, `info`."""
    return "" if severity == "info" or number == 1 else "s"
