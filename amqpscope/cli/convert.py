"""The command that writes any input as a capture: `convert`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import UNREADABLE, complain
from amqpscope.cli.read import ReadOptions, show
from amqpscope.cli.rings import choose

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.runs.exchanges import Exchanges


@click.command()
@click.argument("captures", metavar="INPUT...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(path_type=Path),
              help="Where to write; a name that ends in .jsonl asks for JSON lines.")  # fmt: skip
@ring_options
@reader_options
def convert(
    captures: tuple[str, ...], output: Path, ring: bool, as_given: bool, **options: Any
) -> None:
    """Write a log or a capture as pcapng, or as JSON lines.

    \b
    amqpscope convert client.log -o client.pcapng
    amqpscope convert tls.pcapng --keylog keys.txt -o plain.pcapng
    amqpscope convert --ring recordings/ -o all.jsonl

    A log is one that a library writes of its frames: qpid-proton's PN_TRACE_FRM or PN_LOG=frame, in
    C or Java, rhea's DEBUG=rhea:frames or rhea:raw, Azure's logging_enable in Python, the traces of
    uamqp, go-amqp and amqpnetlite, or octets in hexadecimal with a direction. Every command that
    reads captures reads it too; as pcapng it opens in Wireshark.

    The pcapng has the AMQP of the input alone, without TLS and WebSocket, on TCP connections that
    are made up; who sent what when, and what is missing, stays.
    """
    found, failed = choose(captures, ring=ring, as_given=as_given)
    inputs = Inputs(ReaderOptions(**options), failed=failed)
    if len(found) != 1:
        complain(f"convert takes one input, and {len(found)} are given; --ring makes them one")
        sys.exit(UNREADABLE)
    try:
        if output.suffix == ".jsonl":
            sys.exit(write_lines(found[0], output, options))
        write_capture(found[0], output, inputs)
    except OSError as error:
        inputs.fail(f"{output}: cannot be written: {error.strerror}")
    sys.exit(inputs.code)


def write_capture(given: Readable, output: Path, inputs: Inputs) -> None:
    """Write the connections of an input as pcapng."""
    from amqpscope.capture.synthetic import write_exchanges
    from amqpscope.runs.exchanges import Exchanges

    collected = Exchanges()
    if read(given, inputs, collected):
        with open(output, "wb") as file:
            packets = write_exchanges(list(collected.finish().values()), file)
        complain(f"{packets:,} packets written: {output}")


def read(given: Readable, inputs: Inputs, collected: Exchanges) -> bool:
    """Read an input; whether it has AMQP in it."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.run import Run

    try:
        with Run(inputs.input(given), tap=collected.tap) as run:
            for batch in run:
                collected.take(batch)
            inputs.report(run.result())
            return run.frames > 0
    except CaptureError as error:
        inputs.fail(str(error))
        return False


def write_lines(given: Readable, output: Path, options: dict[str, Any]) -> int:
    """Write the frames of an input as JSON lines, as `read` prints them; the exit code."""
    with open(output, "w", encoding="utf-8") as file, redirect_stdout(file):
        return show((given,), ReadOptions(form="jsonl", **options))
