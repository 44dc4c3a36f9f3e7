"""Processes forked from this one that do a part of its work, and send what they have."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

LENGTH: Final = struct.Struct("<Q")
BLOCK: Final = 1 << 20


class Died(Exception):
    """A process ended before its work did."""


def can_fork() -> bool:
    """Whether processes can be forked: with threads beside us their locks would be copied, too."""
    return sys.platform == "linux" and threading.active_count() == 1


def cores() -> int:
    """How many processes can run at the same time."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class Outbox:
    """Where a forked process sends what it has."""

    def __init__(self, file: int, gate: int) -> None:
        self.file = file
        self.gate = gate
        self.parent = os.getppid()

    def send(self, message: object) -> None:
        """Send a message; ends the process when nobody is there any more to read it."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        view = memoryview(LENGTH.pack(len(data)) + data)
        while view:
            view = view[os.write(self.file, view) :]
        self.look()

    def look(self) -> None:
        """End the process when the one that started it is gone."""
        if os.getppid() != self.parent:
            os._exit(1)

    def wait(self) -> None:
        """Wait until the work is wanted."""
        if not os.read(self.gate, 1):
            os._exit(0)


class Worker:
    """A process that was forked from this one."""

    def __init__(self, work: Callable[[Outbox], None]) -> None:
        self.file, outbox = os.pipe()
        gate, self.gate = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self.file)
            os.close(self.gate)
            run(work, Outbox(outbox, gate))
        os.close(outbox)
        os.close(gate)

    def start(self) -> None:
        """Let it begin, where it waits."""
        os.write(self.gate, b"!")

    def receive(self) -> Any:
        """The next message; waits for it."""
        (size,) = LENGTH.unpack(self.read(LENGTH.size))
        return pickle.loads(self.read(size))

    def read(self, size: int) -> bytes:
        """Read exactly so many octets."""
        parts = []
        while size:
            part = os.read(self.file, min(size, BLOCK))
            if not part:
                raise Died
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def stop(self) -> None:
        """End it, whatever it does."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.file)
        os.close(self.gate)


def run(work: Callable[[Outbox], None], outbox: Outbox) -> None:
    """Do the work of a forked process, and nothing of what its parent does when it ends."""
    code = 1
    try:
        # Ctrl-C is for the one that started us, which ends us then.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # What there is by now is shared as long as nobody writes there, as the collector would.
        gc.freeze()
        work(outbox)
        code = 0
    finally:
        os._exit(code)
