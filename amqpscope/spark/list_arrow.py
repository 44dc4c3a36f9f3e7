"""Inputs listed by Arrow, where Spark does not know their file system.

A plain Spark has no code for `s3://` and its like; Arrow has, and takes credentials and endpoint
from the environment. What is found is what Spark would have found: directories with all that
is below them, but for names that begin with `.` or `_`, and Hadoop's globs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from errno import ENOENT
from typing import TYPE_CHECKING, Final

from amqpscope.capture.ring import is_hidden
from amqpscope.spark.files import locate
from amqpscope.spark.plan import File

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

WILD: Final = re.compile(r"[*?\[\]{}\\]")


def walk(path: str) -> list[File]:
    """The files at a path: itself, or below it, or matched by it; OSError when there is none."""
    from pyarrow import fs

    path = path.rstrip("/")
    system, place = locate(path)
    info = system.get_file_info(place)
    if info.type == fs.FileType.File:
        return [file_at(path, info)]
    if info.type == fs.FileType.Directory:
        return list(below(path))
    if WILD.search(path) is None:
        raise FileNotFoundError(ENOENT, "no such file or directory", path)
    base = base_of(path, is_directory)
    try:
        wanted = re.compile(pattern_of(path[len(base) :]), re.DOTALL)
    except re.error as error:
        raise OSError(f"not a glob: {error}") from error
    files = [file for file in below(base) if matches(wanted, file.path.removeprefix(base))]
    if not files:
        raise FileNotFoundError(ENOENT, "no such file or directory", path)
    return files


def base_of(path: str, exists: Callable[[str], bool]) -> str:
    """The directory in which a glob begins: what is there with its brackets is none."""
    parts = path.split("/")
    for at, part in enumerate(parts):
        if WILD.search(part) and not exists("/".join(parts[: at + 1])):
            return "/".join(parts[:at])
    return path


def is_directory(path: str) -> bool:
    """Whether Arrow finds a directory of this very name."""
    from pyarrow import fs

    system, place = locate(path)
    return bool(system.get_file_info(place).type == fs.FileType.Directory)


def matches(wanted: re.Pattern[str], path: str) -> bool:
    """Whether a glob matches a file, or one of the directories that it is in."""
    ends = [at for at, char in enumerate(path) if char == "/"][1:]
    return any(wanted.fullmatch(path[:end]) for end in (*ends, len(path)))


def below(base: str) -> Iterator[File]:
    """All files in a directory and in those below it."""
    from pyarrow import fs

    system, place = locate(base)
    for info in system.get_file_info(fs.FileSelector(place, recursive=True)):
        name = info.path.removeprefix(place)
        if info.type == fs.FileType.File and not is_hidden(name):
            yield file_at(base + name, info)


def file_at(path: str, info: FileInfo) -> File:
    """A file as Arrow knows it."""
    return File(path, info.size, (info.mtime_ns or 0) // 1000)


def pattern_of(glob: str) -> str:
    """A regular expression for a glob as Hadoop reads it."""
    found, depth, at = "", 0, 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "\\" and at < len(glob):
            found += re.escape(glob[at])
            at += 1
        elif char == "*":
            found += "[^/]*"
        elif char == "?":
            found += "[^/]"
        elif char == "[" and (end := glob.find("]", at + 1)) > 0:
            negated = glob[at] in "!^"
            members = glob[at + negated : end].replace("\\", "\\\\").replace("[", "\\[")
            found += f"[{'^' if negated else ''}{members}]"
            at = end + 1
        elif char == "{":
            found, depth = found + "(?:", depth + 1
        elif char == "}" and depth:
            found, depth = found + ")", depth - 1
        elif char == "," and depth:
            found += "|"
        else:
            found += re.escape(char)
    return found + ")" * depth
