"""The process that looks through all frames for those that a filter or a search wants.

It goes on as the capture grows. Its file begins with the number of the last frame it has looked at
(8 octets); then comes the number of each match (4 octets each), in the order found.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Step
from amqpscope.runs.collector import calm_collector
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.tui.spool import Spool
from amqpscope.tui.step_cache import StepCache

if TYPE_CHECKING:
    from amqpscope.filter import Filter

HEAD: Final = struct.Struct("<Q")
BLOCK: Final = 512
"""Frames between two looks at the clock."""
PAUSE: Final = 0.05
GIVES_WAY: Final = 5
"""How much nicer than the screen: a key that is pressed comes first, also where cores are few."""

Test = Callable[[Step], bool]


class Scanner:
    """Looks at every frame once, and again when a finding about it comes late."""

    def __init__(self, files: Spool, out: int, test: Test, decode_as: dict[int, str]) -> None:
        self.files = files
        self.steps = StepCache(files, decode_as)
        self.out = out
        self.test = test
        self.seen = 0
        self.matches: set[int] = set()
        """Those with findings; others cannot come twice."""
        self.found: list[int] = []
        self.end = HEAD.size
        self.findings = 0

    def advance(self) -> bool:
        """Look at some frames more; whether there were any."""
        steps = self.steps
        steps.update()
        self.look_again()
        last = min(self.seen + BLOCK, steps.count)
        if last == self.seen:
            return False
        for number, record in enumerate(self.files.records(self.seen + 1, last), self.seen + 1):
            self.look(number, steps.make_step(number, record))
        self.seen = last
        return True

    def look(self, number: int, step: Step) -> None:
        """Test whether a frame passes."""
        if self.test(step):
            if step.findings:
                self.matches.add(number)
            self.found.append(number)

    def look_again(self) -> None:
        """Findings may be about frames that were looked at before they were known."""
        frames = self.steps.findings.frames
        for number in frames[self.findings :]:
            if 0 < number <= self.seen and number not in self.matches:
                self.look(number, self.steps.step(number))
        self.findings = len(frames)

    def flush(self) -> None:
        """Write what was found."""
        if self.found:
            data = struct.pack(f"<{len(self.found)}I", *self.found)
            os.pwrite(self.out, data, self.end)
            self.end += len(data)
            self.found = []
        os.pwrite(self.out, HEAD.pack(self.seen), 0)

    def run(self) -> None:
        """Scan until the process that asked is gone."""
        parent = os.getppid()
        flushed = 0.0
        while os.getppid() == parent:
            busy = self.advance()
            now = time.monotonic()
            if now - flushed > PAUSE or not busy:
                self.flush()
                flushed = now
            if not busy:
                time.sleep(PAUSE)


class FollowingScanner(Scanner):
    """Looks at frames for a filter that follows messages, which needs every connection's model."""

    def __init__(self, files: Spool, out: int, where: Filter, decode_as: dict[int, str]) -> None:
        super().__init__(files, out, where.matches, decode_as)
        self.where = where
        self.places = PieceIndex(files, decode_as)
        self.run_of_all = Replay(self.places)

    def advance(self) -> bool:
        """Look at some frames more; whether there were any."""
        self.steps.update()
        self.look_again()
        self.places.update()
        before = self.seen
        for step in self.run_of_all.steps(min(before + BLOCK, self.steps.count)):
            number = step.frame.number
            step.findings = self.steps.findings.at(number)
            self.look(number, step)
            self.seen = number
        return self.seen != before

    def look(self, number: int, step: Step) -> None:
        """Test one frame; with one that completes a message come those that begin it."""
        found = len(self.found)
        super().look(number, step)
        if len(self.found) == found:
            return
        channel = step.frame.unit.channel
        for message in self.where.messages:
            passage = message.passages[-1]
            if passage.frame < number == passage.last:
                first = self.files.records(passage.frame, number - 1)
                self.found[found:found] = [
                    each
                    for each, record in enumerate(first, passage.frame)
                    if (record.connection, record.channel) == (passage.connection, channel)
                ]


def search_test(text: str, show_secrets: bool) -> Test:
    """The test of a search: text in the line of a frame, or in its octets; case does not count."""
    from amqpscope.protocols.words import printable

    small = text.lower()
    octets = text.encode()

    def test(step: Step) -> bool:
        if octets in step.frame.raw:
            return True
        voice = step.talk.voice
        words = [step.frame.unit.name, voice.summary(step.event, show_secrets)]
        words.append(printable(voice.link(step.event) or ""))
        words += [finding.rule for finding in step.findings]
        return any(small in word.lower() for word in words)

    return test


def main() -> None:
    """Do what the first argument says."""
    calm_collector()
    os.nice(GIVES_WAY)
    request = json.loads(sys.argv[1])
    files, out = Spool(request["files"]), request["out"]
    ports = {int(port): name for port, name in request["decode_as"].items()}
    if request["kind"] != "filter":
        test = search_test(request["text"], request["show_secrets"])
        Scanner(files, out, test, ports).run()
        return
    from amqpscope.filter import compile_filter

    chosen = compile_filter(request["text"])
    chosen.start = request["start"]
    if chosen.follows:
        FollowingScanner(files, out, chosen, ports).run()
    else:
        Scanner(files, out, chosen.matches, ports).run()


if __name__ == "__main__":
    main()
