"""The commands that count and look: `stats` and `state`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import jobs_option, reader_options, ring_options
from amqpscope.cli.output import UNREADABLE, complain, printing, terminal_width
from amqpscope.cli.rings import choose, choose_one

if TYPE_CHECKING:
    from amqpscope.analysis import Batch, Conversation
    from amqpscope.capture.ring import Readable
    from amqpscope.check.selection import Selection
    from amqpscope.findings import Finding

FORM = click.option("--format", "form", type=click.Choice(("text", "json")), default="text",
                    help="json: for programs.")  # fmt: skip


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@FORM
@jobs_option
@ring_options
@reader_options
def stats(
    captures: tuple[str, ...],
    form: str,
    jobs: int | None,
    ring: bool,
    as_given: bool,
    **options: Any,
) -> None:
    """Count frames, bytes, deliveries, outcomes, latencies and stalls.

    \b
    amqpscope stats capture.pcapng
    amqpscope stats --format json a.pcap b.pcap | jq '.[].connections[].links'
    amqpscope stats --ring recordings/

    By connection, session, link and address. Latency is the time from the first transfer of a
    delivery to the frame that settles it; by address also the time through the broker, from the
    publish to the first delivery, where both were captured. A stall is the time in which a sender
    had no credit, or a peer no room in the session window.
    """
    from amqpscope.report.stats import stats_lines, stats_object
    from amqpscope.runs.shares_stats import measure

    documents = []
    found, failed = choose(captures, ring=ring, as_given=as_given)
    inputs = Inputs(ReaderOptions(**options), failed=failed)
    for path in found:
        measured = measure(inputs.input(path), jobs)
        if measured.result is None:
            inputs.fail(measured.error)
        else:
            inputs.report(measured.result)
        numbers, delays = measured.connections, measured.delays
        if not numbers:
            continue
        if form == "json":
            documents.append(stats_object(str(path), numbers, delays))
        else:
            with printing():
                tree(f"{path}:", *stats_lines(numbers, delays))
    if form == "json":
        with printing():
            click.echo(json.dumps(documents, indent=1))
    sys.exit(inputs.code)


def batches(
    inputs: Inputs, path: Readable, selection: Selection | None = None, until: int = 0
) -> Iterator[Batch]:
    """What a capture holds, up to a frame where one is given; what cannot be read is reported."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.run import Run

    try:
        with Run(inputs.input(path), selection, until=until) as run:
            yield from run
            if not 0 < until <= run.frames:
                inputs.report(run.result())
    except CaptureError as error:
        inputs.fail(str(error))


@click.command()
@click.argument("captures", metavar="CAPTURE", nargs=-1, required=True)
@click.option(
    "--at",
    type=click.IntRange(1),
    metavar="FRAME",
    help="State as of this frame; default: the last.",
)
@FORM
@ring_options
@reader_options
def state(
    captures: tuple[str, ...],
    at: int | None,
    form: str,
    ring: bool,
    as_given: bool,
    **options: Any,
) -> None:
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
    from amqpscope.report.endings import Instant
    from amqpscope.report.state import talk_lines, talk_object

    capture = choose_one(captures, ring=ring, as_given=as_given)
    if capture is None:
        sys.exit(UNREADABLE)
    inputs, moment = Inputs(ReaderOptions(**options)), ReadingStop()
    talks: dict[int, Conversation] = {}
    for batch in moment.batches(inputs, capture, at or 0):
        for step in batch.steps:
            talks[step.conversation.number] = step.conversation
    if moment.frame and at and moment.frame < at:
        complain(f"{capture}: there is no frame {at}, the last is {moment.frame}")
        sys.exit(UNREADABLE)
    instants = {
        number: Instant(moment.now, moment.start, tuple(moment.findings.get(number, ())))
        for number in talks
    }
    with printing():
        if form == "json":
            found = [talk_object(talk, instants[number]) for number, talk in talks.items()]
            click.echo(json.dumps(found, indent=1))
        else:
            for number, talk in talks.items():
                tree(*talk_lines(talk, instants[number]))
    sys.exit(inputs.code)


class ReadingStop:
    """When and where reading a capture stopped, and what may explain how it stands there."""

    def __init__(self) -> None:
        self.start = self.now = 0
        """The times of the first frame, and of the last frame or end of a connection."""
        self.frame = 0
        self.findings: dict[int, list[Finding]] = {}
        """By connection, those that may explain an ending."""

    def batches(self, inputs: Inputs, path: Readable, until: int) -> Iterator[Batch]:
        """Read a capture up to a frame (0: all), and note what passes."""
        from amqpscope.check.selection import Selection
        from amqpscope.insight.endings import may_explain

        for batch in batches(inputs, path, Selection(), until):
            findings = list(batch.findings)
            for step in batch.steps:
                self.start = self.start or step.frame.time
                self.now, self.frame = max(self.now, step.frame.time), step.frame.number
                findings += step.findings
            if batch.end is not None:
                self.now = max(self.now, batch.end.time)
            for finding in filter(may_explain, findings):
                self.findings.setdefault(finding.connection, []).append(finding)
            yield batch


def tree(*lines: str) -> None:
    """Print lines, folded where there is a terminal."""
    from amqpscope.report.columns import folded

    click.echo("\n".join(folded(lines, terminal_width(sys.stdout.isatty()))))
