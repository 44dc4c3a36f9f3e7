"""The application: the bar, the screens, the prompt, and the keys that work everywhere."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import constants
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.events import Event, Key
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer
from textual.worker import WorkerFailed

from amqpscope.protocols.words import escaped
from amqpscope.report.look import Look
from amqpscope.report.text import TextLines
from amqpscope.tui.bars import left_words, right, top
from amqpscope.tui.body_export import BodyExport
from amqpscope.tui.bookmarks import Bookmarks
from amqpscope.tui.goto import GotoProvider
from amqpscope.tui.help import Help, commands, groups
from amqpscope.tui.keys import KEYS
from amqpscope.tui.leaving import Leaving
from amqpscope.tui.looks import Looks
from amqpscope.tui.profiles import Profile
from amqpscope.tui.prompts import PromptActions
from amqpscope.tui.screens import Entry, screens
from amqpscope.tui.screens.frames import FramesView
from amqpscope.tui.screens.view import View
from amqpscope.tui.search import FrameSearch
from amqpscope.tui.store import Store
from amqpscope.tui.terminal import Terminal, hang_up_of
from amqpscope.tui.themes import DARK, LIGHT
from amqpscope.tui.widgets.bar import Bar, Tabs
from amqpscope.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from amqpscope.tui.comparison import Marked
    from amqpscope.tui.message_search import MessageSearch

TICK: Final = 0.1
"""Seconds between two looks at what is new."""
TELL: Final = 6.0
"""Seconds for which a message stays."""


class Scope(App[int]):
    """One capture, on several screens."""

    CSS = """
    Screen { layout: vertical; }
    ContentSwitcher { height: 1fr; }
    Footer { height: 1; }
    """
    TITLE = "amqpscope"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "colon"
    COMMANDS: ClassVar = App.COMMANDS | {GotoProvider}
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]

    def __init__(
        self,
        store: Store,
        *,
        where: str = "",
        status: Callable[[], str] | None = None,
        begun: Callable[[int], None] | None = None,
        place: str = "",
        profile: Profile | None = None,
        invite: Callable[[], tuple[str, str]] | None = None,
    ) -> None:
        super().__init__(driver_class=None if constants.DRIVER else Terminal)
        self.place = place
        """Which capture of how many it is, where there are several."""
        self.store = store
        self.where = where
        """The filter to begin with."""
        self.said = status
        """Tells how whatever records the capture stands."""
        self.invite = invite
        """Of a proxy: where to point a client, and why that would not help now."""
        self.begun = begun
        """Hears which file of a rotated recording is read."""
        self.file = 0
        self.marks = Bookmarks()
        self.compared: Marked | None = None
        """What the next frame or connection is to be compared with."""
        self.frame = 0
        """The number of the selected frame; 0 before there is one."""
        self.last = 0
        """The last frame that was selected, also while a filter shows none."""
        self.entry: Entry = screens()[0]
        self.looking = FrameSearch(self)
        self.asking = PromptActions(self)
        self.exporting = BodyExport(self)
        self.profile = profile or Profile()
        self.warning = ""
        """What is to be said when the screen opens."""
        self.looks = Looks(self)
        self.leaving = Leaving(self)
        self.tracing: MessageSearch | None = None
        """Finds the message of a frame, once that was asked for."""
        self.following = store.source.follow
        self.paused = False
        self.fault = ""
        """Why it ended, if it was not the user's wish."""
        self.message = ""
        self.asked_to_leave = False
        self.terminal = hang_up_of(sys.__stdin__, served=bool(constants.DRIVER))
        """Tells when the terminal is gone; None where there is none."""
        # Kept here, because asking the application for them looks at what lies on top only.
        self.tabs = Tabs(id="tabs")
        self.status = Bar(id="status")
        self.prompt = Prompt(id="prompt")
        self.frames = FramesView(self.store, id="frames")
        self.switcher = ContentSwitcher(self.frames, initial="frames")

    # -- the window ---------------------------------------------------------------------------

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours, also before our theme is there."""
        return DARK.variables

    @property
    def holds_frames(self) -> bool:
        """Whether a proxy holds frames, whose keys then come first."""
        return False

    def compose(self) -> ComposeResult:
        """Bar, screens, prompt, status, keys."""
        yield self.tabs
        yield self.switcher
        yield self.prompt
        yield self.status
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Take our colours."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    def on_ready(self) -> None:
        """All parts are there: begin to look for what is new."""
        self.frames.frames.invite = self.invite
        self.looks.apply()
        try:
            self.marks.read_beside(self.store.source.path)
        except (OSError, ValueError) as error:
            self.warning = self.warning or f"the notes beside the capture: {error}"
        if self.warning:
            self.announce(self.warning, bad=True)
        if self.where:
            self.looking.filter(self.where)
        self.view.entered()
        self.set_interval(TICK, self.tick)
        self.tick()
        self.run_worker(load_screens, thread=True, exit_on_error=False)

    def on_unmount(self) -> None:
        """Leave nothing behind."""
        if constants.DRIVER and self.marks.changed and not self.leaving.forgotten:
            self.leaving.keep()  # a page was closed, which asks nobody
        self.looking.close()
        self.store.close()

    @property
    def view(self) -> View:
        """The screen in sight."""
        # One that opens is not there at once, and then has no widgets yet.
        found = [view for view in self.switcher.query(f"#{self.entry.name}").results(View)
                 if view.is_mounted]  # fmt: skip
        return found[0] if found else self.frames

    def tick(self) -> None:
        """Take what is new, and show it."""
        if not self.is_running or not self.frames.is_attached:
            return  # it is being closed
        if self.terminal is not None and self.terminal.poll(0):
            if self.marks.changed:
                self.leaving.keep()
            self.exit(0)  # it is gone, and nobody looks any more
            return
        changed = self.store.update()
        if self.marks.update(self.store):
            self.frames.frames.forget()
        number = int(self.store.status.get("file", 0))
        if self.begun is not None and number != self.file:
            self.file = number
            self.begun(number)
        if self.looking.update() or changed or self.store.source.follow:
            if self.view is not self.frames:
                self.frames.updated()
            self.view.updated()
            if not self.frame and self.frames.frames.number:
                self.select(self.frames.frames.number)
        self.looking.go_on()
        if self.tracing is not None:
            self.tracing.go_on()
        self.bars()

    # -- what screens call --------------------------------------------------------------------

    def select(self, number: int) -> None:
        """Make a frame the selected one, on every screen."""
        if number != self.frame and not self.following:
            self.message = ""  # it was about what was selected before
        self.frame = number
        self.last = number or self.last
        if number and number != self.frames.frames.number:
            self.frames.selected(number)
        self.view.selected(number)
        self.bars()

    def visit(self, number: int) -> None:
        """Select a frame and show it in the list, without the filter if that hides it."""
        if not 0 < number <= self.store.count:
            self.announce(f"there is no frame {number}: the last is {self.store.count}", bad=True)
            return
        self.following = False
        hidden = self.looking.filtering is not None and not self.is_shown(number)
        if hidden:
            self.looking.filter("")
        self.open_screen("frames")
        self.select(number)
        if hidden:
            self.announce(f"the filter hid frame {number} and was removed")

    def is_shown(self, number: int) -> bool:
        """Whether the list has a frame."""
        frames = self.frames.frames
        return frames.number_at(frames.index_of(number)) == number

    def open_screen(self, name: str) -> None:
        """Bring a screen into sight, by its name."""
        entry = next((entry for entry in screens() if entry.name == name), None)
        if entry is None or entry == self.entry:
            return
        switcher = self.switcher
        self.entry = entry
        if not switcher.query(f"#{name}"):
            self.run_worker(self.add_screen(entry), exclusive=False)
            return
        switcher.current = name
        self.enter()

    async def add_screen(self, entry: Entry) -> None:
        """Make a screen that was not needed before."""
        switcher = self.switcher
        view = entry.load()(self.store, id=entry.name)
        await switcher.add_content(view, id=entry.name, set_current=self.entry == entry)
        if self.entry == entry:
            self.enter()

    def enter(self) -> None:
        """Let the screen in sight know what it missed."""
        view = self.view
        view.entered()
        view.selected(self.frame)
        view.updated()
        self.bars()

    def announce(self, text: str, *, bad: bool = False) -> None:
        """Say something on the line at the bottom."""
        self.message = ("✗ " if bad else "") + escaped(text)
        self.set_timer(TELL, partial(self.hush, self.message))
        self.bars()

    async def on_event(self, event: Event) -> None:
        """A key: what was announced was about the one before."""
        if isinstance(event, Key) and self.message:
            self.message = ""
            self.bars()
        await super().on_event(event)

    def hush(self, message: str) -> None:
        """Take a message away, unless there is a newer one."""
        if self.message == message:
            self.message = ""
            self.bars()

    def _fatal_error(self) -> None:
        """Something that we did not think of: end with one line, where Textual prints pages."""
        error: BaseException | None = self._exception
        if isinstance(error, WorkerFailed):
            error = error.error
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
            self.fault = f"this is a bug of amqpscope: {type(error).__name__}: {error}{place}"
        self._close_messages_no_wait()

    def bars(self) -> None:
        """Say how things stand."""
        self.tabs.show(*top(self))
        self.status.show(left_words(self), right(self))

    # -- keys ---------------------------------------------------------------------------------

    def action_screen(self, name: str) -> None:
        """Bring a screen into sight."""
        self.open_screen(name)

    def on_tabs_clicked(self, event: Tabs.Clicked) -> None:
        """A tab was clicked."""
        self.open_screen(screens()[event.place].name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that ask come first, unless a text is typed already, or something lies on top."""
        if action == "ask":
            return not self.prompt.open and len(self.screen_stack) == 1
        return super().check_action(action, parameters)

    def action_ask(self, kind: str) -> None:
        """Ask for a filter, a text, a note, a place or a file name."""
        self.asking.ask(kind)

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        """Do what was asked for."""
        self.message = ""
        self.view.entered()
        self.asking.take_answer(event.kind, event.text)
        self.bars()

    def on_prompt_cancelled(self) -> None:
        """Keys go to the screen again."""
        self.view.entered()

    def action_next(self, way: int) -> None:
        """Go to the next match of the search; without one, to the next finding."""
        self.looking.go_next(way)

    def action_refusal(self, way: int) -> None:
        """Go to the next frame in which a peer refuses something."""
        refusals = self.store.refusals
        number = refusals.after(self.frame) if way > 0 else refusals.before(self.frame)
        # The first one may be where the cursor is already.
        if number or (self.frame in refusals and len(refusals) == 1):
            self.visit(number or self.frame)
        else:
            where = "after" if way > 0 else "before"
            self.announce(f"no refusal {where} frame {self.frame}")

    def action_mark(self) -> None:
        """Mark the selected frame, or take the mark away."""
        if self.frame:
            marked = self.marks.toggle(self.frame)
            self.frames.frames.forget()
            if self.view is not self.frames:
                self.announce(f"frame {self.frame} is {'' if marked else 'no longer '}marked")

    def action_next_mark(self) -> None:
        """Go to the next marked frame."""
        number = self.marks.after(self.frame)
        if number:
            self.visit(number)
        else:
            self.announce("no frame is marked; m marks one")

    def action_compare(self) -> None:
        """Mark the selected frame, or compare it with the one that is marked."""
        from amqpscope.tui.comparison import Marked

        if self.frame:
            self.compare(Marked(self.store.record(self.frame).connection, self.frame))

    def compare(self, marked: Marked) -> None:
        """Keep a frame or connection until there is another of its kind, then compare them."""
        from amqpscope.tui.comparison import DiffScreen

        first, self.compared = self.compared, None
        if first is None or bool(first.frame) != bool(marked.frame):
            self.compared = marked
            self.announce(f"{marked} is A; press = on another to compare it")
        elif first == marked:
            self.announce(f"{marked} is no longer to be compared")
        else:
            self.push_screen(DiffScreen(self.store, first, marked), self.visit_chosen)

    def visit_chosen(self, number: int | None) -> None:
        """Go to a frame that was chosen on a screen on top."""
        if number:
            self.visit(number)

    def action_follow(self) -> None:
        """Stay at the newest frame, or stop to."""
        self.following = self.paused or not self.following
        self.paused = False
        self.frames.updated()
        self.bars()

    def action_pause(self) -> None:
        """Show nothing new, or go on."""
        self.paused = not self.paused
        if not self.paused:
            self.frames.updated()
        self.bars()

    def action_connections(self) -> None:
        """List the connections; show the frames of the one that is chosen."""
        from amqpscope.tui.connections import Connections

        self.push_screen(Connections(self.store), self.only)

    def only(self, connection: int | None) -> None:
        """Show the frames of one connection."""
        if connection:
            self.message = ""
            self.open_screen("frames")
            self.looking.filter(f"connection == {connection}")

    def action_follow_message(self) -> None:
        """Show the frames of one message, over all connections."""
        from amqpscope.tui.message_search import MessageSearch

        if self.tracing is None:
            self.tracing = MessageSearch(self)
        self.tracing.follow()

    def action_copy(self) -> None:
        """Copy what the cursor is on."""
        text = self.view.copied()
        if not text and self.frame:
            lines = TextLines(Look(show_secrets=self.store.source.show_secrets))
            lines.start = self.store.start
            text = lines.line(self.store.step(self.frame))
        if text:
            self.copy_to_clipboard(text)
            self.announce(f"copied {len(text)} characters")

    def action_theme(self) -> None:
        """Light or dark."""
        self.profile.theme = "light" if self.theme == DARK.name else "dark"
        self.looks.change()

    def action_step_back(self) -> None:
        """One thing less: the pane, the screen, the search, the filter."""
        frames = self.frames
        if self.view is not frames:
            self.open_screen("frames")
        elif not frames.frames.has_focus or frames.has_class("whole-list"):
            frames.show_whole(None)
            frames.focus_pane(frames.frames)
        elif self.looking.searching is not None:
            self.looking.search("")
        elif self.looking.filtering is not None:
            self.looking.filter("")
            self.announce("all frames again; / then ↑ brings the filter back")
        self.bars()

    def action_leave(self) -> None:
        """Quit; where that ends a recording, ask first."""
        if self.said is not None and not self.asked_to_leave:
            self.asked_to_leave = True
            self.announce("q again ends the proxy")
            self.set_timer(TELL, self.stay)
            return
        self.leaving.leave(0)

    def action_capture(self, way: int) -> None:
        """Go on with another capture."""
        if self.place:
            self.leaving.leave(way)
        else:
            self.announce("only one capture was given")

    def stay(self) -> None:
        """Forget that q was pressed."""
        self.asked_to_leave = False

    def action_help(self) -> None:
        """List all keys, once the screen is there that they are for."""
        if self.view.id != self.entry.name:
            self.set_timer(TICK, self.action_help)
            return
        self.push_screen(Help(groups(type(self), self.view, self.entry.title)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """All that keys do, for the command palette."""
        return commands(self, self.view)


def load_screens() -> None:
    """Read the screens' modules while nobody waits for them: it takes some tenths of a second."""
    for entry in screens():
        entry.load()
