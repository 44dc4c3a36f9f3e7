"""The command line: the only place that prints and decides exit codes.

0: done and clean; 1: findings; 2: bad usage or input that could not be read.

Each command imports what it works with when it runs, so that `amqpscope --help` starts at once.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, Final

import click

import amqpscope
from amqpscope.cli.broker import broker
from amqpscope.cli.ca import ca
from amqpscope.cli.convert import convert
from amqpscope.cli.diff import diff
from amqpscope.cli.faults import faults
from amqpscope.cli.ladder import ladder
from amqpscope.cli.lint import lint
from amqpscope.cli.minimise import minimise
from amqpscope.cli.output import nothing
from amqpscope.cli.pipeline import pipeline
from amqpscope.cli.proxy import proxy
from amqpscope.cli.read import demo, read
from amqpscope.cli.replay import replay
from amqpscope.cli.rules import explain, rules
from amqpscope.cli.state import state, stats
from amqpscope.cli.stuck import stuck
from amqpscope.cli.trace import trace
from amqpscope.runs.collector import calm_collector

CAPTURES: Final = (".pcap", ".pcapng", ".cap", ".gz", ".zst")
"""How files that people mean to open end, whether or not they are there."""


class Commands(click.Group):
    """The commands; a capture without one is read."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Take a file where a command should be for `read`."""
        first = args[0]
        if first not in self.commands and (
            first == "-" or os.path.exists(first) or first.endswith(CAPTURES)
        ):
            args = ["read", *args]
        return super().resolve_command(ctx, args)


def main() -> None:
    """Run a command; nothing but one clear line reaches the user when something is wrong."""
    # None where whoever started us closed it (`>&-`).
    sys.stdin = sys.stdin or nothing("r")
    sys.stdout = sys.stdout or nothing("w")
    sys.stderr = sys.stderr or nothing("w")
    calm_collector()
    try:
        cli(prog_name="amqpscope")
    finally:
        # Looking once more through everything at the end costs a short run a tenth.
        gc.freeze()


@click.group(
    cls=Commands,
    subcommand_metavar="[COMMAND | CAPTURE] [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(amqpscope.__version__, message=f"amqpscope %(version)s ({amqpscope.build()})")
def cli() -> None:
    """See what went over the wire in AMQP, and who broke the protocol.

    \b
    amqpscope demo                      show the capture that comes along
    amqpscope capture.pcapng            browse a capture (piped: print frames)
    amqpscope lint capture.pcapng       report violations, and who is at fault
    amqpscope proxy amqp://broker:5672  watch, record and check live traffic
    tcpdump -w - port 5672 | amqpscope -
    """


for command in (
    read, proxy, faults, replay, demo, lint, broker, trace, diff, minimise, convert, stuck, ladder,
    state, stats, explain, rules, ca, pipeline,
):  # fmt: skip
    cli.add_command(command)
