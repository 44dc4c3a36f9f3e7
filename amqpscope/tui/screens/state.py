"""Both peers' state as of the selected frame: connections, sessions, links and deliveries."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from amqpscope.protocols.state import StateNode, StateRow
from amqpscope.protocols.words import endpoint, printable
from amqpscope.tui.screens.stepping import STEPPING, SteppingView
from amqpscope.tui.store import Store
from amqpscope.tui.time_travel import Moment
from amqpscope.tui.widgets.statetree import StateTree

SLOW: Final = 0.3
"""Seconds after which it is said that a state is not there yet."""


class StateView(SteppingView):
    """Time travel: the tree follows the selected frame."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *STEPPING,
        Binding(
            "e", "expand", "Open all", show=True, tooltip="Open all lines, or only those at first"
        ),
        Binding("o", "own", "Go to the connection of the frame", show=False),
    ]

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.wanted = 0
        """The frame whose state is wanted."""
        self.connection = 0
        """The connection that is shown in full."""
        self.waiting = False
        self.others = 0
        self.over_at = 0
        """When the connection that is shown was over, as far as was known when it was asked for."""
        self.moment: Moment[StateNode] | None = None

    def compose(self) -> ComposeResult:
        """The tree."""
        yield StateTree(id="statetree")

    @property
    def tree_of_state(self) -> StateTree:
        """The tree."""
        return self.query_one("#statetree", StateTree)

    def entered(self) -> None:
        """Keys go to the tree."""
        self.tree_of_state.focus()

    def selected(self, number: int) -> None:
        """Another frame: its connection, as of then."""
        if number and number != self.wanted:
            self.connection = self.store.record(number).connection
            self.ask(number)

    def updated(self) -> None:
        """There may be more connections, or this one may have ended."""
        if self.wanted and self.end_time(self.connection) != self.over_at:
            self.ask(self.wanted)
        if len(self.store.connections) != self.others and self.moment is not None:
            self.paint()

    def end_time(self, connection: int) -> int:
        """When a connection was over; 0 while it goes on."""
        span = self.store.spans.get(connection)
        return 0 if span is None else span.over_at

    def ask(self, number: int) -> None:
        """Ask for the state, and say so if that takes a while."""
        self.wanted = number
        self.waiting = True
        self.over_at = self.end_time(self.connection)
        self.ask_state(number, self.show_moment, self.connection)
        self.set_timer(SLOW, lambda: self.wait(number))

    def wait(self, number: int) -> None:
        """Say that the answer is not there yet."""
        if self.wanted == number and self.waiting:
            self.tree_of_state.heading = f"replaying to {number:,}..."
            self.tree_of_state.refresh()

    def show_moment(self, moment: Moment[StateNode] | None) -> None:
        """The state is there."""
        self.waiting = False
        self.moment = moment
        self.paint()

    def paint(self) -> None:
        """Show it, and the other connections as one line each."""
        moment, own = self.moment, f"connection {self.connection}"
        self.others = len(self.store.connections)
        roots: list[StateRow] = []
        before: list[StateRow] = []
        now = self.store.record(self.wanted).time
        for number, talk in self.store.connections.items():
            tcp = talk.connection
            text = f"{endpoint(tcp.client)} -> {endpoint(tcp.server)}  {printable(talk.protocol)}"
            if 0 < self.end_time(number) <= now:
                text += f"  {self.store.spans[number].state}"
            if number != self.connection:
                roots.append(StateRow(f"connection {number}", f"connection {number}", text))
            elif moment is None:
                roots.append(StateRow(own, own, "has no frame so early", style="title"))
            else:
                roots.append(moment.state)
                before += [] if moment.before is None else [moment.before]
        if moment is not None and moment.before is None:
            before.append(StateRow(own, own))
        self.tree_of_state.start = self.store.start
        self.tree_of_state.show(roots, before, now, f"after frame {self.wanted:,}")

    def on_state_tree_follow(self, event: StateTree.Follow) -> None:
        """Go to the frame that a line is about."""
        self.scope.visit(event.number)

    def on_state_tree_wanted(self, event: StateTree.Wanted) -> None:
        """Show another connection in full, as of the same frame."""
        word, _, number = event.key.partition(" ")
        if word == "connection" and number.isdigit():
            self.connection = int(number)
            self.ask(self.wanted)

    def action_expand(self) -> None:
        """Open all lines, or let them be as they are of themselves."""
        self.tree_of_state.open_all()

    def action_own(self) -> None:
        """Go back to the connection of the selected frame."""
        self.wanted = 0
        self.selected(self.scope.frame)

    def copied(self) -> str:
        """The line at the cursor."""
        line = self.tree_of_state.at
        if line is None:
            return ""
        node = line.node
        if node.style in ("held", "ended"):
            return f"{node.label}  {self.tree_of_state.held_words(node)}"
        return "  ".join(filter(None, (node.label, node.client, node.server)))
