"""Bodies of messages written to files: one each, named by its capture and frame."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from amqpscope.analysis import Step
from amqpscope.insight.bodies import open_body, suffix_of
from amqpscope.model.delivery import Delivery
from amqpscope.protocols.voice import BodyPart

LARGEST: Final = 64 * 1024 * 1024
"""Octets of a body that is written with its encoding undone; a larger one is written as it came."""
PENDING: Final = 4096
"""Messages under way of which it is kept that they are wanted."""
SUFFIXES: Final = {"gzip": ".gz", "x-gzip": ".gz", "deflate": ".deflate"}
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")


class BodyFiles:
    """Writes the bodies of messages of which some frame is wanted."""

    def __init__(self, directory: Path, capture: str, *, show_secrets: bool = False) -> None:
        self.directory = directory
        self.stem = safe_name(Path(capture).name.partition(".")[0])
        self.show_secrets = show_secrets
        self.written = 0
        self.left_alone = 0
        """Files that were there already."""
        self.masked = 0
        """Bodies with secrets that are covered or left out."""
        self.pending: dict[int, Delivery] = {}
        """Messages of which a frame was wanted and that are not complete."""

    def take(self, step: Step, wanted: bool) -> None:
        """One more frame, and whether it is one of those whose messages are wanted."""
        event, voice = step.event, step.talk.voice
        about = voice.about(event)
        if event.message is None:
            if wanted and about is not None:
                self.pending[id(about)] = about
                if len(self.pending) > PENDING:
                    del self.pending[next(iter(self.pending))]
            return
        if about is not None and self.pending.pop(id(about), None) is about:
            wanted = True
        if not wanted:
            return
        bodies = self.bodies_of(step)
        if not bodies and voice.bodies(event, True):
            self.masked += 1
        for place, part in enumerate(bodies, 1):
            mark = f"-{place}" if len(bodies) > 1 else ""
            self.write(part, f"{self.stem}-{step.frame.number:06}{mark}")

    def bodies_of(self, step: Step) -> list[BodyPart]:
        """The bodies of the message that a frame completes."""
        return step.talk.voice.bodies(step.event, self.show_secrets)

    def write(self, part: BodyPart, name: str) -> None:
        """Write one body, unless there is such a file."""
        octets, suffix, masked = self.file_of(part)
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self.write_new(self.directory / f"{name}{suffix}", octets)
        except FileExistsError:
            self.left_alone += 1
            return
        self.written += 1
        self.masked += masked

    def file_of(self, part: BodyPart) -> tuple[bytes, str, bool]:
        """What to write of a body, how the file's name ends, and whether secrets are covered."""
        opened = open_body(part, show_secrets=self.show_secrets, most=LARGEST)
        if opened.cut and opened.undone:
            return part.octets, SUFFIXES.get(opened.undone[0], ".bin"), False
        return opened.octets, suffix_of(opened, part), opened.masked

    def write_new(self, path: Path, octets: bytes) -> None:
        """Write a file that is not there yet; half a file is not left behind."""
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(file, "wb") as out:
                out.write(octets)
        except OSError:
            path.unlink()
            raise

    def summary(self) -> str:
        """How many were written, on one line."""
        words = f"{self.written:,} {'body' if self.written == 1 else 'bodies'} written"
        if self.written:
            words += f" to {self.directory}"
        if self.left_alone:
            words += f", {self.left_alone:,} skipped: the file exists already"
        if self.masked:
            words += f"; secrets covered in {self.masked:,}"
        return words


def safe_name(text: str) -> str:
    """A text as a part of a file's name that means nothing to a shell or a path."""
    return _UNSAFE.sub("_", text).strip("_-") or "capture"
