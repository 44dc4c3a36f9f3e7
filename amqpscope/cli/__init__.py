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
from amqpscope.cli.scrub import scrub
from amqpscope.cli.state import state, stats
from amqpscope.cli.stuck import stuck
from amqpscope.cli.trace import trace
from amqpscope.runs.collector import calm_collector

CAPTURES: Final = (".pcap", ".pcapng", ".cap", ".gz", ".zst", ".xz")
"""How files that people mean to open end, whether or not they are there."""


# fmt: off
IN_SHORT: Final = {
    "read":     "browse or print frames",    "lint":     "who broke which rule",
    "stuck":    "what is stuck, and why",    "explain":  "what a rule asks for",
    "state":    "both peers at a frame",     "rules":    "all rules",
    "stats":    "counts and latencies",      "broker":   "what became of messages",
    "ladder":   "a sequence diagram",        "trace":    "one message's life",
    "demo":     "a capture to try it on",    "diff":     "compare two captures",
    "proxy":    "watch live traffic",        "replay":   "play a recording again",
    "faults":   "faults of a running proxy", "minimise": "the least that shows it",
    "ca":       "certificates of the proxy", "convert":  "logs to pcapng",
    "pipeline": "archives, with Spark",      "scrub":    "a copy without secrets",
}
"""What the commands are for, so short that two of them fit beside each other in 80 columns."""
# fmt: on
NAME: Final = 9
SHORT: Final = 27
"""Columns of a command's name, and of what it is for."""


class Commands(click.Group):
    """The commands; a capture without one is read."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all commands in two columns: the whole fits a terminal of 80 by 24."""
        names = [*(name for name in IN_SHORT if name in self.commands),
                 *(name for name in self.commands if name not in IN_SHORT)]  # fmt: skip
        cells = [f"{name:{NAME}} {self.in_short(name):{SHORT}}" for name in names]
        cells += [""] * (len(cells) % 2)
        formatter.write("\nCommands (amqpscope COMMAND --help says more):\n")
        for left, right in zip(cells[::2], cells[1::2], strict=True):
            formatter.write(f"  {left} {right}".rstrip() + "\n")
        formatter.write("\nOptions: -h or --help shows this, --version the version.\n")

    def in_short(self, name: str) -> str:
        """What a command is for, in few words."""
        return IN_SHORT.get(name) or self.commands[name].get_short_help_str(SHORT)

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
    amqpscope demo                      show the capture that comes with it
    amqpscope capture.pcapng            browse a capture (piped: print frames)
    amqpscope lint capture.pcapng       report violations, and who is at fault
    amqpscope proxy amqp://broker:5672  watch, record and check live traffic
    """


for command in (
    read, proxy, faults, replay, demo, lint, broker, trace, diff, minimise, scrub, convert, stuck,
    ladder, state, stats, explain, rules, ca, pipeline,
):  # fmt: skip
    cli.add_command(command)
