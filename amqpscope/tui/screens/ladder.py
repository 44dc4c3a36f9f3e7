"""The ladder of the selected frame's connection: who sent what to whom, and what became of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from amqpscope.insight.ladder import Arrow, Fold, row_text
from amqpscope.tui.ladder_worker import Drawing, LadderRequest, LadderWorker, file_text, neighbours
from amqpscope.tui.prompts import LADDER
from amqpscope.tui.replay import PieceIndex
from amqpscope.tui.screens.stepping import STEPPING, SteppingView
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.ladderrows import LadderRows
from amqpscope.tui.widgets.virtual_list import VirtualList
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from textual.events import Resize

TICK: Final = 0.2
SEVERAL: Final = 4
"""Connections that are drawn side by side at most."""
KINDS: Final = {"txt": "text", "mmd": "Mermaid", "svg": "SVG"}


class LadderView(SteppingView):
    """One ladder, or several side by side."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "open", "Open run", show=True, key_display="Space",
                tooltip="Open or close a run of like frames"),
        Binding("x", "collapse", "All", show=True, tooltip="Open or close all runs"),
        Binding("a", "several", "Connections side by side, or one", show=False),
        Binding("e", "write('txt')", "Write", show=True, tooltip="Write it to a text file"),
        Binding("E", "write('mmd')", "Write it as Mermaid", show=False),
        Binding("V", "write('svg')", "Write it as SVG", show=False),
        *(Binding(each.key, each.action, each.description, show=False) for each in STEPPING),
    ]  # fmt: skip

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.climb: LadderWorker | None = None
        self.shown: Drawing | None = None
        self.connection = 0
        self.several = False
        self.collapse = True
        self.unfolded: tuple[tuple[int, int], ...] = ()
        self.settled = False
        """The selected frame is in the drawing."""
        self.ending: list[LadderWorker] = []
        """Threads that were asked to end."""
        self.own = 0
        """A frame that was selected by moving the cursor here."""

    def compose(self) -> ComposeResult:
        """The rows."""
        yield LadderRows(id="ladderrows")

    @property
    def rows(self) -> LadderRows:
        """The rows."""
        return self.query_one("#ladderrows", LadderRows)

    def on_mount(self) -> None:
        """Drawings come from a thread."""
        self.set_interval(TICK, self.look)

    def on_unmount(self) -> None:
        """The threads end with the screen."""
        self.stop()
        for climb in self.ending:
            climb.thread.join()

    def stop(self) -> None:
        """Lay out no more; that is not waited for, as a drawing may take a while."""
        if self.climb is not None:
            self.climb.closed.set()
            self.ending = [climb for climb in self.ending if climb.thread.is_alive()]
            self.ending.append(self.climb)
            self.climb = None

    def entered(self) -> None:
        """Keys go to the rows."""
        self.rows.focus()

    def on_resize(self, event: Resize) -> None:
        """Another width is another drawing."""
        self.call_after_refresh(self.begin)

    # -- what is drawn ------------------------------------------------------------------------

    def selected(self, number: int) -> None:
        """Show the frame, in the ladder of its connection."""
        if not number:
            return
        connection = self.store.record(number).connection
        drawn = self.climb is not None and connection in self.climb.request.connections
        if not drawn:
            self.connection = connection
            self.unfolded = ()
            self.begin()
        elif number != self.own:
            self.rows.go(self.rows.line_of(number), center=True)
        self.own = 0

    def updated(self) -> None:
        """More may be laid out, or more found."""
        self.look()

    def request(self) -> LadderRequest:
        """What is to be laid out now."""
        talks: tuple[int, ...] = (self.connection,)
        if self.several:
            talks = neighbours(self.connection, self.store.connections, SEVERAL)
        # The scrollbar has its place, whether or not it is there.
        return LadderRequest(talks, self.collapse, self.unfolded, self.rows.size.width - 1)

    def begin(self) -> None:
        """Lay out what is wanted, unless that is being done."""
        if not self.connection or self.rows.size.width < 2:
            return
        request = self.request()
        if self.climb is not None and self.climb.request == request:
            return
        self.again(request)

    def again(self, request: LadderRequest) -> None:
        """Begin again."""
        self.stop()
        source = self.store.source
        places = PieceIndex(self.store.files, source.decode_as)
        live = source.follow and not self.store.done
        faults = self.store.steps.faults
        self.climb = LadderWorker(
            places, self.store.findings, faults, request, secrets=source.show_secrets, live=live
        )
        self.rows.waiting = "laying out..."
        self.rows.refresh()

    def look(self) -> None:
        """Take the newest drawing."""
        climb = self.climb
        if climb is None:
            return
        if not self.in_sight:
            climb.wanted.clear()
            return
        climb.wanted.set()
        if self.scope.paused:
            return
        drawing = climb.latest
        if drawing is None or drawing is self.shown:
            return
        fresh = self.shown is None or self.shown.request != drawing.request
        self.shown = drawing
        self.rows.show(drawing, self.scope.frame if fresh or not self.settled else 0)
        self.settled = self.rows.line_of(self.scope.frame) < len(drawing.spots) - 1
        if drawing.final and self.store.done and len(self.store.findings) != climb.known:
            self.again(climb.request)

    # -- keys ---------------------------------------------------------------------------------

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """The frame at the cursor is the selected one."""
        row = self.rows.row
        number = 0 if row is None else row.frame
        known = 0 < number <= self.store.count and number != self.scope.frame
        if known and self.rows.has_focus:
            self.own = number
            self.scope.following = False
            self.scope.select(number)

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter opens a run, or goes to the frame."""
        row = self.rows.row
        if isinstance(row, Fold):
            self.action_open()
        elif row is not None and row.frame:
            self.scope.visit(row.frame)

    def action_open(self) -> None:
        """Draw the frames of the run at the cursor, or fold again what was opened there."""
        row = self.rows.row
        if isinstance(row, Fold):
            self.unfolded = (*self.unfolded, (row.frame, row.last))
        elif row is not None:
            kept = tuple(each for each in self.unfolded if not each[0] <= row.frame <= each[1])
            if kept == self.unfolded:
                self.scope.announce("there is no folded run here")
                return
            self.unfolded = kept
        self.begin()

    def action_collapse(self) -> None:
        """Draw all frames, or fold runs again."""
        self.collapse = not self.collapse
        self.unfolded = ()
        self.begin()
        self.scope.announce(
            "runs of frames are folded" if self.collapse else "all frames are drawn"
        )

    def action_several(self) -> None:
        """Draw several connections side by side, or one."""
        if len(self.store.connections) < 2 and not self.several:
            self.scope.announce("there is only one connection")
            return
        self.several = not self.several
        if not self.several and self.scope.frame:
            self.connection = self.store.record(self.scope.frame).connection
        self.begin()

    def action_write(self, kind: str) -> None:
        """Ask for the name of a file to write the ladder to."""
        if self.shown is None or not self.shown.final:
            self.scope.announce("the ladder is still being drawn", bad=True)
            return
        stem = Path(self.store.source.path).name.partition(".")[0] or "capture"
        name, what = str(free(f"{stem}-ladder", kind)), KINDS[kind]
        self.scope.prompt.ask(f"{LADDER}{kind}", "write to:", name, f"{what} of this ladder")

    def take_answer(self, kind: str, text: str) -> None:
        """Write the ladder to the file that was named, in a thread: it may be long."""
        if self.shown is not None:
            work = partial(self.write, kind.removeprefix(LADDER), self.shown, Path(text))
            self.run_worker(work, thread=True, group="write")

    def write(self, kind: str, drawing: Drawing, named: Path) -> None:
        """In a thread: write a file that is not there yet."""
        path = named.expanduser()
        try:
            if path.exists():
                raise FileExistsError(17, "the file exists already")
            path.write_text(file_text(kind, drawing), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            what = reason_of(error)
            self.call_later(self.scope.announce, f"{path}: cannot be written: {what}", bad=True)
        else:
            self.call_later(self.scope.announce, f"{KINDS[kind]} written to {path}")

    def copied(self) -> str:
        """The row at the cursor in words."""
        row = self.rows.row
        if row is None or isinstance(row, Arrow):
            return ""
        return row_text(row)


def free(stem: str, kind: str) -> Path:
    """A name in the current folder that is not taken."""
    path, number = Path(f"{stem}.{kind}"), 1
    while path.exists():
        number += 1
        path = Path(f"{stem}-{number}.{kind}")
    return path
