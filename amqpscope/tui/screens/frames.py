"""The frames: the list, and below it the fields and the octets of the one at the cursor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.timer import Timer

from amqpscope.protocols.words import escaped
from amqpscope.tui.body_export import EXPORTS, completing_step
from amqpscope.tui.fields import FieldLine, FramePicture, picture
from amqpscope.tui.profiles import FIELDS_SHARE, LIST_SHARE, TIMES, Profile
from amqpscope.tui.screens.dividers import (
    WHOLE,
    DividedView,
    percent,
    share_height,
    share_width,
)
from amqpscope.tui.store import Scan, Store
from amqpscope.tui.widgets.fieldtree import FieldTree
from amqpscope.tui.widgets.framelist import FrameList
from amqpscope.tui.widgets.hex_view import HexView
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from textual.events import Resize

TIME_WORDS = {
    "relative": "since the first frame",
    "delta": "since the frame above",
    "utc": "of day, UTC",
    "local": "of day, local time",
}
NEXT_TIMES = "Times: since the first frame, the one above, UTC, local"
PAUSE = 0.04
"""Seconds for which the cursor rests before its frame is shown in full."""
SLOW = 0.15
"""Seconds after which it is said that a frame is still being decoded."""
LARGE = 16 * 1024
"""Octets of a message from which on a thread reads its body."""
SIDE_BY_SIDE = 100
"""Columns from which on fields and octets are beside each other, eight octets a line."""
WIDEST = 140
"""Columns from which on there are sixteen."""
LOW = 14
"""Lines below which there is room for one pane only."""


class FramesView(DividedView):
    """List, tree and hex."""

    DEFAULT_CSS = """
    FramesView {
        & > #list { height: 3fr; min-height: 4; }
        & > #below { height: 2fr; min-height: 4; layout: horizontal; border-top: solid $panel; }
        & #tree { width: 1fr; }
        & #octets { width: 48; padding-left: 1; display: none; }
        &.wide #octets { display: block; }
        &.widest #octets { width: 80; }
        &.hex #octets { display: block; width: 1fr; }
        &.hex #tree { display: none; }
        &.wide.hex #octets { width: 48; }
        &.widest.hex #octets { width: 80; }
        &.wide.hex #tree { display: block; }
        &.whole-list > #below, &.low > #below { display: none; }
        &.whole-below > #list { display: none; }
        &.whole-below > #below { height: 1fr; border-top: none; display: block; }
        &.whole-tree #octets { display: none; }
        &.whole-octets #tree { display: none; }
        &.whole-octets #octets { display: block; width: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "pane(1)", "Next pane", show=True, key_display="Tab"),
        Binding("shift+tab", "pane(-1)", "Previous pane", show=False),
        Binding("backslash", "whole", "Maximize", show=True, tooltip=WHOLE),
        Binding("t", "times", "Time", show=True, tooltip=NEXT_TIMES),
        Binding("ctrl+t", "reference", "Count times from this frame, or the first", show=False),
        Binding("b", "body", "Body", show=True, tooltip="Body of the message"),
        Binding("e", "ask_for('body')", "Export the body of this message", show=False),
        Binding("E", "ask_for('bodies')", "Export the bodies of all frames shown", show=False),
        Binding("v", "ask_for('columns')", "Columns: choose, order and size them", show=False),
        Binding("V", "ask_for('colours')", "Colours of frames, by filters", show=False),
        Binding("plus", "grow(5)", "Larger list (or drag the line)", show=False),
        Binding("minus", "grow(-5)", "Smaller list", show=False),
        Binding("greater_than_sign", "widen(5)", "Wider fields", show=False),
        Binding("less_than_sign", "widen(-5)", "Wider octets", show=False),
    ]

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.waiting: Timer | None = None
        self.shown = (0, 0)
        """The frame whose fields are shown, and how many findings it had then."""
        self.pending = 0
        """The frame that a thread decodes; 0: none."""
        self.body_wanted = 0
        """The frame whose body is to be shown as soon as it is decoded; 0: none."""
        self.findings = 0
        self.aim = 0
        """The frame that was selected when a filter came, until the filter has reached it."""
        self.turns = 0

    def compose(self) -> ComposeResult:
        """The three panes."""
        yield FrameList(self.store, self.scope.marks, self.scope.profile, id="list")
        with Container(id="below"):
            yield FieldTree(id="tree")
            yield HexView(id="octets")

    @property
    def frames(self) -> FrameList:
        """The list."""
        return self.query_one("#list", FrameList)

    @property
    def fields(self) -> FieldTree:
        """The fields."""
        return self.query_one("#tree", FieldTree)

    @property
    def octets(self) -> HexView:
        """The octets."""
        return self.query_one("#octets", HexView)

    def on_resize(self, event: Resize) -> None:
        """Two panes beside each other, or one of them."""
        self.set_class(event.size.width >= SIDE_BY_SIDE, "wide")
        self.set_class(event.size.width >= WIDEST, "widest")
        self.set_class(event.size.height < LOW, "low")

    # -- sizes --------------------------------------------------------------------------------

    def apply(self, profile: Profile) -> None:
        """Look as a profile says."""
        self.frames.use(profile)
        share_height(self.frames, self.query_one("#below"), profile.list_share)
        if profile.fields_share:
            share_width(self.fields, self.octets, profile.fields_share)

    def divider_at(self, x: int, y: int) -> str:
        """The line above the fields, or the column before the octets."""
        below, octets = self.query_one("#below"), self.octets
        if below.display and y == below.region.y:
            return "list"
        beside = octets.display and self.fields.display and below.region.contains(x, y)
        return "fields" if beside and x == octets.region.x else ""

    def move_divider(self, name: str, x: int, y: int) -> None:
        """Size the list, or the fields."""
        profile, area = self.scope.profile, self.region
        if name == "list":
            profile.list_share = percent(y, area.y, area.height, LIST_SHARE[1:])
        else:
            profile.fields_share = percent(x, area.x, area.width, FIELDS_SHARE[1:])
        self.apply(profile)

    def dropped(self) -> None:
        """Keep the sizes."""
        self.scope.looks.change()

    def action_grow(self, more: int) -> None:
        """Give the list more or less of the height."""
        profile = self.scope.profile
        profile.list_share = percent(profile.list_share + more, 0, 100, LIST_SHARE[1:])
        self.scope.looks.change()

    def action_widen(self, more: int) -> None:
        """Give the fields more or less of the width."""
        profile = self.scope.profile
        now = percent(self.octets.region.x, self.region.x, self.region.width, FIELDS_SHARE[1:])
        share = profile.fields_share or now
        profile.fields_share = percent(share + more, 0, 100, FIELDS_SHARE[1:])
        self.scope.looks.change()

    # -- what the application reports ---------------------------------------------------------

    def entered(self) -> None:
        """Keys go to the list."""
        self.frames.focus()

    def selected(self, number: int) -> None:
        """Put the cursor on a frame, and show it in full soon."""
        frames = self.frames
        if number and number != frames.number:
            frames.go(frames.index_of(number), center=True)
        if self.waiting is None:
            self.waiting = self.set_timer(PAUSE, self.detail)

    def updated(self) -> None:
        """More frames, or findings about those that are shown."""
        frames = self.frames
        if frames.matches is None:
            if not self.scope.paused:
                frames.set_count(self.store.count)
        else:
            frames.set_count(len(frames.matches))
        if self.scope.following and not self.scope.paused:
            frames.go(frames.count - 1)
        if len(self.store.findings) != self.findings:
            self.findings = len(self.store.findings)
            frames.refresh()
        elif not frames.count:
            frames.refresh()
        number, known = self.shown
        if number and self.store.findings.count_at(number) != known:
            self.detail()

    def show_matches(self, scan: Scan) -> None:
        """Show what a filter has found so far, with the cursor as near as can be to where it was.

        What was selected may be hidden by the filter: then the next one shown is selected.
        """
        frames = self.frames
        if frames.matches is not scan.matches:
            self.aim, self.turns = self.scope.frame, scan.turns
            frames.show(scan.matches, self.aim)
        elif scan.turns != self.turns:
            self.turns = scan.turns
            frames.show(scan.matches, self.aim or self.scope.frame)
        frames.set_count(len(scan.matches))
        if self.aim:
            frames.go(frames.index_of(self.aim), center=True)
            if scan.seen >= min(self.aim, self.store.count):
                self.aim = 0
                self.scope.select(frames.number)

    def detail(self) -> None:
        """Show the frame at the cursor in full."""
        self.waiting = None
        number = self.frames.number
        if not number:
            self.fields.show(None)
            self.octets.show(None)
            self.shown = (0, 0)
            return
        known = self.store.findings.count_at(number)
        if self.shown == (number, known):
            return
        self.shown = (number, known)
        if self.store.is_replayed(number) or self.has_large_message(number):
            # It may take a while, and the next may be wanted before it is there.
            self.pending = number
            self.set_timer(SLOW, partial(self.announce, number))
            self.run_worker(partial(self.fetch, number), thread=True, group="detail")
        else:
            self.paint(self.picture_of(number))

    def show_again(self) -> None:
        """Show the frame at the cursor again: there is something new about it."""
        self.shown = (0, 0)
        self.detail()

    def has_large_message(self, number: int) -> bool:
        """Whether a frame completes a message whose body takes a while to read."""
        return len(self.store.step(number).event.message or b"") > LARGE

    def announce(self, number: int) -> None:
        """Say that a frame is still being decoded, if it is wanted still."""
        if self.pending == number == self.frames.number:
            waiting = FramePicture(
                number, [FieldLine(f"decoding frame {number:,} ...", "info")], []
            )
            self.fields.show(waiting)
            self.octets.show(None)

    def fetch(self, number: int) -> None:
        """In a thread: make what is to be seen of a frame."""
        self.call_later(self.paint, self.picture_of(number))

    def picture_of(self, number: int) -> FramePicture:
        """What is to be seen of a frame."""
        found = picture(self.store.step(number), show_secrets=self.store.source.show_secrets)
        note = self.scope.marks.notes.get(number)
        if note:
            found.fields.insert(1, FieldLine(f"» {escaped(note)}", "note"))
        return found

    def paint(self, found: FramePicture) -> None:
        """Show it, unless another is wanted by now."""
        if found.number != self.frames.number:
            return
        self.pending = 0
        self.fields.show(found)
        self.octets.show(found)
        if self.body_wanted == found.number:
            self.body_wanted = 0
            self.fields.go_to_body()
        if self.fields.field is not None:
            self.mark(self.fields.field)

    def mark(self, field: FieldLine) -> None:
        """Mark the octets of a field; not those of the whole, which would say nothing."""
        if field.style == "title" and not field.children:
            self.octets.mark(0, 0, 0)
        elif field.part >= 0:
            self.octets.mark(field.part, field.start, field.end)

    def copied(self) -> str:
        """The field at the cursor, or its octets."""
        if self.fields.has_focus and self.fields.field is not None:
            return self.fields.field.text
        if self.octets.has_focus:
            start, end = self.octets.span
            part = self.octets.octets
            if any(start < last and first < end for first, last in part.covered):
                return ""
            return part.data[start:end].hex()
        return ""

    # -- what the panes report ----------------------------------------------------------------

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """The cursor of the list is on another frame."""
        if event.rows is self.frames:
            self.scope.select(self.frames.number)

    def on_frame_list_steered(self) -> None:
        """A user who moves in the list wants to stay there."""
        self.aim = 0
        if self.scope.following:
            self.scope.following = False
            self.scope.bars()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter in the list goes to the fields."""
        if event.rows is self.frames:
            self.focus_pane(self.fields)

    def on_field_tree_marked(self, event: FieldTree.Marked) -> None:
        """Mark the octets of a field."""
        self.mark(event.field)

    def on_field_tree_follow(self, event: FieldTree.Follow) -> None:
        """Go to the frame that a line points to."""
        self.scope.visit(event.number)

    def on_hex_view_pointed(self, event: HexView.Pointed) -> None:
        """Mark the field of an octet."""
        self.fields.select(event.part, event.offset)
        field = self.fields.field
        if field is not None and field.part == event.part:
            self.octets.mark(field.part, field.start, field.end)

    # -- keys ---------------------------------------------------------------------------------

    def action_pane(self, way: int) -> None:
        """Go to the next pane."""
        panes: list[VirtualList] = [self.frames, self.fields, self.octets]
        here = next((at for at, pane in enumerate(panes) if pane.has_focus), 0)
        self.focus_pane(panes[(here + way) % len(panes)])

    def focus_pane(self, pane: VirtualList) -> None:
        """Keys go to a pane, which comes into sight if it was not."""
        self.set_class(pane is self.octets, "hex")
        whole = self.has_class("whole-list") or self.has_class("whole-below")
        self.show_whole(pane if whole or self.has_class("low") else None)
        self.call_after_refresh(pane.focus)

    def action_whole(self) -> None:
        """Give a pane all the room, or take it back."""
        whole = self.has_class("whole-list") or self.has_class("whole-below")
        panes: list[VirtualList] = [self.frames, self.fields, self.octets]
        pane = next((pane for pane in panes if pane.has_focus), self.frames)
        self.show_whole(None if whole else pane)
        self.call_after_refresh(pane.focus)

    def show_whole(self, pane: VirtualList | None) -> None:
        """Give a pane all the room; None: to all of them."""
        self.set_class(pane is self.frames, "whole-list")
        self.set_class(pane is self.fields or pane is self.octets, "whole-below")
        self.set_class(pane is self.fields, "whole-tree")
        self.set_class(pane is self.octets, "whole-octets")

    def action_body(self) -> None:
        """Show the body of the message that the frame is part of."""
        number = self.frames.number
        if number and self.shown[0] == number and not self.pending and self.fields.go_to_body():
            self.focus_pane(self.fields)
        elif number:
            self.run_worker(partial(self.find_body, number), thread=True, group="body")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Where a proxy holds frames, their keys come before those of bodies."""
        bodies = action == "ask_for" and parameters[0] in EXPORTS
        return not (bodies and self.is_attached and self.scope.holds_frames)

    def action_ask_for(self, kind: str) -> None:
        """Ask where to write bodies, for columns, or for colours."""
        self.scope.asking.ask(kind)

    def find_body(self, number: int) -> None:
        """In a thread: find the frame that completes a message."""
        step = completing_step(self.store, number)
        self.call_later(self.visit_body, number, 0 if step is None else step.frame.number)

    def visit_body(self, number: int, last: int) -> None:
        """Go to the frame that completes a message, at its body."""
        if not last or (last == number and not self.pending):
            self.scope.announce(f"frame {number} is not part of a message with a body")
            return
        self.body_wanted = last
        if last != number:
            self.scope.visit(last)
        self.focus_pane(self.fields)

    def action_times(self) -> None:
        """Show times since the start, since the frame before, or of the day."""
        scope = self.scope
        profile = scope.profile
        profile.times = TIMES[(TIMES.index(profile.times) + 1) % len(TIMES)]
        scope.looks.change()
        scope.announce(f"times {TIME_WORDS[profile.times]}")

    def action_reference(self) -> None:
        """Count times from the selected frame, or from the first again."""
        frames = self.frames
        frames.reference = 0 if frames.reference == frames.number else frames.number
        frames.forget()
        since = f"frame {frames.reference}" if frames.reference else "the first frame"
        self.scope.announce(f"times count from {since}")
