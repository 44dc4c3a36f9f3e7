"""Bodies of messages written to files from the screen: one, or those of all frames shown."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Step
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.runs.bodies import BodyFiles
    from amqpscope.tui.app import Scope
    from amqpscope.tui.store import Store

ONE, MANY = "body", "bodies"
EXPORTS: Final = (ONE, MANY)
HINT: Final = "decompressed where there is a content-encoding; existing files are kept"


class BodyExport:
    """Asks for a name and writes bodies, in a thread: messages may have to be put together."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.step: Step | None = None
        """What completes the message whose body is to be written."""

    def files(self, directory: Path) -> BodyFiles:
        """Writes bodies of this capture."""
        from amqpscope.runs.bodies import BodyFiles

        source = self.scope.store.source
        return BodyFiles(directory, source.path, show_secrets=source.show_secrets)

    def ask(self, kind: str) -> None:
        """Ask where to write one body, or all."""
        scope, count = self.scope, self.scope.frames.frames.count
        if kind == MANY:
            question = f"bodies of the {count:,} frames shown, to directory:"
            scope.prompt.ask(MANY, question, f"{self.files(Path()).stem}-bodies", HINT)
        elif scope.frame:
            scope.run_worker(partial(self.look, scope.frame), thread=True, group="bodies")

    def look(self, number: int) -> None:
        """In a thread: find the message of a frame."""
        found = completing_step(self.scope.store, number)
        self.scope.call_later(self.ask_name, number, found)

    def ask_name(self, number: int, step: Step | None) -> None:
        """Ask for the name of the file for the body of one message."""
        scope, files = self.scope, self.files(Path())
        parts = [] if step is None else files.bodies_of(step)
        if step is None or not parts:
            scope.announce(f"frame {number} is not part of a message with a body")
            return
        self.step = step
        name = f"{files.stem}-{step.frame.number:06}"
        question = f"{len(parts)} bodies of frame {number} to directory:"
        if len(parts) == 1:
            question = f"body of frame {number} to file:"
            name += files.file_of(parts[0])[1]
        scope.prompt.ask(ONE, question, name, HINT)

    def export(self, kind: str, text: str) -> None:
        """Write to where the user wants it."""
        path = Path(text).expanduser()
        matches = self.scope.frames.frames.matches
        wanted = None if matches is None else matches[:]
        work = (
            partial(self.write_one, path) if kind == ONE else partial(self.write_many, path, wanted)
        )
        self.scope.run_worker(partial(self.write, path, work), thread=True, group="bodies")

    def write(self, path: Path, work: Callable[[], str]) -> None:
        """In a thread: write, and say how that went."""
        try:
            said, bad = work(), False
        except OSError as error:
            said, bad = f"{path}: cannot be written: {reason_of(error)}", True
        self.scope.call_later(partial(self.scope.announce, said, bad=bad))

    def write_one(self, path: Path) -> str:
        """Write the bodies of the message that was asked for."""
        assert self.step is not None, "a name was asked for"
        files = self.files(path)
        parts = files.bodies_of(self.step)
        if len(parts) > 1:
            files.take(self.step, True)
            return files.summary()
        octets, _, masked = files.file_of(parts[0])
        files.write_new(path, octets)
        return f"{len(octets):,} octets written to {path}" + (", secrets covered" if masked else "")

    def write_many(self, path: Path, matches: array[int] | None) -> str:
        """Write the bodies of all messages of which a frame is shown."""
        store, files = self.scope.store, self.files(path)
        places = PieceIndex(store.files, store.source.decode_as)
        places.update()
        for step in Replay(places).steps():
            files.take(step, matches is None or is_among(matches, step.frame.number))
        return files.summary()


def completing_step(store: Store, number: int) -> Step | None:
    """What completes the message that a frame is part of; None: there is none."""
    step = store.step(number)
    about = step.talk.voice.about(step.event)
    if step.event.message is not None or about is None:
        return step if step.event.message is not None else None
    places = PieceIndex(store.files, store.source.decode_as)
    places.update()
    wanted = None
    for step in Replay(places, store.record(number).connection).steps():
        if step.frame.number < number:
            continue
        about = step.talk.voice.about(step.event)
        if step.frame.number == number:
            wanted = about
        if about is wanted and step.event.message is not None:
            return step
    return None


def is_among(numbers: array[int], number: int) -> bool:
    """Whether ascending numbers have one."""
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number
