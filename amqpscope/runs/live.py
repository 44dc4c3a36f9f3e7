"""What `proxy` prints while traffic passes: frames and findings, or only the verdict at the end.

Reads the recording in a process of its own. When it cannot keep up it says so; the traffic does
not wait for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TextIO

from amqpscope.analysis import Step
from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.protocols.words import printable
from amqpscope.proxy.control import Watch
from amqpscope.report.lint import finding_object
from amqpscope.report.lint_text import COLOURS
from amqpscope.report.text import TextLines
from amqpscope.runs.follow import Batch, Follower, LiveResult
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.read import Options, Reading

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
    """What is to be printed."""

    options: Options
    selection: Selection
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
    output: str = ""
    """Where to write what is printed; empty: not to a file."""


class Live:
    """Follows one recording until its relay is gone."""

    def __init__(
        self,
        path: str,
        watch: Watch,
        wishes: ProxyOutput,
        out: TextIO,
        complain: Callable[[str], None],
        fd: int = -1,
    ) -> None:
        self.watch = watch
        self.wishes = wishes
        self.complain = complain
        self.follower = Follower(path, wishes.selection, fd)
        self.gathered = LiveResult(self.follower)
        self.lag = Lag(watch, complain)
        self.reading = Reading(wishes.options, out, complain)
        self.lines = self.reading.lines()
        self.detail = self.reading.detail()
        self.heading = [self.lines.heading()] if isinstance(self.lines, TextLines) else []
        self.number = 0
        """Of the file that is read, in a rotated recording."""

    def run(self) -> CaptureResult:
        """Print as it comes; all that was found, when the relay is gone."""
        for batch in self.follower:
            if self.wishes.lint:
                self.gathered.take(batch)
            else:
                self.print(batch)
            capture = self.follower.pieces.capture
            if capture.number != self.number:
                self.number = capture.number
                self.watch.reading(self.number)
            self.hear()
            self.lag.look(capture.position)
        self.hear()
        self.follower.close()
        return self.result()

    def hear(self) -> None:
        """What the relay has to say."""
        for line in self.watch.told():
            self.complain(line)
        if self.watch.ended:
            self.follower.finish()

    def print(self, batch: Batch) -> None:
        """Frames, each with what is wrong with it, and what was found out later."""
        texts: list[str] = []
        for step in batch.steps:
            texts.extend(self.shown(step))
        texts.extend(self.finding(finding, late=True) for finding in batch.late)
        if texts:
            self.reading.write(self.heading + texts)
            self.heading = []

    def shown(self, step: Step) -> list[str]:
        """One frame, if the filter lets it pass."""
        where = self.wishes.options.where
        if isinstance(self.lines, TextLines) and self.lines.start < 0:
            self.lines.start = step.frame.time
        if where is not None and not where.matches(step):
            return []
        texts = [self.lines.line(step)]
        if self.detail is not None:
            texts.extend(self.detail.lines(step))
        texts.extend(self.finding(finding, late=False) for finding in step.findings)
        return texts

    def finding(self, finding: Finding, *, late: bool) -> str:
        """One finding on a line of its own."""
        if self.wishes.options.form == "jsonl":
            return json.dumps(finding_object(finding, self.follower.path))
        doubt = "" if finding.certainty == "sure" else f", {finding.certainty}"
        mark = f"{finding.severity}[{finding.rule}]"
        if self.wishes.options.colour:
            mark = f"\x1b[{COLOURS[finding.severity]}m{mark}\x1b[0m"
        where = f" frame {finding.frame}:" if late else ""
        who = f"{finding.name} ({finding.peer}{doubt})"
        return f"      {mark}{where} {who}: {printable(finding.message)}"

    def result(self) -> CaptureResult:
        """What `lint` says of the recording."""
        checked = self.gathered.result()
        if not self.wishes.lint or not checked.findings or self.rotated:
            return checked
        # Frames that turned out to matter after they had passed are found by reading once more.
        again = check(checked.path, CheckSettings(self.wishes.selection))
        return checked if again.error is not None else again

    @property
    def lost_files(self) -> int:
        """Files of the recording that were removed before they were read."""
        return self.follower.pieces.capture.lost_files

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
        self.told = 0.0
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
            if self.told:
                self.told = 0.0
                self.complain("the analysis has caught up with the traffic")
            return
        self.since = self.since or now
        if now - self.since >= PATIENCE and now - self.told >= REPEAT:
            self.told = now
            self.complain(f"the analysis is {behind / 1e6:,.0f} MB behind the traffic")
