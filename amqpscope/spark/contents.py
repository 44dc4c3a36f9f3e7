"""The same capture by another name: recognised by what is in it.

A capture is known by its size and a digest of its beginning, its end and places between; packets
carry the time there, so no two captures agree in all of it by chance. But one may be a damaged copy
of the other. So where the known one is still there, both are compared octet by octet. Tasks do
that; the driver does it itself when there is little to look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqpscope.spark import stages
from amqpscope.spark.files import open_octets
from amqpscope.spark.plan import File, Ring, is_folder
from amqpscope.spark.work_items import store_items
from amqpscope.wording import plural

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from amqpscope.spark.manifest import Rings

SAMPLE: Final = 16 << 10
"""Octets of each place that is looked at."""
SAMPLES: Final = 8
FEW: Final = 64
"""Files that the driver looks at itself: a stage would take longer."""
SMALL: Final = 256 << 20
"""Octets of copies that it compares itself."""
TOGETHER: Final = 200
"""Files for one task."""
BLOCK: Final = 1 << 20
SPREAD: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""Large odd numbers, by which eight digits each become one number of all its bits."""

Contents = dict[str, str]
"""Digests by path."""


Pair = tuple[str, str]
"""Paths of two files."""


class Known(NamedTuple):
    """A capture that tables have rows of."""

    ring: str
    path: str


