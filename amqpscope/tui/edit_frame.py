"""A frame in our notation, changed on the screen; what is wrong is shown with each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from amqpscope.proxy.faults.notation import find_error
from amqpscope.tui.interception import deadline_words

if TYPE_CHECKING:
    from amqpscope.proxy.faults.errors import FaultError
    from amqpscope.tui.interception import Interception

BEFORE: Final = 0.6
"""How much of the line is for what comes before an error."""


class FrameText(TextArea):
    """The text; Enter ends it."""

    class Submitted(Message):
        """The user is done."""

    def on_key(self, event: events.Key) -> None:
        """Enter sends: further frames come by pasting, or from the editor."""
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            self.post_message(self.Submitted())


class EditFrame(ModalScreen[tuple[str, str]]):
    """Gives what to do ("edit", or "outside" for the editor) and the text; or None to let it be."""

    DEFAULT_CSS = """
    EditFrame {
        align: center middle;
        & > Container {
            width: 96%; height: 14; max-height: 90%; border: round $accent;
            border-title-color: $text-accent; border-subtitle-color: $text-warning;
            background: $surface;
        }
        & TextArea { height: 1fr; border: none; padding: 0 1; background: $surface; }
        & TextArea:focus { border: none; }
        & Static { height: 4; padding: 0 1; background: $panel; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Leave it held", show=True),
        Binding("ctrl+o", "outside", "In $EDITOR", show=True),
    ]

    def __init__(self, interception: Interception, number: int, text: str, dialect: str) -> None:
        super().__init__()
        self.interception = interception
        self.number = number
        self.dialect = dialect
        self.area = FrameText(text, soft_wrap=True, show_line_numbers=False)
        self.problem = Static("", markup=False)
        self.frame = Container(self.area, self.problem)

    def compose(self) -> ComposeResult:
        """The text, and what is wrong with it."""
        self.frame.border_title = (
            f"held frame {self.number}: Enter sends, Esc leaves it held, Ctrl-O opens $EDITOR"
        )
        yield self.frame

    def on_mount(self) -> None:
        """Begin at the end, as in any line; and count down."""
        self.area.move_cursor(self.area.document.end)
        self.area.focus()
        self.look()
        self.set_interval(0.5, self.count_down)
        self.count_down()

    def count_down(self) -> None:
        """Show how long the frame waits, and who gives up when."""
        for each in self.interception.held:
            if each["number"] == self.number:
                words = deadline_words(each, full=True)[0]
                waits = f"waits {each['seconds']:.0f} s"
                self.frame.border_subtitle = f"{waits}, {words}" if words else waits
                return
        self.frame.border_subtitle = "it does not wait any more"

    def on_text_area_changed(self) -> None:
        """Look at each change."""
        self.look()

    def look(self) -> FaultError | None:
        """Show what is wrong with the text."""
        error = find_error(self.area.text, self.dialect)
        if error is None:
            self.problem.update(Text("nothing is wrong with it"))
        else:
            self.problem.update(error_pointer(error, max(self.problem.size.width - 2, 20)))
        return error

    def on_frame_text_submitted(self) -> None:
        """Send it, if it is right."""
        if self.look() is None:
            self.dismiss(("edit", self.area.text))

    def action_outside(self) -> None:
        """Go on in the editor."""
        self.dismiss(("outside", self.area.text))


def error_pointer(error: FaultError, width: int) -> Text:
    """An error below its line, of which the part around it is shown."""
    shown = "".join(c if c.isprintable() else " " for c in error.text)
    start = max(0, error.position - int(width * BEFORE))
    line = shown[start : start + width]
    text = Text(no_wrap=True)
    text.append(f"{line}\n{' ' * (error.position - start)}")
    text.append("^" * max(1, min(error.length, width)), "bold red")
    text.append(f"\n{error.message}", "bold")
    return text
