"""The commands about rules: `explain` and `rules`."""

from __future__ import annotations

import sys

import click

from amqpscope.cli.output import UNREADABLE, complain, printing, terminal_width

WIDEST = 100
"""Columns in which prose is easy to read."""


@click.command()
@click.argument("rule")
@click.option("--full", is_flag=True, help="Show examples from the start of the connection.")
def explain(rule: str, full: bool) -> None:
    """Explain a rule: what it asks for, why, and an exchange that breaks and one that keeps it.

    \b
    amqpscope explain FLW-016
    amqpscope explain transfer-without-credit
    """
    from amqpscope.check.selection import ConfigError, resolve_one
    from amqpscope.report.explain import explanation
    from amqpscope.rules.catalogue import catalogue

    try:
        id = resolve_one(rule)
    except ConfigError as error:
        complain(str(error))
        sys.exit(UNREADABLE)
    if id not in catalogue():
        first = next((known for known in catalogue() if known.startswith(f"{id}-")), "FLW-016")
        complain(f"{rule!r} is a group of rules; name one of them, as {first}")
        sys.exit(UNREADABLE)
    with printing():
        width = min(terminal_width(sys.stdout.isatty()), WIDEST)
        click.echo(explanation(id, width, full=full))


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "markdown")),
    default="text",
    help="json: the whole catalogue, with rules that are not checked.",
)
@click.option("--coverage", is_flag=True, help="How many rules are checked, by group.")
def rules(form: str, coverage: bool) -> None:
    """List the rules, or how much of the catalogue is checked.

    \b
    amqpscope rules
    amqpscope rules --coverage
    amqpscope rules --format json
    """  # fmt: skip
    from amqpscope.report.catalogue import coverage_text, rules_text

    with printing():
        click.echo(coverage_text(form) if coverage else rules_text(form))
