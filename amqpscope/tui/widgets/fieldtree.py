"""The tree of one frame: its fields, its message, what is wrong with it."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message

from amqpscope.report.columns import cut, wrap
from amqpscope.tui.fields import FieldLine, FramePicture
from amqpscope.tui.widgets.virtual_list import VirtualList

STYLES: Final = ("title", "error", "warning", "info", "null", "secret", "body", "label", "note")
SIGNS: Final = {"error": "✗ ", "warning": "! ", "info": "i "}


BROKEN: Final = ("error", "warning", "note")
"""Styles of lines that go on in the next where they are too long."""


class VisibleField(NamedTuple):
    """One line in sight."""

    depth: int
    field: FieldLine
    text: str
    more: bool
    """It goes on with what the line before says."""


class FieldTree(VirtualList):
    """Lines that can be opened and closed; each knows its octets."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"field--{style}" for style in STYLES}
    called = "the fields"
    DEFAULT_CSS = """
    FieldTree {
        & > .field--title { color: $text-primary; text-style: bold; }
        & > .field--error { color: $text-error; text-style: bold; }
        & > .field--warning { color: $text-warning; text-style: bold; }
        & > .field--info { color: $dim; }
        & > .field--null { color: $faint; }
        & > .field--secret { color: $dim; text-style: italic; }
        & > .field--body { color: $text-success; }
        & > .field--label { color: $dim; }
        & > .field--note { color: $text-accent; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "turn", "Open or close", show=False),
        Binding("right,l", "unfold", "Open", show=False),
        Binding("left,h", "fold", "Close, or go to what contains it", show=False),
    ]

    class Marked(Message):
        """Another line is marked: its octets are to be marked too."""

        def __init__(self, field: FieldLine) -> None:
            super().__init__()
            self.field = field

    class Follow(Message):
        """A line that points to another frame was opened."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.picture: FramePicture | None = None
        self.flat: list[VisibleField] = []
        """The lines that are not hidden in one that is closed."""
        self.changed: dict[str, bool] = {}
        """Lines that the user has opened or closed, by their first word: other frames follow."""

    def show(self, picture: FramePicture | None) -> None:
        """Show another frame; the cursor stays on the field of the same name, if there is one."""
        before = self.field
        self.picture = picture
        self._flatten()
        wanted = "" if before is None else word(before)
        place = next((at for at, line in enumerate(self.flat) if word(line.field) == wanted), 0)
        self.renew(len(self.flat), place if wanted else 0)

    def on_resize(self) -> None:
        """Break lines again."""
        field = self.field
        self._flatten()
        place = next((at for at, line in enumerate(self.flat) if line.field is field), 0)
        self.renew(len(self.flat), place)

    @property
    def field(self) -> FieldLine | None:
        """The field at the cursor."""
        return self.flat[self.cursor].field if 0 <= self.cursor < len(self.flat) else None

    def _flatten(self) -> None:
        self.flat = []
        if self.picture is not None:
            for field in self.picture.fields:
                self._add(field, 0)

    def _add(self, field: FieldLine, depth: int) -> None:
        room = self.view.width - 2 * depth - 5
        texts = [field.text]
        if field.style in BROKEN and room > 20:
            # What is wrong is too important to be cut off.
            texts = wrap(field.text, room)
        elif field.style == "body" and room > 20:
            texts = [field.text[at : at + room] for at in range(0, len(field.text), room)] or [""]
        self.flat += [VisibleField(depth, field, text, at > 0) for at, text in enumerate(texts)]
        if field.children and not self.is_closed(field):
            for child in field.children:
                self._add(child, depth + 1)

    def is_closed(self, field: FieldLine) -> bool:
        """Whether what is below a line is hidden."""
        return self.changed.get(word(field), field.closed)

    def key_of(self, index: int) -> object:
        """A line is itself, open or closed."""
        line = self.flat[index]
        return (line.field, line.text, self.is_closed(line.field))

    def line(self, index: int, width: int) -> list[Segment]:
        """One field."""
        depth, field, text, more = self.flat[index]
        fold = " " if not field.children or more else "▸" if self.is_closed(field) else "▾"
        lead = f"{'  ' * depth}{fold} "
        if field.style:
            sign = SIGNS.get(field.style, "")
            text = (" " * len(sign) if more else sign) + text + ("  ⏎" if field.frame else "")
            text = cut(text, width - len(lead))
            return [Segment(lead), Segment(text, self.style_of(f"field--{field.style}"))]
        label, colon, value = cut(text, width - len(lead)).partition(": ")
        style = self.style_of("field--label")
        if not colon:
            return [Segment(lead), Segment(label)]
        return [Segment(lead), Segment(label + colon, style), Segment(value)]

    def select(self, part: int, offset: int) -> None:
        """Mark the deepest line that covers an octet."""
        best = -1
        for at, (_, field, _, _) in enumerate(self.flat):
            if field.part == part and field.start <= offset < field.end and field.style != "body":
                best = at
        if best >= 0 and best != self.cursor:
            self.go(best)

    def go_to_body(self) -> bool:
        """Put the cursor on the first body, at the top; whether there is one."""
        found = next((at for at, each in enumerate(self.flat) if each.field.heads_body), -1)
        if found >= 0:
            self.go(found)
            self.scroll_to(y=found, animate=False, force=True, immediate=True)
        return found >= 0

    def go(self, index: int, *, center: bool = False) -> None:
        """Put the cursor on a line, and say which octets are marked."""
        super().go(index, center=center)
        if self.field is not None and self.has_focus:
            self.post_message(self.Marked(self.field))

    def on_focus(self) -> None:
        """Mark the octets of the line at the cursor."""
        super().on_focus()
        if self.field is not None:
            self.post_message(self.Marked(self.field))

    def action_choose(self) -> None:
        """Open or close the line, or go to the frame that it points to."""
        field = self.field
        if field is not None and field.frame:
            self.post_message(self.Follow(field.frame))
        else:
            self.action_turn()

    def action_turn(self) -> None:
        """Open or close the line at the cursor."""
        field = self.field
        if field is not None and field.children:
            self.set_closed(field, not self.is_closed(field))

    def action_unfold(self) -> None:
        """Show what is below the line at the cursor."""
        field = self.field
        if field is not None and field.children and self.is_closed(field):
            self.set_closed(field, False)
        else:
            self.action_move(1)

    def action_fold(self) -> None:
        """Hide what is below the line, or go to the line that it is below of."""
        field = self.field
        if field is None:
            return
        if field.children and not self.is_closed(field):
            self.set_closed(field, True)
            return
        depth = self.flat[self.cursor].depth
        for at in range(self.cursor - 1, -1, -1):
            if self.flat[at].depth < depth:
                self.go(at)
                return

    def set_closed(self, field: FieldLine, closed: bool) -> None:
        """Open or close a line, here and in the frames to come."""
        self.changed[word(field)] = closed
        self._flatten()
        place = next((at for at, line in enumerate(self.flat) if line.field is field), 0)
        top = self.scroll_offset.y
        self.renew(len(self.flat), place)
        self.scroll_to(y=top, animate=False, force=True)


def word(field: FieldLine) -> str:
    """What a field is called in every frame that has it."""
    return field.text.partition(":")[0].partition(",")[0]
