"""What lies between TCP and AMQP taken off: TLS, WebSocket, WebSocket inside TLS, or nothing.

The `Unwrapper` looks at the first octets of each connection and decides once. Nearly all
connections are plain, and their pieces pass as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.capture.handshake import HANDSHAKE
from amqpscope.capture.tls import APPLICATION_DATA, Records, Tls, is_record
from amqpscope.stream.types import CLIENT, Chunk, Connection, End, Gap, Piece, Window

if TYPE_CHECKING:
    from amqpscope.capture.websocket import WebSocket

_UNDECIDED: Final = 0
_PLAIN: Final = 1
_TLS: Final = 2
_IN_BAND: Final = 3
_WEBSOCKET: Final = 4

_HEADER: Final = 8
"""Octets of an AMQP protocol header."""
_TLS_ID: Final = 2
"""Its protocol id for TLS (spec 5.2.1)."""


class _Flow:
    """What is known about one connection, or about the plaintext of a TLS connection."""

    __slots__ = ("ended", "heads", "held", "inner", "kind", "tls", "websocket")

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.heads = [b"", b""]
        self.held: list[Chunk] = []
        """Chunks too short to decide by."""
        self.tls: Tls | None = None
        self.websocket: WebSocket | None = None
        self.inner: _Flow | None = None
        """Inside TLS: plain or a WebSocket."""
        self.ended = 0


def _recognise(head: bytes, sender: int) -> int:
    """What a connection is whose first octets from this sender are these."""
    first = head[0]
    if first == 0x41:  # A
        if not b"AMQP".startswith(head[:4]):
            return _PLAIN
        if len(head) < 5:
            return _UNDECIDED
        return _IN_BAND if head[4] == _TLS_ID else _PLAIN
    if first in (HANDSHAKE, APPLICATION_DATA):
        if len(head) < 5:
            return _UNDECIDED
        return _TLS if is_record(head) else _PLAIN
    http = b"GET " if sender == CLIENT else b"HTTP/1."
    if http.startswith(head[: len(http)]):
        return _WEBSOCKET if len(head) >= len(http) else _UNDECIDED
    return _PLAIN


class Unwrapper:
    """Pieces of TCP in, pieces of what is inside TLS and WebSocket out."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._flows: dict[Connection, _Flow] = {}

    def feed(self, piece: Piece) -> list[Piece]:
        """Take the next piece of any connection."""
        return self.feed_all([piece])

    def feed_all(self, pieces: list[Piece]) -> list[Piece]:
        """Take many pieces at once."""
        out: list[Piece] = []
        flows = self._flows
        for piece in pieces:
            flow = flows.get(piece.connection)
            if flow is None:
                flow = _Flow(_UNDECIDED)
                flows[piece.connection] = flow
            if isinstance(piece, End):
                self._end(flow, piece, out)
            elif flow.kind == _PLAIN or isinstance(piece, Window):
                out.append(piece)
            else:
                self._unwrap(flow, piece, out)
        return out

    def _unwrap(self, flow: _Flow, piece: Chunk | Gap, out: list[Piece]) -> None:
        if flow.kind == _PLAIN:
            out.append(piece)
        elif flow.websocket is not None:
            out.extend(flow.websocket.feed(piece))
        elif flow.tls is not None:
            self._inside(flow, flow.tls.feed(piece), out)
        elif isinstance(piece, Gap):
            self._settle(flow, _PLAIN, piece.connection, out)
            out.append(piece)
        else:
            head = (flow.heads[piece.sender] + piece.data)[:_HEADER]
            flow.heads[piece.sender] = head
            flow.held.append(piece)
            kind = _recognise(head, piece.sender)
            if kind != _UNDECIDED:
                self._settle(flow, kind, piece.connection, out)

    def _settle(self, flow: _Flow, kind: int, connection: Connection, out: list[Piece]) -> None:
        """The kind is known: let the chunks that waited for it pass."""
        flow.kind = kind
        if kind == _WEBSOCKET:
            from amqpscope.capture.websocket import WebSocket

            flow.websocket = WebSocket(connection)
        elif kind == _TLS:
            connection.encrypted = True
            flow.tls = Tls(connection, self._records, 0)
            flow.inner = _Flow(_UNDECIDED)
        elif kind == _IN_BAND:
            flow.tls = Tls(connection, self._records, _HEADER)
        held = flow.held
        flow.held = []
        for chunk in held:
            self._unwrap(flow, chunk, out)

    def _inside(self, flow: _Flow, pieces: list[Piece], out: list[Piece]) -> None:
        inner = flow.inner
        if inner is None:
            out.extend(pieces)
            return
        for piece in pieces:
            if isinstance(piece, (Chunk, Gap)):
                self._unwrap(inner, piece, out)

    def _end(self, flow: _Flow, end: End, out: list[Piece]) -> None:
        for part in (flow, flow.inner):
            if part is not None and part.held:
                self._settle(part, _PLAIN, end.connection, out)
        out.append(end)
        flow.ended |= 1 << end.sender
        if flow.ended == 3:
            if flow.tls is not None:
                flow.tls.end()
            del self._flows[end.connection]
