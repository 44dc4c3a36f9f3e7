"""What is read: a capture, a ring or standard input, and what is needed to make sense of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from amqpscope.capture.pieces import Pieces, can_be_read_again, copy_pipe
from amqpscope.capture.ring import Readable, Ring
from amqpscope.capture.source import STDIN, CaptureError
from amqpscope.wording import reason_of


@dataclass(frozen=True)
class Input:
    """One capture and how it is to be read."""

    given: Readable
    """As the user named it."""
    keylogs: tuple[bytes, ...] = ()
    """The contents of key logs for TLS."""
    decode_as: dict[int, str] = field(default_factory=dict)
    """The protocol by port, where a connection begins in the middle."""
    follow: bool = False
    """Whether to go on as the file grows."""
    fd: int = -1
    """The file to follow, where it is open already."""
    place: Readable | None = None
    """Where it is read, if not where the user said."""
    connection: int = 0
    """The only connection that is wanted; 0: all."""

    @property
    def name(self) -> str:
        """What the user calls it."""
        return str(self.given)

    @property
    def source(self) -> Readable:
        """Where it is read."""
        return self.given if self.place is None else self.place

    @property
    def repeatable(self) -> bool:
        """Whether it can be read more than once."""
        return can_be_read_again(self.source)

    def open(self) -> Pieces:
        """Begin to read; CaptureError, under the user's name for it, when it is no capture."""
        try:
            pieces = Pieces(
                self.source,
                follow=self.follow,
                keylogs=self.keylogs,
                server_ports=self.decode_as,
                fd=self.fd,
            )
        except CaptureError as error:
            raise CaptureError(self.name, error.message) from error
        pieces.capture.path = self.name
        return pieces


def split_connection(name: str) -> tuple[str, int]:
    """`run.pcap#2` as a capture and the number of a connection in it; 0 where none is chosen.

    A file that is really called so is that file.
    """
    path, mark, number = name.rpartition("#")
    if not mark or not path or not (number.isascii() and number.isdigit()) or not int(number):
        return name, 0
    return (name, 0) if os.path.exists(name) else (path, int(number))


def as_input(given: Input | Readable) -> Input:
    """An input of what may be just a capture."""
    return given if isinstance(given, Input) else Input(given)


@contextmanager
def repeatable(given: Input) -> Iterator[Input]:
    """An input that can be read more than once: what comes from a pipe is kept in a file."""
    source = given.source
    if isinstance(source, Ring) or (source != STDIN and not is_pipe(source)):
        yield given
        return
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="amqpscope-") as file:
        copy_pipe(source, file)
        file.flush()
        yield replace(given, place=file.name)


def is_pipe(path: str) -> bool:
    """Whether there is something at a path that is neither a file nor a directory."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def read_keylogs(
    paths: Iterable[str | os.PathLike[str]], report: Callable[[str], None]
) -> tuple[bytes, ...]:
    """The contents of the key logs that can be read; the others are reported."""
    found = []
    for path in paths:
        try:
            found.append(Path(path).read_bytes())
        except OSError as error:
            report(f"{path}: key log cannot be read: {reason_of(error)}")
    return tuple(found)
