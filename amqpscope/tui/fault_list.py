"""The faults of a running proxy: how often each has matched and acted; added and removed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from amqpscope.tui.interception import Interception, Table


class FaultRows(VirtualList):
    """One line each."""

    head = 1

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Table] = []

    def head_line(self, y: int, width: int) -> list[Segment]:
        """The names of the columns."""
        return [Segment(f"{'matched':>8} {'acted':>7}  fault")]

    def empty_line(self, y: int, width: int) -> list[Segment]:
        """What can be done about it."""
        return [Segment("  there are none; a adds one")] if y == 1 else []

    def line(self, index: int, width: int) -> list[Segment]:
        """One fault."""
        fault = self.faults[index]
        shown = {"name", "on", "action", "matched", "acted"}
        counts = "".join(f" {key}={value}" for key, value in fault.items() if key not in shown)
        rule = f"{fault['name']}: {fault['on']} => {fault['action']}{counts}"
        return [Segment(f"{fault['matched']:8,} {fault['acted']:7,}  {rule}")]


class Faults(ModalScreen[str]):
    """All faults; gives "add" when one is to be added."""

    DEFAULT_CSS = """
    Faults {
        align: center middle;
        & > Container {
            width: 110; max-width: 100%; height: 60%; min-height: 8; border: round $primary;
            border-title-color: $text-primary; background: $surface;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f", "dismiss('')", "Close", show=True),
        Binding("a", "dismiss('add')", "Add a fault", show=True),
        Binding("d,delete", "remove", "Remove the fault at the cursor", show=True),
    ]

    def __init__(self, interception: Interception) -> None:
        super().__init__()
        self.interception = interception
        self.rows = FaultRows()

    def compose(self) -> ComposeResult:
        """The lines in a frame."""
        with Container() as frame:
            frame.border_title = "faults (a: add, d: remove, Esc: close)"
            yield self.rows

    def on_mount(self) -> None:
        """Go along with what they do."""
        self.take()
        self.set_interval(0.5, self.take)

    def take(self) -> None:
        """See which there are, and how often they acted."""
        answer, _ = self.interception.ask(do="list")
        self.rows.faults = answer.get("faults", self.rows.faults)
        if len(self.rows.faults) != self.rows.count:
            self.rows.renew(len(self.rows.faults), self.rows.cursor)
        self.rows.forget()

    def action_remove(self) -> None:
        """Let the fault at the cursor act no more."""
        if self.rows.cursor < len(self.rows.faults):
            self.interception.ask(do="remove", name=self.rows.faults[self.rows.cursor]["name"])
            self.take()
