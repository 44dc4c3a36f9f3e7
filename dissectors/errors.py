"""Damage on the wire, as a value with its place.

The codec raises `Malformed` where it cannot go on and catches it where it can: at the nearest
enclosing field whose size is known. What leaves the dissectors is never the exception but a list
of these beside everything that could be read.
"""

from __future__ import annotations

from enum import StrEnum


class Damage(StrEnum):
    """What kind of damage it is: one name for all places where it can happen."""

    TRUNCATED = "truncated"
    """A value reaches past the end of what contains it."""
    UNKNOWN_CODE = "unknown-code"
    """A constructor octet that no encoding has."""
    SIZE = "size"
    """Size or count of a compound value disagrees with its contents."""
    TRAILING = "trailing"
    """Octets are left over where there should be none."""
    ODD_MAP = "odd-map"
    """A map with a key that has no value."""
    UTF8 = "utf8"
    """A string that is not UTF-8."""
    ASCII = "ascii"
    """A symbol with an octet of 0x80 or more."""
    BOOLEAN = "boolean"
    """A boolean octet that is neither 0 nor 1."""
    CHAR = "char"
    """A char that is no Unicode scalar value."""
    NOT_LIST = "not-list"
    """A composite type whose value is not a list."""
    NOT_DESCRIBED = "not-described"
    """A frame body or a message section that does not begin with a descriptor."""
    FRAME = "frame"
    """A frame header that contradicts itself."""
    LIMIT = "limit"
    """Legal perhaps, but past a limit of this decoder."""


class Malformed(Exception):
    """Octets that do not say what the specification lets them say."""

    def __init__(self, kind: Damage, offset: int, reason: str, path: str = "") -> None:
        super().__init__(kind, offset, reason, path)
        self.kind = kind
        self.offset = offset
        """Where, counted from the first octet of the frame (or of the octets given)."""
        self.reason = reason
        self.path = path
        """Which field: `attach.source.filter`; empty when it is the frame as a whole."""

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}{self.reason} (at octet {self.offset})"


def prefix_path(fault: Malformed, name: str) -> None:
    """Lead a fault's path with the name of what contains it."""
    if not fault.path:
        fault.path = name
    elif fault.path[0] == "[":
        fault.path = name + fault.path
    else:
        fault.path = f"{name}.{fault.path}"
