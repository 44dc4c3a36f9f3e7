"""The files of a recording: their names, how they begin, and when the next one is due.

Each file is a pcapng section of its own, so that each opens alone, and all of a series one behind
the other too. They hold credentials: created for the owner alone, and never over another file.
"""

from __future__ import annotations

import glob
import os
import struct
from collections import deque
from typing import Final

from amqpscope import __version__

NEVER: Final = 1 << 63
"""Larger than any size or time."""
SECOND: Final = 1_000_000_000
SUFFIX: Final = ".pcapng"
"""Of all files in a series, by which a reader knows them."""

_SECTION: Final = 0x0A0D0D0A
_ORDER: Final = 0x1A2B3C4D
_INTERFACE: Final = 1
_ETHERNET: Final = 1
_NANOSECONDS: Final = b"\x09"
_SECRETS: Final = 10
_TLS_KEY_LOG: Final = 0x544C534B
_IF_NAME: Final = 2
_IF_TSRESOL: Final = 9
_SHB_USERAPPL: Final = 4
AS_IT_WAS: Final = 0
TLS_REMOVED: Final = 1
INTERFACES: Final = ("amqpscope proxy", "amqpscope proxy, TLS removed")
"""By their numbers: packets whose octets passed like this, and those that were inside TLS."""
MAX_SECRETS: Final = 4 << 20
"""Octets of TLS secrets that are repeated in each file of a series."""


class RecordingError(Exception):
    """A recording that cannot be begun; the message names the file."""


class Files:
    """The file that is written now, and those before it."""

    def __init__(self, path: str, *, octets: int = 0, seconds: float = 0, keep: int = 0) -> None:
        self.given = path
        self.octets = octets or NEVER
        """A file is closed once it has as many."""
        self.nanoseconds = int(seconds * SECOND) or NEVER
        self.keep = keep
        """Files that remain; 0 for all."""
        self.series = bool(octets or seconds)
        self.number = 0
        self.path = ""
        """The file that is written now."""
        self.first = self.named(1)
        self._kept: deque[str] = deque()
        self._secrets = b""

    def named(self, number: int) -> str:
        """The name of a file: as given, or with its number in a series."""
        if not self.series:
            return self.given
        return f"{self.given.removesuffix(SUFFIX)}-{number:05}{SUFFIX}"

    def begin(self) -> tuple[int, int]:
        """Create the next file; its descriptor and size."""
        if self.number == 0 and self.series:
            self._require_none()
        self.number += 1
        path = self.named(self.number)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            fd = os.open(path, flags, 0o600)
        except FileExistsError as error:
            raise RecordingError(f"{path}: is there already, expected a new file") from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise RecordingError(f"{path}: {str(reason).lower()}") from error
        self.path = path
        head = beginning() + (secrets_block(self._secrets) if self._secrets else b"")
        try:
            written = os.write(fd, head)
        except OSError as error:
            os.close(fd)
            raise RecordingError(f"{path}: {str(error.strerror).lower()}") from error
        if written < len(head):
            os.close(fd)
            raise RecordingError(f"{path}: no space left on device")
        self._forget_old(path)
        return fd, written

    def remember(self, secrets: bytes) -> None:
        """Repeat these TLS secrets in the files to come."""
        if self.series:
            self._secrets = (self._secrets + secrets)[-MAX_SECRETS:]

    def _require_none(self) -> None:
        """Files of an earlier run would be met in the middle of this one."""
        stem = glob.escape(self.given.removesuffix(SUFFIX))
        old = sorted(glob.glob(f"{stem}-[0-9][0-9][0-9][0-9][0-9]*{SUFFIX}"))
        if old:
            raise RecordingError(f"{old[0]}: is there already, expected a new series of files")

    def _forget_old(self, path: str) -> None:
        self._kept.append(path)
        while self.keep and len(self._kept) > self.keep:
            old = self._kept.popleft()
            try:
                os.unlink(old)
            except FileNotFoundError:
                continue


def beginning() -> bytes:
    """A big-endian section header and the interfaces: Ethernet, with times in nanoseconds."""
    section = struct.pack(">IHHq", _ORDER, 1, 0, -1)
    section += option(_SHB_USERAPPL, f"amqpscope {__version__}".encode()) + option(0, b"")
    return block(_SECTION, section) + b"".join(map(interface, INTERFACES))


def interface(name: str) -> bytes:
    """The description of an interface."""
    body = struct.pack(">HHI", _ETHERNET, 0, 0)
    body += option(_IF_NAME, name.encode()) + option(_IF_TSRESOL, _NANOSECONDS) + option(0, b"")
    return block(_INTERFACE, body)


def secrets_block(text: bytes) -> bytes:
    """A decryption secrets block with a TLS key log."""
    return block(_SECRETS, struct.pack(">II", _TLS_KEY_LOG, len(text)) + padded(text))


def block(kind: int, body: bytes) -> bytes:
    """One pcapng block around a body of whole words."""
    size = len(body) + 12
    return struct.pack(">II", kind, size) + body + struct.pack(">I", size)


def option(code: int, value: bytes) -> bytes:
    """One option of a block."""
    return struct.pack(">HH", code, len(value)) + padded(value)


def padded(octets: bytes) -> bytes:
    """Up to the next word."""
    return octets + bytes(-len(octets) % 4)
