"""The command `lint`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions, make_selection
from amqpscope.cli.options import jobs_option, reader_options, ring_options
from amqpscope.cli.output import (
    INTERRUPTED,
    UNREADABLE,
    complain,
    make_look,
    printing,
    write_text,
)
from amqpscope.cli.rings import choose
from amqpscope.report.formats import FINDING_FORMATS
from amqpscope.wording import plural

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.check.baseline import Baseline
    from amqpscope.check.result import CaptureResult
    from amqpscope.runs.input import Input

FORMATS: Final = (*FINDING_FORMATS, "html")


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option(
    "--format",
    "--output-format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    help="Format of the report.",
)
@click.option(
    "--output", "-o", metavar="FILE", help="Write to this file instead of standard output."
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Only these: ids, names or groups, with commas; ALL for all.",
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these.")
@click.option("--strict", is_flag=True, help="Treat SHOULD violations as errors.")
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "info", "never")),
    help="Lowest severity for which the exit code is 1.  [default: error]",
)
@click.option(
    "--closed-world",
    is_flag=True,
    help="Assume that the captures hold all connections to the broker, so that its faults are "
    "certain.",
)
@click.option(
    "--together",
    is_flag=True,
    help="Follow messages from one capture to another: they were recorded together, on one clock.",
)
@click.option("--baseline", metavar="FILE", help="Ignore the findings listed in this file.")
@click.option(
    "--write-baseline", metavar="FILE", help="Write all findings of this run to a baseline."
)
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option(
    "--max-findings",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="List at most N findings per rule, peer and connection, and count the rest; 0: all.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Settings, instead of the nearest amqpscope.toml or [tool.amqpscope] in pyproject.toml.",
)
@jobs_option
@ring_options
@reader_options
def lint(captures: tuple[str, ...], ring: bool, as_given: bool, **options: Any) -> None:
    """Check captures against the specification, and report who broke which rule.

    \b
    amqpscope lint capture.pcapng
    amqpscope lint --format github --fail-on warning recordings/
    amqpscope lint --select FLW,DLV --ignore FLW-028 capture.pcap
    amqpscope lint --format html --output report.html capture.pcapng
    amqpscope lint --write-baseline known.json recordings/
    amqpscope lint --baseline known.json recordings/
    amqpscope lint --ring site-1/ site-2/
    amqpscope lint capture.pcapng#2

    A directory means the captures in it and below it; - is standard input; CAPTURE#N is
    connection N of a capture. With --ring, the files of a directory, or those given, are read as
    one rotated capture: connections continue from file to file, and frames, packets and
    connections are numbered throughout.

    The exit code is 0 when nothing is found at or above --fail-on, 1 when something is, and 2
    when a capture could not be read or the command line is wrong. A finding marked "suspect"
    rests on timing, or on what cannot be seen on the wire; it is never an error.
    """  # fmt: skip
    wanted = LintOptions(**options)
    if wanted.statistics and wanted.form not in ("text", "json"):
        raise click.UsageError("--statistics counts in text and json only")
    sys.exit(run_lint(*choose(captures, ring=ring, as_given=as_given), wanted))


@dataclass(frozen=True, kw_only=True)
class LintOptions(ReaderOptions):
    """The options of `lint`, by the same names."""

    form: str
    output: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    strict: bool
    fail_on: str | None
    closed_world: bool
    together: bool
    baseline: str | None
    write_baseline: str | None
    statistics: bool
    max_findings: int
    config: str | None
    jobs: int | None


def run_lint(captures: Sequence[Readable], failed: bool, options: LintOptions) -> int:
    """Check and report; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.check.baseline import BaselineError
    from amqpscope.check.selection import ConfigError
    from amqpscope.cli.html import repeatable_inputs

    try:
        lint = Lint(options, failed=failed)
        sources = lint.sources(captures)
        if options.form != "html":
            return lint.run(sources)
        with repeatable_inputs(sources) as repeatable:
            return lint.run(repeatable)
    except (ConfigError, BaselineError, CaptureError) as error:
        complain(str(error))
        return UNREADABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED


