"""Field tables of which something is out of the ordinary, found in one look.

Nearly all tables are plain: short names, each once, and letters that everybody reads alike. Only
the others are shown to the rules about tables.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.values import FieldArray, Table, Value

LONGEST_NAME: Final = 128
DEEPEST: Final = 32
"""Tables within each other that may make sense."""
LATEST: Final = 100_000_000_000
"""Seconds since 1970 that are still a date, in the year 5138; milliseconds are more than that."""

PLAIN: Final = 0
ODD: Final = 1
NESTED: Final = 2
TIME: Final = 3
AMBIGUOUS: Final = b"sUD"
"""Letters to look at wherever they are: read in two ways, or decimals."""


@cache
def looks(name: str) -> bytes:
    """What to look at in a dialect, for each letter."""
    spoken = dialect(name)
    look = bytearray([ODD]) * 256
    for letter in spoken.letters.encode():
        look[letter] = PLAIN
    for letter in AMBIGUOUS:
        look[letter] = ODD
    look[ord("F")] = look[ord("A")] = NESTED
    look[ord("T")] = TIME
    if name == "0-9-1":
        # What products mean by it, the text does not.
        look[ord("l")] = ODD
    return bytes(look)


def odd_table(table: Table, look: bytes, depth: int) -> bool:
    """Whether anything in a table is out of the ordinary."""
    names: set[str] = set()
    letters = table.letters
    place = 0
    for name, value in table:
        if not name or len(name) > LONGEST_NAME:
            return True
        if odd_value(value, look[letters[place]], look, depth):
            return True
        names.add(name)
        place += 1
    return len(names) != place


def odd_value(value: Value, how: int, look: bytes, depth: int) -> bool:
    """Whether a value in a table is."""
    if how == PLAIN:
        return False
    if how == TIME:
        return isinstance(value, int) and value > LATEST
    if how == ODD or depth >= DEEPEST:
        return True
    if isinstance(value, Table):
        return odd_table(value, look, depth + 1)
    if isinstance(value, FieldArray):
        for place, item in enumerate(value):
            if odd_value(item, look[value.letters[place]], look, depth + 1):
                return True
    return False
