"""The command `lint`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import (
    INTERRUPTED,
    UNREADABLE,
    ascii_alone,
    coloured,
    complain,
    printing,
    silence,
    terminal_width,
)
from amqpscope.cli.rings import choose

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.check.baseline import Baseline
    from amqpscope.check.result import CaptureResult
    from amqpscope.check.selection import Selection

FORMATS: Final = ("text", "json", "sarif", "junit", "github", "html")


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option(
    "--format",
    "--output-format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    help="How findings are written.",
)
@click.option("--output", "-o", metavar="FILE", help="Write there instead of standard output.")
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Only these: ids, names or groups, with commas; ALL for all.",
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these.")
@click.option("--strict", is_flag=True, help="What SHOULD be is an error too.")
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "info", "never")),
    help="From which severity on the exit code is 1.  [default: error]",
)
@click.option("--baseline", metavar="FILE", help="Findings that are known and pass.")
@click.option("--write-baseline", metavar="FILE", help="Keep all findings of this run as known.")
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option(
    "--max-findings",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="List so many of a rule, peer and connection, count the rest; 0 for all.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Instead of the nearest amqpscope.toml or [tool.amqpscope] in pyproject.toml.",
)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1),
    metavar="N",
    help="Captures checked side by side.  [default: one per processor]",
)
@ring_options
@reader_options
def lint(captures: tuple[str, ...], **options: Any) -> None:
    """Check captures against the specification; say who broke what.

    \b
    amqpscope lint capture.pcapng
    amqpscope lint --format github --fail-on warning recordings/
    amqpscope lint --select FLW,DLV --ignore FLW-028 capture.pcap
    amqpscope lint --format html --output report.html capture.pcapng
    amqpscope lint --write-baseline known.json recordings/
    amqpscope lint --baseline known.json recordings/
    amqpscope lint --ring site-1/ site-2/

    A directory stands for the captures in it and below; - is standard input. With --ring it
    stands for one capture that was rotated into the files in it, and so do files that are given:
    connections go on from file to file, and frames, packets and connections are numbered through.

    The exit code is 0 when nothing is found at or above --fail-on, 1 when something is, and 2
    when a capture could not be read or the command line is wrong. A finding marked "suspect"
    rests on time or on what cannot be seen on the wire; it is never an error.
    """  # fmt: skip
    if options["statistics"] and options["form"] not in ("text", "json"):
        raise click.UsageError("--statistics counts in text and json only")
    sys.exit(run_lint(*choose(captures, options), options))


def run_lint(captures: Sequence[Readable], failed: bool, options: dict[str, Any]) -> int:
    """Check and report; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.check.baseline import BaselineError
    from amqpscope.check.selection import ConfigError
    from amqpscope.cli.html import kept

    try:
        lint = Lint(options, failed=failed)
        if options["form"] != "html":
            return lint.run(captures)
        with kept(captures) as lint.places:
            return lint.run(captures)
    except (ConfigError, BaselineError, CaptureError) as error:
        complain(str(error))
        return UNREADABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED


