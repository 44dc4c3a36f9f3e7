"""Bars on standard error, when that is a terminal, that show how far reading is."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from amqpscope.runs.run import Run

PATIENCE: Final = 1.0
"""Seconds after which a progress bar is worth its place."""


class CaptureBar:
    """Over the octets of one capture, when it takes long; rich is imported only when there is one.

    It hides while frames are printed on the same terminal.
    """

    def __init__(self, path: str, *, hidden: bool = False) -> None:
        self.name = os.path.basename(path.rstrip("/"))
        self.begun = time.monotonic()
        self.hidden = hidden or not sys.stderr.isatty()
        self.bar: Any = None

    def __enter__(self) -> CaptureBar:
        return self

    def __exit__(self, *args: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def update(self, run: Run) -> None:
        """Show how far a run is."""
        capture = run.pieces.capture
        self.show(capture.position, capture.size, run.frames)

    def show(self, position: int, size: int, frames: int) -> None:
        """Show how many octets of how many were read, and the frames in them."""
        if self.hidden or not size or time.monotonic() - self.begun < PATIENCE:
            return
        if self.bar is None:
            self.bar = self.start(size)
        self.bar.update(self.bar.task_ids[0], completed=position, frames=frames)

    def start(self, total: int) -> Any:
        """Show a new bar."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(),
            TextColumn("{task.fields[frames]} frames"), TimeRemainingColumn(),
            console=Console(stderr=True), transient=True,
        )  # fmt: skip
        bar.add_task(self.name, total=total, frames=0)
        bar.start()
        return bar


class CapturesBar:
    """Over many captures."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.bar: Any = None

    def __enter__(self) -> CapturesBar:
        if self.total > 1 and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            self.bar = Progress(
                "checking", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.bar.add_task("", total=self.total)
            self.bar.start()
        return self

    def __exit__(self, *args: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self) -> None:
        """One more is done."""
        if self.bar is not None:
            self.bar.advance(self.bar.task_ids[0])
