"""Where a capture's octets come from: a file, a pipe, compressed or not, perhaps still growing.

A `Source` gives block after block and never the whole, so memory does not grow with the file.
Compression is recognised by the first octets. With `follow`, the end of a regular file means
"nothing new yet" until the reader is interrupted; but for that of `run-00001.pcapng` once
`run-00002.pcapng` is there, which then is its `successor`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import stat
import sys
import time
import zlib
from typing import Final, Protocol

STDIN: Final = "-"
BLOCK: Final = 256 * 1024
PIECE: Final = 2048
"""Compressed octets unpacked at a time: 1 KiB of zstd may stand for 32 MiB of zeros."""
POLL: Final = 0.1
"""Seconds between two looks at a file that grows, when nothing came for a while."""
FIRST_POLL: Final = 0.005
"""Seconds until the next look right after something came; each look in vain doubles them."""
SERIES: Final = re.compile(r"(.*-)([0-9]{5,})(\.pcapng)", re.DOTALL)
"""The name of a file in a rotated recording: before, the number, and behind."""

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
XZ: Final = b"\xfd7zXZ\x00"
PACKINGS: Final = {GZIP: "gzip", ZSTD: "zstd", XZ: "xz"}
XZ_MEMORY: Final = 128 * 1024 * 1024
"""Octets that unpacking xz may need: `xz -9` needs 65 MiB."""


class CaptureError(Exception):
    """A capture that cannot be read at all."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Decompressor(Protocol):
    """What the decompression objects of zlib, lzma and zstandard have in common."""

    @property
    def eof(self) -> bool:
        """The compressed stream is complete."""

    @property
    def unused_data(self) -> bytes:
        """What followed its end."""

    def decompress(self, data: bytes, /) -> bytes:
        """Unpack the next compressed octets."""


class Source:
    """The octets of one capture, block by block."""

    def __init__(self, path: str, *, follow: bool = False, fd: int = -1) -> None:
        self.path = path
        self.size = 0
        """Octets of the file, 0 when that is not known (a pipe)."""
        self.position = 0
        """Octets of the file read so far, as stored: compare with `size`."""
        self.problem: str | None = None
        """Why the octets stop before the file's end."""
        self.stopped = False
        """The reader was interrupted while it waited, or nothing more will come."""
        self.ending = False
        """The writer has stopped: follow to the end of what is there, and no longer."""
        self.successor = ""
        """The file of a series in which a followed one goes on, when this one is over."""
        self._fd = _open(path) if fd < 0 else fd
        self._owned = path != STDIN
        status = os.fstat(self._fd)
        regular = stat.S_ISREG(status.st_mode)
        self.size = status.st_size if regular else 0
        self.follow = follow and regular
        self._head: bytes | None = b""
        self._inflater: Decompressor | None = None
        self._format = ""
        self._packed = b""
        self._poll = FIRST_POLL

    def read(self) -> bytes | None:
        """The next octets; none yet (`b""`, only when following); or None at the end."""
        while self.problem is None and not self.stopped:
            if self._packed:
                data = self._unpack()
            else:
                block = self._read_block()
                if not block:
                    return self._at_end() if block is None else block
                data = self._accept(block)
            if data:
                return data
        return None

    def close(self) -> None:
        """Close the file."""
        if self._owned and self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _read_block(self) -> bytes | None:
        try:
            # Asked before we look: what is written between the two is still found then.
            ending = self.ending
            block = os.read(self._fd, BLOCK)
            if not block and self.follow:
                block = self._look_on()
                if not block:
                    return None if self.successor else self._wait(ending)
        except OSError as error:
            raise CaptureError(self.path, _reason(error)) from error
        self._poll = FIRST_POLL
        self.position += len(block)
        return block or None

    def _wait(self, ending: bool) -> bytes | None:
        """Let the file grow for a moment."""
        if os.fstat(self._fd).st_size < self.position:
            self.problem = f"the file shrank below byte {self.position} while it was followed"
            return None
        if ending:
            self.stopped = True
            return None
        try:
            time.sleep(self._poll)
        except KeyboardInterrupt:
            self.stopped = True
            return None
        self._poll = min(2 * self._poll, POLL)
        return b""

    def _look_on(self) -> bytes:
        """Look for the next file in a series; octets that came to this one meanwhile."""
        self.successor = self._successor()
        return os.read(self._fd, BLOCK) if self.successor else b""

    def _successor(self) -> str:
        """The next file of a series, if it is there: then this one is complete."""
        name = SERIES.fullmatch(self.path)
        if name is None:
            return ""
        number = int(name[2]) + 1
        path = f"{name[1]}{number:05}{name[3]}"
        if os.path.isfile(path):
            return path
        # Removed before we came to it, and others behind it too?
        return "" if os.path.exists(self.path) else oldest_after(name)

    def _accept(self, block: bytes) -> bytes:
        """Take a block as stored; what it means."""
        if self._head is not None:
            block = self._head + block
            if len(block) < len(XZ) and self.size != self.position:
                self._head = block
                return b""
            self._head = None
            self._inflater = self._recognise(block)
        if self._inflater is None:
            return block
        self._packed = block
        return self._unpack()

    def _recognise(self, head: bytes) -> Decompressor | None:
        for magic, name in PACKINGS.items():
            if head.startswith(magic):
                self._format = name
                return self._next_member()
        return None

    def _unpack(self) -> bytes:
        """Decompress a little; the rest waits in `_packed`."""
        if self._inflater is None or self._inflater.eof:
            self._packed = self._packed.lstrip(b"\x00")  # tape and block padding
            if not self._packed:
                return b""
            self._inflater = self._next_member()
        piece = self._packed[:PIECE]
        self._packed = self._packed[PIECE:]
        try:
            data = self._inflater.decompress(piece)
        except Exception as error:  # of zlib, lzma or zstandard, which may not be imported
            at = self.position - len(self._packed) - len(piece)
            self.problem = f"damaged {self._format} data near byte {at}: {error}"
            return b""
        if self._inflater.eof:
            self._packed = self._inflater.unused_data + self._packed
        return data

    def _next_member(self) -> Decompressor:
        if self._format == "gzip":
            return zlib.decompressobj(wbits=31)
        if self._format == "xz":
            return _xz(self.path)
        return _zstd(self.path)

    def _at_end(self) -> bytes | None:
        if self._head and not self.stopped:
            head = self._head
            self._head = None
            return head
        if self._inflater is not None and not self._inflater.eof and not self.stopped:
            self.problem = self.problem or (
                f"cut short: the {self._format} data ends at byte {self.position} "
                "before its end marker"
            )
        return None


