"""What all commands share when they print: streams, colours, and their troubles."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, cast

import click

from amqpscope.report.columns import wrap
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.report.look import Look

UNREADABLE: Final = 2
INTERRUPTED: Final = 130


def nothing(mode: str) -> TextIO:
    """A stream in place of one that is closed."""
    return cast(TextIO, open(os.devnull, mode, encoding="utf-8"))


@contextmanager
def printing() -> Iterator[None]:
    """Around whatever prints: the output's trouble is one line, or none."""
    try:
        yield
    except BrokenPipeError:
        # The reader of our output has seen enough (`| head`).
        silence()
        sys.exit(0)
    except OSError as error:
        silence()
        complain(f"cannot write: {reason_of(error)}")
        sys.exit(UNREADABLE)


def silence() -> None:
    """Send what is still to be printed nowhere; else Python would complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str) -> None:
    """One line on standard error; a terminal gets it broken between words."""
    for line in wrap(f"amqpscope: {message}", error_width()):
        click.echo(line, err=True)


def error_width() -> int:
    """The columns of the terminal that standard error is; 0 when it goes elsewhere."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 0


def try_to_complain(message: str) -> None:
    """One line on standard error, if it takes one without making us wait."""
    poll = select.poll()
    with contextlib.suppress(OSError, ValueError):
        poll.register(sys.stderr, select.POLLOUT)
        if poll.poll(0):
            complain(message)


def terminal_width(terminal: bool) -> int:
    """The columns of the terminal; 0 when the output goes elsewhere."""
    return os.get_terminal_size(sys.stdout.fileno()).columns if terminal else 0


def pager_width() -> int:
    """The columns that a pager has, which what we print is piped to; 0 where that is not known."""
    said = os.environ.get("COLUMNS", "")
    if said.isdigit():
        return int(said)
    return error_width()


def use_colours(wish: str, terminal: bool) -> bool:
    """Whether to use colours."""
    return wish == "always" or (wish == "auto" and terminal and not os.environ.get("NO_COLOR"))


def write_text(text: str, output: str | None) -> None:
    """Write a report to a file or, without one, print it.

    Who reads what is printed may stop early (`| head`), which changes no exit code.
    """
    if output:
        Path(output).write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def make_look(color: str, output: str | None = None) -> Look:
    """How text looks on the terminal, or in the file, that it goes to."""
    from amqpscope.report.look import Look

    terminal = sys.stdout.isatty() and not output
    return Look(
        terminal_width(terminal), use_colours(color, terminal), not output and ascii_alone()
    )


def ascii_alone() -> bool:
    """Whether standard output knows no other characters."""
    return "utf" not in (sys.stdout.encoding or "").lower()
