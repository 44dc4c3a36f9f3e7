"""The command line: the only place that prints and decides exit codes.

0: done and clean; 1: findings; 2: bad usage or input that could not be read.

Each command imports what it works with when it runs, so that `amqpscope --help` starts at once.
"""

from __future__ import annotations

import gc
import sys

import click

import amqpscope
from amqpscope.cli.ca import ca
from amqpscope.cli.ladder import ladder
from amqpscope.cli.lint import lint
from amqpscope.cli.output import nothing
from amqpscope.cli.pipeline import pipeline
from amqpscope.cli.proxy import proxy
from amqpscope.cli.read import demo, read
from amqpscope.cli.rules import explain, rules
from amqpscope.cli.state import state, stats


def main() -> None:
    """Run a command; nothing but one clear line reaches the user when something is wrong."""
    # None where whoever started us closed it (`>&-`).
    sys.stdin = sys.stdin or nothing("r")
    sys.stdout = sys.stdout or nothing("w")
    sys.stderr = sys.stderr or nothing("w")
    # Frames leave no cycles behind: looking for some every few hundred objects costs a tenth, and
    # looking once more through everything at the end, which freezing prevents, a short run as much.
    gc.set_threshold(100_000)
    try:
        cli(prog_name="amqpscope")
    finally:
        gc.freeze()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(amqpscope.__version__, message=f"amqpscope %(version)s ({amqpscope.build()})")
def cli() -> None:
    """See what went over the wire in AMQP, and who broke the protocol.

    \b
    amqpscope demo                      a first look, at a capture that comes along
    amqpscope read capture.pcapng       every frame of a capture; on a terminal a screen
    amqpscope lint capture.pcapng       what in it breaks the specification, and who
    amqpscope proxy amqp://broker:5672  the same live, between a client and a broker
    tcpdump -w - port 5672 | amqpscope read -
    """


for command in (read, proxy, demo, lint, explain, rules, stats, state, ladder, ca, pipeline):
    cli.add_command(command)
