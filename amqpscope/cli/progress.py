"""Bars on standard error, when that is a terminal, that show how far checking is."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from amqpscope.runs.read import PATIENCE, Bar

if TYPE_CHECKING:
    from amqpscope.capture.pieces import Pieces


class CaptureBar:
    """Over the octets of one capture, when it takes long."""

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(path.rstrip("/"))
        self.begun = time.monotonic()
        self.bar: Bar | None = None

    def __enter__(self) -> CaptureBar:
        return self

    def __exit__(self, *args: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def update(self, pieces: Pieces, frames: int) -> None:
        """So far it is read."""
        size = pieces.capture.size
        if not size or not sys.stderr.isatty() or time.monotonic() - self.begun < PATIENCE:
            return
        if self.bar is None:
            self.bar = Bar(self.name, size)
        self.bar.update(pieces.capture.position, frames)


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
