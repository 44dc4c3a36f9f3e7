"""AMQP over WebSocket for a replay: the upgrade, and the frames around the octets."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

READ: Final = 1 << 16
SUBPROTOCOLS: Final = ("amqp", "AMQPWSB10", "AMQPWSB09", "binary")
"""What peers call AMQP in a WebSocket, the standard's own name first."""
HTTP_REQUEST: Final = b"GET "
NORMAL: Final = 1000


class UpgradeError(Exception):
    """A connection that does not become a WebSocket; the text says why."""


class WebSocketStream:
    """A reader and writer of the octets inside a WebSocket, like those of asyncio."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, serves: bool
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.transport = writer.transport
        self._socket = WSConnection(ConnectionType.SERVER if serves else ConnectionType.CLIENT)
        self._inside = bytearray()
        self._open = False
        self._ended = False
        """The peer has closed."""
        self._closes = False
        """We have closed, or have answered that the peer has."""

    async def ask(self, host: str, path: str) -> None:
        """Upgrade as a client."""
        offered = list(SUBPROTOCOLS[:2])
        self._send(Request(host=host, target=path or "/", subprotocols=offered))
        await self._wait_until_open()

    async def answer(self, first: bytes) -> None:
        """Upgrade as a server, for a client whose first octets have been read."""
        self._take(first)
        await self._wait_until_open()

    async def _wait_until_open(self) -> None:
        while not self._open:
            octets = await self.reader.read(READ)
            if not octets:
                raise UpgradeError("the peer ends the connection before it is a WebSocket")
            self._take(octets)

    def _take(self, octets: bytes) -> None:
        try:
            self._socket.receive_data(octets)
            for event in self._socket.events():
                self._handle(event)
        except (RemoteProtocolError, LocalProtocolError) as error:
            raise UpgradeError(f"no WebSocket: {str(error).lower()}") from None

    def _handle(self, event: Event) -> None:
        if isinstance(event, Request):
            wanted = [name for name in SUBPROTOCOLS if name in event.subprotocols]
            self._send(AcceptConnection(subprotocol=wanted[0] if wanted else None))
            self._open = True
        elif isinstance(event, AcceptConnection):
            self._open = True
        elif isinstance(event, RejectConnection):
            raise UpgradeError(f"the server refuses WebSocket with status {event.status_code}")
        elif isinstance(event, BytesMessage):
            self._inside += event.data
        elif isinstance(event, TextMessage):
            self._inside += event.data.encode()
        elif isinstance(event, Ping):
            self._send(event.response())
        elif isinstance(event, CloseConnection):
            if not self._closes:
                self._send(event.response())
            self._ended = self._closes = True

    def _send(self, event: Event) -> None:
        self.writer.write(self._socket.send(event))

    # as asyncio's StreamReader

    async def read(self, most: int) -> bytes:
        """What comes next; nothing at the end."""
        while not self._inside and not self._ended:
            octets = await self.reader.read(READ)
            if not octets:
                return b""
            try:
                self._take(octets)
            except UpgradeError:
                return b""
        found = bytes(self._inside[:most])
        del self._inside[:most]
        return found

    async def readexactly(self, size: int) -> bytes:
        """So many octets."""
        found = b""
        while len(found) < size:
            octets = await self.read(size - len(found))
            if not octets:
                raise asyncio.IncompleteReadError(found, size)
            found += octets
        return found

    # as asyncio's StreamWriter

    def write(self, octets: bytes) -> None:
        """Send octets as one message; a peer that has closed takes none any more."""
        if not self._closes:
            self._send(BytesMessage(data=octets))

    async def drain(self) -> None:
        """Wait until the peer has room."""
        await self.writer.drain()

    def can_write_eof(self) -> bool:
        """An end can be said before the peer says its own."""
        return True

    def write_eof(self) -> None:
        """Say that nothing more comes."""
        if not self._closes:
            self._closes = True
            self._send(CloseConnection(code=NORMAL))

    def get_extra_info(self, name: str) -> Any:
        """What asyncio knows of the connection."""
        return self.writer.get_extra_info(name)

    def close(self) -> None:
        """End TCP."""
        self.writer.close()


Reader = asyncio.StreamReader | WebSocketStream
Writer = asyncio.StreamWriter | WebSocketStream