class Lint:
    """One run of `lint`."""

    def __init__(self, options: LintOptions, *, failed: bool = False) -> None:
        self.options = options
        self.selection = make_selection(
            options.config,
            select=options.select,
            ignore=options.ignore,
            strict=options.strict,
            fail_on=options.fail_on,
        )
        self.inputs = Inputs(options, failed=failed)

    def sources(self, captures: Sequence[Readable]) -> list[Input]:
        """Files and rings as they are given, and the captures in directories, each once."""
        found = dict.fromkeys(path for each in captures for path in self.expand(each))
        return list(map(self.only, self.inputs.inputs(list(found))))

    def only(self, source: Input) -> Input:
        """The input as it is given; for `run.pcap#2`, connection 2 of `run.pcap`."""
        from amqpscope.runs.input import split_connection

        path, number = split_connection(source.name) if isinstance(source.given, str) else ("", 0)
        return replace(source, place=path, connection=number) if number else source

    def expand(self, path: Readable) -> Sequence[Readable]:
        """A file or ring as it is given, or the captures in a directory."""
        if not isinstance(path, str) or not os.path.isdir(path):
            return [path]
        from amqpscope.runs.lint_many import captures_in

        found = captures_in(path)
        if not found:
            self.inputs.fail(f"{path}: no captures in this directory")
        if len(found) > 1 and not self.options.together:
            complain(
                f"{path}: {len(found):,} captures, each by itself; --ring takes those of a"
                " directory for one that was rotated"
            )
        return found

    def run(self, sources: list[Input]) -> int:
        """Check and report; the exit code."""
        from amqpscope.check.baseline import read_baseline, write_baseline

        known, target = self.options.baseline, self.options.write_baseline
        # Before the work, and before --write-baseline writes to the same file.
        baseline = read_baseline(known) if known else None
        results = self.check(sources)
        for result in results:
            self.report(result)
        if target:
            complain(f"{target}: {plural(write_baseline(target, results), 'finding')} kept")
        if baseline is not None:
            self.compare(baseline, results)
        if target:
            for result in results:
                result.findings = []
        with printing():
            self.write(sources, results)
        if self.inputs.failed:
            return UNREADABLE
        return int(any(self.selection.fails(f) for result in results for f in result.findings))

    def check(self, sources: list[Input]) -> list[CaptureResult]:
        """Check all captures."""
        from amqpscope.cli.progress import CaptureBar, CapturesBar
        from amqpscope.runs.lint import CheckSettings

        options = self.options
        excerpts = options.form == "text" and not options.statistics
        # Known findings have to be compared one by one.
        known = options.baseline or options.write_baseline
        limit = 0 if known else options.max_findings
        settings = CheckSettings(self.selection, excerpts, limit, options.closed_world)
        if options.together:
            from amqpscope.runs.together import check_together

            return check_together(sources, settings)
        if len(sources) == 1:
            from amqpscope.runs.shares_lint import check_on_cores

            with CaptureBar(sources[0].name) as bar:
                return [check_on_cores(sources[0], settings, options.jobs, bar.show)]
        from amqpscope.runs.lint_many import check_all

        jobs = options.jobs or os.cpu_count() or 1
        with CapturesBar(len(sources)) as bars:
            return check_all(sources, settings, jobs, bars.advance)

    def report(self, result: CaptureResult) -> None:
        """Print what the user should know about a capture beside the findings."""
        self.inputs.report(result)
        if result.more and self.options.form not in ("text", "json"):
            left = sum(result.more.values())
            complain(f"{result.path}: {left:,} findings are not listed, --max-findings 0 does")

    def compare(self, baseline: Baseline, results: list[CaptureResult]) -> None:
        """Take known findings out, and report what is fixed."""
        known = baseline.filter(results)
        if known:
            complain(f"{plural(known, 'known finding')} ignored, from {baseline.path}")
        for key, count in baseline.find_fixed(results, self.selection).items():
            times = f" {count} times" if count > 1 else ""
            complain(
                f"{key.capture}: {key.rule} ({key.peer}) is fixed{times}, still in {baseline.path}"
            )

    def write(self, sources: list[Input], results: list[CaptureResult]) -> None:
        """Put the report where it belongs."""
        from amqpscope.report.lint import statistics_json, statistics_text

        options = self.options
        if options.write_baseline and options.form == "text":
            return
        if options.form == "html":
            self.write_html(list(zip(sources, results, strict=True)))
        elif options.statistics:
            counted = statistics_json if options.form == "json" else statistics_text
            write_text(counted(results), options.output)
        else:
            look = make_look(options.color, options.output)
            text = FINDING_FORMATS[options.form](results, look, self.selection.fails)
            write_text(text, options.output)

    def write_html(self, captures: list[tuple[Input, CaptureResult]]) -> None:
        """The page, as it comes."""
        from amqpscope.cli.html import Report

        report = Report(self.options.show_secrets)
        if self.options.output:
            with open(
                self.options.output, "w", encoding="utf-8", errors="backslashreplace"
            ) as file:
                report.write(file, captures)
            return
        report.print(captures)
