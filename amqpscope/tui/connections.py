"""The connections of a capture: when each began and ended, and who with whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from amqpscope.protocols.words import endpoint
from amqpscope.report.columns import cut
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from amqpscope.tui.app import Scope


class ConnectionList(VirtualList):
    """One line each."""

    head = 1

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.take()

    def take(self) -> None:
        """See which there are now."""
        self.numbers = sorted(self.store.connections)
        self.count = len(self.numbers)

    def key_of(self, index: int) -> object:
        """A line changes with what passes."""
        number = self.numbers[index]
        return (number, self.store.spans.get(number), self.store.connections[number].protocol)

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns."""
        return [Segment(f"{'con':>4} {'began':>12} {'ended':>12} {'frames':>9}  state, who")]

    def line(self, index: int, width: int) -> list[Segment]:
        """One connection."""
        number = self.numbers[index]
        talk, span = self.store.connections[number], self.store.spans.get(number)
        began = ended = ""
        if span is not None:
            began = f"{(span.first - self.store.start) / 1e9:.3f} s"
            ended = f"{(span.over_at - self.store.start) / 1e9:.3f} s" if span.over_at else ""
        tcp = talk.connection
        who = f"{endpoint(tcp.client)} -> {endpoint(tcp.server)}"
        state = ("" if span is None else span.state) + (", TLS" if tcp.encrypted else "")
        frames = 0 if span is None else span.frames
        text = f"{number:4} {began:>12} {ended:>12} {frames:9,}  {state}, {who}, {talk.protocol}"
        return [Segment(cut(text, width))]


class Connections(ModalScreen[int]):
    """All connections; Enter shows the frames of one."""

    DEFAULT_CSS = """
    Connections {
        align: center middle;
        & > Container {
            width: 110; max-width: 100%; height: 60%; min-height: 8; border: round $primary;
            border-title-color: $text-primary; background: $surface;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,C", "dismiss(0)", "Close", show=True),
        Binding("equals_sign", "compare", "Compare: this connection, then another", show=True),
    ]

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.rows = ConnectionList(store)

    def compose(self) -> ComposeResult:
        """The lines in a frame."""
        with Container() as frame:
            frame.border_title = "connections (Enter: only its frames, Esc: close)"
            yield self.rows

    def on_mount(self) -> None:
        """Go along with what passes."""
        self.set_interval(0.25, self.renew)

    def renew(self) -> None:
        """Take what is new."""
        before = self.rows.count
        self.rows.take()
        if self.rows.count != before:
            count, self.rows.count = self.rows.count, before
            self.rows.set_count(count)
        self.rows.refresh()

    def action_compare(self) -> None:
        """Mark a connection, or compare it with the one that is marked."""
        from amqpscope.tui.comparison import Marked

        if self.rows.count:
            cast("Scope", self.app).compare(Marked(self.rows.numbers[self.rows.cursor]))

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """This one."""
        self.dismiss(self.rows.numbers[event.index])
