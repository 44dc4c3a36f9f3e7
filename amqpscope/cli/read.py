"""The commands `read` and `demo`."""

from __future__ import annotations

import gc
import sys
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import click

from amqpscope.cli.options import reader_options, shown_options
from amqpscope.cli.output import ascii_alone, coloured, complain, printing, terminal_width

if TYPE_CHECKING:
    from amqpscope.reading import Options


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@shown_options
@click.option("--follow", "-f", is_flag=True, help="Go on as the file grows, until Ctrl-C.")
@reader_options
def read(captures: tuple[str, ...], **options: Any) -> None:
    """Show the AMQP frames of captures.

    \b
    amqpscope read capture.pcapng
    amqpscope read -V -Y 'frame == 17' capture.pcapng
    amqpscope read -Y 'name in {flow transfer} && link.name == "orders"' a.pcap b.pcap
    amqpscope read --format jsonl capture.pcap | jq 'select(.name == "close")'
    amqpscope read --keylog keys.log tls.pcapng
    tcpdump -i any -w - port 5672 | amqpscope read -

    Captures are pcap or pcapng, also packed with gzip or zstd; - is standard input.

    AMQP is found by its protocol header on any port. A capture that begins later is recognised
    on port 5672, and on others with --decode-as. Filters are written as in Wireshark, with the
    field names of the specification: see the README.
    """
    sys.exit(show(captures, make_options(**options)))


@click.command()
@shown_options
@reader_options
def demo(**options: Any) -> None:
    """Read and check the capture that comes with amqpscope.

    A real client and a real broker on a queue. All goes well up to frame 24: there the client
    library puts the body of a message behind its footer, and the broker hangs up.
    """
    with as_file(files("amqpscope").joinpath("demo.pcapng")) as path:
        found = path if path.is_file() else path.parent.parent / "captures" / path.name
        wanted = make_options(follow=False, **options)
        code = show((str(found),), wanted)
        if not code and wanted.form == "text" and wanted.where is None:
            show_errors(str(found), wanted)
        sys.exit(code)


def show_errors(path: str, options: Options) -> None:
    """What `lint` would say of a capture, but for warnings and notes."""
    from amqpscope.choice import Choice
    from amqpscope.linting import Work, check
    from amqpscope.report.lint_text import LintText

    checked = check(path, Work(Choice()))
    checked.path = "demo.pcapng"
    checked.findings = [finding for finding in checked.findings if finding.severity == "error"]
    writer = LintText(width=options.width, colour=options.colour, plain=options.plain)
    with printing():
        sys.stdout.write("\n" + "".join(f"{line}\n" for line in writer.lines([checked])))


def make_options(color: str, keylog: tuple[str, ...], **rest: Any) -> Options:
    """Gather what the terminal and the user want."""
    from amqpscope.reading import Options

    terminal = sys.stdout.isatty()
    return Options(
        colour=coloured(color, terminal),
        plain=ascii_alone(),
        width=terminal_width(terminal),
        keylogs=keylog,
        **rest,
    )


def show(captures: tuple[str, ...], options: Options) -> int:
    """Print the frames of each capture; the exit code."""
    from amqpscope.reading import Reading

    # Frames leave no cycles behind; looking for some every few hundred objects costs a tenth.
    gc.set_threshold(100_000)
    with printing():
        return Reading(options, sys.stdout, complain).run(captures)
