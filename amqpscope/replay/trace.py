"""What passes while a conversation is replayed, recorded as it was between the two peers."""

from __future__ import annotations

import os
import time
from typing import BinaryIO

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.stream.types import CLIENT

Address = tuple[str, int]


class Trace:
    """A capture of everything that is replayed."""

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._file: BinaryIO = open(fd, "wb")  # noqa: SIM115
        self._writer = CaptureWriter(self._file)

    def connection(self, client: Address, server: Address) -> TracedConnection:
        """A connection that begins now."""
        return TracedConnection(ConnectionWriter(self._writer, client, server))

    def close(self) -> None:
        """Write the rest."""
        self._file.close()


class TracedConnection:
    """One connection of a trace."""

    def __init__(self, conversation: ConnectionWriter) -> None:
        self._conversation = conversation
        self._ended = [False, False]
        conversation.open(time.time_ns())

    def data(self, sender: int, octets: bytes) -> None:
        """Octets that a peer sent."""
        self._conversation.data(sender, time.time_ns(), octets)

    def end(self, sender: int, reason: str) -> None:
        """A peer ends its direction, or resets the connection."""
        if self._ended[sender] or self._ended == [True, True]:
            return
        if reason == "rst":
            self._ended = [True, True]
            self._conversation.reset(sender, time.time_ns())
        else:
            self._ended[sender] = True
            self._conversation.finish(sender, time.time_ns())


def address_of(name: object, sender: int) -> Address:
    """An address of a socket; a made up one where it has none of IP."""
    if isinstance(name, tuple) and len(name) >= 2:
        return str(name[0]).partition("%")[0], int(name[1])
    return "127.0.0.1", 1 + (sender != CLIENT)
