"""The commands `pipeline run` and `pipeline report`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions, make_selection
from amqpscope.cli.options import reader_options
from amqpscope.cli.output import INTERRUPTED, UNREADABLE, complain, printing, terminal_width
from amqpscope.cli.pipeline_compare import compare
from amqpscope.cli.pipeline_tables import compact, sql, vacuum

if TYPE_CHECKING:
    from amqpscope.check.selection import Selection
    from amqpscope.spark.outcome import Outcome
    from amqpscope.spark.work import Work

UNFOLLOWED = (
    "with --follow, each connection is judged by itself, in a task of its own: findings about"
    " brokers, and the tables messages and hops, take all connections of a broker in one process"
    " and are left to a run without it"
)


@click.group()
def pipeline() -> None:
    """Turn whole archives of captures into tables, with Spark.

    \b
    amqpscope pipeline run captures/ --out tables
    amqpscope pipeline report tables
    amqpscope pipeline report tables --format html -o report.html
    amqpscope pipeline sql "SELECT rule, count(*) FROM findings GROUP BY rule" tables
    amqpscope pipeline compare last-week this-week
    """


for _command in (sql, compare, compact, vacuum):
    pipeline.add_command(_command)


@pipeline.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("--out", required=True, metavar="DIR", help="Where the tables are, or will be.")
@click.option(
    "--master",
    default="local[*]",
    show_default=True,
    metavar="URL",
    help="Spark's master: local[*], local[2], spark://host:7077.",
)
@click.option(
    "--remote", metavar="URL", default="", help="A Spark Connect server: sc://host:15002."
)
@click.option(
    "--follow", is_flag=True, help="Keep processing captures as they arrive, until interrupted."
)
@click.option(
    "--idle",
    type=float,
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="With --follow: when a silent connection is given up, by the time in the captures.",
)
@click.option(
    "--patience",
    type=float,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="With --follow: when the newest file counts as complete.",
)
@click.option(
    "--ring",
    type=click.Choice(("file", "directory")),
    default="file",
    show_default=True,
    help="Read each file by itself, as lint does, or the captures of a directory as one "
    "rotated capture, as lint --ring does. --follow always reads directories.",
)
@click.option(
    "--slice",
    "megabytes",
    type=float,
    default=32.0,
    show_default=True,
    metavar="MB",
    help="How much of a ring one task reads.",
)
@click.option(
    "--copy-limit",
    type=float,
    default=100.0,
    show_default=True,
    metavar="MB",
    help="Largest file that Spark copies, where workers cannot open it.",
)
@click.option("--frames", is_flag=True, help="Write the table of all frames too.")
@click.option(
    "--no-messages",
    is_flag=True,
    help="Do not follow messages: no tables of them, no broker rules.",
)
@click.option(
    "--log", metavar="FILE", default="", help="Where Spark's own log goes.  [default: a new file]"
)
@click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting for Spark; those of Hadoop's file systems begin with spark.hadoop.",
)
@click.option("--select", multiple=True, metavar="RULES", help="Only these rules.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these.")
@click.option("--strict", is_flag=True, help="Treat SHOULD violations as errors.")
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "info", "never")),
    help="Lowest severity for which the exit code is 1.  [default: error]",
)
@click.option("--config", metavar="FILE", help="Instead of the nearest amqpscope.toml.")
@reader_options
def run(inputs: tuple[str, ...], **options: Any) -> None:
    """Check captures and write what is in them to tables.

    \b
    amqpscope pipeline run captures/ --out tables
    amqpscope pipeline run 'archive/2026-*/*.pcapng.gz' --out tables --master local[4]
    amqpscope pipeline run s3://bucket/captures/ --out tables
    amqpscope pipeline run hdfs://name:8020/captures --out /shared/tables \\
        --master spark://host:7077
    amqpscope pipeline run viewfs://lab/captures --out tables \\
        --conf spark.hadoop.fs.viewfs.mounttable.lab.link./captures=hdfs://name:8020/captures
    amqpscope pipeline run captures/ --out tables --follow

    INPUT is a directory, a file, or a glob, on any file system that Spark reads, and on S3 with
    AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and the like. Each capture is read by itself. With --ring
    directory, those of a directory are read as one rotated capture, in the order of their names:
    connections continue from file to file, and frames, packets and connections are numbered
    throughout.

    Files that workers cannot open themselves are read by Spark and copied for the run, up to
    --copy-limit each, as they are held in memory.

    The tables (Delta Lake, by day): captures, connections, sessions, links, deliveries,
    messages, hops, findings, statistics, quarantine; with --frames also frames. What was
    processed before is skipped; an interrupted run leaves nothing behind.

    The exit code is 0 when nothing is found at or above --fail-on, 1 when something is, and 2
    when a capture could not be read or the command line is wrong.
    """  # fmt: skip
    try:
        sys.exit(run_pipeline(inputs, options))
    except KeyboardInterrupt:
        complain("interrupted; the tables are as they were")
        sys.exit(INTERRUPTED)


def run_pipeline(inputs: tuple[str, ...], options: dict[str, Any]) -> int:
    """Run and tell; the exit code."""
    from amqpscope.check.selection import ConfigError
    from amqpscope.spark.session import SparkError, Where, log_file, require

    try:
        given = {name: options[name] for name in ("select", "ignore", "strict", "fail_on")}
        selection = make_selection(options["config"], **given)
        require()
        log = options["log"] or log_file()
        settings = dict(pair(word) for word in options["conf"])
        where = Where(options["master"], options["remote"], log, settings)
    except (ConfigError, SparkError) as error:
        complain(str(error))
        return UNREADABLE
    from amqpscope.spark.work import Work

    reader = Inputs(ReaderOptions(keylog=options["keylog"], decode_as=options["decode_as"]))
    work = Work(
        selection, reader.keylogs, options["decode_as"], options["frames"],
        tuple(reading(options)), messages=not options["no_messages"],
    )  # fmt: skip
    code = Run(where, options, work).run(inputs)
    return reader.code or code


def reading(options: dict[str, Any]) -> Iterator[str]:
    """The arguments with which `read` reads captures as this run does."""
    for path in options["keylog"]:
        yield from ("--keylog", os.path.abspath(path))
    for port, protocol in options["decode_as"].items():
        yield from ("--decode-as", f"{port}={protocol}")


def pair(word: str) -> tuple[str, str]:
    """KEY=VALUE in two."""
    key, equals, value = word.partition("=")
    if not equals:
        raise click.UsageError(f"--conf {word}: expected KEY=VALUE")
    return key, value


class Run:
    """One run of the pipeline, from start to summary."""

    def __init__(self, where: Any, options: dict[str, Any], work: Work) -> None:
        self.where = where
        self.options = options
        self.work = work
        self.choice: Selection = work.choice
        self.begun = time.monotonic()

    def run(self, inputs: tuple[str, ...]) -> int:
        """Start Spark and do the work; what goes wrong is one line."""
        from amqpscope.spark.list_spark import ListingError
        from amqpscope.spark.manifest import ManifestError
        from amqpscope.spark.session import SparkError, start

        spark = None
        try:
            with Progress() as progress:
                progress.tell("starting Spark", 0)
                spark = start(self.where)
                progress.watch(spark)
                return self.work_on(spark, inputs, progress)
        except (SparkError, ListingError, ManifestError) as error:
            complain(str(error))
            return UNREADABLE
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            complain(f"the job failed: {reason[:300]} (Spark's log: {self.where.log})")
            return UNREADABLE
        finally:
            if spark is not None:
                self.stop(spark)

    def stop(self, spark: Any) -> None:
        """Let go of Spark, whose last words go to the log too."""
        from contextlib import suppress

        from amqpscope.spark.session import quiet

        # One that has died cannot be stopped, and what came of that has been told.
        with quiet(self.where.log), suppress(Exception):
            spark.stop()

    def work_on(self, spark: Any, inputs: tuple[str, ...], progress: Progress) -> int:
        """The job itself; the exit code."""
        from amqpscope.spark import run_pipeline as batch
        from amqpscope.spark.outcome import Outcome

        options = self.options
        if options["follow"]:
            from amqpscope.spark.follow import follow

            progress.close()
            if self.work.messages:
                complain(UNFOLLOWED)
            follow(
                spark, inputs, options["out"], self.work, self.batch,
                options["idle"], options["patience"], complain,
            )  # fmt: skip
            return self.code(Outcome())
        outcome = batch(
            spark, inputs, options["out"], work=self.work, ring=options["ring"],
            size=max(int(options["megabytes"] * 1e6), 1000), told=progress.tell,
            limit=max(int(options["copy_limit"] * 1e6), 1),
        )  # fmt: skip
        progress.close()
        self.summary(outcome)
        return self.code(outcome)

    def batch(self, outcome: Outcome) -> None:
        """One line for a batch of a stream."""
        from amqpscope.wording import plural

        self.complain_of(outcome)
        found = outcome.findings
        words = (
            plural(outcome.files, "capture"), plural(outcome.packets, "packet"),
            f"{plural(outcome.connections, 'connection')} over",
            plural(found["error"], "error"), plural(found["warning"], "warning"),
        )  # fmt: skip
        with printing():
            click.echo(f"batch {outcome.run}: {', '.join(words)}")

    def complain_of(self, outcome: Outcome) -> None:
        """What could not be read, and what else the user should know."""
        for path, reason in (*outcome.quarantined, *outcome.damaged):
            complain(f"{path}: {reason}")
        for note in outcome.notes:
            complain(note)
        if outcome.undecrypted:
            complain(f"{outcome.undecrypted:,} more connections could not be decrypted")

    def code(self, outcome: Outcome) -> int:
        """As lint's, over all that is in the tables."""
        import pyarrow.dataset as ds

        from amqpscope.findings import SEVERITIES
        from amqpscope.spark.tables import Snapshot

        if outcome.quarantined:
            return UNREADABLE
        if self.choice.fail_on == "never":
            return 0
        severities = SEVERITIES[: SEVERITIES.index(self.choice.fail_on) + 1]
        chosen = ds.field("severity").isin(severities)
        findings = Snapshot(self.options["out"]).rows("findings", ("severity",), chosen)
        return int(next(findings, None) is not None)

    def summary(self, outcome: Outcome) -> None:
        """What was done."""
        self.complain_of(outcome)
        with printing():
            for line in summary_lines(outcome, self.options["out"], time.monotonic() - self.begun):
                click.echo(line)


