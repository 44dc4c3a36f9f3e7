import os
import zlib

import pytest

from amqpscope.capture.pieces import Pieces
from amqpscope.capture.websocket import WebSocket
from amqpscope.stream.types import CLIENT, SERVER, Chunk, Gap

REQUEST = (
    b"GET /amqp HTTP/1.1\r\nHost: broker\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Protocol: amqp\r\n\r\n"
)
ACCEPTED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: amqp\r\n"
)
RESPONSE = ACCEPTED + b"\r\n"
HEADER = bytes.fromhex("41 4d 51 50 00 01 00 00")
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def frame(sender, payload, opcode=BINARY, fin=True, compressed=False):
    """One WebSocket frame, masked when it is the client's."""
    first = opcode | 0x80 * fin | 0x40 * compressed
    masked = 0x80 if sender == CLIENT else 0
    if len(payload) < 126:
        head = bytes((first, masked | len(payload)))
    elif len(payload) < 65536:
        head = bytes((first, masked | 126)) + len(payload).to_bytes(2, "big")
    else:
        head = bytes((first, masked | 127)) + len(payload).to_bytes(8, "big")
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + bytes(octet ^ key[i % 4] for i, octet in enumerate(payload))


def unwrap(pieces):
    pieces = list(pieces)
    layer = WebSocket(pieces[0].connection)
    return [inner for piece in pieces for inner in layer.feed(piece)]


def opened(*messages, response=RESPONSE):
    return [(CLIENT, REQUEST), (SERVER, response), *messages]


@pytest.mark.parametrize("cut", [None, 1, 3, 7])
def test_octets_of_both_directions_come_out_however_they_were_cut(talk, inside, cut):
    messages = opened(
        (CLIENT, frame(CLIENT, HEADER)),
        (SERVER, frame(SERVER, HEADER + b"abc")),
        (CLIENT, frame(CLIENT, b"one") + frame(CLIENT, b"two")),
        (SERVER, frame(SERVER, b"")),
        (SERVER, frame(SERVER, b"def")),
    )
    assert inside(unwrap(talk().chunks(messages, cut))) == [HEADER + b"onetwo", HEADER + b"abcdef"]


@pytest.mark.parametrize("size", [125, 126, 65535, 65536, 200_000])
@pytest.mark.parametrize("sender", [CLIENT, SERVER])
def test_each_form_of_length(talk, inside, sender, size):
    payload = os.urandom(size)
    messages = opened((sender, frame(sender, payload)))
    assert inside(unwrap(talk().chunks(messages, 1400)))[sender] == payload


def test_control_frames_between_fragments_are_left_out(talk, inside):
    fragments = (
        frame(CLIENT, HEADER[:3], fin=False)
        + frame(CLIENT, b"are you there", PING)
        + frame(CLIENT, HEADER[3:5], CONTINUATION, fin=False)
        + frame(CLIENT, b"", PONG)
        + frame(CLIENT, HEADER[5:], CONTINUATION)
        + frame(CLIENT, b"\x03\xe8bye", CLOSE)
    )
    assert inside(unwrap(talk().chunks(opened((CLIENT, fragments)))))[CLIENT] == HEADER


def test_frames_in_the_packet_of_the_response_are_read(talk, inside):
    messages = [(CLIENT, REQUEST), (SERVER, RESPONSE + frame(SERVER, HEADER))]
    assert inside(unwrap(talk().chunks(messages)))[SERVER] == HEADER


def test_frames_seen_before_the_response_wait_for_it(talk, inside):
    messages = [(CLIENT, REQUEST + frame(CLIENT, HEADER)), (CLIENT, frame(CLIENT, b"more"))]
    chunks = list(talk().chunks(messages))
    layer = WebSocket(chunks[0].connection)
    assert not layer.feed(chunks[0])
    assert not layer.feed(chunks[1])
    response = Chunk(chunks[0].connection, SERVER, 0, RESPONSE, 9, 9000, len(REQUEST))
    assert inside(layer.feed(response))[CLIENT] == HEADER + b"more"


def test_a_capture_that_begins_between_request_and_response(talk, inside):
    messages = [(SERVER, RESPONSE), (CLIENT, frame(CLIENT, HEADER))]
    assert inside(unwrap(talk().chunks(messages)))[CLIENT] == HEADER


@pytest.mark.parametrize(
    "messages",
    [
        [(CLIENT, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), (SERVER, b"HTTP/1.1 200 OK\r\n\r\nAMQP")],
        [(CLIENT, REQUEST), (SERVER, b"HTTP/1.1 401 Unauthorized\r\nUpgrade: websocket\r\n\r\n")],
        [(CLIENT, REQUEST), (SERVER, b"HTTP/1.\r\n\r\n")],
        [(CLIENT, REQUEST), (SERVER, b"nonsense")],
        [(CLIENT, b"GET /" + b"a" * 100_000), (SERVER, RESPONSE)],
        [(CLIENT, REQUEST), *[(CLIENT, b"x" * 60_000)] * 20, (SERVER, RESPONSE)],
    ],
)
def test_what_is_no_accepted_upgrade_yields_nothing(talk, messages):
    messages = [*messages, (SERVER, frame(SERVER, HEADER)), (CLIENT, frame(CLIENT, HEADER))]
    assert not unwrap(talk().chunks(messages))