def digest_of(file: File) -> str:
    """A name for what is in a file; empty where there is nothing to go by."""
    if not file.size or is_folder(file):
        return ""
    found = blake2b(str(file.size).encode(), digest_size=16)
    last = max(file.size - SAMPLE, 0)
    places = sorted({last * at // (SAMPLES - 1) for at in range(SAMPLES)})
    try:
        with open_octets(file.path) as octets:
            for place in places:
                octets.seek(place)
                found.update(octets.read(SAMPLE))
    except OSError:
        return ""  # whoever reads it says why
    return found.hexdigest()


def digests(files: Iterable[File]) -> list[tuple[str, str]]:
    """Paths and the digests of their files."""
    return [(file.path, digest_of(file)) for file in files]


def look_at(spark: SparkSession, folder: str, files: list[File]) -> Contents:
    """The digests of files."""
    if len(files) <= FEW:
        return dict(digests(files))
    rest = iter(files)
    groups = iter(lambda: [tuple(each) for each in islice(rest, TOGETHER)], [])
    found: Contents = {}
    for part in stages.each(spark, store_items(folder, groups), digests_of_rows):
        found.update(part)
    return found


def digests_of_rows(rows: list[tuple[str, int, int]]) -> list[tuple[str, str]]:
    """The same, of files as work items have them."""
    return digests(File(*row) for row in rows)


def compare(spark: SparkSession, folder: str, pairs: list[Pair], size: int) -> frozenset[Pair]:
    """Those of some pairs of files that are equal; `size` octets in all."""
    if size <= SMALL:
        return frozenset(filter(are_equal, pairs))
    found = stages.each(spark, store_items(folder, pairs), with_equal)
    return frozenset(pair for pair, equal in found if equal)


def with_equal(pair: Pair) -> tuple[Pair, bool]:
    """A pair, and whether both are equal."""
    return pair, are_equal(pair)


def are_equal(pair: Pair) -> bool:
    """Whether two files have the same octets; one that is gone was known by its digest."""
    one, other = pair
    try:
        with open_octets(one) as first, open_octets(other) as second:
            while True:
                left, right = first.read(BLOCK), second.read(BLOCK)
                if left != right:
                    return False
                if not left:
                    return True
    except OSError:
        return True


class Digests:
    """Which digests there are: eight octets of each are remembered, of ten million 80 MB."""

    def __init__(self, contents: Iterable[pa.Array] = ()) -> None:
        # Zero stands for none of them: what is looked up needs something to be compared with.
        parts = [np.zeros(1, np.uint64), *(hashes_of(each) for each in contents)]
        self.hashes = np.sort(np.concatenate(parts))

    def add(self, contents: Iterable[str]) -> None:
        """Remember some more."""
        fresh = np.sort(hashes_of(pa.array(contents, pa.string())))
        self.hashes = np.insert(self.hashes, np.searchsorted(self.hashes, fresh), fresh)

    def among(self, contents: Iterable[str]) -> list[str]:
        """Those of some digests that are remembered, and hardly ever another one."""
        wanted = pa.array({content for content in contents if content}, pa.string())
        hashes = hashes_of(wanted)
        places = np.searchsorted(self.hashes, hashes)
        known = np.take(self.hashes, places, mode="clip") == hashes
        found: list[str] = wanted.filter(pa.array(known)).to_pylist()
        return found


def hashes_of(contents: pa.Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """A number for each digest, which has 32 digits; of the missing ones there is none."""
    digits = pc.binary_slice(contents.drop_null().cast(pa.binary()), 0, 16)
    words = np.frombuffer(b"".join(digits.to_pylist()), dtype=np.uint64).reshape(-1, 2)
    found: np.ndarray[Any, np.dtype[np.uint64]] = words[:, 0] * SPREAD[0] + words[:, 1] * SPREAD[1]
    return found


class Recogniser:
    """Leaves captures out that tables have under another name or in another ring."""

    def __init__(self, rings: Callable[[], Rings]) -> None:
        self.rings = rings
        """What is done by now: this run adds to it."""
        self.digests = Digests(batch["content"] for batch in rings().batches("content"))
        self.copies: Counter[tuple[str, str]] = Counter()
        """Copies by their ring and the ring that has them already."""
        self.example: dict[tuple[str, str], tuple[str, str]] = {}

    def known(self, contents: Mapping[str, str]) -> dict[str, list[Known]]:
        """Captures of the tables that have one of these digests."""
        found: dict[str, list[Known]] = {}
        wanted = self.digests.among(contents.values())
        for content, ring, path in self.rings().with_contents(wanted) if wanted else ():
            found.setdefault(content, []).append(Known(ring, path))
        return found

    def without_copies(
        self, rings: Iterable[Ring], contents: Contents,
        compare: Callable[[list[Pair], int], frozenset[Pair]],
    ) -> Iterator[Ring]:  # fmt: skip
        """Rings without the captures that are copies; those of which nothing is left are gone."""
        rings = list(rings)
        copies = self._copies(rings, contents, compare)
        for ring in rings:
            files = [each for each in ring.files if not self._left_out(ring.name, each, copies)]
            if len(files) == len(ring.files):
                yield ring
            elif files:
                yield replace(ring, files=files)

    def _copies(
        self, rings: list[Ring], contents: Contents,
        compare: Callable[[list[Pair], int], frozenset[Pair]],
    ) -> dict[Known, Known]:  # fmt: skip
        """Captures that are copies, and of which one each; others of the same digest may differ."""
        originals = self.known(contents)
        waiting = [
            (Known(ring.name, file.path), file.size, contents[file.path], 0)
            for ring in rings
            for file in ring.files
            if contents.get(file.path)
        ]
        # What is to be read again is no copy of itself.
        waiting = [each for each in waiting if each[0] not in originals.get(each[2], ())]
        copies: dict[Known, Known] = {}
        while waiting:
            compared: list[tuple[Known, int, str, int]] = []
            for here, size, content, tried in waiting:
                known = originals.setdefault(content, [])
                if tried == len(known):
                    known.append(here)
                else:
                    compared.append((here, size, content, tried))
            pairs = [(here.path, originals[c][tried].path) for here, _, c, tried in compared]
            equal = compare(pairs, sum(size for _, size, _, _ in compared))
            waiting = []
            for (here, size, content, tried), pair in zip(compared, pairs, strict=True):
                if pair in equal:
                    copies[here] = originals[content][tried]
                else:
                    waiting.append((here, size, content, tried + 1))
        self.digests.add(content for content in contents.values() if content)
        return copies

    def _left_out(self, ring: str, file: File, copies: Mapping[Known, Known]) -> bool:
        other = copies.get(Known(ring, file.path))
        if other is None:
            return False
        self.copies[ring, other.ring] += 1
        self.example.setdefault((ring, other.ring), (file.path, other.path))
        return True

    def notes(self) -> Iterator[str]:
        """What was left out, and what it is a copy of."""
        total = Counter[str]()
        first: dict[str, tuple[str, str, str]] = {}
        for (ring, other), count in self.copies.items():
            path, original = self.example[ring, other]
            kind = "name" if path != original else "ring"
            total[kind] += count
            first.setdefault(kind, (path, original, other))
        for kind, count in total.items():
            path, original, other = first[kind]
            if kind == "name":
                yield f"{plural(count, 'capture')} left out as copies: {path} is {original}"
            else:
                yield (
                    f"{plural(count, 'capture')} left out: {path} is in the tables already, in the"
                    f" ring {other}; to read it otherwise, give another --out"
                )


def contents_of(files: Iterable[File], contents: Mapping[str, str]) -> list[Any]:
    """The digests of files as `_inputs` has them."""
    return [contents.get(file.path) or None for file in files]
