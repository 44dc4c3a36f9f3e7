"""Two frames or two connections of a capture side by side: what they do differently."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from amqpscope.insight.diff.compare import compare
from amqpscope.insight.diff.differences import CHANGED, FINDING, OUTCOME, Diff, Fold, Scope, fold
from amqpscope.insight.diff.entries import ComparedConnection
from amqpscope.report.columns import cut
from amqpscope.report.diff_words import (
    counts_line,
    frame_title,
    of_frames,
    opening_lines,
    others_line,
    parting_line,
    value_text,
)
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.text_view import TextLine, TextView, line

if TYPE_CHECKING:
    from amqpscope.findings import Finding

MOST: Final = 20_000
"""Findings of a capture among which those of two connections are looked for."""


class Marked(NamedTuple):
    """What is compared: a connection, or one frame of it."""

    connection: int
    frame: int = 0
    """0: the whole connection."""

    def __str__(self) -> str:
        return f"frame {self.frame}" if self.frame else f"connection {self.connection}"


def diff_marked(store: Store, a: Marked, b: Marked, findings: list[Finding]) -> Diff:
    """What two of a capture do differently; of frames everything counts."""
    recordings = [record(store, each, findings) for each in (a, b)]
    diff = Diff(str(a), str(b))
    return compare(recordings[:1], recordings[1:], diff, Scope(), exact=bool(a.frame))


def record(store: Store, marked: Marked, findings: list[Finding]) -> ComparedConnection:
    """A connection as it was up to now, or up to a frame, which then is all of it."""
    places = PieceIndex(store.files, store.source.decode_as)
    places.update()
    made: ComparedConnection | None = None
    for step in Replay(places, marked.connection).steps(marked.frame):
        if made is None:
            made = ComparedConnection(step.conversation, show_secrets=store.source.show_secrets)
        made.take(step)
    assert made is not None, "a connection that is listed has frames"
    if marked.frame:
        made.entries = [each for each in made.entries if each.frame == marked.frame]
    else:
        made.findings = [each for each in findings if each.connection == marked.connection]
    return made


def diff_lines(diff: Diff, width: int) -> Iterator[TextLine]:
    """A comparison to read; lines about a frame lead to it."""
    for text in opening_lines(diff):
        yield line(cut(text, width), "title")
    if not diff.equal:
        yield line(cut(parting_line(diff.differences[0]), width), "strong")
        yield line("")
        for _, group in groupby(fold(diff.differences), of_frames):
            yield from _differences(list(group), width)
        yield line(cut(counts_line(diff), width), "dim")
    for note in diff.notes:
        yield line(cut(note, width), "dim")


def _differences(group: list[Fold], width: int) -> Iterator[TextLine]:
    """Two frames that belong together, or one that has no like, and how they differ."""
    first = group[0].first
    for name, side, style in (("A", first.a, "bad"), ("B", first.b, "good")):
        if side is not None and first.kind == FINDING:
            text = f"only in {name}: {first.path} {side.value}: {side.text}"
            yield line(cut(text, width), style, side.frame)
        elif side is not None:
            yield line(cut(f"{name} {frame_title(side)}  {side.text}", width), style, side.frame)
    for each in group:
        found, others = each.first, others_line(each)
        if found.kind in (CHANGED, OUTCOME) and found.a is not None and found.b is not None:
            values = f"{value_text(found.a.value)} -> {value_text(found.b.value)}"
            yield line(cut(f"    {found.path}: {values}", width), "strong")
        if others:
            yield line(cut(f"    {others}", width), "dim")


class DiffScreen(ModalScreen[int]):
    """A comparison; Enter goes to the frame of a line."""

    DEFAULT_CSS = """
    DiffScreen {
        align: center middle;
        & > Container {
            width: 100%; height: 90%; border: round $primary;
            border-title-color: $text-primary; background: $surface;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(0)", "Close", show=True),
        Binding("equals_sign", "other", "Frames or their connections", show=True),
    ]

    def __init__(self, store: Store, a: Marked, b: Marked) -> None:
        super().__init__()
        self.store = store
        self.marked = (a, b)
        self.whole = not a.frame
        """Connections are compared, not frames."""
        self.diff: Diff | None = None
        self.text = TextView()

    def compose(self) -> ComposeResult:
        """The lines in a frame."""
        with Container() as frame:
            frame.border_title = "differences (Enter: go to the frame, Esc: close)"
            yield self.text

    def on_mount(self) -> None:
        """Compare, which may take a while."""
        self.start()

    def start(self) -> None:
        """Compare what is to be compared now."""
        a, b = self.marked
        if self.whole:
            a, b = Marked(a.connection), Marked(b.connection)
        known = self.store.findings
        findings = known[:MOST] if self.whole else []
        self.text.show([line("comparing ...", "dim")], None)

        def work() -> None:
            diff = diff_marked(self.store, a, b, findings)
            self.app.call_from_thread(self.show, diff)

        self.run_worker(work, thread=True, exclusive=True)

    def show(self, diff: Diff) -> None:
        """Show what was found."""
        self.diff = diff
        self.text.show([*diff_lines(diff, self.text.measure)], diff)

    def on_text_view_resized(self) -> None:
        """Cut the lines again."""
        if self.diff is not None:
            self.show(self.diff)

    def on_text_view_follow(self, event: TextView.Follow) -> None:
        """Go to the frame of a line."""
        self.dismiss(event.number)

    def action_other(self) -> None:
        """Compare the connections of two frames, or the frames again."""
        a, b = self.marked
        if a.frame and a.connection != b.connection:
            self.whole = not self.whole
            self.start()
