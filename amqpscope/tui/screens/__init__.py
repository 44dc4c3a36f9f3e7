"""The screens: one row each. A screen is a `View`; the application finds it by this table.

To add one, write a module with a subclass of `View` and put its row here: the key, the tab and the
entry in the help come from the row, and the view's own bindings are listed by the help too.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from amqpscope.tui.screens.view import View


class Entry(NamedTuple):
    """One screen."""

    key: str
    name: str
    title: str
    view: str
    """The class, in the module of the name."""
    summary: str

    @property
    def module(self) -> str:
        """Where the class is."""
        return f"amqpscope.tui.screens.{self.name}"

    def load(self) -> type[View]:
        """The class."""
        found: type[View] = getattr(import_module(self.module), self.view)
        return found


# fmt: off
SCREENS: Final = (
    Entry("1", "frames",   "Frames",   "FramesView",   "every frame, its fields and octets"),
    Entry("2", "state",    "State",    "StateView",    "both peers as of the selected frame"),
    Entry("3", "ladder",   "Ladder",   "LadderView",   "client and server as two columns"),
    Entry("4", "findings", "Findings", "FindingsView", "what breaks the specification, and who"),
    Entry("5", "stuck",    "Stuck?",   "StuckView",    "what holds each link, or how it ended"),
    Entry("6", "stats",    "Stats",    "StatsView",    "counts, rates and latencies"),
    Entry("7", "messages", "Messages", "MessagesView", "where each message is, the lost first"),
)
# fmt: on


def screens() -> list[Entry]:
    """The screens that are there."""
    return [entry for entry in SCREENS if find_spec(entry.module) is not None]
