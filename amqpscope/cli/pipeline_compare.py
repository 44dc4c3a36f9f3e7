"""The command `pipeline compare`."""

from __future__ import annotations

import sys

import click

from amqpscope.cli.output import (
    INTERRUPTED,
    UNREADABLE,
    complain,
    printing,
    terminal_width,
    write_text,
)

WORSE = 1


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--format", "form", type=click.Choice(("text", "json", "html")), default="text",
    help="json: for programs; html: one page.",
)  # fmt: skip
@click.option(
    "--output", "-o", metavar="FILE", help="Write to this file instead of standard output."
)
@click.option(
    "--alpha", type=click.FloatRange(0, 1), default=0.01, show_default=True, metavar="P",
    help="How likely a difference may be by chance, and still count.",
)  # fmt: skip
@click.option(
    "--fail-on", type=click.Choice(("error", "warning", "info", "never")), default="error",
    show_default=True, help="Severity of findings that make B worse.",
)  # fmt: skip
def compare(
    before: str, after: str, form: str, output: str | None, alpha: float, fail_on: str
) -> None:
    """Compare the tables of two runs, days or directories: is B worse?

    \b
    amqpscope pipeline compare release-1 release-2
    amqpscope pipeline compare tables@3 tables@4
    amqpscope pipeline compare tables@2026-11-17 tables@2026-11-18
    amqpscope pipeline compare tables@2026-11-01..2026-11-07 \\
        tables@2026-11-08..2026-11-14 --format html -o compare.html

    A and B are what `pipeline run --out` got; after @, the tables as of a run, or the rows of
    one or more days. Findings are compared by their rate in a million frames, latencies,
    outcomes and redeliveries by address; what differs by chance is left out, but for findings
    that are new. Tests take what is counted as independent: one client that breaks a rule in a
    loop counts as often as it does.

    The exit code is 1 when B is worse: findings at or above --fail-on that are new or more
    frequent; latencies that are longer by a tenth; more failed outcomes or redeliveries. It is 0
    when B is not worse, and 2 when the tables cannot be read.
    """  # fmt: skip
    try:
        sys.exit(run_compare(before, after, form, output, alpha, fail_on))
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)


def run_compare(
    before: str, after: str, form: str, output: str | None, alpha: float, fail_on: str
) -> int:
    """Compare and print; the exit code."""
    from amqpscope.spark.session import SparkError, require

    try:
        require()
        from amqpscope.spark.compare import compare as compare_sides
        from amqpscope.spark.compare_html import compare_html
        from amqpscope.spark.compare_text import compare_text
        from amqpscope.spark.manifest import ManifestError
        from amqpscope.spark.report_text import WIDTH, report_json
        from amqpscope.spark.sides import Side, SideError
    except SparkError as error:
        complain(str(error))
        return UNREADABLE
    try:
        found = compare_sides(Side(before), Side(after), alpha, fail_on)
    except (SideError, ManifestError) as error:
        complain(str(error))
        return UNREADABLE
    if form == "text":
        text = compare_text(found, terminal_width(sys.stdout.isatty() and not output) or WIDTH + 40)
    else:
        text = report_json(found) if form == "json" else compare_html(found)
    with printing():
        write_text(text, output)
    return WORSE if found["worse"] else 0