def test_a_gap_loses_its_direction_and_no_other(talk):
    conversation = talk()
    pieces = list(conversation.chunks(opened((CLIENT, frame(CLIENT, HEADER)))))
    pieces.append(Gap(conversation.connection, CLIENT, conversation.sent[CLIENT], 10, 7, 7000))
    pieces += conversation.chunks([(CLIENT, frame(CLIENT, b"x")), (SERVER, frame(SERVER, HEADER))])
    out = unwrap(pieces)
    assert [type(piece) for piece in out] == [Chunk, Gap, Chunk]
    assert (out[1].sender, out[1].offset, out[1].size, out[1].packet) == (CLIENT, 8, -1, 7)
    assert (out[2].sender, out[2].data) == (SERVER, HEADER)


@pytest.mark.parametrize(
    "damaged",
    [
        "83 00",  # an opcode that does not exist
        "82 01 00",  # a frame of the client's that is not masked
        "09 80 00 00 00 00",  # a ping in fragments
        "c2 81 00 00 00 00 00",  # compressed, which was not agreed
    ],
)
def test_damage_loses_the_direction(talk, damaged):
    messages = opened(
        (CLIENT, frame(CLIENT, HEADER) + bytes.fromhex(damaged)), (CLIENT, frame(CLIENT, b"x"))
    )
    out = unwrap(talk().chunks(messages))
    assert [type(piece) for piece in out] == [Chunk, Gap]
    assert out[1].size == -1


def compress(compressor, payload):
    return (compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


@pytest.mark.parametrize("cut", [None, 1])
@pytest.mark.parametrize(
    "parameters", ["", "; client_no_context_takeover", "; client_max_window_bits=8"]
)
def test_compressed_messages(talk, inside, parameters, cut):
    response = (
        ACCEPTED + f"Sec-WebSocket-Extensions: permessage-deflate{parameters}\r\n\r\n".encode()
    )
    first = zlib.compressobj(wbits=-9)
    second = zlib.compressobj(wbits=-9) if "takeover" in parameters else first
    one = compress(first, HEADER * 20)
    two = compress(second, HEADER * 30)
    frames = (
        frame(CLIENT, one[:2], fin=False, compressed=True)
        + frame(CLIENT, b"are you there", PING)
        + frame(CLIENT, one[2:], CONTINUATION)
        + frame(CLIENT, two, compressed=True)
        + frame(CLIENT, b"plain")
    )
    out = inside(unwrap(talk().chunks(opened((CLIENT, frames), response=response), cut)))
    assert out[CLIENT] == HEADER * 50 + b"plain"


def test_acknowledgements_count_the_octets_inside(talk):
    conversation = talk()
    pieces = list(conversation.chunks(opened((CLIENT, frame(CLIENT, HEADER)))))
    half = frame(CLIENT, b"0123456789")
    pieces += [
        conversation.say(SERVER, frame(SERVER, HEADER)),
        conversation.say(CLIENT, half[:-4]),
        conversation.say(SERVER, frame(SERVER, b"a")),
        conversation.say(CLIENT, half[-4:]),
    ]
    unknown = conversation.say(SERVER, frame(SERVER, b"b"))
    unknown.ack = -1
    out = unwrap([*pieces, unknown])
    assert [(piece.sender, piece.ack) for piece in out] == [
        (CLIENT, 0), (SERVER, 8), (CLIENT, 8), (SERVER, 14), (CLIENT, 9), (SERVER, -1),
    ]  # fmt: skip


def test_a_real_conversation_chains_as_frames(root, inside):
    with Pieces(str(root / "captures/v10_ws-rhea-rhea.pcap")) as pieces:
        client, server = inside(piece for batch in pieces for piece in batch)
    assert (len(client), len(server)) == (70373, 344)
    assert client[:8] == server[:8] == HEADER
    for stream in (client, server):
        place = 8
        while place < len(stream):
            place += int.from_bytes(stream[place : place + 4], "big")
        assert place == len(stream)


@pytest.mark.parametrize(
    ("asked", "answered", "facts"),
    [
        ("", "", ([], None)),
        ("Sec-WebSocket-Protocol: amqp\r\n", "", (["amqp"], None)),
        (
            "Sec-WebSocket-Protocol: AMQPWSB10, amqp\r\n",
            "sec-websocket-protocol: amqp\r\n",
            (["AMQPWSB10", "amqp"], "amqp"),
        ),
    ],
)
def test_which_subprotocol_was_agreed_is_noted(talk, asked, answered, facts):
    conversation = talk()
    common = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    request = f"GET / HTTP/1.1\r\n{common}{asked}\r\n".encode()
    response = f"HTTP/1.1 101 Go\r\n{common}{answered}\r\n".encode()
    unwrap(conversation.chunks([(CLIENT, request), (SERVER, response)]))
    websocket = conversation.connection.websocket
    assert (websocket.asked, websocket.agreed) == facts


def test_text_messages_are_noted_and_read(talk, inside):
    conversation = talk()
    text = b"\x81" + frame(SERVER, HEADER)[1:]
    pieces = unwrap(conversation.chunks(opened((SERVER, text), (CLIENT, frame(CLIENT, HEADER)))))
    assert inside(pieces) == [HEADER, HEADER]
    assert conversation.connection.websocket.text == [0, 3]
