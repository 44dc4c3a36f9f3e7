import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.capture.tls import Records
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.stream.types import CLIENT, SERVER, Chunk, Connection, End, Gap, Window

HEADER = b"AMQP\0\1\0\0"
TLS_HEADER = b"AMQP\2\1\0\0"
HELLO = b"\x16\x03\x01\0\2hi"


class Bodies(Records):
    """Takes the body of application data for its plaintext."""

    def __init__(self):
        super().__init__()
        self.streams = []

    def record(self, stream, sender, record):
        return record[5:] if record[0] == 23 else b""

    def end_stream(self, stream):
        self.streams.append(stream)


def sealed(data):
    return b"\x17\x03\x03" + len(data).to_bytes(2, "big") + data


@pytest.fixture
def unwrapper():
    return Unwrapper(Bodies())


@pytest.mark.parametrize(
    "first",
    [
        HEADER,
        b"AMQP\3\1\0\0",
        b"AMQP\0\0\x09\1",
        b"AMXX",
        b"\0\0\0\x10\2\0\0\0",
        b"GOT some",
        b"GET",
        b"\x16\x03\x09\0\0",
        b"\x17\x03\x03\xff\xff",
        b"\x15\x03\x03\0\2",
        b"HTTP/1.1 from a client",
    ],
)
def test_plain_pieces_pass_as_they_are(talk, unwrapper, first):
    conversation = talk()
    pieces = [
        conversation.say(CLIENT, first),
        conversation.say(SERVER, b"\x16\x03\x01\0\2hi"),
        Window(conversation.connection, SERVER, True, 3, 3000),
        Gap(conversation.connection, CLIENT, 8, 100, 4, 4000),
        conversation.say(CLIENT, b"AMQP\2"),
        *conversation.ends(),
    ]
    if first == b"GET":
        pieces[1].data = b"220 hello"
    out = [inner for piece in pieces for inner in unwrapper.feed(piece)]
    assert out == pieces


@pytest.mark.parametrize("first", [HEADER, b"GOT ", b"\x16\x02ab", b"\0\0\0\0"])
def test_octet_by_octet_nothing_of_a_plain_connection_is_lost(talk, unwrapper, first):
    chunks = list(talk().chunks([(CLIENT, first + b"xyz"), (SERVER, first)], 1))
    assert unwrapper.feed_all(chunks) == chunks


def test_a_plain_connection_may_end_before_it_is_recognised(talk, unwrapper):
    conversation = talk()
    pieces = [conversation.say(CLIENT, b"AM"), *conversation.ends("rst")]
    assert unwrapper.feed_all(pieces) == pieces


def test_a_gap_before_a_connection_is_recognised_makes_it_plain(talk, unwrapper):
    conversation = talk()
    gap = Gap(conversation.connection, CLIENT, 2, 6, 2, 2000)
    pieces = [conversation.say(CLIENT, b"\x16\x03"), gap, conversation.say(CLIENT, HELLO)]
    assert unwrapper.feed_all(pieces) == pieces


@pytest.mark.parametrize("cut", [None, 1, 9])
def test_tls_from_the_first_octet(talk, unwrapper, inside, cut):
    messages = [
        (CLIENT, HELLO),
        (SERVER, HELLO),
        (CLIENT, sealed(HEADER)),
        (SERVER, sealed(HEADER)),
    ]
    assert inside(unwrapper.feed_all(list(talk().chunks(messages, cut)))) == [HEADER, HEADER]


@pytest.mark.parametrize("cut", [None, 1, 9])
def test_tls_after_the_tls_header_of_amqp(talk, unwrapper, inside, cut):
    messages = [
        (CLIENT, TLS_HEADER),
        (SERVER, TLS_HEADER),
        (CLIENT, HELLO),
        (SERVER, HELLO + sealed(HEADER)),
        (CLIENT, sealed(HEADER)),
    ]
    out = unwrapper.feed_all(list(talk().chunks(messages, cut)))
    assert inside(out) == [TLS_HEADER + HEADER] * 2


def test_a_server_that_refuses_tls_answers_in_the_clear(talk, unwrapper, inside):
    messages = [(CLIENT, TLS_HEADER), (SERVER, b"AMQP\3\1\0\0")]
    assert inside(unwrapper.feed_all(list(talk().chunks(messages)))) == [
        TLS_HEADER,
        b"AMQP\3\1\0\0",
    ]


