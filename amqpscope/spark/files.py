"""Files on whatever file system a path names: `file:`, `s3://`, `hdfs://`, or a plain path.

Spark lists the inputs; workers and the driver then read and write octets through Arrow's file
systems, because a Python worker cannot reach those of the JVM. What Arrow cannot open, Spark
copies first (see `copies`).
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileSystem

ALIASES: Final = {"s3a": "s3", "s3n": "s3", "wasbs": "abfs", "abfss": "abfs"}
"""Hadoop's names of schemes, and Arrow's."""
PATIENCE: Final = {"gs": "?retry_limit_seconds=60"}
"""Where Arrow would try for a quarter of an hour, as where there are no credentials."""
LONGEST: Final = 300
"""Characters of a reason that are told."""
# Without the slash it is a name with a colon in it, as in `12:30.pcap`.
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//[^/]*)?(/.*)?", re.DOTALL)


def split_uri(path: str) -> tuple[str, str, str] | None:
    """Scheme, `//authority` and path of a URI; None for a plain path."""
    found = _URI.fullmatch(path)
    if found is None or (found[2] is None and found[3] is None):
        return None
    return found[1], found[2] or "", found[3] or ""


def local_path(path: str) -> str | None:
    """The path for the operating system, or None when it is on another file system."""
    uri = split_uri(path)
    if uri is None:
        return path
    return "/" + uri[2].lstrip("/") if uri[0] == "file" else None


def system_of(path: str) -> str:
    """What all paths on one file system have in common; nothing for a plain path."""
    uri = split_uri(path)
    return "" if uri is None else f"{uri[0]}:{uri[1]}"


def absolute(path: str) -> str:
    """A path as every process understands it: they have working directories of their own."""
    uri = split_uri(path)
    if uri is None:
        return os.path.abspath(path)
    if uri[0] == "file":
        return "file://" + os.path.abspath(f"/{uri[2].lstrip('/')}")
    return f"{uri[0]}:{uri[1]}{uri[2].rstrip('/')}"


def locate(path: str) -> tuple[FileSystem, str]:
    """The file system of a path, and the path there; OSError when Arrow has none for it."""
    from pyarrow import fs

    local = local_path(path)
    if local is not None:
        return fs.LocalFileSystem(), local
    # Only the beginning is a URI to Arrow: in a path `%` and `?` are themselves.
    system, root = system_at(system_of(path))
    return system, root + path.removeprefix(system_of(path))


@lru_cache(maxsize=64)
def system_at(begin: str) -> tuple[FileSystem, str]:
    """A file system, and how its paths begin; kept, as it has connections and credentials."""
    from pyarrow import fs

    scheme, _, authority = begin.partition(":")
    known = ALIASES.get(scheme, scheme)
    try:
        system, root = fs.FileSystem.from_uri(f"{known}:{authority}/{PATIENCE.get(known, '')}")
    except (ValueError, NotImplementedError) as error:
        raise OSError(f"Arrow has no file system for {scheme}://") from error
    return system, root.rstrip("/")


def open_octets(path: str) -> NativeFile:
    """A file for reading at any place; OSError when that cannot be."""
    system, name = locate(path)
    return system.open_input_file(name)


def reason_of(error: OSError) -> str:
    """Why a file system refused, in one line."""
    if error.errno:
        return os.strerror(error.errno).lower()
    return (str(error).splitlines() or ["unknown error"])[0][:LONGEST]
