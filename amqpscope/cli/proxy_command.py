"""The command that `proxy` runs: its environment, its limits, how it is ended."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from amqpscope.cli.output import complain, try_to_complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from amqpscope.proxy.relay import Relay

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
TO_END: Final = 5.0
"""Seconds that a command has after SIGTERM; then it is killed."""
_SET_PARENT_DEATH_SIGNAL: Final = 1

Limit = tuple[int, int]


class Command:
    """The user's command, which may not be running."""

    def __init__(self, arguments: tuple[str, ...], files: Limit) -> None:
        self.arguments = arguments
        self.files = files
        """RLIMIT_NOFILE as we found it."""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self, relay: Relay) -> int:
        """Start it, if there is one; an exit code as a shell has it when it cannot be."""
        if not self.arguments:
            return 0
        try:
            # We have no threads yet, which preexec_fn would not go well with.
            self.process = subprocess.Popen(
                self.arguments,
                env={**os.environ, **proxy_environment(relay)},
                preexec_fn=self.preparation(),  # noqa: PLW1509
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            complain(f"{self.arguments[0]}: {(reason or str(error)).lower()}")
            missing = isinstance(error, OSError) and error.errno == errno.ENOENT
            # A script whose interpreter is missing is there itself.
            there = shutil.which(self.arguments[0]) is not None
            return NOT_FOUND if missing and not there else NOT_EXECUTABLE
        return 0

    def preparation(self) -> Callable[[], None]:
        """What happens in the new process before the command does."""
        libc = ctypes.CDLL(None) if sys.platform == "linux" else None
        return partial(prepare, libc, os.getpid(), self.files)

    def terminate(self) -> None:
        """Ask it to end."""
        if self.process is not None and self.running:
            self.process.terminate()

    def kill(self) -> None:
        """End it."""
        if self.process is not None and self.running:
            try_to_complain(f"{self.arguments[0]} did not end on SIGTERM: killed")
            self.process.kill()

    def finish(self) -> int:
        """End it if it runs still; its exit code as a shell has it."""
        if self.process is None:
            return 0
        self.terminate()
        try:
            code = self.process.wait(TO_END)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self.process.wait()
        return code if code >= 0 else 128 - code


def proxy_environment(relay: Relay) -> dict[str, str]:
    """How the command finds the proxy."""
    route = relay.routes[0]
    where = route.listeners[0].getsockname()
    # The host of a Unix socket is its path.
    host, port = (where, "") if isinstance(where, str) else where[:2]
    return {
        "AMQPSCOPE_PROXY_URL": route.url,
        "AMQPSCOPE_PROXY_HOST": host,
        "AMQPSCOPE_PROXY_PORT": str(port),
    }


def prepare(libc: ctypes.CDLL | None, parent: int, files: Limit) -> None:
    """Undo what we changed for ourselves, and let the command die with us, however that happens."""
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    if libc is not None:
        libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
