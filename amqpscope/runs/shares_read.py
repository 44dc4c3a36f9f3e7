"""The frames of a capture written on all cores, in the order in which one process writes them.

Each process sends the lines of its connections block by block of the capture, every line with the
piece that it belongs to. The one that follows messages also sends the rules that it found broken in
frames that others write, and what it found late.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from amqpscope.analysis import Batch, Share, Step, StepSink
from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.insight.journeys.need import Need
from amqpscope.report.formats import LINE_FORMATS
from amqpscope.runs.input import Input
from amqpscope.runs.processes import Outbox
from amqpscope.runs.read import write_lines
from amqpscope.runs.run import Run
from amqpscope.runs.shares import Shares, is_follower_wanted, share_capture

if TYPE_CHECKING:
    from amqpscope.findings import Finding
    from amqpscope.report.formats import LineFormat
    from amqpscope.report.look import Look

# What there is of one piece, in this order.
FRAMES: Final = 0
LATE: Final = 1
FOLLOWED: Final = 2
FAULTS: Final = 3
LAST: Final = 4

Entry = tuple[int, int, list[str]]
"""A piece, which of these it is, and the lines."""
Broken = tuple[int, int, list["Finding"]]
"""A piece, a frame of it, and what else is wrong with that."""


class Block(NamedTuple):
    """What a process has of a block of the capture."""

    entries: list[Entry]
    broken: list[Broken]
    needed: bool
    """Messages have to be followed to other connections, from here on."""
    position: int
    size: int
    frames: int
    result: CaptureResult | None = None
    """With the last block: what is to be said of the capture."""


class BlockLines(StepSink):
    """Keeps the lines of a process until the block is read."""

    def __init__(self, form: LineFormat, capture: str) -> None:
        self.form = form
        self.capture = capture
        self.run: Run | None = None
        self.entries: list[Entry] = []
        self.broken: list[Broken] = []

    @property
    def piece(self) -> int:
        """The number of the newest piece."""
        return 0 if self.run is None else self.run.analyzer.numbering.pieces

    def take(self, steps: list[Step]) -> None:
        """Keep the lines of frames."""
        self.entries.append((self.piece, FRAMES, self.form.lines(steps)))

    def take_rest(self, batch: Batch, kind: int) -> None:
        """Keep what comes behind the frames of a batch."""
        if batch.findings:
            lines = [self.form.finding(each, self.capture, late=True) for each in batch.findings]
            self.entries.append((self.piece, kind, lines))
        end = batch.end
        if end is not None and end.faults and end.conversation.judged:
            number = end.conversation.number
            lines = [self.form.fault(number, *acted) for acted in end.faults]
            self.entries.append((self.piece, FAULTS, lines))

    def block(self, run: Run, *, needed: bool, done: bool = False) -> Block:
        """Hand over what was kept."""
        capture = run.pieces.capture
        result = run.result() if done else None
        block = Block(
            self.entries, self.broken, needed, capture.position, capture.size, run.frames, result
        )
        self.entries, self.broken = [], []
        return block


class BrokenRules(BlockLines):
    """Keeps which frames break rules about brokers, and the lines of some."""

    def take(self, steps: list[Step]) -> None:
        """Keep the lines of frames, or what is wrong with those that another process writes."""
        if steps[0].conversation.judged:
            super().take(steps)
            return
        for at, step in enumerate(steps):
            if step.findings:
                self.broken.append((self.piece, at, step.findings))


def print_in_shares(
    source: Input,
    jobs: int,
    form: str,
    look: Look,
    out: TextIO,
    show: Callable[[int, int, int], None],
) -> CaptureResult:
    """Write the frames of a capture; what is to be said of it beside them."""
    selection = Selection()

    def judge(outbox: Outbox, share: Share) -> None:
        lines = BlockLines(LINE_FORMATS[form](look), source.name)
        need = Need(lines)

        def send(run: Run) -> None:
            outbox.send(lines.block(run, needed=need.found))

        with Run(
            source, selection, sink=need, watch=send, follow_messages=False, share=share
        ) as run:
            lines.run = run
            for batch in run:
                lines.take_rest(batch, LATE)
            outbox.send(lines.block(run, needed=need.found, done=True))

    def follow(outbox: Outbox, share: Share) -> None:
        lines = BrokenRules(LINE_FORMATS[form](look), source.name)

        def send(run: Run) -> None:
            outbox.send(lines.block(run, needed=True))

        with Run(source, selection, sink=lines, watch=send, judged=share) as run:
            lines.run = run
            for batch in run:
                lines.take_rest(batch, FOLLOWED if batch.pieces else LAST)
            outbox.send(lines.block(run, needed=True, done=True))

    follower = follow if is_follower_wanted(selection) else None
    with share_capture(source, jobs, judge, follower, helping=True) as shares:
        return Merger(shares, LINE_FORMATS[form](look), out, show).write()


class Merger:
    """Writes what several processes send."""

    def __init__(
        self,
        shares: Shares,
        form: LineFormat,
        out: TextIO,
        show: Callable[[int, int, int], None],
    ) -> None:
        self.shares = shares
        self.form = form
        self.out = out
        self.show = show
        self.count = 0
        """Blocks that were written."""

    def write(self) -> CaptureResult:
        """Write all blocks; what is to be said of the capture."""
        while True:
            blocks = self.receive()
            last = blocks[-1]
            lines = merge_lines(blocks, self.form)
            if lines:
                write_lines(self.out, lines)
            self.show(last.position, last.size, last.frames)
            self.count += 1
            if last.result is not None:
                return last.result

    def receive(self) -> list[Block]:
        """The next block of every process that has something to say of it."""
        shares = self.shares
        blocks: list[Block] = [worker.receive() for worker in shares.workers]
        follower = shares.follower
        if follower is not None:
            if not shares.followed and any(block.needed for block in blocks):
                shares.follow()
                for _ in range(self.count):
                    follower.receive()  # There was nothing to follow in these.
            if shares.followed:
                blocks.append(follower.receive())
        return blocks


def merge_lines(blocks: list[Block], form: LineFormat) -> list[str]:
    """The lines of a block in the order of the capture."""
    entries = [entry for block in blocks for entry in block.entries]
    broken = blocks[-1].broken
    if broken:
        frames = {piece: lines for piece, kind, lines in entries if kind == FRAMES}
        for piece, at, findings in broken:
            lines = frames[piece]
            lines[at] = form.add_findings(lines[at], findings)
    entries.sort(key=itemgetter(0, 1))
    return [line for _, _, lines in entries for line in lines]
