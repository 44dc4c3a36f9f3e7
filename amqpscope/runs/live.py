"""What `proxy` prints while traffic passes: frames and findings, or only the verdict at the end.

Reads the recording in a process of its own. When it cannot keep up it says so; the traffic does
not wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from amqpscope.analysis import Batch
from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.proxy.control import Watch
from amqpscope.report.look import PLAIN_TEXT, Look
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check, excerpt
from amqpscope.runs.read import FramePrinter
from amqpscope.runs.run import Run
from amqpscope.runs.tally import Tally
from amqpscope.stream.types import SERVER

if TYPE_CHECKING:
    from amqpscope.filter import Filter

LOOK: Final = 1.0
"""Seconds between two questions to the relay."""
BEHIND: Final = 4 << 20
"""Octets of the recording not yet analysed that are worth a word."""
PATIENCE: Final = 2.0
"""Seconds for which that must last."""
REPEAT: Final = 10.0
"""Seconds between two such words."""


@dataclass(frozen=True)
class ProxyOutput:
    """What is to be printed, and where."""

    selection: Selection
    form: str = "text"
    look: Look = PLAIN_TEXT
    where: Filter | None = None
    lint: bool = False
    """Only the findings, at the end."""
    temporary: bool = False
    """Nobody named the recording."""
    screen: bool = False
    """Not lines, but the screen."""
    allow_empty: bool = False
    """With `lint`: fine also when no AMQP passes."""
    command: bool = False
    """A command runs beside, and standard output is its own."""
    path: str = ""
    """Where to write what is printed; empty: not to a file."""
    metrics: bool = False
    """Somebody may ask the relay what was counted."""
    profile: str = ""
    """How the screen looks."""
    scrub: bool = False
    """Whether the recording is written once more without secrets, bodies and names."""


class LiveResult:
    """The findings of a recording while it is written, as `lint` would report them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.result = CaptureResult(run.input.name)
        self.answered = False
        """The server has sent a frame."""

    def take(self, batch: Batch) -> None:
        """Keep what is worth keeping."""
        result = self.result
        if not self.answered:
            self.answered = any(step.frame.sender == SERVER for step in batch.steps)
        for step in batch.steps:
            if step.findings:
                result.findings.extend(step.findings)
                result.excerpts[step.frame.number] = excerpt(step)
        result.findings.extend(batch.findings)

    def so_far(self) -> CaptureResult:
        """All that is known of the recording by now."""
        self.result.findings.sort(key=lambda finding: (finding.frame, finding.rule))
        return self.run.fill(self.result)


class Live:
    """Follows one recording until its relay is gone."""

    def __init__(
        self,
        path: str,
        watch: Watch,
        output: ProxyOutput,
        out: TextIO,
        complain: Callable[[str], None],
        fd: int = -1,
    ) -> None:
        self.watch = watch
        self.output = output
        self.complain = complain
        self.run = Run(Input(path, follow=True, fd=fd), output.selection)
        self.live = LiveResult(self.run)
        self.lag = Lag(watch, complain)
        self.tally = Tally() if output.metrics else None
        self.reported = 0.0
        self.printer = None
        if not output.lint:
            self.printer = FramePrinter(
                path, output.form, output.look, out, output.where, every_finding=True
            )
        self.number = 0
        """Of the file that is read, in a rotated recording."""

    def follow(self) -> CaptureResult:
        """Print as it comes; all that was found, when the relay is gone."""
        for batch in self.run:
            if self.printer is not None:
                self.printer.print(batch)
            else:
                self.live.take(batch)
            if self.tally is not None:
                self.tally.take(batch)
            if not batch.pause:
                continue
            capture = self.run.pieces.capture
            self.report(capture.position)
            if capture.number != self.number:
                self.number = capture.number
                self.watch.reading(self.number)
            self.hear()
            self.lag.look(capture.position)
        self.hear()
        self.run.close()
        return self.result()

    def report(self, position: int) -> None:
        """Let the relay know what was counted, now and then."""
        now = time.monotonic()
        if self.tally is not None and now - self.reported >= LOOK:
            self.reported = now
            self.watch.report(self.tally.table(position))

    def hear(self) -> None:
        """Report what the relay has to say."""
        for line in self.watch.new_lines():
            self.complain(line)
        if self.watch.ended:
            self.run.finish()

    def result(self) -> CaptureResult:
        """What `lint` says of the recording."""
        result = self.live.so_far()
        if not self.output.lint or not result.findings or self.rotated:
            return result
        # Frames that turned out to matter after they had passed are found by reading once more.
        again = check(result.path, CheckSettings(self.output.selection))
        return result if again.error is not None else again

    @property
    def lost_files(self) -> int:
        """Files of the recording that were removed before they were read."""
        return self.run.pieces.capture.lost_files

    @property
    def rotated(self) -> bool:
        """Whether the recording is more than one file, or may be."""
        latest = self.watch.latest
        return latest is None or latest.first != latest.recording


class Lag:
    """How far the analysis is behind the traffic."""

    def __init__(self, watch: Watch, complain: Callable[[str], None]) -> None:
        self.watch = watch
        self.complain = complain
        self.asked = 0.0
        self.since = 0.0
        """When we fell behind; 0 when we are not."""
        self.reported = 0.0
        """When we said so last; 0 when there is nothing to take back."""

    def look(self, position: int) -> None:
        """Say so when too much waits to be analysed for a while, and when that is over."""
        now = time.monotonic()
        if now - self.asked < LOOK:
            return
        self.asked = now
        status = self.watch.latest
        self.watch.ask()
        behind = 0 if status is None else status.octets - position
        if behind <= BEHIND:
            self.since = 0.0
            if self.reported:
                self.reported = 0.0
                self.complain("the analysis has caught up with the traffic")
            return
        self.since = self.since or now
        if now - self.since >= PATIENCE and now - self.reported >= REPEAT:
            self.reported = now
            self.complain(f"the analysis is {behind / 1e6:,.0f} MB behind the traffic")
