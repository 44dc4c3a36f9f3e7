"""The command `scrub`: the same conversation without secrets, bodies and names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
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
    from amqpscope.runs.input import Input
    from amqpscope.runs.scrub import Scrubbed, Scrubber

DIFFERENT: Final = 1
SUFFIX: Final = ".pcapng"
UNFINISHED: Final = ".part"
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
    help="Secret from which pseudonyms are derived: the same salt gives the same "
    "ones. Without it they are new in each run.",
)
@ring_options
@reader_options
def scrub(
    captures: tuple[str, ...], output: str, keep_bodies: bool, salt: str | None, ring: bool,
    as_given: bool, **options: Any,
) -> None:  # fmt: skip
    """Write the same conversation without secrets, bodies and names.

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
    with printing():
        for capture, path in outputs(found, output):
            done = scrub_one(inputs.input(capture), path, key, click.echo, keep_bodies=keep_bodies)
            code = max(code, done)
    sys.exit(code)


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
    given: Input, path: str, salt: bytes, say: Callable[[str], None], *, keep_bodies: bool = False
) -> int:
    """Read, replace, write and check one capture; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.input import repeatable
    from amqpscope.runs.scrub import Scrubber

    unfinished = f"{path}{UNFINISHED}"
    try:
        with repeatable(given) as again:
            scrubber = Scrubber(again, salt, keep_bodies=keep_bodies)
            frames = scrubber.read()
        for line in scrubber.notes:
            complain(f"{given.name}: {line}")
        if not frames:
            complain(f"{given.name}: no AMQP in it, so nothing was written")
            return UNREADABLE
        return settle(scrubber, scrubber.scrub(unfinished), path, say)
    except CaptureError as error:
        complain(str(error))
    except OSError as error:
        complain(f"{path}: cannot be written: {reason_of(error)}")
    finally:
        Path(unfinished).unlink(missing_ok=True)
    return UNREADABLE


def settle(scrubber: Scrubber, done: Scrubbed, path: str, say: Callable[[str], None]) -> int:
    """Leave what is good behind, and report on it."""
    from amqpscope.report.scrub import doubt_lines, finding_lines, replaced_line

    if done.leaks:
        left = plural(len(done.leaks), "original value")
        complain(f"{path}: {left} would still be in it, so that it is not written")
        return UNREADABLE
    os.replace(f"{path}{UNFINISHED}", path)
    say(f"{path}: {plural(done.frames, 'frame')} in {plural(done.packets, 'packet')}")
    say(replaced_line(done.replaced, done.hosts))
    for line in finding_lines(done.missing, done.extra, len(scrubber.findings)):
        say(line)
    for line in doubt_lines(done.short, done.shared, done.kept):
        say(line)
    return DIFFERENT if done.missing or done.extra else 0
