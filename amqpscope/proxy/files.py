"""The files of a recording: their names, how they begin, and when the next one is due.

Each file is a pcapng section of its own, so that each opens alone, and all of a series one behind
the other too. They hold credentials: created for the owner alone, and never over another file.

With `keep`, old files are removed; but one that the analysis has not read yet waits, up to a bound,
and going beyond that is reported. Nothing that goes wrong with a file here ends the traffic.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import struct
from collections import deque
from typing import Final, NamedTuple

from amqpscope import __version__
from amqpscope.wording import reason_of

NEVER: Final = 1 << 63
"""Larger than any size or time."""
SECOND: Final = 1_000_000_000
SUFFIX: Final = ".pcapng"
"""Of all files in a series, by which a reader knows them."""

HELD_BACK: Final = 64 << 20
"""Octets of files that are due to be removed and may wait for the analysis, at least."""
MOST_HELD_BACK: Final = 1000
"""Files that may wait like that, however small they are."""

_SECTION: Final = 0x0A0D0D0A
_ORDER: Final = 0x1A2B3C4D
_INTERFACE: Final = 1
_PACKET: Final = 6
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
LARGEST_BLOCK: Final = MAX_SECRETS + 4096
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


class RecordingError(Exception):
    """A recording that cannot be begun; the message names the file."""


class Written(NamedTuple):
    """A file of a series that is complete."""

    number: int
    path: str
    packets: int
    size: int


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
        self.first = self.file_name(1)
        self.needed = NEVER
        """The number of the file that the analysis reads now; NEVER: nobody waits for files."""
        self.unread = 0
        """Files removed before the analysis had read them."""
        self.dropped = 0
        """Packets in files that were removed by `keep`."""
        self.news: list[str] = []
        """What the user should know, one line each."""
        self._older: deque[Written] = deque()
        self._secrets = b""

    def file_name(self, number: int) -> str:
        """The name of a file: as given, or with its number in a series."""
        if not self.series:
            return self.given
        return f"{self.given.removesuffix(SUFFIX)}-{number:05}{SUFFIX}"

    def begin(self) -> tuple[int, int]:
        """Create the next file; its descriptor and size. RecordingError leaves all as it was."""
        if self.number == 0 and self.series:
            self._require_none()
        path = self.file_name(self.number + 1)
        try:
            try:
                fd, size = self._create(path)
            except OSError as error:
                if error.errno not in NO_ROOM or not self._make_room():
                    raise
                fd, size = self._create(path)
        except OSError as error:
            reason = reason_of(error)
            if isinstance(error, FileExistsError):
                reason = "is there already, expected a new file"
            raise RecordingError(f"{path}: {reason}") from error
        except ValueError as error:
            raise RecordingError(f"{path}: {str(error).lower()}") from error
        self.number += 1
        self.path = path
        return fd, size

    def _make_room(self) -> bool:
        """Remove now what the next file would replace; False when there is nothing like that."""
        older = self._older
        if not self.keep or len(older) + 1 < self.keep or not older:
            return False
        if older[0].number >= self.needed:
            return False
        self._remove(older.popleft())
        return True

    def head(self) -> bytes:
        """How a file begins: what it is, its interfaces, and the TLS secrets so far."""
        return beginning() + (secrets_block(self._secrets) if self._secrets else b"")

    def _create(self, path: str) -> tuple[int, int]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        head = self.head()
        try:
            if os.write(fd, head) < len(head):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.close(fd)
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        return fd, len(head)

    def file_complete(self, path: str, packets: int, size: int) -> None:
        """A file is complete, and the next one has begun."""
        self._older.append(Written(self.number - 1, path, packets, size))
        self.trim()

    def reading(self, number: int) -> None:
        """The analysis reads this file now, and needs none before it."""
        self.needed = number
        self.trim()

    def trim(self) -> None:
        """Remove the files that are beyond `keep`, unless the analysis still needs them."""
        while self.keep and len(self._older) >= self.keep:
            oldest = self._older[0]
            if oldest.number >= self.needed and self._may_wait():
                return
            self._older.popleft()
            self._remove(oldest)

    def _may_wait(self) -> bool:
        """Whether what waits for the analysis takes no more room than what is kept, or 64 MB."""
        due = len(self._older) - self.keep + 1
        if due > MOST_HELD_BACK:
            return False
        waiting = sum(self._older[at].size for at in range(due))
        kept = sum(self._older[at].size for at in range(due, len(self._older)))
        return waiting <= max(HELD_BACK, kept)

    def _remove(self, old: Written) -> None:
        try:
            os.unlink(old.path)
        except FileNotFoundError:
            pass  # somebody was faster
        except OSError as error:
            reason = reason_of(error)
            self.news.append(f"{old.path}: cannot be removed (--keep {self.keep}): {reason}")
            return
        self.dropped += old.packets
        if old.number >= self.needed:
            self.unread += 1
            if self.unread == 1:
                self.news.append(
                    f"{old.path}: removed before it was analysed (--keep {self.keep}): "
                    "the analysis is too far behind"
                )

    def kept_files(self) -> list[Written]:
        """The complete files that are there."""
        return [each for each in self._older if os.path.isfile(each.path)]

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


def whole_blocks(path: str) -> tuple[int, int]:
    """How far a file consists of whole blocks of ours, and the packets in them."""
    size = packets = 0
    with open(path, "rb") as file:
        while len(head := file.read(8)) == 8:
            kind, length = struct.unpack(">II", head)
            body = file.read(length - 8) if 12 <= length <= LARGEST_BLOCK else b""
            known = kind in ((_INTERFACE, _PACKET, _SECRETS) if size else (_SECTION,))
            if not known or len(body) < length - 8 or body[-4:] != head[4:]:
                break
            size += length
            packets += kind == _PACKET
    return size, packets


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
