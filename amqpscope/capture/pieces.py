"""A capture read as pieces: the file, TCP put in order, TLS and WebSocket taken off.

with Pieces("a.pcapng", keylogs=[text]) as pieces:
    for batch in pieces:
        ...
print(pieces.capture.packets, pieces.capture.problem, pieces.notes)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Final

from amqpscope.capture.decrypt import Decryptor
from amqpscope.capture.keylog import Keys
from amqpscope.capture.reader import Capture, CaptureError, open_capture
from amqpscope.capture.ring import Readable, Ring
from amqpscope.capture.source import STDIN
from amqpscope.capture.tls import Records
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.stream.reassembly import Reassembler
from amqpscope.stream.types import Piece
from amqpscope.wording import reason_of

TEXT: Final = frozenset((*b"\t\n\r\x1b", *range(32, 127), *range(128, 256)))
"""Octets that text consists of."""


class Pieces:
    """The pieces of a capture, batch by batch."""

    def __init__(
        self,
        given: Readable,
        *,
        follow: bool = False,
        keylogs: Iterable[bytes] = (),
        server_ports: Iterable[int] = (),
        fd: int = -1,
    ) -> None:
        self._ports = frozenset(server_ports)
        self._spool: str | None = None
        keys = Keys(*keylogs)
        self._source = given
        again = can_be_read_again(given)
        if keys and not follow and not again and not os.path.isdir(str(given)):
            self._source = self._spool_pipe(str(given))
            again = True
        self._log_notes: list[str] = []
        if not follow and is_log(given):
            self._source = self._spool_log(str(given))
        try:
            self.capture: Capture = open_capture(self._source, follow=follow, fd=fd)
        except CaptureError as error:
            self._remove_spool()
            raise CaptureError(str(given), error.message) from error
        self.capture.path = str(given)
        """The capture itself: packets, problem, position and size."""
        keys.watch(self.capture.secrets)
        self._keys = keys
        self._decryptor = Decryptor(keys, self._collect if again and not follow else None)

    @property
    def notes(self) -> list[str]:
        """What the user should know about connections that could not be read, one line each."""
        return [*self._log_notes, *self.capture.notes, *self._decryptor.notes]

    def __iter__(self) -> Iterator[list[Piece]]:
        """All pieces; an empty batch while following means that there is nothing new yet."""
        reassembler = Reassembler(self._ports)
        unwrapper = Unwrapper(self._decryptor)
        for segments in self.capture:
            yield unwrapper.feed_all(reassembler.feed_all(segments))
        yield unwrapper.feed_all(reassembler.finish())

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the capture and remove what was spooled."""
        self.capture.close()
        self._decryptor.close()
        self._remove_spool()

    def _collect(self, writer: Records) -> None:
        """Read the capture once more, for its TLS records only."""
        with open_capture(self._source) as capture:
            self._keys.watch(capture.secrets)
            reassembler = Reassembler(self._ports)
            unwrapper = Unwrapper(writer)
            for segments in capture:
                unwrapper.feed_all(reassembler.feed_all(segments))
            unwrapper.feed_all(reassembler.finish())

    def _spool_pipe(self, path: str) -> str:
        """A pipe can be read once only, so keep its octets in a file."""
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="amqpscope-", delete=False) as file:
            self._spool = file.name
            try:
                copy_pipe(path, file)
            except CaptureError:
                self._remove_spool()
                raise
        return file.name

    def _spool_log(self, path: str) -> str:
        """Keep what the log of a library says as a capture."""
        import tempfile

        from amqpscope.capture.log import write_log

        with tempfile.NamedTemporaryFile(prefix="amqpscope-", delete=False) as file:
            self._spool = file.name
            self._log_notes = write_log(path, file)
        return file.name

    def _remove_spool(self) -> None:
        if self._spool is not None:
            os.unlink(self._spool)
            self._spool = None


def is_log(given: Readable) -> bool:
    """Whether a file is no capture, but the frame log of a library."""
    if isinstance(given, Ring) or not os.path.isfile(given):
        return False
    try:
        with open(given, "rb") as file:
            head = file.read(64)
    except OSError:
        return False
    if not head or not TEXT.issuperset(head):
        return False
    from amqpscope.capture.log import has_frames

    return has_frames(str(given))


def copy_pipe(path: str, file: IO[bytes]) -> None:
    """Copy what comes from a pipe, or from standard input, to a file."""
    import shutil

    try:
        if path == STDIN:
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with open(path, "rb") as pipe:
                shutil.copyfileobj(pipe, file)
    except OSError as error:
        raise CaptureError(path, reason_of(error)) from error


def can_be_read_again(given: Readable) -> bool:
    """Whether a capture is there for good; what comes from a pipe is not."""
    return isinstance(given, Ring) or os.path.isfile(given)
