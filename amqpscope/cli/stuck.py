"""The command that says why nothing moves: `stuck`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import printing
from amqpscope.cli.rings import choose
from amqpscope.cli.state import FORM, ReadingStop, tree

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.report.stuck import Stuck


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option("--at", type=click.IntRange(1), metavar="FRAME",
              help="State as of this frame; default: the last.")  # fmt: skip
@FORM
@ring_options
@reader_options
def stuck(
    captures: tuple[str, ...],
    at: int | None,
    form: str,
    ring: bool,
    as_given: bool,
    **options: Any,
) -> None:
    """Explain what is stuck or was refused, and why; the worst first.

    \b
    amqpscope stuck capture.pcapng
    amqpscope stuck --at 118 capture.pcapng
    amqpscope stuck --format json a.pcap b.pcap | jq '.[].held[].state'
    amqpscope stuck --ring recordings/

    For each link, channel, consumer or connection that is stuck: what holds it, since when, and
    which peer has to act. What a peer refused, and what that means. What has ended: who ended it,
    which finding explains it, and what held it until then. Key 5 of the screen shows the same.
    """
    from amqpscope.report.stuck import stuck_lines, stuck_object

    found, failed = choose(captures, ring=ring, as_given=as_given)
    inputs = Inputs(ReaderOptions(**options), failed=failed)
    documents = []
    for path in found:
        state = look_at(path, at or 0, inputs)
        if state is None:
            continue
        if form == "json":
            documents.append(stuck_object(state))
        else:
            with printing():
                tree(*stuck_lines(state))
    if form == "json":
        with printing():
            click.echo(json.dumps(documents, indent=1))
    sys.exit(inputs.code)


def look_at(path: Readable, at: int, inputs: Inputs) -> Stuck | None:
    """What holds the connections of a capture; None: nothing is known."""
    from amqpscope.insight.stuck import StuckWatch
    from amqpscope.report.stuck import Stuck

    watch, moment = StuckWatch(), ReadingStop()
    for batch in moment.batches(inputs, path, at):
        for step in batch.steps:
            watch.take(step)
        if (window := batch.window) is not None:
            number = window.conversation.number
            watch.take_window(number, window.sender, window.time, zero=window.zero)
    if 0 < moment.frame < at:
        inputs.fail(f"{path}: there is no frame {at}, the last is {moment.frame}")
        return None
    if not moment.frame:
        return None
    return Stuck(
        str(path), watch.held_places(), moment.frame, moment.now, moment.start, moment.findings
    )
