"""The line in which filters, searches, notes, places and file names are typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Label

from amqpscope.report.columns import columns, cut

if TYPE_CHECKING:
    from amqpscope.filter import FilterError

FILTER: Final = "filter"
HOLD: Final = "hold"
FILTERS: Final = {
    FILTER: " Enter: show these frames   Esc: cancel",
    HOLD: " Enter: hold these frames (none without a filter)   Esc: cancel",
}
"""Questions for a filter, with what is said of one that is right."""
FAULT: Final = "fault"
ACT: Final = "act"
COLUMNS: Final = "columns"
COLOURS: Final = "colours"
USUAL: Final = (
    "transfer", "disposition", "flow", "attach", "detach", "begin", "end", "open", "close",
    "basic", "channel", "connection", "finding", "link", "from", "settled", "delivery",
    "error", "name", "time",
)  # fmt: skip
MOST: Final = 40
"""Completions that are listed."""


class Hint(Widget):
    """The line below: what is wrong, or what may be written next."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"hint--wrong", "hint--word"}
    DEFAULT_CSS = """
    Hint {
        height: 1; background: $panel; color: $dim;
        & > .hint--wrong { color: $text-error; text-style: bold; }
        & > .hint--word { color: $text-primary; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.style_name = ""

    def show(self, text: str, style: str = "") -> None:
        """Say something else."""
        self.text, self.style_name = text, style
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line."""
        width, base = self.size.width, self.rich_style
        style = None
        if self.style_name:
            style = self.get_component_rich_style(f"hint--{self.style_name}", partial=True)
        strip = Strip([Segment(cut(self.text, width), style)])
        return strip.crop_extend(0, width, base).apply_style(base)


