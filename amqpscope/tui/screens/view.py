"""What every screen is: a part of the window that follows the store and the selected frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual.containers import Container

from amqpscope.protocols.state import StateNode
from amqpscope.tui.store import Store
from amqpscope.tui.time_travel import Moment

if TYPE_CHECKING:
    from amqpscope.insight.messages import Message
    from amqpscope.tui.app import Scope


class View(Container):
    """One screen. The application calls the methods below; `self.scope` is the application."""

    DEFAULT_CSS = """
    View { height: 1fr; width: 1fr; layout: vertical; }
    """

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(id=id)
        self.store = store

    @property
    def scope(self) -> Scope:
        """The application: `select(number)`, `open_screen(name)`, `tell(text)`, `frame`."""
        from amqpscope.tui.app import Scope

        return cast(Scope, self.app)

    @property
    def in_sight(self) -> bool:
        """Whether this is the screen that is shown, or about to be."""
        return self.scope.entry.name == self.id

    def entered(self) -> None:
        """The screen comes into sight; `selected` and `updated` are called next."""

    def selected(self, number: int) -> None:
        """Another frame is selected (0: there is none). Called while the screen is in sight."""

    def updated(self) -> None:
        """The store has something new. Called at most ten times a second, and only in sight."""

    def ask_state(
        self, number: int, then: Callable[[Moment[StateNode] | None], None], connection: int = 0
    ) -> None:
        """Ask for the state of a connection as of a frame; `then` is called here, soon.

        It is the frame's own connection where none is named. `then` is not called when another
        state is asked for before this one is known.
        """
        connection = connection or self.store.record(number).connection

        def answer(moment: Moment[StateNode] | None) -> None:
            # From a thread; waiting for the screen there could last for ever when that is closed.
            self.call_later(then, moment)

        self.store.travel.ask(number, connection, answer)

    def take_answer(self, kind: str, text: str) -> None:
        """A question of this screen was answered."""

    def chosen_message(self) -> Message | None:
        """The message at the cursor; None where the screen does not show messages."""
        return None

    def copied(self) -> str:
        """What the copy key takes; empty: the line of the selected frame."""
        return ""
