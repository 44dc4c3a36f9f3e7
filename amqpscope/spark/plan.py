"""What is to be done: files grouped into rings, cut into slices, and packed into units of work.

A ring is a set of files that one capture was rotated into, in order: a directory, by the
natural order of the names in it, or an entry of a manifest. A slice is a run of consecutive
parts of a ring, of about 32 MB. A ring of one slice is whole: nothing of it is elsewhere, so one
process can do it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.capture.ring import natural
from amqpscope.spark.records import Cut, Part

if TYPE_CHECKING:
    from amqpscope.spark.manifest import Done

SLICE: Final = 32 << 20
"""Octets of a slice: starting a task costs 30 ms, and memory grows with the slice."""
FILES: Final = 100_000
"""Files that are planned, done and committed together, which takes about 0.3 GB of the driver."""
OCTETS: Final = 4 << 40
"""Octets of these: 130,000 slices."""
ASIS: Final[Mapping[str, Part]] = MappingProxyType({})


class File(NamedTuple):
    """An input as Spark lists it."""

    path: str
    size: int
    changed: int
    """Microseconds since 1970."""


def is_folder(file: File) -> bool:
    """Whether it is a directory that could not be listed."""
    return file.path.endswith("/")


class Piece(NamedTuple):
    """A part of a ring's file."""

    ordinal: int
    part: Part
    size: int
    name: str = ""
    """The path of the file that the part is a copy of; empty: it is the file itself."""


@dataclass
class Ring:
    """Files that belong together, in order."""

    name: str
    files: list[File] = field(default_factory=list)
    done: Done | None = None
    """What was done of it before."""
    slices: list[list[Piece]] = field(default_factory=list)


class Share(NamedTuple):
    """One slice, as a process gets it."""

    ring: str
    slice: int
    pieces: list[Piece]
    base: int = 0
    """Packets of the ring before it."""

    @property
    def size(self) -> int:
        """Octets to read."""
        return sum(piece.size for piece in self.pieces)


def rings_of(files: Iterable[File], *, each: bool = False) -> list[Ring]:
    """Group files by their directory, or let each be its own ring."""
    found: dict[str, Ring] = {}
    for file in files:
        name = file.path if each else file.path.rpartition("/")[0]
        found.setdefault(name, Ring(name)).files.append(file)
    for ring in found.values():
        ring.files.sort(key=lambda file: natural(file.path))
    return [found[name] for name in sorted(found)]


def waves(rings: Iterable[Ring], files: int = FILES, size: int = OCTETS) -> Iterator[list[Ring]]:
    """Rings put together into as much as is done at a time: so much the driver has in mind."""
    wave: list[Ring] = []
    count = octets = 0
    for ring in rings:
        own = sum(file.size for file in ring.files)
        if wave and (count + len(ring.files) > files or octets + own > size):
            yield wave
            wave, count, octets = [], 0, 0
        wave.append(ring)
        count += len(ring.files)
        octets += own
    if wave:
        yield wave


def slice_up(
    ring: Ring, cuts: Mapping[str, list[Cut]], size: int = SLICE, parts: Mapping[str, Part] = ASIS
) -> None:
    """Cut a ring into slices; `parts` has those files that are not to be read as they are."""
    current: list[Piece] = []
    filled = 0
    for piece in pieces_of(ring, cuts, parts):
        if current and filled + piece.size > size * 5 // 4:
            ring.slices.append(current)
            current, filled = [], 0
        current.append(piece)
        filled += piece.size
    ring.slices.append(current)


def pieces_of(
    ring: Ring, cuts: Mapping[str, list[Cut]], parts: Mapping[str, Part] = ASIS
) -> Iterator[Piece]:
    """The parts of a ring's files, in order."""
    for ordinal, file in enumerate(ring.files):
        part = parts.get(file.path) or Part(file.path)
        name = "" if part.path == file.path else file.path
        if part.problem:
            yield Piece(ordinal, part, 0, name)
            continue
        begins = [Cut(0, b""), *cuts.get(file.path, [])]
        ends = [*(cut.offset for cut in begins[1:]), -1]
        for cut, stop in zip(begins, ends, strict=True):
            size = (file.size if stop < 0 else stop) - cut.offset
            yield Piece(ordinal, Part(part.path, cut.offset, stop, cut.head), size, name)


def pack_shares(shares: Iterable[Share], size: int = SLICE) -> list[list[Share]]:
    """Put small shares together, so that each unit is worth a task."""
    units: list[list[Share]] = []
    filled = 0
    for share in sorted(shares, key=lambda share: -share.size):
        if not units or filled + share.size > size * 5 // 4:
            units.append([])
            filled = 0
        units[-1].append(share)
        filled += share.size
    return units
