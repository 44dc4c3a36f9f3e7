"""AMQP over WebSocket: the HTTP upgrade and the frames around the octets taken off.

Both directions are read passively, each by a frame decoder of wsproto: the client's frames are
what a server would receive, and the other way round. Which subprotocol was agreed does not matter
(`amqp`, `AMQPWSB10`, `binary`, none at all are in use): whether the octets inside are AMQP is seen
by their protocol header. An HTTP connection that does not upgrade is not ours and yields nothing.
"""

from __future__ import annotations

from typing import Final

from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import (
    CloseReason,
    FrameDecoder,
    FrameProtocol,
    Opcode,
    ParseFailed,
    RsvBits,
)

from amqpscope.capture.offsets import Lane
from amqpscope.stream.types import CLIENT, SERVER, Chunk, Connection, Gap, Piece
from amqpscope.stream.types import WebSocket as Facts

MAX_HEAD: Final = 64 * 1024
"""Octets of an HTTP request or response before its empty line."""
MAX_EARLY: Final = 1024 * 1024
"""Octets of the client that may wait for the server's response."""

_HEAD_END: Final = b"\r\n\r\n"


class _Deflate(PerMessageDeflate):
    """permessage-deflate that leaves control frames alone.

    wsproto's own forgets that a message is compressed when a ping comes between its fragments.
    """

    _control = False

    def frame_inbound_header(
        self,
        proto: FrameDecoder | FrameProtocol,
        opcode: Opcode,
        rsv: RsvBits,
        payload_length: int,
    ) -> CloseReason | RsvBits:
        self._control = opcode.iscontrol()
        if self._control:
            return RsvBits(False, False, False)
        return super().frame_inbound_header(proto, opcode, rsv, payload_length)

    def frame_inbound_payload_data(
        self, proto: FrameDecoder | FrameProtocol, data: bytes
    ) -> bytes | CloseReason:
        return data if self._control else super().frame_inbound_payload_data(proto, data)

    def frame_inbound_complete(
        self, proto: FrameDecoder | FrameProtocol, fin: bool
    ) -> bytes | CloseReason | None:
        return None if self._control else super().frame_inbound_complete(proto, fin)


class _Direction:
    """The head and then the frames of one sender."""

    def __init__(self) -> None:
        self.lane = Lane()
        self.head = bytearray()
        self.upgraded = False
        self.decoder: FrameDecoder | None = None
        self.early: list[Chunk] = []
        """Chunks after the request that came before the response."""
        self.waiting = 0