REQUEST = b"GET /amqp HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
RESPONSE = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
FROM_CLIENT = b"\x82\x88\0\0\0\0" + HEADER
FROM_SERVER = b"\x82\x08" + HEADER
WEBSOCKET = (
    (CLIENT, REQUEST), (SERVER, RESPONSE), (CLIENT, FROM_CLIENT), (SERVER, FROM_SERVER),
)  # fmt: skip


@pytest.mark.parametrize("cut", [None, 1, 10])
def test_websocket(talk, unwrapper, inside, cut):
    assert inside(unwrapper.feed_all(list(talk().chunks(WEBSOCKET, cut)))) == [HEADER, HEADER]


@pytest.mark.parametrize("cut", [None, 1, 10])
def test_websocket_inside_tls(talk, unwrapper, inside, cut):
    messages = [(CLIENT, HELLO), *((sender, sealed(data)) for sender, data in WEBSOCKET)]
    out = unwrapper.feed_all(list(talk().chunks(messages, cut)))
    assert inside(out) == [HEADER, HEADER]
    assert out[-1].ack == len(HEADER)


def test_a_gap_inside_tls_before_anything_came_out(talk, unwrapper):
    conversation = talk()
    pieces = [
        conversation.say(CLIENT, HELLO),
        Gap(conversation.connection, CLIENT, 7, 9, 2, 2000),
        conversation.say(CLIENT, sealed(HEADER)),
    ]
    (gap,) = unwrapper.feed_all(pieces)
    assert isinstance(gap, Gap)
    assert (gap.offset, gap.size) == (0, -1)


def test_chunks_keep_packet_time_and_roles(talk, unwrapper):
    conversation = talk()
    unwrapper.feed(conversation.say(CLIENT, HELLO))
    first, last = sealed(HEADER)[:6], sealed(HEADER)[6:]
    assert not unwrapper.feed(conversation.say(CLIENT, first))
    (chunk,) = unwrapper.feed(conversation.say(CLIENT, last))
    assert isinstance(chunk, Chunk)
    assert (chunk.connection, chunk.sender) == (conversation.connection, CLIENT)
    assert (chunk.packet, chunk.time) == (3, 3000)


@pytest.mark.parametrize("first", [HEADER, HELLO, REQUEST])
def test_ended_connections_are_forgotten(talk, first):
    records = Bodies()
    unwrapper = Unwrapper(records)
    for _ in range(3):
        conversation = talk()
        unwrapper.feed(conversation.say(CLIENT, first))
        out = unwrapper.feed_all(conversation.ends())
        assert [type(piece) for piece in out] == [End, End]
    assert not unwrapper._flows
    assert len(records.streams) == (3 if first == HELLO else 0)


def test_connections_are_told_apart_by_identity(unwrapper):
    ends = ("10.0.0.1", 1), ("10.0.0.2", 2)
    one, two = Connection(*ends, True), Connection(*ends, True)
    unwrapper.feed(Chunk(one, CLIENT, 0, HELLO, 1, 1, 0))
    plain = Chunk(two, CLIENT, 0, HEADER, 2, 2, 0)
    assert unwrapper.feed(plain) == [plain]


DEFLATE = RESPONSE[:-2] + b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
SCRAPS = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from((HEADER, TLS_HEADER, HELLO, REQUEST, RESPONSE, DEFLATE, FROM_CLIENT)),
    st.sampled_from((b"\xc2\x05hello", b"\x42\x01a", b"\x80\x01b", b"\x89\0", FROM_SERVER)),
    st.binary(max_size=40).map(sealed),
)


@given(st.lists(st.tuples(st.sampled_from((CLIENT, SERVER)), SCRAPS | st.none()), max_size=20))
def test_whatever_comes_the_pieces_inside_follow_each_other(messages):
    connection = Connection(("10.0.0.1", 1), ("10.0.0.2", 2), True)
    unwrapper = Unwrapper(Bodies())
    outside, reached = [0, 0], [0, 0]
    for packet, (sender, data) in enumerate(messages):
        offset = outside[sender]
        if data is None:
            piece = Gap(connection, sender, offset, 0, packet, packet)
        else:
            piece = Chunk(connection, sender, offset, data, packet, packet, outside[1 - sender])
            outside[sender] += len(data)
        for inner in unwrapper.feed(piece):
            assert inner.offset == reached[inner.sender]
            if isinstance(inner, Chunk):
                reached[inner.sender] += len(inner.data)
    unwrapper.feed_all([End(connection, sender, "fin", 99, 99) for sender in (CLIENT, SERVER)])
    assert not unwrapper._flows
