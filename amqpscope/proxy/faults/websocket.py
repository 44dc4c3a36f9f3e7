"""WebSocket around the frames: taken off for the faults, and put around what they make of them.

As long as no fault has acted every octet passes as it came, so what was cut is kept until the AMQP
frames inside are decided on. After that each AMQP frame has a WebSocket frame of its own. What
cannot be taken apart (another protocol over HTTP) passes untouched.

Extensions change the frames (permessage-deflate compresses them), so the client's offer of them is
taken out of its request: the upstream then uses none, as RFC 6455, 9.1 has it.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from amqpscope.protocols.words import printable
from amqpscope.stream.types import CLIENT

HEAD_END: Final = b"\r\n\r\n"
MOST_HEAD: Final = 64 * 1024
MOST_FRAME: Final = 16 << 20
"""Octets of a WebSocket frame that is held until it is whole."""
BINARY: Final = 0x82
CONTROL: Final = 0x08
MASKED: Final = 0x80
UPGRADE: Final = re.compile(rb"(?im)^upgrade:[^\n]*\bwebsocket\b")
EXTENSIONS: Final = re.compile(rb"(?im)^sec-websocket-extensions:[^\n]*(?:\n[ \t][^\n]*)*\n")


class Piece(NamedTuple):
    """A part of the stream: a WebSocket frame, or what is none."""

    raw: bytes
    payload: bytes
    """The octets inside; none in an HTTP head or a control frame."""
    plain: bool
    """It is a frame with octets inside."""


class Direction:
    """What one peer sends."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        """Octets that are not cut yet."""
        self.upgraded = False
        self.offset = 0
        """Octets inside, up to here."""
        self.ahead: deque[Piece] = deque()
        """Pieces that are cut and not looked at yet."""
        self.kept: deque[tuple[int, Piece]] = deque()
        """Pieces that have not passed, each with where its octets inside end."""


class WebSocket:
    """Both directions of a connection that begins with an HTTP request."""

    def __init__(self, *, extended: bool = False) -> None:
        self.extended = extended
        """Extensions may be used: there is no fault that they would keep from acting."""
        self.directions = (Direction(), Direction())
        self.refused = False
        """It is no WebSocket, or one that cannot be taken apart: everything passes."""
        self.news = ""
        """What the user should know, once."""

    @property
    def is_whole(self) -> bool:
        """Whether no part of a frame, or of a head, waits for the rest."""
        return not any(direction.buffer for direction in self.directions)

    def cut(self, side: int, octets: bytes) -> list[Piece]:
        """Take octets of a peer; the pieces that are whole."""
        direction = self.directions[side]
        direction.buffer += octets
        pieces: list[Piece] = []
        if not direction.upgraded and not self.refused:
            self._read_head(side, direction, pieces)
        if self.refused:
            pieces.append(Piece(bytes(direction.buffer), b"", False))
            direction.buffer.clear()
        elif direction.upgraded:
            while (piece := self._frame(direction)) is not None:
                pieces.append(piece)
        return pieces

    def _read_head(self, side: int, direction: Direction, pieces: list[Piece]) -> None:
        """Wait for an HTTP head, see what it says, and pass it on."""
        end = direction.buffer.find(HEAD_END)
        if end < 0:
            self.refused = len(direction.buffer) > MOST_HEAD
            return
        size = end + len(HEAD_END)
        head = bytes(direction.buffer[:size])
        del direction.buffer[:size]
        direction.upgraded = True
        if side == CLIENT:
            self.refused = UPGRADE.search(head) is None
            if not self.refused and not self.extended and (offered := EXTENSIONS.search(head)):
                head = EXTENSIONS.sub(b"", head)
                self.news = f"{name_of(offered)} is not offered to the upstream, so that faults act"
        else:
            self.refused = head.split(None, 2)[1:2] != [b"101"]
            if not self.refused and (used := EXTENSIONS.search(head)):
                self.refused = True
                why = "frames cannot be held, unless something is held before it connects"
                if not self.extended:
                    why = "no fault acts, and nobody asked for that"
                self.news = f"the upstream uses {name_of(used)}: {why}"
        pieces.append(Piece(head, b"", False))

    def _frame(self, direction: Direction) -> Piece | None:
        """The next WebSocket frame (RFC 6455, 5.2), if it is whole."""
        buffer = direction.buffer
        if len(buffer) < 2:
            return None
        size, at = buffer[1] & 0x7F, 2
        if size >= 126:
            at += 2 if size == 126 else 8
            if len(buffer) < at:
                return None
            size = int.from_bytes(buffer[2:at], "big")
        masked = buffer[1] & MASKED
        start = at + (4 if masked else 0)
        if size > MOST_FRAME:
            self.refused = True
            return None
        if len(buffer) < start + size:
            return None
        raw = bytes(buffer[: start + size])
        del buffer[: start + size]
        if raw[0] & CONTROL:
            return Piece(raw, b"", False)
        payload = raw[start:]
        return Piece(raw, unmask(payload, raw[at:start]) if masked else payload, True)

    def take_each(self, side: int, octets: bytes) -> Iterator[Piece]:
        """Take octets of a peer; each piece that is whole, while the others are known as ahead."""
        ahead = self.directions[side].ahead = deque(self.cut(side, octets))
        while ahead:
            yield ahead.popleft()

    # Before a fault has acted

    def keep(self, side: int, piece: Piece) -> None:
        """Keep a piece until what is inside it is decided on."""
        direction = self.directions[side]
        direction.offset += len(piece.payload)
        direction.kept.append((direction.offset, piece))

    def release(self, side: int, offset: int) -> bytes:
        """The pieces as they came, as far as all inside them up to an offset may pass."""
        kept = self.directions[side].kept
        released = []
        while kept and kept[0][0] <= offset:
            released.append(kept.popleft()[1].raw)
        return b"".join(released)

    # When a fault acts

    def rest(self, side: int, offset: int) -> bytes:
        """What may pass of a piece that may not pass as a whole, wrapped for itself.

        Control frames that came behind it pass, too.
        """
        kept = self.directions[side].kept
        if not kept:
            return b""
        end, piece = kept[0]
        part = piece.payload[: max(0, offset - (end - len(piece.payload)))]
        controls = b"".join(each.raw for _, each in kept if not each.plain)
        return (self.wrap(side, part) if part else b"") + controls

    def unpassed_octets(self, side: int) -> bytes:
        """All octets of a peer that were received and have not passed."""
        direction = self.directions[side]
        pieces = [*(piece for _, piece in direction.kept), *direction.ahead]
        direction.kept.clear()
        return b"".join(piece.raw for piece in pieces) + bytes(direction.buffer)

    def wrap(self, side: int, octets: bytes) -> bytes:
        """Octets in one WebSocket frame from a peer."""
        mask = MASKED if side == CLIENT else 0
        size = len(octets)
        if size < 126:
            head = bytes((BINARY, mask | size))
        elif size < 1 << 16:
            head = bytes((BINARY, mask | 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((BINARY, mask | 127)) + size.to_bytes(8, "big")
        if side != CLIENT:
            return head + octets
        key = os.urandom(4)
        return head + key + unmask(octets, key)


def name_of(extensions: re.Match[bytes]) -> str:
    """The name of the first extension of a header, as it may be shown."""
    value = extensions[0].partition(b":")[2].split(b";")[0].split(b",")[0]
    return printable(value.decode("latin-1").strip())[:40]


def unmask(octets: bytes, key: bytes) -> bytes:
    """Octets with a mask put on, or taken off."""
    if not octets:
        return b""
    whole = (key * (len(octets) // 4 + 1))[: len(octets)]
    mixed = int.from_bytes(octets, "big") ^ int.from_bytes(whole, "big")
    return mixed.to_bytes(len(octets), "big")
