"""The command `trace`: one message's life over all connections."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.broker import follow
from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import (
    INTERRUPTED,
    UNREADABLE,
    ascii_alone,
    complain,
    printing,
    terminal_width,
    write_text,
)
from amqpscope.cli.rings import choose

WIDTH: Final = 100
"""Columns of text that goes to no terminal."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amqpscope.capture.ring import Readable
    from amqpscope.model.broker.journey import Journey


@click.command()
@click.argument("id", metavar="ID")
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text",
              help="json: for programs.")  # fmt: skip
@ring_options
@reader_options
def trace(
    id: str, captures: tuple[str, ...], form: str, ring: bool, as_given: bool, **options: Any
) -> None:
    """Show one message's life: who published it, what the broker did with it, who got it.

    \b
    amqpscope trace order-4711 capture.pcapng
    amqpscope trace 118 capture.pcapng
    amqpscope trace order-4711 publishers.pcap consumers.pcap

    ID is a message-id, or else the number of a frame that carries the message or settles it; with
    several captures, a frame of the first.
    """  # fmt: skip
    found, failed = choose(captures, ring=ring, as_given=as_given)
    inputs = Inputs(ReaderOptions(**options), failed=failed)
    sys.exit(run_trace(id, found, inputs, form))


def run_trace(id: str, captures: Sequence[Readable], inputs: Inputs, form: str) -> int:
    """Find the message and draw it; the exit code."""
    from amqpscope.report.trace import TraceText, trace_json

    names = [str(path) for path in captures]
    try:
        journeys = find(id, inputs, captures)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    if not journeys:
        if not inputs.failed:
            complain(f"{', '.join(names)}: no message has the id {id!r}, nor is it a frame of one")
        return UNREADABLE
    if form == "json":
        text = trace_json(journeys, names)
    else:
        width = terminal_width(sys.stdout.isatty()) or WIDTH
        lines = TraceText(plain=ascii_alone(), width=width).lines(journeys, names)
        text = "".join(f"{line}\n" for line in lines)
    with printing():
        write_text(text, None)
    return inputs.code


def find(id: str, inputs: Inputs, captures: Sequence[Readable]) -> list[Journey]:
    """The journeys of the messages with an id, or else of the message of a frame."""
    from amqpscope.insight.journeys import Journeys
    from amqpscope.insight.journeys.trace import Wanted

    by_id = Wanted(id)
    by_frame = Wanted("", int(id) if id.isdecimal() else 0)
    follow(inputs, captures, None, Journeys(wanted=[by_id, by_frame]), by_frame.watch)
    return by_id.found or by_frame.found
