"""The commands that count and look: `stats` and `state`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import UNREADABLE, complain, printing, terminal_width
from amqpscope.cli.rings import choose, choose_one

if TYPE_CHECKING:
    from amqpscope.analysis import Analyzer, Step
    from amqpscope.capture.pieces import Pieces
    from amqpscope.capture.ring import Readable
    from amqpscope.statistics import ConnectionNumbers

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
    from amqpscope.statistics import Statistics

    gathered = Statistics()
    for step in reader.steps(path):
        gathered.take(step)
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
    """Show both peers' state as of a frame, and what holds each link.

    \b
    amqpscope state --at 118 capture.pcapng
    amqpscope state --format json capture.pcapng
    amqpscope state --at 118 --ring recordings/

    For each link: credit, counts, unsettled deliveries, and why its sender does not send: no
    credit, session window closed, waiting for attach, draining, idle; since when, and who has
    to move.
    """  # fmt: skip
    from amqpscope.report.state import talk_lines, talk_object

    capture = choose_one(captures, options)
    if capture is None:
        sys.exit(UNREADABLE)
    reader = Reader(options)
    found = {}
    step = None
    for step in reader.steps(capture, at or 0):
        found[step.conversation.number] = step.conversation
    now, frame = (0, 0) if step is None else (step.frame.time, step.frame.number)
    if step is not None and at and frame < at:
        complain(f"{capture}: frame {at} is not there, the last is {frame}")
        sys.exit(UNREADABLE)
    with printing():
        if form == "json":
            click.echo(json.dumps([talk_object(talk, now) for talk in found.values()], indent=1))
        else:
            for talk in found.values():
                tree(*talk_lines(talk, now))
    sys.exit(UNREADABLE if reader.failed else 0)


def tree(*lines: str) -> None:
    """Print lines, folded where there is a terminal."""
    from amqpscope.report.columns import folded

    click.echo("\n".join(folded(lines, terminal_width(sys.stdout.isatty()))))


class Reader:
    """Reads captures as Steps, and says what is wrong with them."""

    def __init__(self, options: dict[str, Any], *, failed: bool = False) -> None:
        self.ports: dict[int, str] = options["decode_as"]
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

    def steps(self, path: Readable, until: int = 0) -> Iterator[Step]:
        """The Steps of a capture, up to a frame where one is given."""
        from amqpscope.analysis import Analyzer
        from amqpscope.capture.pieces import Pieces
        from amqpscope.capture.source import CaptureError

        analyzer = Analyzer(self.ports, until=until)
        try:
            with Pieces(path, keylogs=self.keylogs, server_ports=self.ports) as pieces:
                for batch in pieces:
                    for piece in batch:
                        yield from analyzer.feed(piece)
                        if 0 < until <= analyzer.frames:
                            return
                self.tell(pieces, analyzer)
        except CaptureError as error:
            complain(str(error))
            self.failed = True

    def tell(self, pieces: Pieces, analyzer: Analyzer) -> None:
        """What the user should know about a capture."""
        capture = pieces.capture
        for line in (*(f"{capture.path}: {note}" for note in pieces.notes), *capture.problems):
            complain(line)
        self.failed = self.failed or capture.unreadable
        if not analyzer.frames and not pieces.notes:
            complain(f"{capture.path}: no AMQP in {capture.packets} packets")
