"""Whether octets still hold what should not be in them: as they were, or in base64.

Thousands of originals are looked for at once: what begins like one of them is compared in full.
"""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

LEAST: Final = 4
"""Octets of an original; what is shorter is found anywhere."""
BINARY: Final = 8
"""Octets of an original that is no text; what is shorter is found anywhere."""
VARIED: Final = 4
"""Different octets that an original has at least: zeros are found anywhere."""
LONGEST: Final = 48
"""Octets of an original that are looked for: its first."""
ENCODED: Final = 8
"""Octets of an original that is looked for in base64."""


def is_telling(original: bytes) -> bool:
    """Whether it means something to find these octets."""
    least = LEAST if original.isascii() and original.decode().isprintable() else BINARY
    return len(original) >= least and len(set(original[:LONGEST])) >= min(VARIED, least)


def find_leaks(octets: bytes, originals: Iterable[bytes]) -> set[bytes]:
    """The originals that are in octets, of those that mean something."""
    wanted: dict[bytes, bytes] = {}
    for original in originals:
        if is_telling(original):
            wanted[original[:LONGEST]] = original
            for needle in base64_forms(original[:LONGEST]):
                wanted.setdefault(needle, original)
    starts: dict[bytes, list[bytes]] = defaultdict(list)
    for needle in wanted:
        starts[needle[:LEAST]].append(needle)
    found = set()
    for at in range(len(octets) - LEAST + 1):
        for needle in starts.get(octets[at : at + LEAST], ()):
            if octets.startswith(needle, at):
                found.add(wanted[needle])
    return found


def base64_forms(original: bytes) -> list[bytes]:
    """How octets look in base64 wherever they begin, without what is of their neighbours too."""
    if len(original) < ENCODED:
        return []
    made = []
    for before in range(3):
        text = b64encode(bytes(before) + original)
        start = (before * 8 + 5) // 6
        stop = (before + len(original)) * 8 // 6
        made.append(text[start:stop])
    return made
