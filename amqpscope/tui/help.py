"""The help: every key, taken from the bindings themselves, and the filter language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.dom import DOMNode
from textual.screen import ModalScreen

from amqpscope.report.columns import wrap
from amqpscope.tui.connections import Connections
from amqpscope.tui.widgets.prompt import Prompt, PromptInput
from amqpscope.tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from amqpscope.tui.screens.view import View

Keys = list[tuple[str, str]]
"""Keys with what they do."""
NAMES = {
    "question_mark": "?", "slash": "/", "colon": ":", "semicolon": ";", "backslash": "\\",
    "escape": "Esc", "enter": "Enter", "tab": "Tab", "space": "Space", "down": "↓", "up": "↑",
    "left": "←", "right": "→", "pagedown": "PgDn", "pageup": "PgUp", "home": "Home", "end": "End",
    "shift+tab": "Shift-Tab", "apostrophe": "'", "right_square_bracket": "]",
    "left_square_bracket": "[", "equals_sign": "=", "plus": "+", "minus": "-",
    "greater_than_sign": ">", "less_than_sign": "<",
}  # fmt: skip


BLANK = "  "
"""What is before lines that are no key's."""
BESIDE = re.compile(r"(.*\S)? {2,}(?=\S)")
"""A line that has something beside a name, or is indented."""


def hanging(text: str, width: int) -> list[str]:
    """A line in as many as it needs; what is beside a name stays in its column."""
    found = BESIDE.match(text)
    at = found.end() if found is not None and found.end() < width - 20 else 0
    return [text] if len(text) <= width else wrap(text[at:], width, text[:at], " " * at)


def key_name(key: str) -> str:
    """A key as it is on the keyboard."""
    if key in NAMES:
        return NAMES[key]
    if key.startswith("ctrl+"):
        return f"Ctrl-{NAMES.get(key[5:], key[5:].upper())}"
    return key


def bindings_of(owner: type[DOMNode]) -> Iterator[tuple[str, str]]:
    """The keys of a class itself, each with what it does.

    The line at the bottom has room for a name only; what a key does in full is its tooltip.
    """
    for binding in owner.__dict__.get("BINDINGS", ()):
        if isinstance(binding, Binding) and not binding.system:
            yield (
                " ".join(map(key_name, binding.key.split(","))),
                binding.tooltip or binding.description,
            )


def groups(app: type[DOMNode], view: View, title: str) -> list[tuple[str, Keys]]:
    """All keys that do something now, by where they do it."""
    found = [("Everywhere", [*bindings_of(app)]),
             (f"On the screen {title}", [*bindings_of(type(view))])]  # fmt: skip
    panes = {type(pane): pane.called for pane in view.query(VirtualList)}
    found += [(f"In {called}", [*bindings_of(pane)]) for pane, called in panes.items()]
    found += [("In every pane", [*bindings_of(VirtualList)]),
              ("At a prompt", [*bindings_of(PromptInput), *bindings_of(Prompt)]),
              ("In the list of connections", [*bindings_of(Connections)])]  # fmt: skip
    return [(heading, keys) for heading, keys in found if keys]


def commands(app: App[int], view: View) -> Iterator[SystemCommand]:
    """All that keys do, for the command palette."""
    for owner in (app, view):
        for binding in type(owner).BINDINGS:
            if isinstance(binding, Binding) and binding.action != "command_palette":
                keys = " ".join(map(key_name, binding.key.split(",")))
                run = partial(app.run_action, binding.action, owner)
                yield SystemCommand(binding.description, f"key {keys}", run)


class HelpText(VirtualList):
    """The lines of the help."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"help--title", "help--key"}
    DEFAULT_CSS = """
    HelpText {
        & > .help--title { color: $text-primary; text-style: bold; }
        & > .help--key { color: $text-warning; text-style: bold; }
        & > .rows--cursor, & > .rows--resting { background: $surface; text-style: none; }
    }
    """

    def __init__(self, groups: Iterable[tuple[str, Keys]]) -> None:
        from amqpscope.filter import HELP

        super().__init__()
        self.keys: list[tuple[str, str]] = []
        for title, keys in groups:
            self.keys += [("", title), *keys, ("", "")]
        self.filters = HELP.strip().splitlines()
        self.lines: list[tuple[str, str]] = []

    def on_resize(self) -> None:
        """Break what is too long."""
        super().on_resize()
        room = max(self.size.width - len(BLANK) - 1, 20)
        self.lines = [*self.keys, ("", "Filters")]
        for each in self.filters:
            self.lines += [(BLANK, part) for part in hanging(each, room)]
        self.renew(len(self.lines), 0)

    def line(self, index: int, width: int) -> list[Segment]:
        """A title, or a key with what it does."""
        key, text = self.lines[index]
        if not key:
            return [Segment(text, self.style_of("help--title"))]
        if not key.strip():
            return [Segment(f"{BLANK}{text}")]
        return [Segment(f"  {key:22} ", self.style_of("help--key")), Segment(text)]

    def action_move(self, lines: int) -> None:
        """Scroll: there is nothing to put a cursor on."""
        top = max(0, min(self.scroll_offset.y + lines, self.count - self.room))
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self.refresh()

    def action_first(self) -> None:
        """Scroll to the beginning."""
        self.action_move(-self.count)

    def action_last(self) -> None:
        """Scroll to the end."""
        self.action_move(self.count)


class Help(ModalScreen[None]):
    """All keys that mean something now."""

    DEFAULT_CSS = """
    Help {
        align: center middle;
        & > Container {
            width: 84; max-width: 100%; height: 90%; border: round $primary;
            border-title-color: $text-primary; background: $surface;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "dismiss", "Close", show=True),
    ]

    def __init__(self, groups: list[tuple[str, Keys]]) -> None:
        super().__init__()
        self.groups = groups

    def compose(self) -> ComposeResult:
        """The lines in a frame."""
        with Container() as frame:
            frame.border_title = "keys (Esc closes)"
            yield HelpText(self.groups)