class Lint:
    """One run of `lint`."""

    def __init__(self, options: dict[str, Any], *, failed: bool = False) -> None:
        self.options = options
        self.places: dict[str, Readable] = {}
        """How captures are read that are not simply files."""
        self.choice = self.chosen()
        self.failed = failed
        """Something could not be read."""
        self.read_keylogs: tuple[bytes, ...] = ()

    def chosen(self) -> Selection:
        """The configuration and the command line together."""
        from amqpscope.check.config import find_config, read_config
        from amqpscope.check.selection import Selection, resolve, why_idle

        options = self.options
        path = Path(options["config"]) if options["config"] else find_config(Path.cwd())
        config = Selection() if path is None else read_config(path)
        choice = config.merged(
            select=resolve(options["select"]),
            ignore=resolve(options["ignore"]),
            strict=options["strict"],
            fail_on=options["fail_on"],
        )
        for word in choice.idle():
            complain(f"{word}: {why_idle(word)}")
        return choice

    def run(self, captures: Sequence[Readable]) -> int:
        """Check and report; the exit code."""
        from amqpscope.check.baseline import read_baseline, write_baseline

        known = self.options["baseline"]
        # Before the work, and before --write-baseline writes to the same file.
        baseline = read_baseline(known) if known else None
        checked = self.check(captures)
        for each in checked:
            self.tell(each)
        target = self.options["write_baseline"]
        if target:
            complain(f"{target}: {write_baseline(target, checked)} findings kept")
        if baseline is not None:
            self.compare(baseline, checked)
        if target:
            for each in checked:
                each.findings = []
        with printing():
            self.write(checked)
        if self.failed:
            return UNREADABLE
        return int(any(self.choice.fails(f) for each in checked for f in each.findings))

    def check(self, captures: Sequence[Readable]) -> list[CaptureResult]:
        """Check all captures, in files and directories."""
        from amqpscope.cli.progress import CaptureBar, CapturesBar
        from amqpscope.runs.lint import CheckSettings, check, check_all

        options = self.options
        excerpts = options["form"] == "text" and not options["statistics"]
        self.read_keylogs = self.keylogs()
        # Known findings have to be compared one by one.
        known = options["baseline"] or options["write_baseline"]
        limit = 0 if known else options["max_findings"]
        work = CheckSettings(self.choice, self.read_keylogs, options["decode_as"], excerpts, limit)
        # Each once, also when it lies in a directory that is given too.
        given = list(dict.fromkeys(path for each in captures for path in self.expand(each)))
        paths = [str(each) for each in given]
        real = [self.places.get(str(each), each) for each in given]
        if len(paths) == 1:
            with CaptureBar(paths[0]) as bar:
                checked = [check(real[0], work, bar.update)]
        else:
            jobs = options["jobs"] or os.cpu_count() or 1
            with CapturesBar(len(paths)) as bars:
                checked = check_all(real, work, jobs, bars.advance)
        for each, path in zip(checked, paths, strict=True):
            each.path = path
        return checked

    def expand(self, path: Readable) -> Sequence[Readable]:
        """A file or ring as it is given, or the captures in a directory."""
        from amqpscope.runs.lint import captures_in

        if not isinstance(path, str) or not os.path.isdir(path):
            return [path]
        found = captures_in(path)
        if not found:
            complain(f"{path}: no captures in this directory")
            self.failed = True
        return found

    def keylogs(self) -> tuple[bytes, ...]:
        """The contents of the key logs that can be read."""
        found = []
        for path in self.options["keylog"]:
            try:
                found.append(Path(path).read_bytes())
            except OSError as error:
                complain(
                    f"{path}: key log cannot be read: {(error.strerror or str(error)).lower()}"
                )
                self.failed = True
        return tuple(found)

    def tell(self, checked: CaptureResult) -> None:
        """What the user should know about a capture beside the findings."""
        from amqpscope.protocols.registry import is_header_only

        self.failed = self.failed or checked.unreadable
        for line in checked.told():
            complain(line)
        if checked.gaps:
            places = "1 place" if checked.gaps == 1 else f"{checked.gaps} places"
            complain(f"{checked.path}: octets are missing at {places}; less can be proved there")
        for protocol in checked.protocols:
            if is_header_only(protocol):
                complain(f"{checked.path}: {protocol} is not checked beyond its protocol header")
        if checked.more and self.options["form"] not in ("text", "json"):
            left = sum(checked.more.values())
            complain(f"{checked.path}: {left:,} findings are not listed, --max-findings 0 does")
        if not checked.frames and not checked.error and not checked.notes:
            complain(f"{checked.path}: no AMQP in {checked.packets} packets")

    def compare(self, baseline: Baseline, checked: list[CaptureResult]) -> None:
        """Take known findings out, and say what is fixed."""
        known = baseline.filter(checked)
        if known:
            complain(f"{known} known findings pass: they are in {baseline.path}")
        for key, count in baseline.fixed(checked, self.choice).items():
            times = f" {count} times" if count > 1 else ""
            complain(
                f"{key.capture}: {key.rule} ({key.peer}) is fixed{times}, still in {baseline.path}"
            )

    def write(self, checked: list[CaptureResult]) -> None:
        """Put the report where it belongs."""
        options = self.options
        if options["write_baseline"] and options["form"] == "text":
            return
        if options["form"] == "html":
            self.write_html(checked)
            return
        text, output = self.report(checked), options["output"]
        if output:
            Path(output).write_text(text, encoding="utf-8", errors="backslashreplace")
        else:
            self.show(text)

    def write_html(self, checked: list[CaptureResult]) -> None:
        """The page, as it comes."""
        from amqpscope.cli.html import Report

        options = self.options
        report = Report(
            self.read_keylogs, options["decode_as"], options["show_secrets"], places=self.places
        )
        if options["output"]:
            with open(options["output"], "w", encoding="utf-8", errors="backslashreplace") as file:
                report.write(file, checked)
            return
        report.print(checked)

    def show(self, text: str) -> None:
        """Print the report; who reads it may stop early (`| head`), which changes no exit code."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            silence()

    def report(self, checked: list[CaptureResult]) -> str:
        """The findings in the format that was asked for."""
        from amqpscope.report import github, junit, lint, sarif

        form = self.options["form"]
        if self.options["statistics"]:
            as_json = form == "json"
            return lint.statistics_json(checked) if as_json else lint.statistics_text(checked)
        if form == "json":
            return lint.json_text(checked)
        if form == "sarif":
            return sarif.sarif_text(checked)
        if form == "junit":
            return junit.junit_text(checked, self.choice.fails)
        if form == "github":
            return github.github_text(checked)
        return self.text(checked)

    def text(self, checked: list[CaptureResult]) -> str:
        """The findings for people."""
        from amqpscope.report.lint_text import LintText

        output, color = self.options["output"], self.options["color"]
        terminal = sys.stdout.isatty() and not output
        colour = coloured(color, terminal)
        plain = not output and ascii_alone()
        writer = LintText(width=terminal_width(terminal), colour=colour, plain=plain)
        return "".join(f"{line}\n" for line in writer.lines(checked))
