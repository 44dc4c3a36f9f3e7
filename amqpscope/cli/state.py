"""The commands that count and look: `stats` and `state`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import UNREADABLE, complain, printing, terminal_width
from amqpscope.cli.rings import choose, choose_one

if TYPE_CHECKING:
    from amqpscope.analysis import Analyzer, Conversation, Step
    from amqpscope.capture.pieces import Pieces
    from amqpscope.capture.ring import Readable
    from amqpscope.findings import Finding
    from amqpscope.insight.statistics import ConnectionNumbers
    from amqpscope.insight.stuck import StuckWatch
    from amqpscope.rules.registry import RuleSet

FORM = click.option("--format", "form", type=click.Choice(("text", "json")), default="text",
                    help="json: for programs.")  # fmt: skip


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@FORM
@ring_options
@reader_options
def stats(captures: tuple[str, ...], form: str, **options: Any) -> None:
    """Count frames, bytes, deliveries, outcomes, latencies and stalls.

    \b
    amqpscope stats capture.pcapng
    amqpscope stats --format json a.pcap b.pcap | jq '.[].connections[].links'
    amqpscope stats --ring recordings/

    By connection, session, link and address. Latency is the time from the first transfer of a
    delivery to the frame that settles it. A stall is the time in which a sender had no credit,
    or a peer no room in the session window.
    """
    from amqpscope.report.stats import stats_lines, stats_object

    documents = []
    found, failed = choose(captures, options)
    reader = Reader(options, failed=failed)
    for path in found:
        numbers = gather(reader, path)
        if numbers is None:
            continue
        if form == "json":
            documents.append(stats_object(str(path), numbers))
        else:
            with printing():
                tree(f"{path}:", *stats_lines(numbers))
    if form == "json":
        with printing():
            click.echo(json.dumps(documents, indent=1))
    sys.exit(UNREADABLE if reader.failed else 0)


def gather(reader: Reader, path: Readable) -> list[ConnectionNumbers] | None:
    """The numbers of a capture; None if there are none."""
    from amqpscope.insight.statistics import Statistics

    gathered = Statistics()
    for passed in reader.passing(path):
        if isinstance(passed, Ended):
            gathered.end(passed.talk)
        else:
            gathered.take(passed)
    return gathered.finish() or None


@click.command()
@click.argument("captures", metavar="CAPTURE", nargs=-1, required=True)
@click.option(
    "--at",
    type=click.IntRange(1),
    metavar="FRAME",
    help="As of this frame; without it, as of the last.",
)
@FORM
@ring_options
@reader_options
def state(captures: tuple[str, ...], at: int | None, form: str, **options: Any) -> None:
    """Show both peers' state as of a frame: what holds each link, or how it ended.

    \b
    amqpscope state --at 118 capture.pcapng
    amqpscope state --format json capture.pcapng
    amqpscope state --at 118 --ring recordings/

    For each link: credit, counts, unsettled deliveries, and why its sender does not send: no
    credit, session window closed, waiting for attach, draining, idle; since when, and for whom it
    waits. Of what is over: who ended it, when, with which error, and which finding explains it.
    A FIN or RST that comes before the next frame counts too.
    """  # fmt: skip
    from amqpscope.check.selection import Selection
    from amqpscope.report.endings import Instant
    from amqpscope.report.state import talk_lines, talk_object

    capture = choose_one(captures, options)
    if capture is None:
        sys.exit(UNREADABLE)
    choice = Selection()
    reader = Reader(options, rules=choice.rules())
    talks: dict[int, Conversation] = {}
    start = now = frame = 0
    for passed in reader.passing(capture, at or 0):
        if isinstance(passed, Ended):
            now = max(now, passed.time)
            continue
        talks[passed.conversation.number] = passed.conversation
        start = start or passed.frame.time
        now, frame = max(now, passed.frame.time), passed.frame.number
    if frame and at and frame < at:
        complain(f"{capture}: there is no frame {at}, the last is {frame}")
        sys.exit(UNREADABLE)
    known: dict[int, list[Finding]] = {}
    for finding in choice.adjust_all(reader.findings, str(capture)):
        known.setdefault(finding.connection, []).append(finding)
    instants = {number: Instant(now, start, tuple(known.get(number, ()))) for number in talks}
    with printing():
        if form == "json":
            found = [talk_object(talk, instants[number]) for number, talk in talks.items()]
            click.echo(json.dumps(found, indent=1))
        else:
            for number, talk in talks.items():
                tree(*talk_lines(talk, instants[number]))
    sys.exit(UNREADABLE if reader.failed else 0)


def tree(*lines: str) -> None:
    """Print lines, folded where there is a terminal."""
    from amqpscope.report.columns import folded

    click.echo("\n".join(folded(lines, terminal_width(sys.stdout.isatty()))))


class Ended(NamedTuple):
    """A direction of a connection is over, or the capture is."""

    talk: Conversation
    time: int


class Reader:
    """Reads captures as Steps, and says what is wrong with them."""

    def __init__(
        self,
        options: dict[str, Any],
        *,
        failed: bool = False,
        rules: RuleSet | None = None,
        watch: StuckWatch | None = None,
    ) -> None:
        self.ports: dict[int, str] = options["decode_as"]
        self.rules = rules
        """What is checked on the way; None: nothing."""
        self.watch = watch
        """What wants to know of TCP windows; None: nothing does."""
        self.findings: list[Finding] = []
        """What was found and may explain how connections ended."""
        self.failed = failed
        """Something could not be read."""
        self.keylogs = [data for name in options["keylog"] if (data := self.keylog(name))]

    def keylog(self, path: str) -> bytes:
        """The contents of a key log."""
        try:
            return Path(path).read_bytes()
        except OSError as error:
            complain(f"{path}: key log cannot be read: {(error.strerror or str(error)).lower()}")
            self.failed = True
            return b""

    def passing(self, path: Readable, until: int = 0) -> Iterator[Step | Ended]:
        """The Steps of a capture and the ends of its connections.

        Where a frame is given, up to that one, with the ends that come before the next.
        """
        from amqpscope.analysis import Analyzer
        from amqpscope.capture.pieces import Pieces
        from amqpscope.capture.source import CaptureError
        from amqpscope.stream.types import Chunk, End, Window

        analyzer = Analyzer(self.ports, self.rules, until=until)
        try:
            with Pieces(path, keylogs=self.keylogs, server_ports=self.ports) as pieces:
                for batch in pieces:
                    for piece in batch:
                        known = analyzer.conversation_of(piece.connection)
                        if 0 < until <= analyzer.frames and known and isinstance(piece, Chunk):
                            self.keep(analyzer.late)
                            return
                        for step in analyzer.feed(piece):
                            self.keep(step.findings)
                            yield step
                        talk = analyzer.conversation_of(piece.connection)
                        if talk is not None and isinstance(piece, End):
                            yield Ended(talk, piece.time)
                        elif talk is not None and isinstance(piece, Window) and self.watch:
                            number, peer = talk.number, piece.sender
                            self.watch.take_window(number, peer, piece.time, zero=piece.zero)
                self.keep(analyzer.late)
                self.tell(pieces, analyzer)
        except CaptureError as error:
            complain(str(error))
            self.failed = True

    def keep(self, found: list[Finding]) -> None:
        """Keep those findings that may explain an ending."""
        from amqpscope.insight.endings import may_explain

        self.findings += [finding for finding in found if may_explain(finding)]

    def tell(self, pieces: Pieces, analyzer: Analyzer) -> None:
        """What the user should know about a capture."""
        capture = pieces.capture
        for line in (*(f"{capture.path}: {note}" for note in pieces.notes), *capture.problems):
            complain(line)
        self.failed = self.failed or capture.unreadable
        if not analyzer.frames and not pieces.notes:
            complain(f"{capture.path}: no AMQP in {capture.packets} packets")
