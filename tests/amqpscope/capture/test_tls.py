import pytest

from amqpscope.capture.tls import Records, Tls, is_record
from amqpscope.stream.types import CLIENT, SERVER, Chunk, Gap

HEADER = bytes.fromhex("41 4d 51 50 00 01 00 00")
TLS_HEADER = bytes.fromhex("41 4d 51 50 02 01 00 00")


class Echo(Records):
    """Takes the body of application data for its plaintext."""

    def __init__(self):
        super().__init__()
        self.kinds = []

    def record(self, stream, sender, record):
        self.kinds.append(record[0])
        return record[5:] if record[0] == 23 else b""


def record(data, kind=23):
    return bytes((kind, 3, 3)) + len(data).to_bytes(2, "big") + data


def unwrap(layer, pieces):
    return [inner for piece in pieces for inner in layer.feed(piece)]


@pytest.mark.parametrize("cut", [None, 1, 4])
@pytest.mark.parametrize("clear", [b"", TLS_HEADER])
def test_records_come_out_whole_however_they_were_cut(talk, inside, clear, cut):
    conversation = talk()
    records = Echo()
    layer = Tls(conversation.connection, records, len(clear))
    messages = [
        (CLIENT, clear + record(b"hello", 22)),
        (SERVER, clear + record(b"hello", 22) + record(b"one") + record(b"two")),
        (CLIENT, record(b"x" * 16384) + record(b"", 21)),
    ]
    out = unwrap(layer, conversation.chunks(messages, cut))
    assert inside(out) == [clear + b"x" * 16384, clear + b"onetwo"]
    assert records.kinds == [22, 22, 23, 23, 23, 21]


def test_acknowledgements_count_the_octets_inside(talk):
    conversation = talk()
    layer = Tls(conversation.connection, Echo(), len(TLS_HEADER))
    one, two = record(b"one"), record(b"two!")
    out = unwrap(layer, conversation.chunks([(CLIENT, TLS_HEADER), (SERVER, TLS_HEADER)]))
    both = conversation.say(CLIENT, one + two)
    answer = conversation.say(SERVER, one)
    answer.ack = len(TLS_HEADER) + len(one)
    out += unwrap(layer, [both, answer, conversation.say(SERVER, two)])
    assert [piece.ack for piece in out] == [0, 8, 8, 8, 11, 15]


def test_a_gap_loses_its_direction_and_no_other(talk):
    conversation = talk()
    layer = Tls(conversation.connection, Echo(), 0)
    pieces = list(conversation.chunks([(CLIENT, record(b"one"))]))
    pieces.append(Gap(conversation.connection, CLIENT, 8, 8, 5, 5000))
    pieces += conversation.chunks([(CLIENT, record(b"two")), (SERVER, record(b"three"))])
    out = unwrap(layer, pieces)
    assert [(type(piece), piece.sender) for piece in out] == [
        (Chunk, CLIENT), (Gap, CLIENT), (Chunk, SERVER),
    ]  # fmt: skip
    assert (out[1].offset, out[1].size) == (3, -1)


def test_octets_that_are_no_record_lose_the_direction(talk):
    conversation = talk()
    layer = Tls(conversation.connection, Echo(), 0)
    out = unwrap(layer, conversation.chunks([(CLIENT, record(b"one") + b"garbage")]))
    assert [type(piece) for piece in out] == [Chunk, Gap]


def test_octets_that_are_no_record_after_a_handshake_are_not_taken_for_clear_text(talk):
    conversation = talk()
    layer = Tls(conversation.connection, Echo(), len(TLS_HEADER))
    out = unwrap(layer, conversation.chunks([(CLIENT, TLS_HEADER + record(b"hi", 22) + HEADER)]))
    assert [type(piece) for piece in out] == [Chunk, Gap]


@pytest.mark.parametrize("cut", [None, 1, 5])
def test_peers_that_go_on_in_the_clear_after_the_tls_headers(talk, inside, cut):
    conversation = talk()
    layer = Tls(conversation.connection, Echo(), len(TLS_HEADER))
    client, server = TLS_HEADER + b"AMQP\0\1\0\0 and on", TLS_HEADER + b"AMQP\0\1\0\0"
    messages = [
        (CLIENT, client[:8]),
        (SERVER, server[:8]),
        (CLIENT, client[8:]),
        (SERVER, server[8:]),
    ]
    assert inside(unwrap(layer, conversation.chunks(messages, cut))) == [client, server]


def test_the_client_random_names_the_connection(talk):
    conversation = talk()
    layer = Tls(conversation.connection, Echo(), 0)
    random = bytes(range(32))
    hello = record(b"\x01\0\0\x26\x03\x03" + random + b"\0\0\0\0", 22)
    unwrap(layer, conversation.chunks([(CLIENT, hello)]))
    assert layer.stream.client_random == random


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        ("16 03 01 02 00", True),
        ("17 03 03 48 00", True),
        ("17 03 03 48 01", False),
        ("16 02 00 00 10", False),
        ("19 03 03 00 10", False),
        ("16 03 05 00 10", False),
    ],
)
def test_the_beginning_of_a_record(head, answer):
    assert is_record(bytes.fromhex(head)) is answer


@pytest.mark.parametrize("cut", [None, 1, 5])
def test_a_server_that_answers_tls_in_the_clear_is_heard(talk, inside, cut):
    conversation = talk()
    conversation.connection.encrypted = True
    layer = Tls(conversation.connection, Echo(), 0)
    hello = record(b"\x01\0\0\x26\x03\x03" + bytes(36), 22)
    pieces = conversation.chunks([(CLIENT, hello), (SERVER, HEADER)], cut)
    assert inside(unwrap(layer, pieces)) == [b"", HEADER]
    facts = conversation.connection.tls
    assert (facts.plain, facts.hello[CLIENT] > 0) == ([False, True], True)
    assert not conversation.connection.encrypted


def test_the_client_is_quiet_until_its_first_octets_inside(talk):
    conversation = talk()
    layer = Tls(conversation.connection, Echo(), 0)
    said = [record(b"hello", 22), record(b""), record(b"one"), record(b"")]
    unwrap(layer, conversation.chunks([(CLIENT, data) for data in said]))
    assert conversation.connection.tls.quiet == 2000
