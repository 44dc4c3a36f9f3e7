"""The command `minimise`: the smallest capture that still shows a finding."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options
from amqpscope.cli.output import UNREADABLE, complain, printing
from amqpscope.wording import plural

if TYPE_CHECKING:
    from amqpscope.filter import Filter
    from amqpscope.runs.minimise import Minimiser
    from amqpscope.runs.minimise_goal import Goal, Minimised

NOT_THERE: Final = 1


@click.command()
@click.argument("capture", metavar="CAPTURE")
@click.option(
    "--keep",
    required=True,
    metavar="RULE|FILTER",
    help="The finding to keep, by its rule, or a filter for the frame to keep.",
)
@click.option("--output", "-o", required=True, metavar="FILE", help="The capture to write.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=20.0,
    show_default=True,
    help="Write the best result so far after this time.",
)
@click.option(
    "--closed-world",
    is_flag=True,
    help="All connections to the brokers are in the capture, as in lint.",
)
@reader_options
def minimise(
    capture: str, keep: str, output: str, seconds: float, closed_world: bool, **options: Any
) -> None:  # fmt: skip
    """Write the smallest capture that still shows a finding.

    \b
    amqpscope minimise capture.pcapng --keep FLW-016 -o small.pcapng
    amqpscope minimise run.pcapng#3 --keep transfer-without-credit -o small.pcap
    amqpscope minimise capture.pcapng --keep 'close && error' -o small.pcapng

    Connections, sessions, links, deliveries and frames are removed, then fields and messages, as
    long as the finding stays, against the same peer and with the same certainty. The result has
    whole TCP connections without TLS and WebSocket. Ctrl-C writes the best result so far.

    The exit code is 0 when a capture was written, 1 when CAPTURE has no such finding, and 2
    when it could not be read.
    """
    inputs = Inputs(ReaderOptions(**options))
    sys.exit(inputs.code or run_minimise(capture, keep, output, seconds, closed_world, inputs))


def run_minimise(
    name: str, keep: str, output: str, seconds: float, closed_world: bool, inputs: Inputs
) -> int:
    """Read, search and write; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.check.selection import Selection
    from amqpscope.runs.input import repeatable, split_connection
    from amqpscope.runs.minimise import Minimiser
    from amqpscope.runs.minimise_goal import MinimiseSettings

    rule, where = parse_keep(keep)
    if rule is None and where is None:
        return UNREADABLE
    path, number = split_connection(name)
    selection = Selection(() if rule is None else ("ALL",)) if is_off(rule) else Selection()
    settings = MinimiseSettings(selection, closed_world, seconds)
    try:
        with repeatable(inputs.input(path)) as given, Watching() as watching:
            search = Minimiser(given, settings, watching.update)
            search.read(where, number)
            goal, frame = find_goal(search, rule, where)
            if goal is None:
                complain(f"{name}: nothing in it is {keep}")
                return NOT_THERE
            found = search.minimise(goal, frame)
    except CaptureError as error:
        complain(str(error))
        return UNREADABLE
    if found is None:
        complain(
            f"{name}: {keep} is not found any more once the connection is written as plain TCP"
        )
        return NOT_THERE
    return write_result(found, output)


def parse_keep(keep: str) -> tuple[str | None, Filter | None]:
    """A rule by its id or name, or else a filter; neither where it is wrong."""
    from amqpscope.check.selection import ConfigError, groups, resolve_one
    from amqpscope.filter import FilterError, compile_filter

    try:
        rule = resolve_one(keep)
        if rule != "ALL" and rule not in groups():
            return rule, None
    except ConfigError:
        pass
    try:
        return None, compile_filter(keep)
    except FilterError as error:
        complain(f"--keep is neither a rule nor a filter\n{error}")
        return None, None


def is_off(rule: str | None) -> bool:
    """Whether a rule runs only when it is asked for."""
    from amqpscope.rules.all import load

    if rule is None:
        return False
    found = load().get(rule)
    return found is None or not found.default


def find_goal(search: Minimiser, rule: str | None, where: Filter | None) -> tuple[Goal | None, int]:
    """What is to be kept, and the frame at which it is."""
    from amqpscope.runs.minimise_goal import Goal, choose_finding

    if rule is not None:
        finding = choose_finding(search.findings, rule)
        return (None, 0) if finding is None else (Goal(finding), finding.frame)
    if not search.matching:
        return None, 0
    return Goal(where=where), search.matching[0]


def write_result(found: Minimised, output: str) -> int:
    """Write the capture and say how small it is."""
    from amqpscope.capture.synthetic import write_exchanges

    file = io.BytesIO()
    packets = write_exchanges(found.exchanges, file)
    with printing():
        Path(output).write_bytes(file.getvalue())
        early = ", interrupted" if found.interrupted else ""
        click.echo(
            f"{output}: {plural(found.after, 'frame')} of {found.before} in"
            f" {plural(packets, 'packet')}{early}"
        )
        if found.finding is not None:
            kept = found.finding.masked()
            click.echo(
                f"{kept.rule} {kept.severity} frame {kept.frame} ({kept.peer}) {kept.message}"
            )
    return 0


class Watching:
    """How far the search is, on standard error where that is a terminal."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *args: object) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def update(self, frames: int, tests: int) -> None:
        """Show what is left."""
        if self.shown:
            sys.stderr.write(f"\r\x1b[K{plural(frames, 'frame')} left after {tests} tests")
            sys.stderr.flush()
