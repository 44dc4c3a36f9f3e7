"""The command `diff`: what two captures, or two connections, do differently."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options
from amqpscope.cli.output import (
    INTERRUPTED,
    UNREADABLE,
    complain,
    make_look,
    pager_width,
    printing,
    write_text,
)
from amqpscope.cli.progress import CaptureBar

if TYPE_CHECKING:
    from amqpscope.check.result import CaptureResult
    from amqpscope.insight.diff.differences import Diff
    from amqpscope.insight.diff.entries import ComparedConnection
    from amqpscope.runs.diff import DiffSettings

DIFFERENT: Final = 1


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--exact",
    is_flag=True,
    help="Compare what changes from run to run too: names, numbers, tags, windows.",
)
@click.option(
    "--ignore",
    metavar="PATH",
    multiple=True,
    help="Ignore differences at this path and below it: flow, open.properties, *.channel-max.",
)
@click.option(
    "--only",
    metavar="PATH",
    multiple=True,
    help="Report only differences at this path and below it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "html")),
    default="text",
    help="json: for programs; html: a page to pass on.",
)
@click.option("--output", "-o", metavar="FILE", help="Write to a file.")
@reader_options
def diff(
    a: str,
    b: str,
    exact: bool,
    ignore: tuple[str, ...],
    only: tuple[str, ...],
    form: str,
    output: str | None,
    **options: Any,
) -> None:  # fmt: skip
    """Show what two captures do differently: where they first differ, then every difference.

    \b
    amqpscope diff works.pcapng fails.pcapng
    amqpscope diff run.pcap#2 run.pcap#5
    amqpscope diff --ignore flow --ignore open.properties a.pcap b.pcap
    amqpscope diff --only disposition --format json a.pcap b.pcap

    Connections are paired by their traffic, frames by link and order. What changes from run to
    run (container-ids, generated names, channels, handles, delivery-ids, tags, times, windows
    that count down) is not compared, nor what depends on timing: how links interleave, how often
    credit is granted, how many deliveries a frame settles. In copies of one recording, all of these
    are compared too.

    A#N is connection N of capture A. The exit code is 0 when both do the same, 1 when they
    differ, and 2 when something could not be read.
    """
    from amqpscope.insight.diff.differences import Scope
    from amqpscope.runs.diff import DiffSettings

    reader = ReaderOptions(**options)
    inputs = Inputs(reader)
    settings = DiffSettings(Scope(only, ignore), exact, show_secrets=reader.show_secrets)
    try:
        found = run_diff((a, b), inputs, settings)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
    if found is None:
        sys.exit(UNREADABLE)
    with printing():
        write_text(as_text(found, form, reader.color, output), output)
    sys.exit(inputs.code or (0 if found.equal else DIFFERENT))


def as_text(found: Diff, form: str, color: str, output: str | None) -> str:
    """The differences in the format that is asked for."""
    if form == "json":
        from amqpscope.report.diff_json import diff_json

        return diff_json(found)
    if form == "html":
        from amqpscope.report.diff_html import diff_page

        return "".join(diff_page(found))
    from amqpscope.report.diff_text import DiffText

    look = make_look(color, output)
    if not look.width and not output:
        look = replace(look, width=pager_width())
    return "".join(f"{line}\n" for line in DiffText(look).lines(found))


def run_diff(names: tuple[str, str], inputs: Inputs, settings: DiffSettings) -> Diff | None:
    """Read both and compare them; None where one could not be read."""
    from amqpscope.runs.diff import compare_recordings

    read = [read_side(name, inputs, settings) for name in names]
    a, b = read
    if a is None or b is None:
        return None
    return compare_recordings(a, b, settings)


def read_side(
    name: str, inputs: Inputs, settings: DiffSettings
) -> tuple[list[ComparedConnection], CaptureResult] | None:
    """The connections of one side; None where there are none."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.diff import choose, read_recordings
    from amqpscope.runs.input import split_connection

    path, number = split_connection(name)
    try:
        with CaptureBar(path) as bar:
            recordings, result = read_recordings(inputs.input(path), settings, bar.update)
    except CaptureError as error:
        inputs.fail(str(error))
        return None
    result.path = name
    inputs.report(result)
    chosen = choose(recordings, number)
    if not chosen:
        if recordings:
            inputs.fail(f"{name}: there is no connection {number}, the last is {len(recordings)}")
        return None
    return chosen, result