def summary_lines(outcome: Outcome, out: str, seconds: float) -> list[str]:
    """The summary of a run."""
    if not outcome.files:
        done = "1 capture is" if outcome.skipped == 1 else f"{outcome.skipped:,} captures are"
        return [f"nothing new: {done} in {out} already"]
    rate = outcome.octets / 1e6 / seconds
    known = f", {outcome.skipped:,} known before" if outcome.skipped else ""
    found = outcome.findings
    lines = [
        f"captures     {outcome.files:,}{known}",
        f"octets       {outcome.octets:,} in {seconds:,.1f} s ({rate:,.1f} MB/s)",
        f"packets      {outcome.packets:,}",
        f"connections  {outcome.connections:,}",
        f"frames       {outcome.frames:,}",
        f"findings     {found['error']:,} errors, {found['warning']:,} warnings,"
        f" {found['info']:,} info",
    ]
    if outcome.quarantined:
        lines.append(f"quarantine   {len(outcome.quarantined):,} unreadable")
    lines.append(f"tables       {out}")
    return lines


class Progress:
    """What the job is at, on standard error when that is a terminal."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as RichProgress

            self.bar = RichProgress(
                TextColumn("{task.description:16}"), BarColumn(), MofNCompleteColumn(),
                TimeElapsedColumn(), console=Console(file=open_terminal()), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task("", total=None)
            self.bar.start()
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Take it away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def tell(self, what: str, tasks: int) -> None:
        """A new stage, of so many tasks."""
        if self.bar is not None:
            self.bar.reset(self.task, description=what, total=tasks or None)

    def watch(self, spark: Any) -> None:
        """Count the tasks that are done, as far as Spark tells."""
        import threading

        try:
            tracker = spark.sparkContext.statusTracker()
        except Exception:  # a Connect session has none
            return

        def look() -> None:
            while self.bar is not None:
                done = 0
                for stage in tracker.getActiveStageIds():
                    info = tracker.getStageInfo(stage)
                    done += info.numCompletedTasks if info else 0
                if self.bar is not None:
                    self.bar.update(self.task, completed=done)
                time.sleep(0.5)

        if self.bar is not None:
            threading.Thread(target=look, daemon=True).start()


def open_terminal() -> Any:
    """Standard error under another number: its own is turned to the log while Spark starts."""
    return os.fdopen(os.dup(2), "w")


@pipeline.command()
@click.argument("directory", metavar="DIR")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "html")),
    default="text",
    help="html: one file with plots that needs nothing else.",
)
@click.option(
    "--output", "-o", metavar="FILE", help="Write to this file instead of standard output."
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="How many connections and addresses.",
)
def report(directory: str, form: str, output: str | None, top: int) -> None:
    """Report what the tables of `pipeline run` show.

    \b
    amqpscope pipeline report tables
    amqpscope pipeline report tables --format html -o report.html

    Findings by rule, product and day, and which are new since the run before; the worst
    connections; stalls; how long deliveries took to be settled; the busiest addresses. Each
    number comes with a frame and the `amqpscope read` command that opens it.
    Spark is not needed.
    """
    from amqpscope.spark.session import SparkError, require

    try:
        require()
        from amqpscope.spark.manifest import ManifestError
        from amqpscope.spark.report import make_report
        from amqpscope.spark.report_html import report_html
        from amqpscope.spark.report_text import WIDTH, report_json, report_text

        found = make_report(directory, top)
    except (SparkError, ManifestError) as error:
        complain(str(error))
        sys.exit(UNREADABLE)
    if form == "text":
        width = terminal_width(sys.stdout.isatty() and not output)
        text = report_text(found, width or WIDTH)
    else:
        text = report_json(found) if form == "json" else report_html(found)
    with printing():
        if output:
            Path(output).write_text(text, encoding="utf-8")
        else:
            click.echo(text, nl=False)
