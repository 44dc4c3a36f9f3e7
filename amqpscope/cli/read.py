"""The commands `read` and `demo`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.options import reader_options, ring_options, shown_options
from amqpscope.cli.output import (
    UNREADABLE,
    ascii_alone,
    coloured,
    complain,
    printing,
    terminal_width,
)
from amqpscope.cli.rings import choose

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.filter import Filter
    from amqpscope.runs.read import Options

NO_TUI = click.option("--no-tui", is_flag=True, help="Print text on a terminal too.")


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@shown_options
@click.option("--follow", "-f", is_flag=True, help="Go on as the file grows, until Ctrl-C.")
@NO_TUI
@ring_options
@reader_options
def read(captures: tuple[str, ...], no_tui: bool, **options: Any) -> None:
    """Show the AMQP frames of captures: on a terminal as a screen, else as text.

    On the screen ? lists all keys. Text comes when the output goes elsewhere, and with --no-tui,
    --format, -V or -x.

    \b
    amqpscope read capture.pcapng
    amqpscope read -V -Y 'frame == 17' capture.pcapng
    amqpscope read -Y 'name in {flow transfer} && link.name == "orders"' a.pcap b.pcap
    amqpscope read --format jsonl capture.pcap | jq 'select(.name == "close")'
    amqpscope read --format html capture.pcapng > report.html
    amqpscope read --keylog keys.log tls.pcapng
    amqpscope read --ring recordings/
    tcpdump -i any -w - port 5672 | amqpscope read -

    Captures are pcap or pcapng, also packed with gzip or zstd; - is standard input. With --ring
    the files of a directory, or those given, are one capture that was rotated: connections go on
    from file to file, and frames, packets and connections are numbered through.

    AMQP is found by its protocol header on any port. A capture that begins later is recognised
    on port 5672, and on others with --decode-as. Filters are written as in Wireshark, with the
    field names of the specification: see the README.
    """
    if options["follow"] and options["form"] == "html":
        raise click.UsageError("a page of HTML has an end, and --follow has none")
    if options["follow"] and options["ring"]:
        raise click.UsageError("--ring wants complete files; --follow finds the next one itself")
    found, failed = choose(captures, options)
    screen = screen_wanted(options, no_tui)
    code = show_screen(found, **options) if screen else show(found, make_options(**options))
    sys.exit(UNREADABLE if failed else code)


@click.command()
@shown_options
@NO_TUI
@reader_options
def demo(no_tui: bool, **options: Any) -> None:
    """Read and check the capture that comes with amqpscope.

    A real client and a real broker on a queue. All goes well up to frame 24: there the client
    library puts the body of a message behind its footer, and the broker hangs up.
    """
    with as_file(files("amqpscope").joinpath("demo.pcapng")) as path:
        found = path if path.is_file() else path.parent.parent / "captures" / path.name
        if screen_wanted(options, no_tui):
            sys.exit(show_screen((str(found),), follow=False, **options))
        wanted = make_options(follow=False, **options)
        code = show((str(found),), wanted)
        if not code and wanted.form == "text" and wanted.where is None:
            show_errors(str(found), wanted)
        sys.exit(code)


def show_errors(path: str, options: Options) -> None:
    """What `lint` would say of a capture, but for warnings and notes."""
    from amqpscope.check.selection import Selection
    from amqpscope.report.lint_text import LintText
    from amqpscope.runs.lint import CheckSettings, check

    checked = check(path, CheckSettings(Selection()))
    checked.path = "demo.pcapng"
    checked.findings = [finding for finding in checked.findings if finding.severity == "error"]
    writer = LintText(width=options.width, colour=options.colour, plain=options.plain)
    with printing():
        sys.stdout.write("\n" + "".join(f"{line}\n" for line in writer.lines([checked])))


def make_options(color: str, keylog: tuple[str, ...], **rest: Any) -> Options:
    """Gather what the terminal and the user want."""
    from amqpscope.runs.read import Options

    terminal = sys.stdout.isatty()
    return Options(
        colour=coloured(color, terminal),
        plain=ascii_alone(),
        width=terminal_width(terminal),
        keylogs=keylog,
        **rest,
    )


def screen_wanted(options: dict[str, Any], no_tui: bool) -> bool:
    """Whether to open the screen: there is a terminal, and nothing that can only be printed."""
    source = click.get_current_context().get_parameter_source("form")
    asked = source is not None and source is not click.core.ParameterSource.DEFAULT
    if no_tui or asked or options["tree"] or options["octets"]:
        return False
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not ascii_alone()


def show_screen(
    captures: Sequence[Readable], where: Filter | None, keylog: tuple[str, ...], **options: Any
) -> int:
    """Open the screen, with one capture at a time; the exit code."""
    from amqpscope.tui import run_all

    troubles = run_all(
        captures,
        where="" if where is None else where.text,
        keylogs=keylog,
        **{name: options[name] for name in ("follow", "decode_as", "show_secrets")},
    )
    for trouble in troubles:
        complain(trouble)
    return UNREADABLE if troubles else 0


def show(captures: Sequence[Readable], options: Options) -> int:
    """Print the frames of each capture; the exit code."""
    from amqpscope.cli.html import read_html
    from amqpscope.runs.read import Reading

    with printing():
        if options.form == "html":
            return read_html(captures, options)
        return Reading(options, sys.stdout, complain).run(captures)
