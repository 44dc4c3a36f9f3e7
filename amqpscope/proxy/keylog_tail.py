"""The key log of a peer whose TLS is passed on: what it adds is for the recording.

The file belongs to the peer. It may come later than we do, grow at any time, and be begun anew.
Only lines that are secrets are taken (NSS: a label, the client's random, a secret).
"""

from __future__ import annotations

import os
import re
from typing import Final

MAX_READ: Final = 1 << 20
"""Octets taken at once."""

_SECRET: Final = re.compile(rb"^[A-Z][A-Z0-9_]+ [0-9A-Fa-f]{16,128} [0-9A-Fa-f]{32,256}\r?$", re.M)


class KeyLog:
    """A key log that somebody else writes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._offset = 0
        self._inode = 0

    def news(self) -> bytes:
        """The secrets that were added since the last time, a line each."""
        try:
            status = os.stat(self.path)
        except OSError:
            return b""
        if status.st_ino != self._inode or status.st_size < self._offset:
            self._inode = status.st_ino
            self._offset = 0
        if status.st_size == self._offset:
            return b""
        return self._read()

    def _read(self) -> bytes:
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(self._offset)
                text = file.read(MAX_READ)
        except OSError:
            return b""
        # A line that is not whole yet comes with the next news; one that never ends is no secret.
        end = text.rfind(b"\n") + 1 or (len(text) if len(text) == MAX_READ else 0)
        self._offset += end
        lines = _SECRET.findall(text[:end])
        return b"".join(line.rstrip(b"\r") + b"\n" for line in lines)
