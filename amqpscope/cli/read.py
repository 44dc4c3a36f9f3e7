"""The commands `read` and `demo`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import (
    PROFILE,
    jobs_option,
    reader_options,
    ring_options,
    shown_options,
)
from amqpscope.cli.output import UNREADABLE, ascii_alone, complain, make_look, printing
from amqpscope.cli.rings import choose
from amqpscope.cli.web import OF_PROXY, WEB, WEB_PORT, is_served, serve_screen, ways_to_ask

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.filter import Filter
    from amqpscope.report.look import Look
    from amqpscope.runs.input import Input
    from amqpscope.runs.read import FramePrinter

NO_TUI = click.option("--no-tui", is_flag=True, help="Print text on a terminal too.")


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@shown_options
@click.option("--follow", "-f", is_flag=True, help="Keep reading as the file grows, until Ctrl-C.")
@NO_TUI
@PROFILE
@WEB_PORT
@WEB
@OF_PROXY
@click.option(
    "--bodies",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the bodies of messages to files in DIR, decompressed where there is a "
    "content-encoding.",
)
@jobs_option
@ring_options
@reader_options
def read(
    captures: tuple[str, ...],
    no_tui: bool,
    bodies: Path | None,
    web: bool,
    web_port: int,
    follow: bool,
    ring: bool,
    as_given: bool,
    **options: Any,
) -> None:
    """Show the AMQP frames of captures: on a terminal as a screen, else as text.

    In the screen, ? lists all keys. Text is printed when the output is not a terminal, and with
    --no-tui, --format, -V or -x.

    \b
    amqpscope read capture.pcapng
    amqpscope read -V -Y 'frame == 17' capture.pcapng
    amqpscope read -Y 'name in {flow transfer} && link.name == "orders"' a.pcap b.pcap
    amqpscope read --format jsonl capture.pcap | jq 'select(.name == "close")'
    amqpscope read --format html capture.pcapng > report.html
    amqpscope read --bodies out/ -Y 'link.address == "orders"' capture.pcapng
    amqpscope read --keylog keys.log tls.pcapng
    amqpscope read --ring recordings/
    amqpscope read --web capture.pcapng
    tcpdump -i any -w - port 5672 | amqpscope read -

    Captures are pcap or pcapng, also compressed with gzip, zstd or xz; - is standard input. With
    --ring the files of a directory, or those given, are read as one rotated capture: connections
    continue from file to file, and frames, packets and connections are numbered throughout.

    AMQP is found by its protocol header on any port. Where the header was not captured, AMQP is
    recognised on port 5672, and on other ports with --decode-as. Filters are written as in
    Wireshark, with the field names of the specification: see amqpscope/guide/reading.md.
    """
    wanted = ReadOptions(follow=follow, **options)
    if follow and wanted.form == "html":
        raise click.UsageError("a page of HTML has an end, --follow has none")
    if follow and ring:
        raise click.UsageError("--ring needs complete files; --follow finds the next one by itself")
    found, failed = choose(captures, ring=ring, as_given=as_given)
    if bodies is not None:
        from amqpscope.cli.bodies import write_bodies

        code = write_bodies(found, wanted, bodies)
        sys.exit(UNREADABLE if failed else code)
    if web:
        code = serve_screen(found, web_port, follow=follow)
        sys.exit(UNREADABLE if failed else code)
    screen = screen_wanted(tree=wanted.tree, octets=wanted.octets, no_tui=no_tui)
    code = show_screen(found, wanted) if screen else show(found, wanted)
    sys.exit(UNREADABLE if failed else code)


@dataclass(frozen=True, kw_only=True)
class ReadOptions(ReaderOptions):
    """The options of `read` and `demo`, by the same names."""

    form: str = "text"
    where: Filter | None = None
    tree: bool = False
    octets: bool = False
    follow: bool = False
    jobs: int | None = 1
    profile: str = ""
    of_proxy: str = ""


@click.command()
@shown_options
@NO_TUI
@PROFILE
@reader_options
def demo(no_tui: bool, **options: Any) -> None:
    """Read and check the capture that comes with amqpscope.

    A real client and a real broker on a queue. All goes well until frame 24, in which the
    client library puts the body of a message after its footer, and the broker hangs up.
    """
    with as_file(files("amqpscope").joinpath("demo.pcapng")) as path:
        found = path if path.is_file() else path.parent.parent / "captures" / path.name
        wanted = ReadOptions(**options)
        if screen_wanted(tree=wanted.tree, octets=wanted.octets, no_tui=no_tui):
            sys.exit(show_screen((str(found),), wanted))
        code = show((str(found),), wanted)
        if not code and wanted.form == "text" and wanted.where is None:
            show_errors(str(found), wanted)
        sys.exit(code)


def show_errors(path: str, options: ReadOptions) -> None:
    """What `lint` would say of a capture, but for warnings and notes."""
    from amqpscope.report.lint_text import LintText
    from amqpscope.runs.lint import CheckSettings, check

    result = check(path, CheckSettings())
    result.path = "demo.pcapng"
    result.findings = [finding for finding in result.findings if finding.severity == "error"]
    look = make_look(options.color)
    writer = LintText(width=look.width, colour=look.colour, plain=look.plain)
    with printing():
        sys.stdout.write("\n" + "".join(f"{line}\n" for line in writer.lines([result])))


def screen_wanted(*, tree: bool, octets: bool, no_tui: bool) -> bool:
    """Whether to open the screen: there is a terminal, and nothing that can only be printed."""
    source = click.get_current_context().get_parameter_source("form")
    asked = source is not None and source is not click.core.ParameterSource.DEFAULT
    if no_tui or asked or tree or octets:
        return False
    if is_served():
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not ascii_alone()


def show_screen(captures: Sequence[Readable], options: ReadOptions) -> int:
    """Open the screen, with one capture at a time; the exit code."""
    from amqpscope.tui import run_all

    troubles = run_all(
        captures,
        where="" if options.where is None else options.where.text,
        keylogs=options.keylog,
        follow=options.follow,
        decode_as=options.decode_as,
        show_secrets=options.show_secrets,
        profile=options.profile,
        **ways_to_ask(options.of_proxy),
    )
    for trouble in troubles:
        complain(trouble)
    return UNREADABLE if troubles else 0


def show(captures: Sequence[Readable], options: ReadOptions) -> int:
    """Print the frames of each capture; the exit code."""
    from amqpscope.cli.html import read_html

    with printing():
        if options.form == "html":
            return read_html(captures, options, options.where)
        return print_frames(captures, options, make_look(options.color), sys.stdout)


def print_frames(
    captures: Sequence[Readable],
    options: ReadOptions,
    look: Look,
    out: TextIO,
    complain: Callable[[str], None] = complain,
) -> int:
    """Print the frames of captures, one after the other; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.report.formats import FRAME_FORMATS
    from amqpscope.runs.read import FramePrinter, write_lines

    look = replace(
        look, show_secrets=options.show_secrets, tree=options.tree, octets=options.octets
    )
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    inputs = Inputs(options, complain=complain)
    if first := FRAME_FORMATS[options.form](look).first:
        write_lines(out, first)
    for path in captures:
        if len(captures) > 1 and options.form == "text":
            write_lines(out, [f"{path}:"])
        source = inputs.input(path, follow=options.follow)
        try:
            if jobs := jobs_for(source, options):
                print_on_cores(source, jobs, options.form, look, out, inputs)
            else:
                printer = FramePrinter(str(path), options.form, look, out, options.where)
                print_capture(source, printer, inputs)
        except CaptureError as error:
            inputs.fail(str(error))
        except KeyboardInterrupt:
            break
    return inputs.code


