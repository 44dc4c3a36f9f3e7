"""The command `ladder`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.options import parse_filter, reader_options, ring_options
from amqpscope.cli.output import (
    INTERRUPTED,
    UNREADABLE,
    ascii_alone,
    coloured,
    complain,
    printing,
    terminal_width,
)
from amqpscope.cli.rings import choose_one
from amqpscope.cli.state import Reader

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.check.result import CaptureResult
    from amqpscope.insight.ladder import Ladder

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
@click.option("--together", is_flag=True, help="The connections side by side, in order of time.")
@click.option("--all", "everything", is_flag=True, help="Every frame; nothing is folded.")
@click.option("--output", "-o", metavar="FILE", help="Write there instead of standard output.")
@ring_options
@reader_options
def ladder(captures: tuple[str, ...], **options: Any) -> None:
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
    capture = choose_one(captures, options)
    sys.exit(UNREADABLE if capture is None else run_ladder(capture, options))


def run_ladder(capture: Readable, options: dict[str, Any]) -> int:
    """Read, lay out and write; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.illustrate import rereadable

    reader = Reader(options)
    try:
        with rereadable(capture) as path:
            ladders = laid_out(path, str(capture), reader, options)
    except CaptureError as error:
        complain(f"{capture}: {error.message}")
        return UNREADABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    if ladders:
        with printing():
            write(ladders, options)
    elif not reader.failed:
        complain(f"{capture}: {nothing(options)}")
    return UNREADABLE if reader.failed else 0


def laid_out(path: Readable, name: str, reader: Reader, options: dict[str, Any]) -> list[Ladder]:
    """The ladders of a capture, after the rules have seen it."""
    from amqpscope.check.selection import Selection
    from amqpscope.cli.progress import CaptureBar
    from amqpscope.runs.illustrate import Ladders, Source, replay
    from amqpscope.runs.lint import CheckSettings, calm_collector, check

    calm_collector()
    keylogs, ports = tuple(reader.keylogs), options["decode_as"]
    with CaptureBar(name) as bar:
        limit = 0 if options["everything"] else MARKED
        work = CheckSettings(Selection(), keylogs, ports, excerpts=False, limit=limit)
        checked = check(path, work, bar.update)
    checked.path = name
    tell(checked)
    reader.failed = reader.failed or checked.unreadable
    if not checked.frames:
        return []
    source = Source(
        path, keylogs, ports, tuple(checked.findings), options["where"], options["show_secrets"]
    )
    wanted = frozenset(options["connections"])
    ladders = Ladders(source, wanted, collapse=not options["everything"])
    for passed in replay(source):
        ladders.take(passed)
    return ladders.finish()


def tell(checked: CaptureResult) -> None:
    """What the user should know about the capture beside the picture."""
    for line in checked.told():
        complain(line)
    if not checked.frames and not checked.error and not checked.notes:
        complain(f"{checked.path}: no AMQP in {checked.packets} packets")


def nothing(options: dict[str, Any]) -> str:
    """Why there is nothing to draw."""
    connections = options["connections"]
    if connections:
        which = ", ".join(map(str, connections))
        return f"nothing to draw of connection {which}"
    return "no frame matches the filter" if options["where"] else "nothing to draw"


def write(ladders: list[Ladder], options: dict[str, Any]) -> None:
    """Put the picture where it belongs."""
    output = options["output"]
    text = picture(ladders, options)
    if output:
        Path(output).write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)
    sys.stdout.flush()


def picture(ladders: list[Ladder], options: dict[str, Any]) -> str:
    """The ladders in the format that was asked for."""
    from amqpscope.report.ladder_mermaid import mermaid_text
    from amqpscope.report.ladder_svg import svg_text
    from amqpscope.report.ladder_text import LadderText

    form, side_by_side, output = options["form"], options["together"], options["output"]
    if form == "mermaid":
        return mermaid_text(ladders)
    if form == "svg":
        return svg_text(ladders, side_by_side=side_by_side)
    terminal = sys.stdout.isatty() and not output
    writer = LadderText(
        terminal_width(terminal),
        colour=coloured(options["color"], terminal),
        plain=not output and ascii_alone(),
    )
    return "".join(f"{line}\n" for line in writer.lines(ladders, side_by_side=side_by_side))
