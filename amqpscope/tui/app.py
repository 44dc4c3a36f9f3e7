"""The application: the bar, the screens, the prompt, and the keys that work everywhere."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer
from textual.worker import WorkerFailed

from amqpscope.report.summary import printable
from amqpscope.report.text import TextLines
from amqpscope.tui.help import Help, bindings_of, key_name
from amqpscope.tui.marks import Marks
from amqpscope.tui.places import Places
from amqpscope.tui.screens import Entry, screens
from amqpscope.tui.screens.frames import FramesView
from amqpscope.tui.screens.view import View
from amqpscope.tui.store import Scan, Store
from amqpscope.tui.themes import DARK, LIGHT
from amqpscope.tui.widgets.bar import Bar, Tabs
from amqpscope.tui.widgets.fieldtree import FieldTree
from amqpscope.tui.widgets.framelist import FrameList
from amqpscope.tui.widgets.octets import Octets
from amqpscope.tui.widgets.prompt import Prompt
from amqpscope.tui.widgets.rows import Rows

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
    COMMANDS: ClassVar = App.COMMANDS | {Places}
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                entry.key, f"screen('{entry.name}')", f"{entry.title}: {entry.summary}", show=False
            )
            for entry in screens()
        ),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("s", "search", "Search", show=False),
        Binding("n", "next(1)", "Next match, or finding", show=False),
        Binding("N", "next(-1)", "Match before, or finding", show=False),
        Binding("m", "mark", "Mark", show=False),
        Binding("M", "next_mark", "Next mark", show=False),
        Binding("semicolon", "note", "Note", show=False),
        Binding("ctrl+g", "goto", "Go to frame or time", show=False),
        Binding("F", "follow", "Follow the newest frame", show=False),
        Binding("p", "pause", "Pause: nothing new is shown, nothing is lost", show=False),
        Binding("C", "connections", "Connections: when each began and ended", show=False),
        Binding("c", "copy", "Copy", show=False),
        Binding("w", "save", "Save the frames shown as pcapng", show=False),
        Binding("T", "theme", "Light or dark", show=False),
        Binding("escape", "step_back", "Back: list, then no search, no filter", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("colon", "command_palette", "Commands", key_display=":"),
        Binding("right_square_bracket", "capture(1)", "Next capture, of several", show=False),
        Binding("left_square_bracket", "capture(-1)", "Capture before", show=False),
        Binding("q", "leave", "Quit"),
    ]

    def __init__(
        self,
        store: Store,
        *,
        where: str = "",
        status: Callable[[], str] | None = None,
        place: str = "",
    ) -> None:
        super().__init__()
        self.place = place
        """Which capture of how many it is, where there are several."""
        self.store = store
        self.where = where
        """The filter to begin with."""
        self.said = status
        """Tells how whatever records the capture stands."""
        self.marks = Marks()
        self.frame = 0
        """The number of the selected frame; 0 before there is one."""
        self.last = 0
        """The last frame that was selected, also while a filter shows none."""
        self.entry: Entry = screens()[0]
        self.filtering: Scan | None = None
        self.searching: Scan | None = None
        self.following = store.source.follow
        self.paused = False
        self.seek = 0
        """A way in which to go to the next match as soon as one is known."""
        self.fault = ""
        """Why it ended, if it was not the user's wish."""
        self.message = ""
        self.asked_to_leave = False
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
        if self.where:
            self.apply_filter(self.where)
        self.view.entered()
        self.set_interval(TICK, self.tick)
        self.tick()
        self.run_worker(load_screens, thread=True, exit_on_error=False)

    def on_unmount(self) -> None:
        """Leave nothing behind."""
        for scan in (self.filtering, self.searching):
            if scan is not None:
                scan.close()
        self.store.close()

    @property
    def view(self) -> View:
        """The screen in sight."""
        found = self.switcher.query(f"#{self.entry.name}")  # one that opens is not there at once
        return found.first(View) if found else self.frames

    def tick(self) -> None:
        """Take what is new, and show it."""
        if not self.is_running or not self.frames.is_attached:
            return  # it is being closed
        changed = self.store.update()
        if self.filtering is not None and self.filtering.update():
            changed = True
            if not self.paused:
                self.frames.show_matches(self.filtering)
        if self.searching is not None and self.searching.update():
            self.frames.frames.found = self.searching.matches
            self.frames.frames.forget()
            changed = True
        if changed or self.store.source.follow:
            if self.view is not self.frames:
                self.frames.updated()
            self.view.updated()
            if not self.frame and self.frames.frames.number:
                self.select(self.frames.frames.number)
        if self.seek:
            self.go_next(self.seek)
        self.bars()

    # -- what screens call --------------------------------------------------------------------

    def select(self, number: int) -> None:
        """Make a frame the selected one, on every screen."""
        self.frame = number
        self.last = number or self.last
        if number and number != self.frames.frames.number:
            self.frames.selected(number)
        self.view.selected(number)
        self.bars()

    def visit(self, number: int) -> None:
        """Select a frame and show it in the list, without the filter if that hides it."""
        if not 0 < number <= self.store.count:
            self.tell(f"there is no frame {number}: they are 1 to {self.store.count}", bad=True)
            return
        self.following = False
        if self.filtering is not None and not self.is_shown(number):
            self.drop_filter()
            self.tell(f"frame {number} is not among those of the filter, which was taken off")
        self.open_screen("frames")
        self.select(number)

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

    def tell(self, text: str, *, bad: bool = False) -> None:
        """Say something on the line at the bottom."""
        self.message = ("✗ " if bad else "") + printable(text)
        self.set_timer(TELL, partial(self.hush, self.message))
        self.bars()

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

    # -- the bars -----------------------------------------------------------------------------

    def bars(self) -> None:
        """Say how things stand."""
        store = self.store
        found = []
        for severity in ("error", "warning"):
            if store.counts[severity]:
                sign = "✗" if severity == "error" else "!"
                found.append((f" {sign} {store.counts[severity]:,}", severity))
        tabs = self.tab_words()
        room = self.size.width - sum(len(text) for text, _ in (*tabs, *found)) - 4
        name = Path(store.source.path).name if store.source.path != "-" else "standard input"
        name += f" {self.place}" if self.place else ""
        # A name's end tells more than its beginning.
        shown = printable(name) if len(name) <= room else "…" + printable(name)[1 - max(room, 2) :]
        self.tabs.show(tabs, [*found, (f"  {shown} ", "strong")] if room > 4 else found)
        self.status.show(self.left(), self.right())

    def tab_words(self) -> list[tuple[str, str]]:
        """The screens; where there is little room, only the one in sight by its name."""
        entries = screens()
        narrow = sum(len(entry.title) + 4 for entry in entries) > self.size.width - 20
        words = []
        for entry in entries:
            here = entry == self.entry
            text = f" {entry.key} {entry.title} " if here or not narrow else f" {entry.key} "
            words.append((text, "here" if here else ""))
        return words

    def left(self) -> list[tuple[str, str]]:
        """A message, else the filter, else what is wrong, else a hint."""
        store = self.store
        if self.message:
            return [(f" {self.message}", "error" if self.message.startswith("✗") else "strong")]
        words: list[tuple[str, str]] = []
        if self.filtering is not None:
            words.append((f" filter: {self.filtering.text} ", "strong"))
            words.append((f" {len(self.filtering.matches):,} of {self.filtering.seen:,} ", "muted"))
        if self.searching is not None:
            words.append((f" search: {self.searching.text} ", "strong"))
            words.append((f" {len(self.searching.matches):,} found ", "muted"))
        if words:
            return words
        if store.error:
            return [(f" ✗ {store.error}", "error")]
        if self.said is not None:
            return [(f" {self.said()}", "")]
        problem = store.status.get("problem")
        notes = store.status.get("notes") or []
        if problem or notes:
            return [(f" ! {problem or notes[0]}", "warning")]
        if store.done and not store.count:
            return [(f" no AMQP in {store.status.get('packets', 0)} packets", "warning")]
        note = self.marks.notes.get(self.frame)
        if note:
            return [(f" » {note}", "strong")]
        return self.finding_words()

    def finding_words(self) -> list[tuple[str, str]]:
        """What is wrong with the selected frame."""
        for severity in ("error", "warning"):
            for finding in self.store.findings_at(self.frame):
                if finding.severity == severity:
                    text = f" {finding.rule} the {finding.peer}: {printable(finding.message)}"
                    return [(text, severity)]
        wrong = self.store.counts["error"] + self.store.counts["warning"]
        return [(f" n: the next of {wrong:,} errors and warnings", "muted")] if wrong else []

    def right(self) -> list[tuple[str, str]]:
        """Where we are, and how far reading is."""
        store = self.store
        words: list[tuple[str, str]] = []
        if self.paused:
            words.append((" PAUSED", "warning"))
        elif self.following:
            words.append((" following", "strong"))
        if store.source.follow and not store.done:
            behind = store.behind
            words.append((f" {behind:,} octets behind" if behind else " live", "muted"))
        elif not store.done:
            percent = f"{store.progress:.0%}" if store.status.get("size") else "..."
            words.append((f" reading {percent}", "muted"))
        gaps = store.status.get("gaps")
        if gaps:
            words.append((f" {gaps} gaps", "warning"))
        words.append((f" {self.frame:,}/{store.count:,} ", ""))
        return words

    # -- keys ---------------------------------------------------------------------------------

    def action_screen(self, name: str) -> None:
        """Bring a screen into sight."""
        self.open_screen(name)

    def on_tabs_clicked(self, event: Tabs.Clicked) -> None:
        """A tab was clicked."""
        self.open_screen(screens()[event.place].name)

    def action_filter(self) -> None:
        """Ask for a filter."""
        text = "" if self.filtering is None else self.filtering.text
        self.prompt.ask("filter", "filter:", text)

    def action_search(self) -> None:
        """Ask for a text to search for."""
        hint = "text in a frame's line or octets; n and N go to the next and the one before"
        self.prompt.ask("search", "search:", hint=hint)

    def action_note(self) -> None:
        """Ask for a note on the selected frame."""
        if self.frame:
            question = f"note on frame {self.frame}:"
            self.prompt.ask("note", question, self.marks.notes.get(self.frame, ""))

    def action_goto(self) -> None:
        """Ask for a place."""
        hint = "17 (frame), 1.5s (since the first frame), 12:00:01.5 (time of day, UTC)"
        self.prompt.ask("goto", "go to:", hint=hint)

    def action_save(self) -> None:
        """Ask for a file name."""
        frames = self.frames.frames
        hint = f"{frames.count:,} frames as pcapng, with any credentials that are in them"
        self.prompt.ask("save", "save as:", f"{Path(self.store.source.path).stem}-saved.pcapng",
                        hint)  # fmt: skip

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        """Do what was asked for."""
        self.view.entered()
        if event.kind == "filter":
            self.apply_filter(event.text)
        elif event.kind == "search":
            self.apply_search(event.text)
        elif event.kind == "note" and self.frame:
            self.marks.write(self.frame, event.text)
            self.frames.frames.forget()
        elif event.kind == "goto":
            self.go_to(event.text)
        elif event.kind == "save" and event.text:
            self.save(event.text)
        self.bars()

    def on_prompt_cancelled(self) -> None:
        """Keys go to the screen again."""
        self.view.entered()

    def apply_filter(self, text: str) -> None:
        """Show only the frames that a filter lets pass."""
        if self.filtering is not None:
            self.filtering.close()
            self.filtering = None
        if text:
            self.filtering = self.store.scan("filter", text)
        else:
            self.frames.frames.show(None, self.last)
            self.select(self.frames.frames.number)

    def drop_filter(self) -> None:
        """Show all frames."""
        self.apply_filter("")

    def apply_search(self, text: str) -> None:
        """Look for a text, and go to the first place behind the cursor."""
        if self.searching is not None:
            self.searching.close()
            self.searching = None
            self.frames.frames.found = None
            self.frames.frames.forget()
        if text:
            self.searching = self.store.scan("search", text)
            self.seek = 1

    def action_next(self, way: int) -> None:
        """Go to the next match of the search; without one, to the next finding."""
        self.go_next(way)

    def go_next(self, way: int) -> None:
        """Go there, or when it is known."""
        self.seek = 0
        scan = self.searching
        if scan is not None:
            number = scan.after(self.frame) if way > 0 else scan.before(self.frame)
            if not number and way > 0 and scan.seen < self.store.count:
                self.seek = way
                return
        else:
            found = self.store.findings
            number = found.after(self.frame) if way > 0 else found.before(self.frame)
        if number:
            self.visit(number)
        else:
            what = "match" if scan is not None else "error or warning"
            self.tell(f"no {what} {'after' if way > 0 else 'before'} frame {self.frame}")

    def action_mark(self) -> None:
        """Mark the selected frame, or take the mark away."""
        if self.frame:
            self.marks.toggle(self.frame)
            self.frames.frames.forget()

    def action_next_mark(self) -> None:
        """Go to the next marked frame."""
        number = self.marks.after(self.frame)
        if number:
            self.visit(number)
        else:
            self.tell("no frame is marked; m marks one")

    def go_to(self, text: str) -> None:
        """Go to a frame or a time."""
        from amqpscope.tui.places import place

        try:
            self.visit(place(self.store, text))
        except ValueError as error:
            self.tell(str(error), bad=True)

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
            self.open_screen("frames")
            self.apply_filter(f"connection == {connection}")

    def action_copy(self) -> None:
        """Copy what the cursor is on."""
        text = self.view.copied()
        if not text and self.frame:
            lines = TextLines(show_secrets=self.store.source.show_secrets)
            lines.start = self.store.start
            text = lines.line(self.store.step(self.frame))
        if text:
            self.copy_to_clipboard(text)
            self.tell(f"copied {len(text)} characters")

    def save(self, text: str) -> None:
        """Write the frames that are shown."""
        frames = self.frames.frames
        numbers = range(1, frames.count + 1) if frames.matches is None else frames.matches[:]
        self.run_worker(partial(self.write, numbers, text), thread=True)

    def write(self, numbers: Iterable[int], text: str) -> None:
        """In a thread of its own: the file may be large."""
        from amqpscope.tui.saving import write_frames

        path = Path(text).expanduser()
        try:
            if path.exists():
                raise FileExistsError(17, "there is such a file already")
            count = write_frames(self.store, numbers, str(path))
        except OSError as error:
            what = (error.strerror or str(error)).lower()
            self.call_from_thread(self.tell, f"{path}: cannot be written: {what}", bad=True)
        else:
            self.call_from_thread(self.tell, f"{count:,} frames written to {path}")

    def action_theme(self) -> None:
        """Light or dark."""
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name

    def action_step_back(self) -> None:
        """One thing less: the pane, the screen, the search, the filter."""
        frames = self.frames
        if self.view is not frames:
            self.open_screen("frames")
        elif not frames.frames.has_focus or frames.has_class("whole-list"):
            frames.show_whole(None)
            frames.focus_pane(frames.frames)
        elif self.searching is not None:
            self.apply_search("")
        elif self.filtering is not None:
            self.drop_filter()
            self.tell("all frames; / and ↑ bring the filter back")
        self.bars()

    def action_leave(self) -> None:
        """Quit; where that ends a recording, ask first."""
        if self.said is not None and not self.asked_to_leave:
            self.asked_to_leave = True
            self.tell("q again ends the proxy")
            self.set_timer(TELL, self.stay)
            return
        self.exit(0)

    def action_capture(self, way: int) -> None:
        """Go on with another capture."""
        if self.place:
            self.exit(way)
        else:
            self.tell("only one capture was given")

    def stay(self) -> None:
        """Forget that q was pressed."""
        self.asked_to_leave = False

    def action_help(self) -> None:
        """List all keys."""
        view = type(self.view)
        groups = [
            ("Everywhere", [*bindings_of(type(self))]),
            (f"On the screen {self.entry.title}", [*bindings_of(view)]),
        ]
        if view is FramesView:
            groups += [("In the list", [*bindings_of(FrameList)]),
                       ("In the fields", [*bindings_of(FieldTree)]),
                       ("In the octets", [*bindings_of(Octets)])]  # fmt: skip
        groups.append(("In lists", [*bindings_of(Rows)]))
        self.push_screen(Help(groups))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """All that keys do, for the command palette."""
        for owner in (self, self.view):
            for binding in type(owner).BINDINGS:
                if isinstance(binding, Binding) and binding.action != "command_palette":
                    keys = " ".join(map(key_name, binding.key.split(",")))
                    run = partial(self.run_action, binding.action, owner)
                    yield SystemCommand(binding.description, f"key {keys}", run)


def load_screens() -> None:
    """Read the screens' modules while nobody waits for them: it takes some tenths of a second."""
    for entry in screens():
        entry.load()