def number_of(path: str) -> int:
    """The number of a file in its series."""
    name = SERIES.fullmatch(path)
    return 0 if name is None else int(name[2])


def later_than(path: str) -> str:
    """The oldest file after this one in the same series; none when it belongs to no series."""
    name = SERIES.fullmatch(path)
    with contextlib.suppress(OSError):
        return "" if name is None else oldest_after(name)
    return ""


def oldest_after(name: re.Match[str]) -> str:
    """The file with the lowest number above this one's in the same series."""
    folder, before = os.path.split(name[1])
    numbers = [
        number
        for entry in os.listdir(folder or os.curdir)
        if (other := SERIES.fullmatch(entry)) and other[1] == before
        if (number := int(other[2])) > int(name[2])
    ]
    return f"{name[1]}{min(numbers):05}{name[3]}" if numbers else ""


def _open(path: str) -> int:
    if path == STDIN:
        return sys.stdin.fileno()
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise CaptureError(path, _reason(error)) from error
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        raise CaptureError(path, "is a directory, expected a capture file")
    return fd


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def _xz(path: str) -> Decompressor:
    try:
        lzma = importlib.import_module("lzma")
    except ImportError as error:  # a Python that was built without liblzma
        raise CaptureError(path, "compressed with xz: unpack it first (xz -d)") from error
    decompressor: Decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)
    return decompressor


def _zstd(path: str) -> Decompressor:
    # Only zstd files need it, and from Python 3.14 on it is in the standard library.
    with contextlib.suppress(ImportError):
        standard = importlib.import_module("compression.zstd")
        decompressor: Decompressor = standard.ZstdDecompressor()
        return decompressor
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError as error:
        raise CaptureError(
            path, "compressed with zstd: install the package zstandard to read it"
        ) from error
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    return decompressor
