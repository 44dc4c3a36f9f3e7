"""Reads octets of a binary format one after the other."""

from __future__ import annotations

import struct
from typing import Any, Final

DEEPEST: Final = 64
"""Values inside each other that are read."""


class Unreadable(ValueError):
    """The octets are not of the format."""


class OctetReader:
    """Octets, and how far they were read. Values that hold others are kept also when cut off."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.found: list[Any] = []
        """The values at the top."""

    def read_all(self) -> str:
        """Read values to the end; returns why that could not be done, or nothing."""
        try:
            while self.at < len(self.data):
                self.read_value(self.found, DEEPEST)
        except Unreadable as error:
            return f"octet {self.at}: {error}"
        return ""

    def read_value(self, into: list[Any], depth: int) -> None:
        """Read a value and append it."""
        raise NotImplementedError

    def read_items(self, into: list[Any], count: int, depth: int) -> None:
        """Read so many values."""
        if not depth:
            raise Unreadable("nested too deep")
        for _ in range(count):
            self.read_value(into, depth - 1)

    def take(self, size: int) -> bytes:
        """The next octets."""
        if size > len(self.data) - self.at:
            raise Unreadable(f"{size} octets are expected, {len(self.data) - self.at} remain")
        self.at += size
        return self.data[self.at - size : self.at]

    def uint(self, size: int) -> int:
        """A number without sign."""
        return int.from_bytes(self.take(size), "big")

    def number(self, form: str) -> Any:
        """A number as `struct` reads it."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self, size: int) -> str:
        """UTF-8."""
        octets = self.take(size)
        try:
            return octets.decode()
        except UnicodeDecodeError:
            raise Unreadable("a text is not UTF-8") from None
