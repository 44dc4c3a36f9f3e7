"""The command `ladder`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import parse_filter, reader_options, ring_options
from amqpscope.cli.output import (
    INTERRUPTED,
    UNREADABLE,
    complain,
    make_look,
    printing,
    write_text,
)
from amqpscope.cli.rings import choose_one

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.filter import Filter
    from amqpscope.insight.ladder import Ladder
    from amqpscope.runs.input import Input

FORMATS: Final = ("text", "mermaid", "svg")
MARKED: Final = 1000
"""Findings of one rule, peer and connection that are drawn, unless everything is."""


@click.command()
@click.argument("captures", metavar="CAPTURE", nargs=-1, required=True)
@click.option(
    "-Y",
    "--filter",
    "where",
    metavar="FILTER",
    callback=parse_filter,
    help='Only frames that match: transfer && link.address contains "orders".',
)
@click.option("--format", "--output-format", "-T", "form", type=click.Choice(FORMATS),
              default="text", help="mermaid: a sequenceDiagram of all connections.")  # fmt: skip
@click.option(
    "--connection",
    "-c",
    "connections",
    type=click.IntRange(1),
    multiple=True,
    metavar="N",
    help="Only this connection; may be given again.",
)
@click.option("--together", is_flag=True, help="Draw connections side by side, in order of time.")
@click.option("--all", "everything", is_flag=True, help="Draw every frame; fold nothing.")
@click.option(
    "--output", "-o", metavar="FILE", help="Write to this file instead of standard output."
)
@ring_options
@reader_options
def ladder(captures: tuple[str, ...], ring: bool, as_given: bool, **options: Any) -> None:
    """Draw who sent what to whom, as a sequence diagram.

    \b
    amqpscope ladder capture.pcapng
    amqpscope ladder -Y 'link.address == "orders"' capture.pcapng
    amqpscope ladder -c 1 -c 2 --together capture.pcapng
    amqpscope ladder --format svg --output ladder.svg capture.pcapng
    amqpscope ladder --format mermaid --output ladder.mmd capture.pcapng
    amqpscope ladder --ring recordings/

    Transfers are joined to the dispositions that settle them, with the outcome and the time it
    took. What lint finds stands below its arrow. Frames that repeat what was drawn before are
    folded into one line that counts them; --all draws them too.
    """  # fmt: skip
    capture = choose_one(captures, ring=ring, as_given=as_given)
    sys.exit(UNREADABLE if capture is None else run_ladder(capture, LadderOptions(**options)))


@dataclass(frozen=True, kw_only=True)
class LadderOptions(ReaderOptions):
    """The options of `ladder`, by the same names."""

    where: Filter | None
    form: str
    connections: tuple[int, ...]
    together: bool
    everything: bool
    output: str | None


def run_ladder(capture: Readable, options: LadderOptions) -> int:
    """Read, lay out and write; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.input import repeatable

    inputs = Inputs(options)
    try:
        with repeatable(inputs.input(capture)) as source:
            ladders = lay_out(source, inputs, options)
    except CaptureError as error:
        complain(f"{capture}: {error.message}")
        return UNREADABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    if ladders:
        with printing():
            write_text(picture(ladders, options), options.output)
    elif not inputs.failed:
        complain(f"{capture}: {nothing(options)}")
    return inputs.code


def lay_out(source: Input, inputs: Inputs, options: LadderOptions) -> list[Ladder]:
    """The ladders of a capture, after the rules have seen it."""
    from amqpscope.cli.progress import CaptureBar
    from amqpscope.runs.illustrate import CheckedCapture, Ladders, replay
    from amqpscope.runs.lint import CheckSettings, check

    with CaptureBar(source.name) as bar:
        limit = 0 if options.everything else MARKED
        result = check(source, CheckSettings(excerpts=False, limit=limit), bar.update)
    inputs.report(result)
    if not result.frames:
        return []
    subject = CheckedCapture(source, tuple(result.findings), options.where, options.show_secrets)
    wanted = frozenset(options.connections)
    ladders = Ladders(subject, wanted, collapse=not options.everything)
    for passed in replay(subject):
        ladders.take(passed)
    return ladders.finish()


def nothing(options: LadderOptions) -> str:
    """Why there is nothing to draw."""
    if options.connections:
        return f"nothing to draw of connection {', '.join(map(str, options.connections))}"
    return "no frame matches the filter" if options.where else "nothing to draw"


def picture(ladders: list[Ladder], options: LadderOptions) -> str:
    """The ladders in the format that was asked for."""
    from amqpscope.report.ladder_mermaid import mermaid_text
    from amqpscope.report.ladder_svg import svg_text
    from amqpscope.report.ladder_text import LadderText

    if options.form == "mermaid":
        return mermaid_text(ladders)
    if options.form == "svg":
        return svg_text(ladders, side_by_side=options.together)
    look = make_look(options.color, options.output)
    writer = LadderText(look.width, colour=look.colour, plain=look.plain)
    return "".join(f"{line}\n" for line in writer.lines(ladders, side_by_side=options.together))
