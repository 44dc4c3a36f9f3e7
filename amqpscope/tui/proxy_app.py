"""The application over a running proxy: frames are held, and decided on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from amqpscope.report.columns import cut
from amqpscope.tui.app import Scope
from amqpscope.tui.bars import left_words, right, top
from amqpscope.tui.edit_frame import EditFrame
from amqpscope.tui.editor import EditorError, edit_text
from amqpscope.tui.fault_list import Faults
from amqpscope.tui.help import Help, bindings_of, groups
from amqpscope.tui.interception import Interception, Remote, Table
from amqpscope.tui.keys import KEYS
from amqpscope.tui.store import Store
from amqpscope.tui.widgets.framelist import HELD
from amqpscope.tui.widgets.held_frames import DECISIONS, HeldFrames
from amqpscope.tui.widgets.prompt import ACT, FAULT, HOLD, Prompt
from amqpscope.tui.widgets.virtual_list import VirtualList
from amqpscope.wording import plural

ACTIONS: Final = (
    "set FIELD=VALUE, delay 2s, reject, release, detach, close, inject FRAME, reset, ..."
)
RULE: Final = "FILTER => ACTION [times=N] ..., or a preset such as @flaky"
LONGEST: Final = 30
"""Columns for the filter of what is held."""
RECOVERED: Final = "takes connections again"
"""How news ends that is good."""
QUESTIONS: Final = (HOLD, ACT, FAULT)
PROXY_KEYS: Final = (
    # First of all, so that the filter that is typed right behind it is not taken for keys.
    Binding("i", f"ask('{HOLD}')", "Hold", priority=True),
    Binding("H", "held", "Go to the held frames", show=False),
    *(Binding(key, action, text, show=False) for key, action, text, _ in DECISIONS),
    Binding("f", "faults", "Faults: list, add, remove", show=False),
)


class ProxyScope(Scope):
    """The screens of a proxy."""

    # Where there are 80 columns the line at the bottom has no room for both.
    BINDINGS: ClassVar[list[BindingType]] = [
        *PROXY_KEYS,
        *(replace(key, show=key.show and key.key != "colon") for key in KEYS),
    ]

    def __init__(self, store: Store, remote: Remote, **options: Any) -> None:
        super().__init__(store, **options)
        self.interception = Interception(remote, store)
        self.held = HeldFrames(self.interception, id="held")

    def compose(self) -> ComposeResult:
        """What every capture has, and the held frames."""
        for part in super().compose():
            if part is self.prompt:
                yield self.held
            yield part

    def tick(self) -> None:
        """Take what is new, and show it."""
        super().tick()
        if not self.is_running or not self.frames.is_attached or not self.held.is_attached:
            return
        changed = self.interception.update()
        if changed:
            self.frames.frames.held = frozenset(self.interception.frames.values())
            self.frames.frames.refresh()
        if changed or self.interception.held:
            self.held.update()
        if news := self.interception.remote.news():
            self.announce(news[-1], bad=not news[-1].endswith(RECOVERED))

    def select(self, number: int) -> None:
        """Make a frame the selected one, on every screen."""
        super().select(number)
        if not self.following:
            self.held.point_at(number)

    def bars(self) -> None:
        """Show the state of things, and what is held."""
        self.tabs.show(*top(self))
        where = self.interception.where
        shown = where and not self.message  # which needs the room
        words = [(f" {HELD} {cut(where, LONGEST)} ", "warning")] if shown else []
        self.status.show(left_words(self), [*words, *right(self)])

    # -- keys ---------------------------------------------------------------------------------

    def action_ask(self, kind: str) -> None:
        """Ask for what every capture can be asked for, and for what a proxy can do."""
        if kind not in QUESTIONS:
            super().action_ask(kind)
        elif kind == HOLD:
            self.prompt.ask(kind, "hold:", self.interception.where)
        elif kind == FAULT:
            self.prompt.ask(kind, "fault:", "", RULE)
        elif (held := self.chosen_frame()) is not None:
            self.prompt.ask(kind, f"act on {held['number']} {held['name']}:", "", ACTIONS)

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        """Do what was asked for."""
        if event.kind not in QUESTIONS:
            super().on_prompt_answered(event)
            return
        event.prevent_default()
        self.view.entered()
        if event.kind == HOLD:
            self.intercept(event.text)
        elif event.kind == ACT and event.text:
            self.decide(event.text)
        elif event.kind == FAULT and event.text:
            self.add_fault(event.text)

    def intercept(self, where: str) -> None:
        """Hold other frames from now on."""
        if error := self.interception.intercept(where):
            self.announce(error, bad=True)
        else:
            self.announce(f"holding frames that match {where}" if where else "holding no frames")
        self.bars()

    @property
    def holds_frames(self) -> bool:
        """Whether a frame waits for a decision; it may not be read yet."""
        return self.held.selected is not None

    def chosen_frame(self) -> Table | None:
        """The held frame that keys are for; said so where there is none."""
        held = self.held.selected
        if held is None:
            self.announce("no frame is held; i holds those that match a filter")
        return held

    def decide(self, action: str, **more: str) -> None:
        """Do something to the held frame at the cursor."""
        held = self.chosen_frame()
        if held is not None:
            self.decide_on(held["number"], action, **more)

    def decide_on(self, number: int | str, action: str, **more: str) -> bool:
        """Do something to a held frame; whether that went well."""
        error = self.interception.ask(do="decide", number=number, action=action, **more)[1]
        if error:
            self.announce(error.split("\n")[-1], bad=True)
        else:
            what = "all held frames" if number == "all" else f"held frame {number}"
            self.announce(f"{what}: {action}")
        self.tick()
        return not error

    def action_resume(self) -> None:
        """Pass the held frame on."""
        self.decide("resume")

    def action_resume_all(self) -> None:
        """Pass on all that is held now."""
        if self.chosen_frame() is not None:
            self.decide_on("all", "resume")

    def action_decide(self, action: str) -> None:
        """Drop, duplicate or disconnect."""
        self.decide(action)

    def action_held(self) -> None:
        """Keys go to the held frames, also where a screen has other uses for them."""
        if self.chosen_frame() is not None:
            self.held.focus()

    def action_step_back(self) -> None:
        """One thing less."""
        if self.held.has_focus:
            self.view.entered()
        else:
            super().action_step_back()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter on a held frame shows it in the list."""
        held = self.held.selected
        if event.rows is self.held and held is not None:
            number = self.interception.frames.get(held["number"])
            if number:
                self.visit(number)

    def action_faults(self) -> None:
        """List the faults."""
        self.push_screen(Faults(self.interception), self.after_faults)

    def after_faults(self, wish: str | None) -> None:
        """Ask for a fault to add."""
        if wish == "add":
            self.action_ask(FAULT)

    def add_fault(self, rule: str) -> None:
        """Add a fault, and list them."""
        answer, error = self.interception.ask(do="add", rule=rule)
        if error:
            self.announce(error.split("\n")[-1], bad=True)
        else:
            self.announce(f"added {answer['added']['name']}")
            self.action_faults()

    def action_leave(self) -> None:
        """Quit, which passes on what is held; ask first."""
        held = len(self.interception.held)
        super().action_leave()
        if held and self.asked_to_leave and self.is_running:
            self.announce(f"q again passes {plural(held, 'held frame')} on, and ends the proxy")

    def action_help(self) -> None:
        """List all keys."""
        found = groups(Scope, self.view, self.entry.title)
        keys = [*bindings_of(ProxyScope)][: len(PROXY_KEYS)]
        found.insert(0, ("Holding frames (first H, on screens that use the key themselves)", keys))
        self.push_screen(Help(found))

    # -- editing ------------------------------------------------------------------------------

    def fetch(self) -> tuple[int, str, str] | None:
        """The number, notation and dialect of the held frame at the cursor."""
        held = self.chosen_frame()
        if held is None:
            return None
        answer, error = self.interception.ask(do="frame", number=held["number"])
        if not error and answer["secret"] and not self.store.source.show_secrets:
            error = "this frame holds a secret: start with --show-secrets to edit it"
        if error:
            self.announce(error, bad=True)
            return None
        return held["number"], answer["frame"], answer["dialect"]

    def action_edit_held(self) -> None:
        """Edit the held frame on the screen."""
        found = self.fetch()
        if found is not None:
            self.edit_here(*found)

    def edit_here(self, number: int, text: str, dialect: str) -> None:
        """Edit a held frame on the screen."""

        def done(answer: tuple[str, str] | None) -> None:
            if answer is None:
                self.announce(f"frame {number} is still held")
            elif answer[0] == "outside":
                self.edit_outside(number, answer[1], dialect)
            elif not self.decide_on(number, "edit", frame=answer[1]):
                self.edit_here(number, answer[1], dialect)

        self.push_screen(EditFrame(self.interception, number, text, dialect), done)

    def action_edit_outside(self) -> None:
        """Edit the held frame in the user's editor."""
        found = self.fetch()
        if found is not None:
            self.edit_outside(*found)

    def edit_outside(self, number: int, text: str, dialect: str) -> None:
        """Edit a held frame in the user's editor."""
        try:
            with self.suspend():
                written = edit_text(text, dialect)
        except EditorError as error:
            self.announce(str(error), bad=True)
            return
        if written is None:
            self.announce(f"nothing was changed; frame {number} is still held")
        elif not self.decide_on(number, "edit", frame=written):
            self.edit_here(number, written, dialect)
