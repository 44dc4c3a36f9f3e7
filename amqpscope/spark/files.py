"""Files on whatever file system a path names: `file:`, `s3://`, `hdfs://`, or a plain path.

Spark lists the inputs; workers and the driver then read and write octets through Arrow's file
systems, because a Python worker cannot reach those of the JVM.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileSystem

ALIASES: Final = {"s3a": "s3", "s3n": "s3", "wasbs": "abfs", "abfss": "abfs"}
"""Hadoop's names of schemes, and Arrow's."""
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]+):(.*)", re.DOTALL)


def local_path(path: str) -> str | None:
    """The path for the operating system, or None when it is on another file system."""
    found = _SCHEME.fullmatch(path)
    if found is None:
        return path
    if found[1] != "file":
        return None
    return "/" + found[2].lstrip("/")


def locate(path: str) -> tuple[FileSystem, str]:
    """The file system of a path, and the path there."""
    from pyarrow import fs

    local = local_path(path)
    if local is not None:
        return fs.LocalFileSystem(), local
    scheme, _, rest = path.partition(":")
    system, name = fs.FileSystem.from_uri(f"{ALIASES.get(scheme, scheme)}:{rest}")
    return system, name


def open_octets(path: str) -> NativeFile:
    """A file for reading at any place; OSError when that cannot be."""
    system, name = locate(path)
    return system.open_input_file(name)
