"""The terminal under the application, which may vanish at any moment."""

from __future__ import annotations

import contextlib
import os
import select
from stat import S_ISCHR
from typing import IO, Any, TextIO

from textual.drivers.linux_driver import LinuxDriver


class LastingFile:
    """A file that takes whatever is written, also when nobody reads it any more.

    What draws waits for a thread that writes, for ever once that has died of an error.
    """

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, text: str) -> None:
        """Write, if that can still be."""
        with contextlib.suppress(OSError):
            self.file.write(text)

    def flush(self) -> None:
        """Let it go out, if that can still be."""
        with contextlib.suppress(OSError):
            self.file.flush()

    def fileno(self) -> int:
        """The descriptor."""
        return self.file.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.file.isatty()


class Terminal(LinuxDriver):
    """Draws on a terminal, and ends when it should also where that is gone."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file: Any = LastingFile(self._file)


def hang_up_of(terminal: TextIO | None, *, served: bool = False) -> select.poll | None:
    """Something to ask whether a terminal has been closed; None when it is no terminal.

    Where the screen is served to a browser, the server is asked about instead.
    """
    if terminal is None or terminal.closed:
        return None
    # Not by isatty, which says no of a terminal that was closed before we came here.
    if not served and not S_ISCHR(os.fstat(terminal.fileno()).st_mode):
        return None
    poll = select.poll()
    poll.register(terminal.fileno(), 0)  # a hang-up is reported in any case
    return poll
