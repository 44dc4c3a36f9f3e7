"""Messages over all connections: where each is, and its life from publish to settlement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from amqpscope.insight.message_list import ORDERS, Listed, MessageList, explain
from amqpscope.insight.message_states import LOST
from amqpscope.insight.messages import DELIVERED, PUBLISHED, Message, Passage
from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import cut
from amqpscope.report.text import ARROWS
from amqpscope.tui.screens.measured import FEW, TICK
from amqpscope.tui.screens.panes import PANES, PanesView
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.messagelist import MessageRows, name_of
from amqpscope.tui.widgets.text_view import TextLine, TextView, line, paragraph
from amqpscope.tui.widgets.virtual_list import VirtualList

MEANWHILE: Final = 8
"""Passages at either end of a long life that are shown."""


class MessagesView(PanesView):
    """List, and the life of the message at the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *PANES,
        Binding("o", "order", "Order", show=True, tooltip="Another order: slowest, newest, ..."),
        Binding("L", "ladder", "Ladder of the message's connection", show=False),
    ]

    def __init__(self, store: Store, *, id: str) -> None:
        super().__init__(store, id=id)
        self.found = MessageList()

    def compose(self) -> ComposeResult:
        """The two panes."""
        yield MessageRows(id="list")
        yield TextView(id="text")

    @property
    def messages(self) -> MessageRows:
        """The list."""
        return self.query_one("#list", MessageRows)

    def on_mount(self) -> None:
        """Messages are followed in a thread."""
        self.set_interval(TICK, self.look)

    def entered(self) -> None:
        """Begin to follow, and give the keys to the list."""
        self.store.messages.start()
        super().entered()

    def updated(self) -> None:
        """More may be known."""
        self.look()

    def look(self) -> None:
        """Take the newest list."""
        if not self.in_sight or self.scope.paused:
            return
        worker = self.store.messages
        worker.done = self.store.done
        found = worker.latest
        far = self.store.count - found.frame > FEW
        percent = 100 * found.frame // max(self.store.count, 1)
        progress = f" (read {percent}%)" if far else ""
        rows = self.messages
        if not found.rows:
            read = self.store.done and found.frame >= self.store.count
            waiting = "no message was recognised" if read else f"following messages{progress} ..."
            if waiting != rows.waiting:
                rows.waiting = waiting
                rows.refresh()
        if found is not self.found or progress != rows.progress:
            rows.progress = progress
            self.found = found
            rows.show(found)
            self.show_text()

    # -- the text -----------------------------------------------------------------------------

    def show_text(self) -> None:
        """The life of the message at the cursor."""
        listed, width = self.messages.at, self.text.measure
        if listed is None:
            self.text.show([], None)
            return
        self.text.show([*self.life(listed, width)], listed.message)

    def life(self, listed: Listed, width: int) -> Iterator[TextLine]:
        """All that happened to a message, with the frames that show it."""
        message = listed.message
        size = f", {message.size:,} octets" if message.id else ""
        title = f"message {name_of(listed)}{size}, {message.family}"
        yield line(cut(title, width), "title")
        for place, text in enumerate(explain(listed, self.found.time)):
            tone = "bad" if listed.state == LOST and not place else "" if not place else "dim"
            yield from paragraph(text, width, tone)
        yield line("")
        passages = message.passages
        for place, passage in enumerate(passages):
            if MEANWHILE <= place < len(passages) - MEANWHILE:
                if place == MEANWHILE:
                    yield line(f"          ... {len(passages) - 2 * MEANWHILE} more", "dim")
                continue
            yield self.frame_line(passage, message.time, width)
        if message.more:
            yield line(f"          ... and {message.more:,} more", "dim")

    def frame_line(self, passage: Passage, start: int, width: int) -> TextLine:
        """A frame to go to."""
        after = "" if passage.time <= start else f"+{seconds(passage.time - start)}"
        head = f"⏎{passage.frame:>8} "
        arrow = ""
        if 0 < passage.frame <= self.store.count:
            arrow = ARROWS[self.store.record(passage.frame).sender]
        text = f"{after:>9} {passage.connection:3} {arrow} {printable(passage.text)}"
        strong = "strong" if passage.kind in (PUBLISHED, DELIVERED) else ""
        return TextLine(((head, "level"), (cut(text, width - len(head)), strong)), passage.frame)

    # -- keys ---------------------------------------------------------------------------------

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter goes to the first frame of the message."""
        listed = self.messages.at
        if event.rows is self.messages and listed is not None:
            self.scope.visit(listed.message.frame)

    def action_order(self) -> None:
        """Let other messages come first."""
        worker = self.store.messages
        worker.reorder(ORDERS[(ORDERS.index(worker.order) + 1) % len(ORDERS)])
        self.messages.moved = False
        self.scope.announce(f"messages: {worker.order}")

    def action_ladder(self) -> None:
        """Draw the connection that published the message, at that frame."""
        listed = self.messages.at
        if listed is not None:
            self.scope.following = False
            self.scope.select(listed.message.frame)
            self.scope.open_screen("ladder")

    def chosen_message(self) -> Message | None:
        """The message at the cursor."""
        listed = self.messages.at
        return None if listed is None else listed.message

    def copied(self) -> str:
        """The life of the message in lines."""
        listed = self.messages.at
        if listed is None:
            return ""
        lines = [f"message {name_of(listed)}: {listed.state}"]
        lines += [
            f"frame {each.frame}, connection {each.connection}: {printable(each.text)}"
            for each in listed.message.passages
        ]
        return "\n".join(lines)
