"""Rings: captures that were rotated into several files, and are read as the one that they were.

tcpdump -C writes `x.pcap`, `x.pcap1`, ... `x.pcap10`, so a ring's files are in the order in which
people count, not in that of the alphabet; and each of them may be packed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

SUFFIXES: Final = (".pcap", ".pcapng", ".cap")
_PACKED: Final = re.compile(r"\.(?:gz|zst|xz)$", re.IGNORECASE)


@dataclass(frozen=True)
class Ring:
    """Files that one capture was rotated into."""

    path: str
    """What it is called: the directory as it was given, or the first file of several."""
    files: tuple[str, ...]
    """In order."""

    def __str__(self) -> str:
        return self.path


class Trouble(NamedTuple):
    """A file that could not be read, or not to its end."""

    path: str
    message: str
    unreadable: bool
    """Nothing of it could be read."""


Readable = str | Ring
"""What can be read as one capture: a file (`-` is standard input), or a ring."""


def is_capture(path: str) -> bool:
    """Whether a file is a capture by its name, as rotation makes it too (`x.pcap12`)."""
    name = path.rpartition("/")[2].lower()
    if name.startswith((".", "_")):
        return False
    return _PACKED.sub("", name).rstrip("0123456789").endswith(SUFFIXES)


def natural(path: str) -> list[tuple[int, int, str]]:
    """A sort key that puts `x.pcap` before `x.pcap2` and that before `x.pcap10`, packed or not."""
    parts = re.split(r"(\d+)", _PACKED.sub("", path))
    key = [(0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts]
    return [*key, (-1, 0, path)]


def is_hidden(path: str) -> bool:
    """Whether a path below a directory is passed over when its captures are looked for."""
    return any(part.startswith((".", "_")) for part in path.split("/"))


def walk(folder: str) -> Iterator[os.DirEntry[str] | str]:
    """The files of a directory and below, also links that lead nowhere.

    A link to a directory is followed, unless that is part of what is looked at anyway. A directory
    that cannot be listed is there by its name.
    """
    waiting, roots = [folder.rstrip("/")], [os.path.realpath(folder)]
    while waiting:
        base = waiting.pop()
        try:
            entries = list(os.scandir(base or "/"))
        except OSError:
            yield base
            continue
        for entry in entries:
            if is_hidden(entry.name):
                continue
            if not entry.is_dir():
                if entry.is_file() or entry.is_symlink():
                    yield entry
                continue
            if entry.is_symlink():
                real = os.path.realpath(entry.path)
                if any(f"{real}/".startswith(f"{each}/") for each in roots):
                    continue
                if any(each.startswith(f"{real}/") for each in roots):
                    continue
                roots.append(real)
            waiting.append(entry.path)


def ring_in(folder: str) -> Ring | None:
    """The captures in a directory, not those below it, as one; None when there are none."""
    paths = (os.path.join(folder, name) for name in os.listdir(folder) if is_capture(name))
    files = sorted((path for path in paths if os.path.isfile(path)), key=natural)
    return Ring(folder, tuple(files)) if files else None


def in_order(files: tuple[str, ...]) -> tuple[str, ...]:
    """Files in the natural order of their names, wherever they lie."""
    return tuple(sorted(files, key=lambda path: natural(os.path.abspath(path))))


def ring_of(files: tuple[str, ...]) -> Ring:
    """Some files as one capture, each once; it goes by the name of the first, as with tcpdump."""
    return Ring(files[0], tuple(dict.fromkeys(files)))