def print_capture(source: Input, printer: FramePrinter, inputs: Inputs) -> None:
    """Print the frames of one capture, and what the user should know about it."""
    from amqpscope.check.selection import Selection
    from amqpscope.cli.progress import CaptureBar
    from amqpscope.runs.run import Run

    hidden = source.follow or sys.stdout.isatty()
    with (
        CaptureBar(source.name, hidden=hidden) as bar,
        Run(source, Selection(), sink=printer.sink, watch=bar.update) as run,
    ):
        for batch in run:
            printer.print(batch)
        inputs.report(run.result())


def jobs_for(source: Input, options: ReadOptions) -> int:
    """How many processes print a capture, where lines do not depend on others; 0: this one."""
    from amqpscope.report.formats import LINE_FORMATS

    if options.where is not None or options.form not in LINE_FORMATS:
        return 0
    from amqpscope.runs.processes import cores
    from amqpscope.runs.shares import is_worth_sharing

    jobs = options.jobs or cores()
    return jobs if is_worth_sharing(source, jobs) else 0


def print_on_cores(
    source: Input, jobs: int, form: str, look: Look, out: TextIO, inputs: Inputs
) -> None:
    """Print the frames of one capture that several processes read."""
    from amqpscope.cli.progress import CaptureBar
    from amqpscope.runs.processes import Died
    from amqpscope.runs.shares_read import print_in_shares

    with CaptureBar(source.name, hidden=sys.stdout.isatty()) as bar:
        try:
            inputs.report(print_in_shares(source, jobs, form, look, out, bar.show))
        except Died:
            inputs.fail(f"{source.name}: a process that read it died (out of memory?)")
