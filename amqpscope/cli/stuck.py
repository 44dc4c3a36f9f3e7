"""The command that says why nothing moves: `stuck`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import UNREADABLE, complain, printing
from amqpscope.cli.rings import choose
from amqpscope.cli.state import FORM, Ended, Reader, tree

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.findings import Finding
    from amqpscope.report.stuck import Stuck


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option("--at", type=click.IntRange(1), metavar="FRAME",
              help="As of this frame; without it, as of the last.")  # fmt: skip
@FORM
@ring_options
@reader_options
def stuck(captures: tuple[str, ...], at: int | None, form: str, **options: Any) -> None:
    """Say what is stuck or was refused, the worst first, and why.

    \b
    amqpscope stuck capture.pcapng
    amqpscope stuck --at 118 capture.pcapng
    amqpscope stuck --format json a.pcap b.pcap | jq '.[].held[].state'
    amqpscope stuck --ring recordings/

    For each link, channel, consumer or connection that is held: what holds it, since when, and who
    is waited for. What a peer refused, and what that means. Of what is over: who ended it, which
    finding explains that, and what held it until then. It is what key 5 of the screen shows.
    """
    from amqpscope.report.stuck import stuck_lines, stuck_object

    found, failed = choose(captures, options)
    documents = []
    for path in found:
        state, unreadable = look_at(path, at or 0, options)
        failed = failed or unreadable
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
    sys.exit(UNREADABLE if failed else 0)


def look_at(path: Readable, at: int, options: dict[str, Any]) -> tuple[Stuck | None, bool]:
    """What holds the connections of a capture; None: nothing is known. Also: whether it failed."""
    from amqpscope.check.selection import Selection
    from amqpscope.insight.stuck import StuckWatch
    from amqpscope.report.stuck import Stuck

    choice, watch = Selection(), StuckWatch()
    reader = Reader(options, rules=choice.rules(), watch=watch)
    start = now = frame = 0
    for passed in reader.passing(path, at):
        if isinstance(passed, Ended):
            now = max(now, passed.time)
            continue
        watch.take(passed)
        start = start or passed.frame.time
        now, frame = max(now, passed.frame.time), passed.frame.number
    if 0 < frame < at:
        complain(f"{path}: there is no frame {at}, the last is {frame}")
        return None, True
    known: dict[int, list[Finding]] = {}
    for finding in choice.adjust_all(reader.findings, str(path)):
        known.setdefault(finding.connection, []).append(finding)
    if not frame:
        return None, reader.failed
    return Stuck(str(path), watch.held(), frame, now, start, known), reader.failed
