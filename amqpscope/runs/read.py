"""Captures to a sink, one after the other: what `read` and `demo` do.

Reads, analyses, filters and writes as a stream: memory does not grow with the capture.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from amqpscope.analysis import Analyzer, Step
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.ring import Readable
from amqpscope.capture.source import CaptureError
from amqpscope.check.selection import Selection
from amqpscope.protocols.registry import is_header_only
from amqpscope.report.csv import CsvLines
from amqpscope.report.jsonl import JsonLines
from amqpscope.report.text import TextLines
from amqpscope.report.tree import Detail
from amqpscope.stream.types import Piece

if TYPE_CHECKING:
    from amqpscope.filter import Filter

UNREADABLE: Final = 2
PATIENCE: Final = 1.0
"""Seconds after which a progress bar is worth its place."""


@dataclass(frozen=True)
class Options:
    """How captures are read and shown."""

    form: str = "text"
    where: Filter | None = None
    tree: bool = False
    octets: bool = False
    follow: bool = False
    keylogs: tuple[str, ...] = ()
    decode_as: dict[int, str] = field(default_factory=dict)
    show_secrets: bool = False
    colour: bool = False
    plain: bool = False
    width: int = 0


class Lines(Protocol):
    """Something that writes a Step as one line."""

    def line(self, step: Step) -> str:
        """One unit."""


class Reading:
    """One run over some captures."""

    def __init__(self, options: Options, out: TextIO, complain: Callable[[str], None]) -> None:
        self.options = options
        self.out = out
        self.complain = complain
        self.failed = False
        self.rules = Selection().rules()

    def run(self, captures: Sequence[Readable]) -> int:
        """Read all of them; the exit code."""
        if hasattr(self.out, "reconfigure"):
            self.out.reconfigure(errors="backslashreplace")
        keylogs = list(self.keylogs())
        if self.options.form == "csv":
            self.write([CsvLines().heading()])
        for path in captures:
            if len(captures) > 1 and self.options.form == "text":
                self.write([f"{path}:"])
            try:
                self.capture(path, keylogs)
            except CaptureError as error:
                self.failed = True
                self.complain(str(error))
            except KeyboardInterrupt:
                break
        return UNREADABLE if self.failed else 0

    def keylogs(self) -> Iterator[bytes]:
        """The contents of the key logs that can be read."""
        for path in self.options.keylogs:
            try:
                with open(path, "rb") as file:
                    yield file.read()
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                self.complain(f"{path}: key log cannot be read: {reason}")
                self.failed = True

    def capture(self, path: Readable, keylogs: list[bytes]) -> None:
        """Read one capture to its end."""
        options = self.options
        analyzer = Analyzer(options.decode_as, self.rules)
        with Pieces(
            path, follow=options.follow, keylogs=keylogs, server_ports=options.decode_as
        ) as pieces:
            lines = self.lines()
            detail = self.detail()
            progress = Progress(pieces, follow=options.follow)
            heading = [lines.heading()] if isinstance(lines, TextLines) else []
            try:
                for batch in pieces:
                    if isinstance(lines, JsonLines) and options.where is None:
                        texts = lines.lines(analyzer, batch)
                    else:
                        texts = self.texts(analyzer, batch, lines, detail)
                    if texts:
                        self.write(heading + texts)
                        heading = []
                    progress.update(analyzer.frames)
            finally:
                progress.close()
            self.tell(pieces, analyzer)

    def texts(
        self, analyzer: Analyzer, batch: list[Piece], lines: Lines, detail: Detail | None
    ) -> list[str]:
        """What the next pieces say, as far as it was asked for."""
        where = self.options.where
        texts: list[str] = []
        for piece in batch:
            for step in analyzer.feed(piece):
                if isinstance(lines, TextLines) and lines.start < 0:
                    lines.start = step.frame.time
                if where is None or where.matches(step):
                    texts.append(lines.line(step))
                    if detail is not None:
                        texts.extend(detail.lines(step))
        return texts

    def lines(self) -> Lines:
        """The sink that was asked for."""
        options = self.options
        if options.form == "jsonl":
            return JsonLines(show_secrets=options.show_secrets)
        if options.form == "csv":
            return CsvLines(show_secrets=options.show_secrets)
        return TextLines(
            options.width,
            colour=options.colour,
            plain=options.plain,
            show_secrets=options.show_secrets,
        )

    def detail(self) -> Detail | None:
        """What follows each line, if anything."""
        options = self.options
        if options.form != "text" or not (options.tree or options.octets):
            return None
        return Detail(
            tree=options.tree,
            octets=options.octets,
            show_secrets=options.show_secrets,
            width=options.width,
        )

    def write(self, lines: list[str]) -> None:
        """Hand lines on at once: whoever reads them may be waiting."""
        if lines:
            self.out.write("\n".join(lines) + "\n")
            self.out.flush()

    def tell(self, pieces: Pieces, analyzer: Analyzer) -> None:
        """What the user should know about this capture beside its frames."""
        capture = pieces.capture
        path = capture.path
        for note in pieces.notes:
            self.complain(f"{path}: {note}")
        for problem in capture.problems:
            self.complain(problem)
        self.failed = self.failed or capture.unreadable
        if analyzer.gaps:
            self.complain(f"{path}: octets are missing at {analyzer.gaps} places")
        for protocol in analyzer.protocols:
            if is_header_only(protocol):
                self.complain(f"{path}: of {protocol} only the protocol header is decoded")
        if not analyzer.frames and not pieces.notes and (capture.packets or not capture.problem):
            self.complain(
                f"{path}: no AMQP in {capture.packets} packets"
                " (a capture that begins later needs --decode-as PORT=PROTOCOL off port 5672)"
            )


class Progress:
    """A bar on standard error, when that is a terminal and reading takes long."""

    def __init__(self, pieces: Pieces, *, follow: bool) -> None:
        self.capture = pieces.capture
        self.begun = time.monotonic()
        watched = sys.stderr.isatty() and not sys.stdout.isatty()
        self.wanted = watched and self.capture.size > 0 and not follow
        self.bar: Bar | None = None

    def update(self, frames: int) -> None:
        """Show how far reading is."""
        if not self.wanted or time.monotonic() - self.begun < PATIENCE:
            return
        if self.bar is None:
            self.bar = Bar(os.path.basename(self.capture.path.rstrip("/")), self.capture.size)
        self.bar.update(self.capture.position, frames)

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()


class Bar:
    """The bar itself; rich is imported only when there is one."""

    def __init__(self, name: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.progress = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[frames]} frames"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.progress.add_task(name, total=total, frames=0)
        self.progress.start()

    def update(self, position: int, frames: int) -> None:
        """Move it."""
        self.progress.update(self.task, completed=position, frames=frames)

    def close(self) -> None:
        """Remove it."""
        self.progress.stop()
