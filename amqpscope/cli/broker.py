"""The command `broker`: what a broker did with the messages of captures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import INTERRUPTED, complain, printing, terminal_width, write_text
from amqpscope.cli.rings import choose

if TYPE_CHECKING:
    from amqpscope.analysis import Step
    from amqpscope.capture.ring import Readable
    from amqpscope.check.selection import Selection
    from amqpscope.findings import Finding
    from amqpscope.insight.journeys import Journeys
    from amqpscope.insight.journeys.profile import Profile

WIDTH: Final = 100
"""Columns of text that goes to no terminal."""
FORMATS: Final = ("text", "json", "html")


@dataclass(frozen=True, kw_only=True)
class BrokerOptions(ReaderOptions):
    """The options of `broker`, by the same names."""

    form: str
    output: str | None
    closed_world: bool
    window: int


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text",
              help="json: for programs; html: one page.")  # fmt: skip
@click.option(
    "--output", "-o", metavar="FILE", help="Write to this file instead of standard output."
)
@click.option("--closed-world", is_flag=True,
              help="All connections to the broker are in the captures.")  # fmt: skip
@click.option("--window", type=click.IntRange(1), default=8192, show_default=True, metavar="N",
              help="How many messages are remembered after they are settled.")  # fmt: skip
@ring_options
@reader_options
def broker(captures: tuple[str, ...], ring: bool, as_given: bool, **options: Any) -> None:
    """Show what the broker did with the messages: facts, then a ledger, then judgements.

    \b
    amqpscope broker capture.pcapng
    amqpscope broker --closed-world publishers.pcap consumers.pcap
    amqpscope broker --format json capture.pcapng | jq '.brokers[].ways'

    Messages are followed from the connection that publishes them to those that consume them, by
    their octets or their message-id. Several captures are read together, on one clock.
    """  # fmt: skip
    found, failed = choose(captures, ring=ring, as_given=as_given)
    sys.exit(run_broker(found, failed, BrokerOptions(**options)))


def run_broker(captures: Sequence[Readable], failed: bool, options: BrokerOptions) -> int:
    """Follow the messages and report; the exit code."""
    from amqpscope.check.selection import Selection
    from amqpscope.insight.journeys import Journeys
    from amqpscope.insight.journeys.profile import profile

    inputs, selection = Inputs(options, failed=failed), Selection()
    journeys = Journeys(selection.rules(), closed_world=options.closed_world, window=options.window)
    try:
        findings = follow(inputs, captures, selection, journeys)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    names = [str(path) for path in captures]
    brokers = dict.fromkeys(journeys.brokers.values())
    profiles = [profile(each) for each in brokers if each.facts]
    if not profiles:
        if inputs.failed:
            return inputs.code
        complain(f"{', '.join(names)}: no messages")
    judged = [(names[capture], finding) for capture, finding in findings]
    with printing():
        write_text(report(profiles, judged, names, options), options.output)
    return inputs.code


def follow(
    inputs: Inputs,
    captures: Sequence[Readable],
    selection: Selection | None,
    journeys: Journeys,
    watch: Callable[[Step, int], None] | None = None,
) -> list[tuple[int, Finding]]:
    """Let all frames of all captures pass, in the order of time; what is found, by capture."""
    from amqpscope.runs.together import follow_together

    sources = list(inputs.inputs(captures))
    return follow_together(sources, selection, journeys, lambda _, read: inputs.report(read), watch)


def report(
    profiles: list[Profile],
    findings: list[tuple[str, Finding]],
    captures: list[str],
    options: BrokerOptions,
) -> str:
    """The profile in the format that was asked for."""
    from amqpscope.report.broker import broker_json, broker_lines
    from amqpscope.report.broker_html import broker_page
    from amqpscope.report.columns import folded

    if options.form == "json":
        return broker_json(profiles, findings, captures, options.closed_world)
    lines = broker_lines(profiles, findings, options.closed_world)
    if options.form == "html":
        return "".join(broker_page(lines))
    width = terminal_width(sys.stdout.isatty() and not options.output) or WIDTH
    return "".join(f"{line}\n" for line in folded(lines, width))
