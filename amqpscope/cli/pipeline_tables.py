"""The commands `pipeline sql`, `pipeline compact` and `pipeline vacuum`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from amqpscope.cli.output import INTERRUPTED, UNREADABLE, complain, printing
from amqpscope.wording import plural

TABLES = "tables"


@click.command()
@click.argument("query", metavar="QUERY")
@click.argument("directory", metavar="[DIR]", default=TABLES)
@click.option(
    "--format", "form", type=click.Choice(("text", "json", "csv")), default="text",
    help="json: an array of objects.",
)  # fmt: skip
@click.option(
    "--output", "-o", metavar="FILE", help="Write to this file instead of standard output."
)
@click.option("--run", type=int, metavar="N", help="The tables as they were after this run.")
def sql(query: str, directory: str, form: str, output: str | None, run: int | None) -> None:
    """Ask the tables of `pipeline run` in SQL.

    \b
    amqpscope pipeline sql "SELECT rule, count(*) FROM findings GROUP BY rule"
    amqpscope pipeline sql "SELECT * FROM captures" out --format csv -o a.csv
    amqpscope pipeline sql "SELECT count(*) FROM findings" --run 3
    amqpscope pipeline sql - tables < question.sql

    DIR is what `pipeline run --out` got, by default `tables`. QUERY is in DuckDB's SQL; `-` reads
    it from standard input. All tables are as of one run, the last one by default. Times are in
    UTC. Spark is not needed.
    """

    def ask() -> None:
        from amqpscope.spark.query import QueryError, lines_of
        from amqpscope.spark.query import query as run_query
        from amqpscope.spark.tables import Snapshot

        text = sys.stdin.read() if query == "-" else query
        try:
            rows = run_query(Snapshot(directory, run), text)
        except QueryError as error:
            complain(str(error))
            sys.exit(UNREADABLE)
        with printing():
            if output:
                with Path(output).open("w", encoding="utf-8") as file:
                    file.writelines(f"{line}\n" for line in lines_of(rows, form))
            else:
                for line in lines_of(rows, form):
                    click.echo(line)

    with_tables(ask)


@click.command()
@click.argument("directory", metavar="[DIR]", default=TABLES)
def compact(directory: str) -> None:
    """Put small files of the tables together.

    \b
    amqpscope pipeline compact tables

    Rows stay as they are, and queries that have begun go on. The small files stay until
    `pipeline vacuum`.
    """

    def work(found: Any, state: Any) -> None:
        for table, (before, after) in found.compact(state.run).items():
            click.echo(f"{table}: {plural(before, 'file')} put together into {after:,}")

    maintain(directory, work)


@click.command()
@click.argument("directory", metavar="[DIR]", default=TABLES)
@click.option(
    "--keep", type=click.IntRange(0), default=168, show_default=True, metavar="HOURS",
    help="What queries and --run may still need.",
)  # fmt: skip
def vacuum(directory: str, keep: int) -> None:
    """Delete files that no table has needed for a week.

    \b
    amqpscope pipeline vacuum tables
    amqpscope pipeline vacuum tables --keep 24

    These are files of rows that were replaced or put together, and what tasks that failed have
    left. Runs of that time can no longer be asked for with `pipeline sql --run`.
    """

    def work(found: Any, state: Any) -> None:
        for table, count in found.vacuum(keep).items():
            click.echo(f"{table}: {plural(count, 'file')} deleted")

    maintain(directory, work)


def maintain(directory: str, work: Callable[[Any, Any], None]) -> None:
    """Do something with tables while nobody else writes to them."""

    def hold() -> None:
        from amqpscope.spark.directory import Directory

        found = Directory(directory)
        found.read()  # an error where there is none, which opening would make
        state = found.open()
        try:
            with printing():
                work(found, state)
        finally:
            found.close()

    with_tables(hold)


def with_tables(work: Callable[[], None]) -> None:
    """Do something with tables; what goes wrong is one line."""
    from amqpscope.spark.session import SparkError, require

    try:
        require()
        from amqpscope.spark.manifest import ManifestError

        try:
            work()
        except ManifestError as error:
            complain(str(error))
            sys.exit(UNREADABLE)
    except SparkError as error:
        complain(str(error))
        sys.exit(UNREADABLE)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
