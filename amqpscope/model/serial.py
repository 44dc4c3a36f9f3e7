"""Sequence numbers of 32 bits that wrap (RFC 1982; spec 2.8.10).

Inside the model they are unwrapped: plain integers that go on counting past 2**32, so that limits
can be compared and subtracted as they are. On the wire they are taken modulo 2**32.
"""

from __future__ import annotations

from typing import Final

MODULUS: Final = 1 << 32
HALF: Final = 1 << 31


def distance(value: int, base: int) -> int:
    """How far `value` lies after `base`, by the shorter way round: -2**31 to 2**31 - 1."""
    return ((value - base + HALF) & (MODULUS - 1)) - HALF


def unwrap(value: int, near: int) -> int:
    """The number nearest to `near` that reads `value` on the wire."""
    return near + (((value - near + HALF) & (MODULUS - 1)) - HALF)


def wire(value: int) -> int:
    """As it is written on the wire."""
    return value & (MODULUS - 1)
