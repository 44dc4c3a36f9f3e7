"""IP fragments put together again, within bounds (RFC 791, 3.2; RFC 8200, 4.5)."""

from __future__ import annotations

from typing import Final

MAX_DATAGRAMS: Final = 256
"""Datagrams waiting for fragments; the oldest is forgotten first."""
MAX_SIZE: Final = 0xFFFF + 8
MAX_OCTETS: Final = 4 * MAX_SIZE
"""Of the fragments of one datagram: those that overlap can be many times as long as it."""
MAX_FRAGMENTS: Final = 1024
"""Of one datagram: a 64 KiB datagram over the smallest legal link has fewer by far."""


class _Datagram:
    __slots__ = ("octets", "parts", "size")

    def __init__(self) -> None:
        self.parts: dict[int, bytes] = {}
        self.octets = 0
        self.size = -1


class Fragments:
    """Datagrams of which a part is still to come."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, _Datagram] = {}

    def add(self, name: bytes, offset: int, data: bytes, more: bool) -> bytes:
        """Take a fragment; the whole datagram once it is complete, else nothing."""
        if offset + len(data) > MAX_SIZE:
            return b""
        datagram = self._waiting.get(name)
        if datagram is None:
            if len(self._waiting) >= MAX_DATAGRAMS:
                del self._waiting[next(iter(self._waiting))]
            datagram = _Datagram()
            self._waiting[name] = datagram
        if not more:
            datagram.size = offset + len(data)
        more_than = len(datagram.parts.get(offset, b""))
        room = len(datagram.parts) < MAX_FRAGMENTS and datagram.octets + len(data) <= MAX_OCTETS
        if room and more_than < len(data):
            datagram.parts[offset] = data
            datagram.octets += len(data) - more_than
        whole = _join(datagram)
        if whole:
            del self._waiting[name]
        return whole


def _join(datagram: _Datagram) -> bytes:
    """All octets in order, or nothing while some are missing."""
    if datagram.size < 0:
        return b""
    whole = bytearray()
    for offset in sorted(datagram.parts):
        if offset > len(whole):
            return b""
        whole += datagram.parts[offset][len(whole) - offset :]
    return bytes(whole[: datagram.size]) if len(whole) >= datagram.size else b""
