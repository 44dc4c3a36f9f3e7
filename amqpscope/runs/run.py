"""The one loop that reads a capture: pieces through the analysis, batch by batch.

    with Run(Input("a.pcapng"), Selection()) as run:
        for batch in run:
            ...
        print(run.result().frames)

Every command, the Python API and the analysis of the proxy's recording read captures through it.
Two readers feed the analysis piece by piece: the screen's indexer stores the piece that each frame
was cut from, and Spark's replay has the segments of a slice, not a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from amqpscope.analysis import Analyzer, Batch, Share, StepSink
from amqpscope.capture.ring import Readable, Ring
from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.insight.journeys import FollowingSteps, Journeys
from amqpscope.runs.input import Input, as_input
from amqpscope.stream.types import Piece


class Run:
    """One reading of a capture."""

    def __init__(
        self,
        given: Input | Readable,
        selection: Selection | None = None,
        *,
        until: int = 0,
        sink: StepSink | None = None,
        watch: Callable[[Run], None] | None = None,
        tap: Callable[[list[Piece]], None] | None = None,
        closed_world: bool = False,
        follow_messages: bool = True,
        share: Share | None = None,
        judged: Share | None = None,
    ) -> None:
        self.input = as_input(given)
        self.selection = selection
        """The rules to report; None to decode and follow only."""
        self.sink = sink
        """What takes the Steps as they come, instead of the batches."""
        self.watch = watch
        """Called now and then, to show how far reading is."""
        self.tap = tap
        """Called with the pieces, before they are analysed."""
        rules = None if selection is None else selection.rules()
        self.analyzer = Analyzer(self.input.decode_as, rules, until, share=share, judged=judged)
        self.journeys: Journeys | None = None
        """What follows messages from one connection to another, for the rules about brokers."""
        if rules is not None and follow_messages:
            journeys = Journeys(rules, closed_world=closed_world, sparing=True)
            self.journeys = journeys if journeys.is_wanted else None
        if self.journeys is not None and sink is not None:
            self.sink = FollowingSteps(self.journeys, sink)
        self.pieces = self.input.open()
        self._batches = self._read()

    def __iter__(self) -> Iterator[Batch]:
        """What comes next; while following, a batch of no pieces when nothing is new yet."""
        return self._batches

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading."""
        self.pieces.close()

    def finish(self) -> None:
        """Nothing is written any more: end where the recording ends."""
        self.pieces.capture.finish()

    def catch_up(self, octets: int) -> Iterator[Batch]:
        """What the first octets of a growing capture hold beyond what was read already."""
        for batch in self._batches:
            yield batch
            if not batch.pieces and self.pieces.capture.position >= octets:
                return

    @property
    def frames(self) -> int:
        """How many frames have been read so far."""
        return self.analyzer.frames

    def result(self) -> CaptureResult:
        """What is known of the capture so far, but for its findings."""
        return self.fill(CaptureResult(self.input.name))

    def fill(self, result: CaptureResult) -> CaptureResult:
        """Bring what a result says of the capture up to date."""
        analyzer, capture = self.analyzer, self.pieces.capture
        result.packets = capture.packets
        result.connections, result.frames = analyzer.conversations, analyzer.frames
        result.protocols, result.gaps = analyzer.protocols, analyzer.gaps
        result.error, result.unreadable = capture.problem, capture.unreadable
        result.problems = capture.problems if isinstance(self.input.given, Ring) else []
        result.notes = list(self.pieces.notes)
        if self.journeys is not None:
            result.notes += self.journeys.notes()
        return result

    def _read(self) -> Iterator[Batch]:
        analyzer = self.analyzer
        for pieces in self.pieces:
            if self.tap is not None:
                self.tap(pieces)
            at = 0
            while at < len(pieces):
                batch = analyzer.take(pieces, at, self.sink)
                if not batch.pieces:
                    return
                at += batch.pieces
                self._follow(batch)
                self._adjust(batch)
                yield batch
            if not pieces:
                yield Batch()
            if self.watch is not None:
                self.watch(self)
        last = Batch()
        if self.journeys is not None:
            last.findings = self.journeys.finish()
        if last.findings:
            self._adjust(last)
            yield last

    def _follow(self, batch: Batch) -> None:
        """Follow the messages of a batch, and add what is found."""
        journeys = self.journeys
        if journeys is None:
            return
        journeys.follow(batch.steps)
        batch.findings = batch.findings + journeys.late_findings()
        if batch.end is not None:
            journeys.end(batch.end.conversation)

    def _adjust(self, batch: Batch) -> None:
        """Leave the findings that are wanted, with the severity that they have for this user."""
        selection, name = self.selection, self.input.name
        if selection is None or not selection.adjusts:
            return
        for step in batch.steps:
            if step.findings:
                step.findings = selection.adjust_all(step.findings, name)
        batch.findings = selection.adjust_all(batch.findings, name)