class PromptInput(Input):
    """The text itself, with what was typed before under the arrow keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "older", "What was typed before", show=False),
        Binding("down", "newer", "What was typed after that", show=False),
        Binding("tab", "complete", "Complete the word", show=False, priority=True),
    ]

    def action_older(self) -> None:
        """Bring back what was typed before."""
        self.prompt.recall(-1)

    def action_newer(self) -> None:
        """Go forward in what was typed."""
        self.prompt.recall(1)

    def action_complete(self) -> None:
        """Complete the word at the cursor."""
        self.prompt.complete()

    @property
    def prompt(self) -> Prompt:
        """What it is part of."""
        found = self.query_ancestor(Prompt)
        return found


class Prompt(Container):
    """A question with one line for the answer; in sight only while it is asked."""

    DEFAULT_CSS = """
    Prompt {
        height: 2; display: none; background: $panel;
        &.asked { display: block; }
        & Horizontal { height: 1; }
        & Label { width: auto; color: $text-primary; text-style: bold; }
        & Input { border: none; padding: 0; height: 1; width: 1fr; background: $panel; }
        & Input:focus { border: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]

    class Answered(Message):
        """The user has typed an answer."""

        def __init__(self, kind: str, text: str) -> None:
            super().__init__()
            self.kind = kind
            self.text = text

    class Cancelled(Message):
        """The user does not want to answer."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.kind = ""
        self.hint = ""
        self.letters = ""
        """Keys that are an answer by themselves."""
        self.typed: dict[str, list[str]] = {}
        """What was answered before, by the kind of question."""
        self.place = 0
        self.offered: list[str] = []
        """Words that may be at the cursor."""
        self.turn = -1
        """Which of them was put there last."""
        self.began = 0

    def compose(self) -> ComposeResult:
        """The question, the answer, and the hint."""
        with Horizontal():
            yield Label("", markup=False, id="question")
            yield PromptInput(id="answer", select_on_focus=False)
        yield Hint()

    @property
    def answer(self) -> PromptInput:
        """Where the answer is typed."""
        return self.query_one(PromptInput)

    def ask(
        self, kind: str, question: str, text: str = "", hint: str = "", letters: str = ""
    ) -> None:
        """Ask something; each of the letters answers it without Enter."""
        self.kind, self.hint, self.letters = kind, hint, letters
        self.place = len(self.typed.get(kind, []))
        self.query_one("#question", Label).update(f" {question} ")
        self.add_class("asked")
        self.answer.value = text
        self.answer.cursor_position = len(text)
        # At once, not when the next styles are computed: keys may be on their way already.
        self.styles.display = "block"
        self.screen.set_focus(self.answer)
        self.look()

    def close(self) -> None:
        """Out of sight."""
        self.remove_class("asked")
        self.styles.display = None

    @property
    def open(self) -> bool:
        """Whether something is asked now."""
        return self.has_class("asked")

    def look(self) -> None:
        """Say what is wrong with the text so far, or what may follow."""
        from amqpscope.filter import complete

        hint, text = self.query_one(Hint), self.answer.value
        self.offered, self.turn = [], -1
        error = find_error(self.kind, text) if text.strip() else None
        if self.kind not in FILTERS and self.kind != COLUMNS:
            if error is None:
                hint.show(f" {self.hint}")
            else:
                hint.show(self.point_at(error), "wrong")
            return
        cursor = self.answer.cursor_position
        # A column is a word of its own, where a filter is a sentence.
        start = text.rfind(" ", 0, cursor) + 1 if self.kind == COLUMNS else 0
        wanted = self.kind != COLUMNS or text[start:cursor]
        words = complete(text[start:], cursor - start) if wanted else []
        self.offered = usual_first([word for word in words if word])[:MOST]
        if error is not None and not (self.offered and error.position + error.length >= cursor):
            hint.show(self.point_at(error), "wrong")
            return
        shown = "  ".join(self.offered)
        usual = FILTERS.get(self.kind, f" {self.hint}")
        hint.show(f" Tab: {shown}" if shown else usual, "word" if shown else "")

    def point_at(self, error: FilterError) -> str:
        """An error with its place, if there is room to point at it."""
        before = self.answer.region.x - self.region.x + columns(error.text[: error.position])
        caret = "^" * max(error.length, 1)
        pointed = f"{' ' * before}{caret} {error.message}"
        if columns(pointed) > self.size.width:
            room = before - columns(error.message) - 1
            pointed = f"{' ' * room}{error.message} {caret}" if room > 0 else f" ✗ {error.message}"
        return pointed

    def complete(self) -> None:
        """Put the next of the words that may be at the cursor there."""
        if not self.offered:
            return
        answer = self.answer
        value, cursor = answer.value, answer.cursor_position
        if self.turn < 0:
            self.began = cursor - len(word_before(value[:cursor], self.offered[0]))
            if len(self.offered) > 1:
                common = common_prefix(self.offered)
                if len(common) > cursor - self.began:
                    self.put(value[: self.began] + common, value[cursor:])
                    return
        offered = self.offered
        self.turn = (self.turn + 1) % len(offered)
        turn, began = self.turn, self.began
        self.put(value[:began] + offered[turn], value[cursor:])
        if len(offered) > 1:
            self.offered, self.turn, self.began = offered, turn, began

    def put(self, before: str, after: str) -> None:
        """Change the text, with the cursor between two parts of it."""
        with self.answer.prevent(Input.Changed):
            self.answer.value = before + after
        self.answer.cursor_position = len(before)
        self.look()

    def recall(self, way: int) -> None:
        """What was typed before, or after that."""
        typed = self.typed.get(self.kind, [])
        self.place = max(0, min(self.place + way, len(typed)))
        text = typed[self.place] if self.place < len(typed) else ""
        self.put(text, "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look at each change."""
        event.stop()
        if not self.open:
            return
        if len(event.value) > 1 and event.value[-1] in self.letters:
            self.take(event.value[-1])
            return
        self.look()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the answer on, unless something is wrong with it."""
        event.stop()
        text = event.value.strip()
        error = find_error(self.kind, text) if text else None
        if error is not None:
            self.query_one(Hint).show(self.point_at(error), "wrong")
            return
        self.take(text)

    def take(self, text: str) -> None:
        """Remember an answer, and give it on."""
        typed = self.typed.setdefault(self.kind, [])
        if text and text not in typed[-1:]:
            typed.append(text)
        self.close()
        self.post_message(self.Answered(self.kind, text))

    def action_cancel(self) -> None:
        """Leave it."""
        self.close()
        self.post_message(self.Cancelled())

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Who clicks elsewhere does not want to answer."""
        if self.open:
            self.action_cancel()


def find_error(kind: str, text: str) -> FilterError | None:
    """What is wrong with an answer, and where; None if nothing is."""
    from amqpscope.filter import FilterError, compile_filter

    try:
        if kind in FILTERS:
            compile_filter(text)
        elif kind in (FAULT, ACT):
            from amqpscope.proxy.faults.parser import parse_fault, read_decision

            parse_fault(text) if kind == FAULT else read_decision(text)
        elif kind == COLUMNS:
            from amqpscope.tui.columns import parse_columns

            parse_columns(text)
        elif kind == COLOURS:
            from amqpscope.tui.colours import parse_rules

            parse_rules(text)
    except FilterError as error:
        return error
    return None


def usual_first(words: list[str]) -> list[str]:
    """The words that people filter by most before the others."""
    return sorted(words, key=lambda word: USUAL.index(word) if word in USUAL else len(USUAL))


def word_before(text: str, offered: str) -> str:
    """The end of a text that a word would take the place of."""
    for size in range(min(len(text), len(offered)), 0, -1):
        if text.endswith(offered[:size]):
            return offered[:size]
    return ""


def common_prefix(words: list[str]) -> str:
    """What all words begin with."""
    low, high = min(words), max(words)
    size = next((at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return low[:size]
