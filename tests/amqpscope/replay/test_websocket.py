"""AMQP inside a WebSocket, as another implementation's client sends it."""

import asyncio
import socket

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Request

from amqpscope.replay.websocket import WebSocketStream

SAID = b"a close, and nothing after it"


async def serve_one(said):
    """Answer the octets of a client after it has closed; what the client hears."""
    answered = asyncio.Event()

    async def answer(reader, writer):
        stream = WebSocketStream(reader, writer, serves=True)
        await stream.answer(await reader.readexactly(8))
        assert await stream.readexactly(len(SAID)) == SAID
        assert await stream.read(99) == b""
        stream.write(b"too late")
        stream.write_eof()
        stream.close()
        answered.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        name = server.sockets[0].getsockname()
        heard = await asyncio.to_thread(talk, name, said)
        await asyncio.wait_for(answered.wait(), 10)
    return heard


def talk(name, said):
    client = WSConnection(ConnectionType.CLIENT)
    with socket.create_connection(name, 10) as raw:
        raw.sendall(client.send(Request(host="x", target="/", subprotocols=["amqp"])))
        heard = []
        while octets := raw.recv(4096):
            client.receive_data(octets)
            heard += client.events()
            if isinstance(heard[-1], AcceptConnection):
                raw.sendall(b"".join(client.send(each) for each in said))
    return [type(each) for each in heard]


def test_a_client_that_closes_hears_a_close_and_no_more():
    said = BytesMessage(data=SAID), CloseConnection(code=1000)
    assert asyncio.run(serve_one(said)) == [AcceptConnection, CloseConnection]
