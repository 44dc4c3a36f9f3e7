"""What passed on a connection so far, for the second of two conversations that it may become.

Kept in memory while it is short, in a temporary file that has no name when it is not, and given up
when it is too long or the disk is full: the second conversation then begins in the middle.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from typing import Final, NamedTuple

IN_MEMORY: Final = 256 * 1024
"""Octets of one connection that are kept in memory."""
LONGEST: Final = 64 << 20
"""Octets of one connection that are kept at all."""

_HEAD: Final = struct.Struct(">BQII")


class Passed(NamedTuple):
    """Octets that passed at once."""

    sender: int
    time: int
    """Nanoseconds since the Unix epoch."""
    ack: int
    """The ACK number of their packet."""
    octets: bytes


class History:
    """Octets of both directions in the order in which they passed."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self._read = 0
        """How far `next` has come."""
        self.lost = False
        """It is not whole."""

    def add(self, passed: Passed) -> None:
        """Keep octets that pass now."""
        if self.lost:
            return
        try:
            self._file.write(_HEAD.pack(*passed[:3], len(passed.octets)))
            self._file.write(passed.octets)
            self.lost = self._file.tell() > LONGEST
        except OSError:
            self.lost = True
        if self.lost:
            self.close()

    def next(self) -> Passed | None:
        """What passed after what was given last; None when there is nothing yet, or it is lost."""
        if self.lost:
            return None
        end = self._file.tell()
        if self._read == end:
            return None
        self._file.seek(self._read)
        sender, time, ack, size = _HEAD.unpack(self._file.read(_HEAD.size))
        passed = Passed(sender, time, ack, self._file.read(size))
        self._read = self._file.tell()
        self._file.seek(end)
        return passed

    def read(self) -> Iterator[Passed]:
        """All that passed, from the beginning; nothing if it is not whole."""
        if self.lost:
            return
        self._file.seek(0)
        while head := self._file.read(_HEAD.size):
            sender, time, ack, size = _HEAD.unpack(head)
            yield Passed(sender, time, ack, self._file.read(size))

    def close(self) -> None:
        """Let go of it."""
        self._file.close()
        self.lost = True
