"""The command line: the only place that prints and decides exit codes.

0: done and clean; 1: findings; 2: bad usage or input that could not be read.

The module of a command is imported when that command is asked for, and imports what it works with
when it runs: so `amqpscope --help` starts at once, and no command waits for what others need.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any, Final

import click

import amqpscope
from amqpscope.cli.output import nothing
from amqpscope.runs.collector import calm_collector

CAPTURES: Final = (".pcap", ".pcapng", ".cap", ".gz", ".zst", ".xz")
"""How files that people mean to open end, whether or not they are there."""


MODULES: Final = {"demo": "read", "explain": "rules", "stats": "state"}
"""Commands that are in the module of another one; others are in a module of their own name."""

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
"""All commands and what they are for, so short that two fit beside each other in 80 columns."""
# fmt: on
NAME: Final = 9
SHORT: Final = 27
"""Columns of a command's name, and of what it is for."""


class Commands(click.Group):
    """The commands; a capture without one is read."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the order of the help."""
        return list(IN_SHORT)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that is none."""
        if cmd_name not in IN_SHORT:
            return None
        module = import_module(f"{__name__}.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all commands in two columns: the whole fits a terminal of 80 by 24."""
        cells = [f"{name:{NAME}} {short:{SHORT}}" for name, short in IN_SHORT.items()]
        cells += [""] * (len(cells) % 2)
        formatter.write("\nCommands (amqpscope COMMAND --help says more):\n")
        for left, right in zip(cells[::2], cells[1::2], strict=True):
            formatter.write(f"  {left} {right}".rstrip() + "\n")
        formatter.write("\nOptions: -h or --help shows this, --version the version.\n")

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Take a file where a command should be for `read`."""
        first = args[0]
        if first not in IN_SHORT and (
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


def show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the version, and how this copy runs."""
    if wanted and not ctx.resilient_parsing:
        click.echo(f"amqpscope {amqpscope.__version__} ({amqpscope.build()})")
        ctx.exit()


@click.group(
    cls=Commands,
    subcommand_metavar="[COMMAND | CAPTURE] [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """See what went over the wire in AMQP, and who broke the protocol.

    \b
    amqpscope demo                      show the capture that comes with it
    amqpscope capture.pcapng            browse a capture (piped: print frames)
    amqpscope lint capture.pcapng       report violations, and who is at fault
    amqpscope proxy amqp://broker:5672  watch, record and check live traffic
    """
