"""The command `scrub`: the same conversation without secrets, bodies and names."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options, ring_options
from amqpscope.cli.output import UNREADABLE, complain, printing
from amqpscope.cli.rings import choose
from amqpscope.wording import plural, reason_of

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.runs.scrub import Scrubbed, Scrubber

DIFFERENT: Final = 1
SUFFIX: Final = ".pcapng"
SALT: Final = 16
"""Octets of a salt that nobody has chosen."""


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="The pcapng to write; of several captures, the directory to write them to.",
)
@click.option("--keep-bodies", is_flag=True, help="Leave the bodies of messages as they are.")
@click.option(
    "--salt",
    metavar="TEXT",
    help="Choose the pseudonyms, so that those of another run are the same; keep it "
    "secret. Without it they are new in each run.",
)
@ring_options
@reader_options
def scrub(
    captures: tuple[str, ...], output: str, keep_bodies: bool, salt: str | None, ring: bool,
    as_given: bool, **options: Any,
) -> None:  # fmt: skip
    """Write the same conversation without what must not leave the house.

    \b
    amqpscope scrub capture.pcapng -o for-support.pcapng
    amqpscope scrub tls.pcapng --keylog keys.txt -o plain.pcapng
    amqpscope scrub monday.pcapng tuesday.pcapng -o scrubbed/

    Credentials, bodies, properties, addresses, names of containers, links, queues and hosts, and IP
    addresses become pseudonyms of the same length, the same for the same everywhere. TLS secrets,
    comments, and packets that are not AMQP are left out. Sizes, times and numbers stay, so that
    lint finds the same rules at the same frames: both are checked before OUT is left behind.

    The exit code is 0 where that is so, 1 where findings differ, and 2 where something could not
    be read, or an original is still in the result, which is not written then.
    """
    found, failed = choose(captures, ring=ring, as_given=as_given)
    inputs = Inputs(ReaderOptions(**options), failed=failed)
    key = os.urandom(SALT) if salt is None else salt.encode()
    code = inputs.code
    for capture, path in outputs(found, output):
        try:
            code = max(code, scrub_one(capture, path, key, keep_bodies, inputs))
        except OSError as error:
            complain(f"{path}: cannot be written: {reason_of(error)}")
            code = UNREADABLE
    sys.exit(max(code, inputs.code))


def outputs(captures: Sequence[Readable], output: str) -> list[tuple[Readable, str]]:
    """Where each capture is written."""
    if len(captures) == 1 and not os.path.isdir(output):
        return [(captures[0], output)]
    os.makedirs(output, exist_ok=True)
    return [(each, str(Path(output) / (plain_name(str(each)) + SUFFIX))) for each in captures]


def plain_name(path: str) -> str:
    """The name of a capture without what its format and compression add."""
    return Path(path).name.split(".pcap")[0].removesuffix(".cap").removesuffix(".log") or "capture"


def scrub_one(
    capture: Readable, path: str, salt: bytes, keep_bodies: bool, inputs: Inputs
) -> int:  # fmt: skip
    """Read, replace, write and check one capture; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.input import repeatable
    from amqpscope.runs.scrub import Scrubber

    unfinished = f"{path}.part"
    try:
        with repeatable(inputs.input(capture)) as given:
            scrubber = Scrubber(given, salt, keep_bodies=keep_bodies)
            frames = scrubber.read()
        for line in scrubber.notes:
            complain(f"{capture}: {line}")
        if not frames:
            complain(f"{capture}: no AMQP in it, so that nothing is written")
            return UNREADABLE
        return settle(scrubber, scrubber.scrub(unfinished), path, inputs)
    except CaptureError as error:
        complain(str(error))
        return UNREADABLE
    finally:
        Path(unfinished).unlink(missing_ok=True)


def settle(scrubber: Scrubber, done: Scrubbed, path: str, inputs: Inputs) -> int:
    """Leave what is good behind, and report on it."""
    from amqpscope.report.scrub import doubt_lines, finding_lines, replaced_line

    if done.leaks:
        shown = f": {', '.join(done.leaks[:5])}" if inputs.options.show_secrets else ""
        complain(
            f"{path}: {plural(len(done.leaks), 'original value')} would still be in it{shown};"
            " it is not written"
        )
        return UNREADABLE
    os.replace(f"{path}.part", path)
    with printing():
        click.echo(f"{path}: {plural(done.frames, 'frame')} in {plural(done.packets, 'packet')}")
        click.echo(replaced_line(done.replaced, done.hosts))
        for line in finding_lines(done.missing, done.extra, len(scrubber.findings)):
            click.echo(line)
        for line in doubt_lines(done.short, done.shared, done.kept):
            click.echo(line)
    return DIFFERENT if done.missing or done.extra else 0
