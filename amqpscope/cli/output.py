"""What all commands share when they print: streams, colours, and their troubles."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO, cast

import click

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
        complain(f"cannot write: {(error.strerror or str(error)).lower()}")
        sys.exit(UNREADABLE)


def silence() -> None:
    """Send what is still to be printed nowhere; else Python would complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str) -> None:
    """One line on standard error."""
    click.echo(f"amqpscope: {message}", err=True)


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


def coloured(wish: str, terminal: bool) -> bool:
    """Whether to use colours."""
    return wish == "always" or (wish == "auto" and terminal and not os.environ.get("NO_COLOR"))


def ascii_alone() -> bool:
    """Whether standard output knows no other characters."""
    return "utf" not in (sys.stdout.encoding or "").lower()