class WebSocket:
    """The WebSocket layer of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._facts = connection.websocket = Facts()
        self._client = _Direction()
        self._server = _Direction()
        self._refused = False

    def feed(self, piece: Chunk | Gap) -> list[Piece]:
        """Take the next octets of either direction; those inside the frames."""
        out: list[Piece] = []
        direction = self._client if piece.sender == CLIENT else self._server
        if self._refused or direction.lane.lost:
            return out
        if isinstance(piece, Gap):
            if self._server.upgraded:
                direction.lane.lose(piece, out)
            else:
                self._refuse()
        elif direction.upgraded:
            self._frames(direction, piece, piece.data, out)
        else:
            self._handshake(direction, piece, out)
        return out

    def _refuse(self) -> None:
        self._refused = True
        self._client = _Direction()
        self._server = _Direction()

    def _handshake(self, direction: _Direction, chunk: Chunk, out: list[Piece]) -> None:
        head = direction.head
        head += chunk.data
        verb = b"GET " if chunk.sender == CLIENT else b"HTTP/1."
        if not head.startswith(verb[: len(head)]):
            # The capture began after the client's request: these are frames already.
            if chunk.sender == SERVER or not self._server.upgraded:
                self._refuse()
                return
            size = 0
        else:
            end = head.find(_HEAD_END)
            if end < 0:
                if len(head) > MAX_HEAD:
                    self._refuse()
                return
            size = end + len(_HEAD_END)
        rest = bytes(head[size:])
        if size and not _upgrades(bytes(head[:size]), chunk.sender):
            self._refuse()
            return
        self._note(bytes(head[:size]), chunk.sender)
        direction.upgraded = True
        direction.lane.outside = chunk.offset + len(chunk.data) - len(rest)
        if chunk.sender == SERVER:
            self._agree(bytes(head[:size]))
        direction.head = bytearray()
        self._frames(direction, chunk, rest, out)
        if chunk.sender == SERVER:
            early = self._client.early
            self._client.early = []
            for held in early:
                self._frames(self._client, held, held.data, out)

    def _note(self, head: bytes, sender: int) -> None:
        """Remember which subprotocols the client asks for, and which the server takes."""
        if not head:
            return
        values = [v for name, v in _fields(head) if name == b"sec-websocket-protocol"]
        words = b",".join(values).decode("ascii", "replace").split(",")
        named = [word.strip() for word in words if word.strip()]
        if sender == CLIENT:
            self._facts.asked = named
        else:
            self._facts.agreed = named[0] if named else None

    def _agree(self, response: bytes) -> None:
        """Set up both directions as the server's response says."""
        for direction, is_client in ((self._client, True), (self._server, False)):
            deflate = _deflate(response)
            # The decoder is where the *receiver* does.
            direction.decoder = FrameDecoder(not is_client, [] if deflate is None else [deflate])

    def _frames(self, direction: _Direction, chunk: Chunk, data: bytes, out: list[Piece]) -> None:
        decoder = direction.decoder
        lane = direction.lane
        if decoder is None:
            self._keep(direction, chunk, data)
            return
        if lane.lost or not data:
            return
        lane.outside = chunk.offset + len(chunk.data)
        peer = self._server if direction is self._client else self._client
        ack = peer.lane.acknowledged_inside(chunk.ack)
        try:
            decoder.receive_bytes(data)
            while (frame := decoder.process_buffer()) is not None:
                payload = frame.payload
                if frame.opcode is Opcode.TEXT and not self._facts.text[chunk.sender]:
                    self._facts.text[chunk.sender] = chunk.packet
                if not frame.opcode.iscontrol() and isinstance(payload, bytes):
                    lane.emit(payload, lane.outside - len(decoder.buffer), chunk, ack, out)
        except ParseFailed:
            lane.lose(chunk, out)

    def _keep(self, direction: _Direction, chunk: Chunk, data: bytes) -> None:
        if not data:
            return
        direction.waiting += len(data)
        if direction.waiting > MAX_EARLY:
            self._refuse()
            return
        offset = chunk.offset + len(chunk.data) - len(data)
        direction.early.append(
            Chunk(chunk.connection, chunk.sender, offset, data, chunk.packet, chunk.time, chunk.ack)
        )


def _fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """The header fields of an HTTP request or response, names in lower case."""
    fields: list[tuple[bytes, bytes]] = []
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields.append((name.strip().lower(), value.strip()))
    return fields


def _upgrades(head: bytes, sender: int) -> bool:
    if sender == SERVER and head.split(None, 2)[1:2] != [b"101"]:
        return False
    return any(
        name == b"upgrade" and value.lower() == b"websocket" for name, value in _fields(head)
    )


def _deflate(response: bytes) -> _Deflate | None:
    """What inflates one direction, if permessage-deflate was agreed.

    The agreed window sizes are of no interest: the largest window inflates them all.
    """
    for name, value in _fields(response):
        if name != b"sec-websocket-extensions":
            continue
        for extension in value.lower().split(b","):
            words = [word.strip() for word in extension.split(b";")]
            if words[0] == b"permessage-deflate":
                return _Deflate(
                    client_no_context_takeover=b"client_no_context_takeover" in words,
                    server_no_context_takeover=b"server_no_context_takeover" in words,
                )
    return None
